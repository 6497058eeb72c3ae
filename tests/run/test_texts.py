"""What is no text is refused by each verb in one sentence, alone and in a list."""

from collections.abc import Callable
from typing import Any

import pytest

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError, DataError
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.train import train_tokenizer
from tests.refusals import refused
from tests.translators import translating

# What all verbs have in common happens before a model is asked: any model will do.
VERBS: dict[str, Callable[[Model, Any], object]] = {
    "fill": lambda model, text: model.fill(text),
    "score": lambda model, text: model.score(text),
    "score with a target": lambda model, text: model.score(text, "Elle"),
    "classify": lambda model, text: model.classify(text),
    "classify with a pair": lambda model, text: model.classify(text, "Elle"),
    "choose": lambda model, text: model.choose(text, [["a", "b"]] * 2),
    "tag": lambda model, text: model.tag(text),
    "answer": lambda model, text: model.answer(text, "Elle"),
    "translate": lambda model, text: model.translate(text),
    "trace": lambda model, text: model.trace(text),
}


@pytest.fixture(scope="module")
def model() -> Model:
    texts = ["She likes the summer better than the winter."] * 9
    tokenizer = train_tokenizer("wordpiece", texts, vocabulary=60)
    config = bert(layers=1, width=8, heads=2, feed_forward=8, vocabulary=tokenizer.vocabulary_size, max_length=12)
    return Model(build(config), tokenizer, task=MaskedLMSection(), length=12)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("given", [None, 3, b"She", {"text": "She"}], ids=str)
def test_what_is_no_text_is_refused(model: Model, verb: str, given: object) -> None:
    with refused(DataError, wanted="text", got=repr(given)):
        VERBS[verb](model, given)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("given", [None, 3, ["She"]], ids=str)
def test_it_is_refused_in_a_list_with_its_number(model: Model, verb: str, given: object) -> None:
    with refused(DataError, wanted=("text", "2"), got=repr(given)):
        VERBS[verb](model, ["She", given])


def test_what_belongs_to_a_text_is_one_or_several(model: Model) -> None:
    several: Any = 3
    with refused(DataError, wanted="pair", got="3"):
        model.classify(["She"], several)
    with refused(DataError, wanted="words", got="3"):
        model.tag(words=several)
    with refused(DataError, wanted="second text", got="3"):
        model.trace("She", several)
    with refused(ConfigError, wanted="target", got="bert"):
        model.score("She", "Elle")


@pytest.mark.parametrize("of", [tuple, iter, lambda texts: (each for each in texts)])
def test_texts_may_come_from_anything_that_has_several(of: Callable[[list[str]], Any]) -> None:
    model = translating()
    texts = ["She likes", "He"]
    assert [each.text for each in model.translate(of(texts), beams=1, max_tokens=3)] == texts


def test_a_search_has_all_settings_and_is_one() -> None:
    model = translating()
    search = gf.DecodeSettings(method="beam", beams=2)
    with refused(ConfigError, got="n_best = 2", do="search"):
        model.translate("She", search=search, n_best=2)
    other: Any = {"beams": 2}
    with refused(ConfigError, wanted="DecodeSettings", got="beams"):
        model.translate("She", search=other)
    with refused(ConfigError, wanted="prefix", got="3"):
        model.translate("She", prefix=other["beams"] + 1)


@pytest.mark.parametrize("given", [None, 3], ids=str)
def test_what_is_no_path_is_refused(model: Model, given: Any) -> None:
    for refusing, kind in ((model.evaluate, DataError), (gf.load, CheckpointError), (model.save, CheckpointError)):
        with refused(kind, wanted="path", got=repr(given)):
            refusing(given)


def test_any_verb_is_asked_by_its_name(model: Model) -> None:
    text = "She [MASK] the summer."
    assert model.ask("fill", text, options={"top": 2}) == model.fill(text, top=2)
    assert model.ask("score", [text, "She"]) == model.score([text, "She"])
    with pytest.raises(ConfigError):
        model.ask("unknown", text)
