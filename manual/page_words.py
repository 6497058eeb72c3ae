"""The sentences of the page that are written in Python or in its tables: `web/words/package.json`, one table for each
language of the page to translate. `{0}` is a part that is not known before; the page finds such a sentence again by
what is around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from glassformer.bundled.texts import notes
from glassformer.look.formulas import rules
from glassformer.look.formulas.rules.notation import Title
from glassformer.look.formulas.titles import CROSS, TITLES
from glassformer.look.summaries.attributions import NOTE
from glassformer.page.documents import documents
from glassformer.page.tour import pictures, quiz, tour_texts

FILE = Path(__file__).resolve().parents[1] / "web" / "words" / "package.json"

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
    "{0} more places",
    "{0} more answers",
    "after the last block there are {0} shares: more than the {1} that a page carries",
    "the blocks before the last: these texts are too long for all of them",
    "this model can read no text that it has not learned from: its vocabulary has only their words",
    "{0} sentences of the package that no model of it has learned from",
)
ADDED = (
    "The word alone: no position is added",
    *("Word and position are added", "Word and segment are added", "Word, position and segment are added"),
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
    return [text for text in dict.fromkeys(found) if any(letter.isalpha() for letter in text)]


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


def text() -> str:
    """The file as it should be."""
    return json.dumps(sentences(), ensure_ascii=False, indent=1) + "\n"


def write() -> None:
    """Write the file."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), encoding="utf-8")
