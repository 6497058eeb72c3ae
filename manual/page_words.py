"""The sentences of the page that are written in Python or in its tables: `web/words/package.json`, and among them those
of the home page and of sites, `site.json`. One table for each language of the page to translate. `{0}` is a part that
is not known before; the page finds such a sentence again by what is around it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import count
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import glassformer
from glassformer.bundled.texts import notes
from glassformer.look.formulas import rules
from glassformer.look.formulas.rules.notation import Title
from glassformer.look.formulas.titles import CROSS, TITLES
from glassformer.look.summaries.attributions import NOTE
from glassformer.page.documents import documents
from glassformer.page.server.home import GROUPS
from glassformer.page.site.examples import rows_of_table
from glassformer.page.site.home import OPENING_WORDS, SAID, TITLE
from glassformer.page.tour import pictures, quiz, tour_texts

WORDS = Path(__file__).resolve().parents[1] / "web" / "words"
FILE, OF_SITE = WORDS / "package.json", WORDS / "site.json"

HONESTY = (
    "Tracing does not change the output: relative difference {0} from the fast kernels in {1} (limit {2}), {3} from "
    "prediction in {4}.",
    "Tracing does not change the output: relative difference {0} from the fast kernels in {1} (limit {2}), {3} from "
    "prediction in {4}. Measured before the changes by hand.",
    "THE TRACE DIFFERS FROM THE OUTPUT, MOST IN {0}: relative difference {1} from the fast kernels in {2} (limit {3}), "
    "{4} from prediction in {5}.",
    "THE TRACE DIFFERS FROM THE OUTPUT, MOST IN {0}: relative difference {1} from the fast kernels in {2} (limit {3}), "
    "{4} from prediction in {5}. Measured before the changes by hand.",
)
SECTIONS = (
    "places of this run that are not listed: {0}",
    "{0} more answers",
    "this model can read no text that it has not learned from: its vocabulary has only their words",
    "{0} sentences of the package that no model of it has learned from",
)
ADDED = (
    "The word alone: no position is added",
    *("Word and position are added", "Word and segment are added", "Word, position and segment are added"),
    "The scores are first divided by the temperature {0}, fitted on held-out records.",
)
TERMS = (
    *("before", "gate · x", "not labelled: as before", "logit", "first label", "score so far", "onwards", "score"),
    *("less", "forbidden: out of reach", "forbidden: fill", "sine of the angle", "cosine of the angle"),
    *("own · cosine", "partner · sine", "nothing", "x / deviation", "− mean / deviation", "bias", "scaled"),
    *(
        "bucket {0}",
        "channel {0}",
        "row {0}",
        "within {0}",
        "ahead",
        "padding",
        "same document",
        "masked",
        "custom mask",
    ),
    *("not ahead", "not padding", "not masked", "stream", "update"),
    *("sine", "cosine"),
)
"""What a rule calls a term of its number."""
AXES = (
    *("sentence", "token", "query", "key", "head", "key–value head", "channel", "vocabulary", "label", "candidate"),
    *("input", "layer", "row", "position", "place", "distance"),
)
NAMES = (
    *("query", "key", "value", "scores", "scaled", "biased", "masked", "norm", "logits", "probabilities"),
    *("log probabilities", "word", "position", "segment", "sum", "loss", "gate", "gated", "pooled", "states", "memory"),
    *(
        "first",
        "mean",
        "max",
        "hidden",
        "output",
        "activated",
        "ids",
        "positions",
        "real",
        "segments",
        "masked words",
        "labels",
        "labelled",
        "vectors",
    ),
    *(
        "relative bias",
        "sentence head",
        "token head",
        "head",
        "choice",
        "embed",
        "encoder",
        "decoder",
        "feed forward",
        "residual",
        "block",
        "attention",
        "table",
        "cross",
    ),
)
"""How the page calls tensors and parts of a model by the last word of their names."""

SITE = (
    *(TITLE, SAID, *GROUPS.values(), *OPENING_WORDS, "models", "the whole model", "What does each head do?"),
    *("How does it learn?", "What does {0} do?", "the words", "block {0}", "encoder", "decoder"),
    "Block {0} gives “{1}” {2} of the attention of “{3}”, and “{4}” {5}.",
    "Block {0} gives “{1}” {2} of the attention of the hidden word.",
    "In block {0}, “{1}” takes {2} of its attention from “{3}”.",
    "“{0}” is the first guess from the start, at the end with {1}.",
    "“{0}” is the first guess from block {1} on, at the end with {2}.",
    "After all blocks, the hidden word has more of “{0}” than of any other word: {1}.",
    "After all blocks, “{0}” has more of “{1}” than of any other word: {2}.",
    "{0}, head {1}",
    *("encoder, {0} blocks; decoder, {1} blocks; {2} weights", "encoder, 1 block; decoder, 1 block; {0} weights"),
    *("{0}, {1} blocks; {2} weights", "{0}, 1 block; {1} weights"),
)
"""The home page, and the cards on it: what Python writes of them, besides the questions of `examples.toml`."""
WRITTEN_IN = (
    "page/server/*.py",
    "run/serving/limits.py",
    "convert/hub.py",
    "look/texts/reader.py",
    "saved/opening.py",
    "text/library.py",
)
"""Where refusals of the explorer's server are written; others are in English."""
NO_MODEL = "there is no model {0}: it is neither a folder nor a bundled model ({1})"


