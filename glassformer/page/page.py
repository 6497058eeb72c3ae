"""One run as one HTML file that needs nothing else: no network, no server, no second file.

The numbers are safetensors, the rest is JSON, each compressed in a block that a browser does not run. So are the
script and the style: a few lines unpack them. The content policy allows these, the script and the style by their hashes
and forbids everything else.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import ConfigError, DataError, from_system
from glassformer.base.json_text import in_json
from glassformer.base.outputs import output_file
from glassformer.base.plain import counted
from glassformer.look.trace.cell import unmarked
from glassformer.look.trace.trace import Trace
from glassformer.page.meta import framed, meta
from glassformer.page.parts import ID, LOADER, STYLE, languages, parts_of
from glassformer.page.sections import gradients
from glassformer.page.sections.carried import PLANES, Carried, compressed, planes
from glassformer.page.sections.choosing import carry
from glassformer.page.sections.editing import editing_record
from glassformer.page.sections.record import run_record
from glassformer.page.tour import pictures, quiz, tour_texts

MEGABYTES, LARGE_MEGABYTES, MOST_MEGABYTES = 2, 8, 64
"""How large a page is at most if nothing else is said; if the first block of the model does not fit into that; and
beyond which it is not written unless that is asked for.
"""
ENGLISH = "en"
OF_SERVER = frozenset({"live", "asked", "served"})
"""The chunks that ask a server: only a page of a server has them."""
DRAWN_OF_SECTIONS = frozenset({"probe", "neighbours", "moved", "shuffled", gradients.NAME})
"""The sections whose pictures are one chunk, `web/src/chunks/sections.ts`: few pages have one of them."""
STYLED: Mapping[str, frozenset[str]] = {
    "tree": frozenset({"tree"}),
    "training": frozenset({"trained", "learning"}),
    "learning": frozenset({"learning"}),
}
"""The styles that a page has only with one of these chunks."""
NAMES = 20_000
"""About what the names of the tensors that are left out add."""

PUT_SHARED = """/* glassformer */ ((blocks) => {
  for (const [id, data] of Object.entries(blocks)) {
    const element = document.createElement("script");
    element.type = "application/gzip";
    element.id = id;
    element.textContent = data;
    document.body.append(element);
  }
  document.currentScript.remove();
})"""

WITHOUT_SCRIPT = "This page draws its pictures with a script of its own; allow scripts to see them."


def write_document(path: str | Path, make: Callable[[], str], *, overwrite: bool = False) -> None:
    """Write what `make` returns, once the path is checked by `output_file`; raises DataError."""
    file = output_file(path, DataError, overwrite=overwrite)
    text = make()
    with from_system(DataError, f"cannot write the page to {path}", do="choose another path"), atomic_write(file) as at:
        # A lone surrogate in a title is no reason to lose the page.
        at.write_text(text, encoding="utf-8", errors="backslashreplace")


def page(
    trace: Trace,
    *,
    title: str | None = None,
    megabytes: int | None = None,
    sections: Mapping[str, Any] | None = None,
    place: str = "",
    language: str = ENGLISH,
    shared: str = "",
    more: str = "",
) -> str:
    """The page as text, of so many megabytes at most (None: 2, or 8 if the first block of the model needs more); raises
    ConfigError for a limit below 1 or a language that the page lacks, and DataError for a page that is beyond it and
    above 64 MB, which what is not numbers can be.

    `sections` is what it carries besides the tensors, as JSON by name: see `sections.py`. A run that was traced
    with the gradients of its loss always carries them. `place` is where it opens, as its address names it; `language`
    is `en`, or one whose words it then carries and begins with. `shared` names a file next to the page, of
    `shared_script`, which has what all pages have; `more` are elements of its head in the place of those that services
    read which show links.
    """
    if megabytes is not None:
        megabytes = counted(megabytes, "the maximum size of a page in megabytes")
    check_language(language)
    title = title or title_of(trace)
    blocks = {} if shared else texts_of_page()
    more = more or meta(f"{title} · glassformer", said_of(trace))
    if "loss" in trace.gradients:
        sections = {gradients.NAME: gradients.gradient_section(trace)} | dict(sections or {})
    without = not_shown(trace, sections or {})
    for name, section in (sections or {}).items():
        blocks[f"section-{name}"] = json.dumps(in_json(section), allow_nan=False).encode()  # a lone surrogate too

    def filled(limit: int) -> tuple[str, bool]:
        """The page with as many numbers as fit, and whether those of its first block open to their operands."""

        def made(carried: Carried) -> str:
            record = run_record(trace, carried, title) | {"editing": editing_record(trace, alone=True), "limit": limit}
            numbers = {"tensors": save_planes(carried.tensors), "weights": save_planes(carried.weights)}
            content = {"record": json.dumps(record, allow_nan=False).encode(), **numbers, **blocks}
            return document(title, content, place=place, shared=shared, more=more, without=without, language=language)

        room = limit - len(made(Carried(0))) - NAMES
        text = made(carried := carry(trace, room))
        while len(text) > limit and carried.nbytes > 0:  # the sizes of numbers were estimated
            room -= len(text) - limit + NAMES
            text = made(carried := carry(trace, room))
        return text, carried.opens

    text, opens = filled((megabytes or MEGABYTES) * 1_000_000)
    if megabytes is None and not opens:
        text, _ = filled(LARGE_MEGABYTES * 1_000_000)
    most = max(MOST_MEGABYTES, megabytes or 0)
    if len(text) > most * 1_000_000:
        raise DataError(
            f"a page must have at most {most} MB",
            got=f"{len(text) / 1e6:.1f} MB, most of it not tensors",
            do=f"trace a shorter text, or allow more: --megabytes {len(text) // 1_000_000 + 1}",
        )
    return text


def check_language(language: str) -> None:
    """Raise ConfigError for a language that the page lacks."""
    known = sorted({ENGLISH, *languages(script_files())})
    if language not in known:
        raise ConfigError(f"the page speaks {', '.join(known)}", got=language, do="choose one of these")


def title_of(trace: Trace) -> str:
    """The name of the model, else its family."""
    return (trace.origin and trace.origin.name) or f"{trace.config.family} model"


def said_of(trace: Trace) -> str:
    """What a page is of, in two sentences."""
    words = trace.words.sentence("inputs" if trace.words.inputs else "decoder_inputs", 0)
    text = " ".join((trace.origin.texts if trace.origin else ())[:1]) or " ".join(unmarked(word) for word in words)
    read = f"What it made of “{text if len(text) <= 200 else f'{text[:199]}…'}”. " if text else ""
    return f"{read}Every number on this page leads to the numbers that it was made from."


def not_shown(trace: Trace, sections: Collection[str] = ()) -> frozenset[str]:
    """The chunks of the script that draw what this run, with these sections, does not have: its page goes without."""
    return frozenset(chunk for chunk, shown in chunks_of(trace, sections).items() if not shown)


def chunks_of(trace: Trace, sections: Collection[str]) -> dict[str, bool]:
    """Every chunk that only some pages need, and whether the page of this run does."""
    encoder, decoder = trace.config.encoder is not None, trace.config.decoder is not None
    origin = trace.origin
    anew = origin is not None and origin.by_word and origin.scored_by_masks
    filled = any(name.endswith(".real") and not bool(fact.all()) for name, fact in trace.facts.items())
    rules = {formula.rule.name for formula in trace.statement.formulas.values()}
    return {
        **dict.fromkeys(OF_SERVER, False),
        "tree": decoder,
        "writing": decoder,
        "decoder": decoder,
        "translation": encoder and decoder,
        "bert": not decoder,
        "masked": not decoder or bool(trace.words.answers),
        "learning": trace.config.family == "slides",
        "encodings": "sinusoid" in rules or any(name.endswith(".position") for name in trace),
        "turned": any(rule.startswith(("rotate", "relative_bias")) for rule in rules),
        "chains": any(rule.startswith(("chain_", "best_path", "difference")) for rule in rules),
        "texts_view": anew,
        "padding": anew or filled,
        "trained": "training" in sections,
        "sections": not DRAWN_OF_SECTIONS.isdisjoint(sections),
    }


def texts_of_page() -> dict[str, bytes]:
    """What every page of a model has besides its script: the texts of the tours, the list of pictures, the quiz."""
    texts = {"tour": tour_texts(), "pictures": pictures(), "quiz": quiz()}
    return {name: json.dumps(each, ensure_ascii=False).encode() for name, each in texts.items()}


def shared_script(language: str = ENGLISH) -> str:
    """A file that pages of one site share, of a kind that opens from disk: it puts into each the elements that a page
    alone has of its own, then takes itself out, so that a page that is saved from the browser needs it no longer.
    """
    elements = {name: base64.b64encode(compressed(data)).decode() for name, data in texts_of_page().items()}
    for name, text in script_of_page(OF_SERVER, language).items():
        elements[name] = base64.b64encode(compressed(text.encode())).decode()
    return f"{PUT_SHARED}({json.dumps(elements)});\n"


def document(
    title: str,
    blocks: Mapping[str, bytes],
    root: str = '<div id="explorer">',
    *,
    place: str = "",
    shared: str = "",
    more: str = "",
    without: frozenset[str] = frozenset(),
    language: str = ENGLISH,
) -> str:
    """The page's script and style with these blocks: a record as JSON, tensors and weights as safetensors.

    `root` begins the element that the views fill; `place` is where it opens; `shared` and `more` as in `page`. It lacks
    the chunks `without`; of the languages it has English, and `language`, with which it begins.
    """
    own, policy = frame_of_page(OF_SERVER if shared else without, language)
    if shared:
        own = [f'<script src="{escape(shared)}"></script>']
        # A browser may take a file from disk for one of another site.
        policy = policy.replace("script-src ", "script-src 'self' file: ")
    scripts = [*(block_of(name, compressed(data)) for name, data in blocks.items()), *own]
    return framed(
        f"{escape(title)} · glassformer",
        [more] if more else [],
        (f"{root}<noscript>{WITHOUT_SCRIPT}</noscript></div>", *scripts, f'<script type="module">{LOADER}</script>'),
        root=f'lang="en"{_attribute("place", place)}{_attribute("language", language.removeprefix(ENGLISH))}',
        policy=f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
    )


def _attribute(name: str, value: str) -> str:
    """An attribute that the script reads, where there is something to tell."""
    return f' data-{name}="{escape(value)}"' if value else ""


@cache
def script_of_page(without: frozenset[str] = frozenset(), language: str = ENGLISH) -> dict[str, str]:
    """Style and script of a page by the names of their blocks, the script in parts; of other languages one at most."""
    files = script_files()
    parts = parts_of(files, without | (languages(files) - {language}))
    styles = [built(f"{name}.css") for name, chunks in STYLED.items() if not chunks <= without]
    style = "".join((*styles, built("explorer.css")))
    return {STYLE: style} | {f"{ID}{name.removesuffix('.js')}": text for name, text in parts.items()}


@cache
def frame_of_page(without: frozenset[str] = frozenset(), language: str = ENGLISH) -> tuple[list[str], str]:
    """The blocks of style and script, and the content policy that allows them."""
    style, *parts = (own := script_of_page(without, language)).values()
    policy = (
        f"default-src 'none'; script-src {' '.join(map(digest, (LOADER, *parts)))}; style-src {digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return [block_of(name, compressed(data.encode())) for name, data in own.items()], policy


def built(name: str) -> str:
    return resources.files("glassformer.page").joinpath("built", name).read_text(encoding="utf-8")


def script_files() -> dict[str, str]:
    """What a served page loads, by name: script and style of its `core`, and the chunks that it fetches later."""
    files = resources.files("glassformer.page").joinpath("built", "script").iterdir()
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(files, key=lambda file: file.name)}


def digest(content: str) -> str:
    """What a content policy calls this script or style by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def block_of(name: str, data: bytes) -> str:
    """Compressed bytes as an inert element: in base64 nothing in them can end it."""
    return f'<script type="application/gzip" id="{escape(name)}">{base64.b64encode(data).decode()}</script>'


def save_planes(tensors: dict[str, Tensor]) -> bytes:
    """As safetensors, the bytes of each tensor in the order that compresses well."""
    return save({name: planes(tensor) for name, tensor in tensors.items()}, {"bytes": PLANES})


def own_memory(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor in memory of its own: safetensors refuses two that share it, as tied weights do."""
    return {name: tensor.clone() for name, tensor in tensors.items()}
