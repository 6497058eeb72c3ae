"""The home page: a card for each model. As a file it needs no script; a page of a server has its cards filled later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from glassformer.page.page import built, digest

TITLE = "Look inside a Transformer"
SAID = (
    "Each picture is made of a run of the model. Open one: every number on its page leads to the numbers that it was "
    "made from."
)


@dataclass(frozen=True)
class Shown:
    """A card as it is drawn: `href` leads to the view that answers the question; `more` are further links by their
    text. Of a run that is not made yet there is no answer and no picture.
    """

    name: str
    question: str
    href: str
    what: str = ""
    text: str = ""
    answer: str = ""
    picture: str = ""
    more: tuple[tuple[str, str], ...] = ()


def home_file(cards: Sequence[Shown], *, head: str = "") -> str:
    """The home page of a site as one file; `head` are more elements of its head."""
    style = built("script/home.css")
    policy = f"default-src 'none'; style-src {digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    return document_of(
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">{head}<style>{style}</style>',
        listed(cards),
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
        '<p><a href="#other">Open another model</a></p>',
    )


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


def document_of(head: str, body: str, more: str = "") -> str:
    """A page; `more` follows its first sentence."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{TITLE} · glassformer</title>",
            '<link rel="icon" href="data:,">',
            head,
            "</head>",
            "<body>",
            f'<header><p class="brand">glassformer</p><h1>{TITLE}</h1><p>{SAID}</p>{more}</header>',
            f"<main>{body}</main>",
            "</body>",
            "</html>",
            "",
        )
    )


def listed(cards: Sequence[Shown], *, label: str = "") -> str:
    """Cards as a list."""
    named = f' aria-labelledby="{label}"' if label else ' aria-label="models"'
    return f'<ul class="cards"{named}>{"".join(map(drawn, cards))}</ul>'


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