def sentences() -> list[str]:
    """All of them, each once, in the order of their tables."""
    found = [*titles(), *ADDED, *HONESTY, *SECTIONS, NOTE, *TERMS, *AXES, *NAMES]
    for note in notes():
        found += [note.sentence, note.said_elsewhere("")]
    for tour in tour_texts().values():
        found += texts_in(tour, ("correction",))
    for question in quiz()["question"]:
        found += [question["question"], *question["choices"], question["because"]]
    listing = pictures()
    found += [*listing["documents"].values(), *listing["reasons"].values()]
    for picture in listing["picture"]:
        found += [picture["title"], picture["says"], picture["where"]]
    found += [table["document"] for table in documents()["scores"]]
    for picture in documents()["pictures"].values():
        found += [picture[name] for name in ("source", "told", "lacks") if name in picture]
    found += [*site(), *refusals(), NO_MODEL, "{0} must hold at least one", "did you mean {0}?", "choose from: {0}"]
    return [text for text in dict.fromkeys(found) if any(letter.isalpha() for letter in text)]


def site() -> list[str]:
    """The words of the home page and of a site."""
    rows = [row for rows in rows_of_table().values() for row in rows]
    return list(dict.fromkeys((*SITE, *(row["question"] for row in rows))))


def refusals() -> Iterator[str]:
    """What errors are raised with in the files of `WRITTEN_IN`: what was wanted, what came, what to do."""
    package = Path(glassformer.__file__).parent
    for file in sorted(file for pattern in WRITTEN_IN for file in package.glob(pattern)):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.endswith("Error"):
                todo = [each.value for each in call.keywords if each.arg in ("do", "got")]
                made = filter(None, map(template, (*call.args[:1], *todo)))
                yield from (each for each in made if each != "{0} and {1}")  # which fits any sentence


def template(node: ast.expr) -> str:
    """A text with `{0}` in the place of each value that is put into it; nothing for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    places = count()
    parts = (part.value if isinstance(part, ast.Constant) else f"{{{next(places)}}}" for part in node.values)
    return "".join(map(str, parts))


def titles() -> Iterator[str]:
    """What the steps of a walk-through are called."""
    yield from (title.text for title in (*TITLES.values(), *CROSS.values()))
    for module in iter_modules(rules.__path__, f"{rules.__name__}."):
        for rule in vars(import_module(module.name)).values():
            title = getattr(rule, "title", None)
            if isinstance(rule, type) and isinstance(title, Title):
                yield title.text


def texts_in(table: Mapping[str, Any], without: tuple[str, ...]) -> Iterator[str]:
    """The texts of a table and of those in it, but for some fields."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from texts_in(value, without)
        elif isinstance(value, str) and name not in without:
            yield value


def text(listed: list[str]) -> str:
    """A file as it should be."""
    return json.dumps(listed, ensure_ascii=False, indent=1) + "\n"


def write() -> None:
    """Write both files."""
    WORDS.mkdir(exist_ok=True)
    FILE.write_text(text(sentences()), encoding="utf-8")
    OF_SITE.write_text(text(site()), encoding="utf-8")
