"""What a graph is compared on where no texts are given, and what of an answer is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from glassformer.answering.answers import predictor_for
from glassformer.base.errors import ConfigError
from glassformer.convert.onnx.heads import FEATURES, ExportedHead
from glassformer.saved.artefact import Artefact
from glassformer.tasks import task_named
from glassformer.tasks.predictor import Predictor
from glassformer.text.tokenizer import MASK

SENTENCES = (
    "Yes.",
    "The rain stopped at noon.",
    "She reads letters by the window in summer, and nobody in the house asks her why.",
    "A train that was two hours late left the station without its passengers; the driver had not been told.",
    "Nobody liked the film, but the music was good, and the last ten minutes were better than all that came before.",
)
LONG = " ".join(SENTENCES * 4)
_QUESTION = "Who reads letters by the window?"
# What a verb reads beside a text, made of each text.
RECORDS: Mapping[str, Callable[[str], dict[str, object]]] = {
    "fill": lambda text: {"text": text if MASK in text else _masked(text)},
    "choose": lambda text: {"text": text, "choices": list(SENTENCES[:3])},
    "answer": lambda text: {"text": _QUESTION, "pair": text},
}
# Verbs that read more than one text, which an option for texts cannot give.
SEVERAL = ("choose", "answer")
# What an answer comes down to, by verb; None where it is a number.
VERDICTS: Mapping[str, Callable[[Any], object]] = {
    "fill": lambda found: [mask.guesses[0].token for mask in found.masks],
    "classify": lambda found: getattr(found, "label", getattr(found, "chosen", None)),
    "choose": lambda found: found.index,
    "tag": lambda found: found.tags,
    "answer": lambda found: found.text,
}


def predictor_of(model: Artefact, head: ExportedHead) -> Predictor[Any, Any] | None:
    """What answers with this head; None for a model that has nothing to say, as a head without names for its labels."""
    try:
        return predictor_for(model, verb_of(model, head), {})
    except ConfigError:
        return None


def verb_of(model: Artefact, head: ExportedHead) -> str:
    """The verb that answers with this head; none with features."""
    if head.name == FEATURES:
        return ""
    if model.task_name is None or not head.heads:
        return "fill"
    return task_named(model.task_name).verbs.get(head.heads[-1], "fill")


def alone(text: str) -> dict[str, object]:
    """The record of a text."""
    return {"text": text}


def _masked(text: str) -> str:
    """A text with its longest word masked."""
    words = text.split(" ")
    words[max(range(len(words)), key=lambda place: len(words[place]))] = MASK
    return " ".join(words)
