"""A verb and a text to try a model with."""

from glassformer.base.errors import GlassformerError
from glassformer.saved.artefact import Artefact
from glassformer.tasks import VERBS, predictor_of, task_named, verb_of
from glassformer.text.tokenizer import MASK

_ANY_TEXT = f"A text with one {MASK} in it."


def example(model: Artefact) -> tuple[str, list[str]]:
    """A verb and what to give it: words of the model's vocabulary where it has no token for unknown words."""
    verb = "" if model.task is None else verb_of(model.task.name)
    if model.task is None or verb not in VERBS or not model.has_tokenizer:
        return "info", []
    kind = predictor_of(verb, model.task.name, model.config)
    texts, option = kind.sample, kind.sample_option
    if not texts:
        return "info", []
    if len(texts) == 1 and option and task_named(model.task.name).reads_pairs(model.data):
        texts *= 2
    if words := _only_words(model):
        masked = MASK in texts[0]
        texts = (*words, *words[:1] * len(texts))[: len(texts)]
        texts = (f"{texts[0]} {MASK}",) if masked else texts
    first, *others = texts
    return verb, [first, *(word for text in others for word in (option, text))]


def _only_words(model: Artefact) -> tuple[str, ...]:
    """The words that a model knows where it reads no others; () where it reads any text."""
    try:
        model.tokenizer.encode(_ANY_TEXT)
    except GlassformerError:
        special = model.tokenizer.special_ids
        return tuple(token for id_, token in enumerate(model.tokenizer.vocabulary()) if id_ not in special)
    return ()
