"""A verb and a text to try a model with."""

from __future__ import annotations

from collections.abc import Mapping

from glassformer.base.errors import GlassformerError
from glassformer.saved.artefact import Artefact
from glassformer.tasks import task_named, verb_of
from glassformer.text.tokenizer import MASK

# The texts that a verb is tried with, and the option of those after the first.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "fill": (f"A text with one {MASK} in it.",),
    "classify": ("A text that you want to classify.",),
    "choose": ("A text with several candidates.", "the first candidate", "the second candidate"),
    "tag": ("A text in which you want to tag words.",),
    "answer": ("What is in the passage?", "The answer is in the passage."),
    "translate": ("A text that you want to translate.",),
    "generate": ("Once upon a time",),
    "chat": ("Hi, how are you?",),
}
_OPTIONS = {"classify": "--pair", "choose": "--choice", "answer": "--context"}


def example(model: Artefact) -> tuple[str, list[str]]:
    """A verb and what to give it: words of the model's vocabulary where it has no token for unknown words."""
    verb = "" if model.task is None else verb_of(model.task.name)
    if model.task is None or verb not in _TEXTS or not model.has_tokenizer:
        return "info", []
    texts = _TEXTS[verb]
    if verb == "classify" and task_named(model.task.name).reads_pairs(model.data):
        texts *= 2
    if words := _only_words(model):
        texts = (*words, *words[:1] * len(texts))[: len(texts)]
        texts = (f"{texts[0]} {MASK}",) if verb == "fill" else texts
    first, *others = texts
    return verb, [first, *(word for text in others for word in (_OPTIONS[verb], text))]


def _only_words(model: Artefact) -> tuple[str, ...]:
    """The words that a model knows where it reads no others; () where it reads any text."""
    try:
        model.tokenizer.encode(_TEXTS["fill"][0])
    except GlassformerError:
        special = model.tokenizer.special_ids
        return tuple(token for id_, token in enumerate(model.tokenizer.vocabulary()) if id_ not in special)
    return ()
