"""The home page: a card for each model. As a file it needs no script; a page of a server has its cards filled later."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from glassformer.page.meta import framed
from glassformer.page.page import ENGLISH, built, digest
from glassformer.page.site.spoken import spoken

TITLE = "Look inside a Transformer"
SAID = (
    "Each picture is made of a run of the model. Open one: every number on its page leads to the numbers that it was "
    "made from."
)


@dataclass(frozen=True)
class Shown:
    """A card as drawn: `href` is its view, `more` are other links; without a run no answer and no picture."""

    name: str
    question: str
    href: str
    what: str = ""
    text: str = ""
    answer: str = ""
    picture: str = ""
    more: tuple[tuple[str, str], ...] = ()


def home_file(cards: Sequence[Shown], *, head: str = "", language: str = ENGLISH) -> str:
    """The home page of a site as one file, in a language; `head` are more elements of its head."""
    style = built("script/home.css")
    policy = f"default-src 'none'; style-src {digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    return document_of(
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">{head}<style>{style}</style>',
        listed(cards, named=spoken("models", language)),
        language=language,
    )


def home_served(groups: Sequence[tuple[str, Sequence[Shown]]]) -> str:
    """The home page of a server: its cards in groups, and the form that opens another model."""
    own = "".join(
        f'<h2 id="group-{order}">{escape(title)}</h2>{listed(cards, label=f"group-{order}")}'
        for order, (title, cards) in enumerate(groups)
        if cards
    )
    return document_of(
        '<link rel="stylesheet" href="script/home.css"><script type="module" src="script/home.js"></script>',
        f"{own}{OPENING}",
        '<p><a href="#other">Open another model</a> · <a href="./#level=quiz">Quiz: ten questions</a></p>',
    )


OPENING_WORDS = (
    *("Another model", "Drop the folder of a model here, or write where it is.", "A folder, or", "from Hugging Face"),
    *("Open", "Open another model", "Quiz: ten questions"),
)
"""The words of `OPENING` and of the links above: the script of the page says them in the language that was chosen."""
OPENING = """
<h2 id="other">Another model</h2>
<div class="drop">
<p>Drop the folder of a model here, or write where it is.</p>
<form id="open" aria-labelledby="other">
<label for="place">A folder, or <code>hub:owner/name</code> from Hugging Face</label>
<input id="place" name="place" autocomplete="off" spellcheck="false" required maxlength="400" placeholder="runs/mine">
<button>Open</button>
</form>
<p id="told" role="status"></p>
</div>
"""


def document_of(head: str, body: str, more: str = "", language: str = ENGLISH) -> str:
    """A page; `more` follows its first sentence."""
    title, said = (escape(spoken(text, language)) for text in (TITLE, SAID))
    header = f'<header><p class="brand">glassformer</p><h1>{title}</h1><p>{said}</p>{more}</header>'
    return framed(
        f"{title} · glassformer",
        ('<link rel="icon" href="data:,">', head),
        (header, f"<main>{body}</main>"),
        root=f'lang="{language}"',
    )


def listed(cards: Sequence[Shown], *, label: str = "", named: str = "models") -> str:
    called = f' aria-labelledby="{label}"' if label else f' aria-label="{escape(named)}"'
    return f'<ul class="cards"{called}>{"".join(map(drawn, cards))}</ul>'


def drawn(card: Shown) -> str:
    """A card: question, picture, answer, the text of the run, and what the model is."""
    pending = "" if card.picture else f' data-card="{escape(card.name)}"'
    links = "".join(f'<a href="{escape(href)}">{escape(text)}</a>' for text, href in card.more)
    return (
        f'<li class="card"{pending}><h3><a href="{escape(card.href)}">{escape(card.question)}</a></h3>'
        f'<div class="picture">{card.picture}</div>'
        f'<p class="answer">{escape(card.answer)}</p>'
        f'<p class="quiet text">{escape(card.text)}</p>'
        f'<div class="more"><b>{escape(card.name)}</b><span class="quiet what">{escape(card.what)}</span>{links}</div>'
        "</li>"
    )
