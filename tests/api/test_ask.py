"""`Model.ask`: any verb by its name, held against the method of the same name."""

from typing import Any

import pytest

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError, GlassformerError
from glassformer.tasks.predictor import TOKEN_BY_TOKEN
from tests.refusals import refused


@pytest.fixture(scope="module")
def words() -> Model:
    return gf.load("english")


@pytest.fixture(scope="module")
def translator() -> Model:
    return gf.load("en-fr")


def test_a_verb_is_asked_by_its_name(words: Model) -> None:
    text = "this summer is [MASK]"
    assert words.ask("fill", text, options={"top": 3}).to_dict() == words.fill(text, top=3).to_dict()
    assert len(words.ask("fill", text, options={"top": 3}).masks[0].guesses) == 3


def test_several_texts_have_as_many_answers_in_their_order(words: Model) -> None:
    texts = ["this summer is [MASK]", "[MASK] summer is hot"]
    assert [each.text for each in words.ask("fill", texts)] == [words.fill(text).text for text in texts]


def test_what_belongs_to_each_text_is_given_by_its_role(translator: Model) -> None:
    found = translator.ask("score", ["I am a student.", "Hello."], target=["Je suis étudiant.", "Bonjour."])
    alone = translator.score("Hello.", "Bonjour.")
    assert found[1].total == pytest.approx(alone.total, abs=1e-4)
    assert found[0].total != pytest.approx(alone.total, abs=1e-4)


def test_texts_that_can_be_read_once_have_a_second_text_too() -> None:
    model, texts = gf.load("next-sentence"), ["I like tea.", "It rains."]
    once: Any = (text for text in texts)
    found = model.classify(once, pair="Me too.")
    assert [each.text for each in found] == texts
    assert {each.pair for each in found} == {"Me too."}


def test_a_verb_that_writes_takes_the_options_of_writing(translator: Model) -> None:
    asked = translator.ask("translate", "I am a student.", options={"beams": 1, "max_tokens": 3})
    assert asked.to_dict() == translator.translate("I am a student.", beams=1, max_tokens=3).to_dict()


@pytest.mark.parametrize(
    ("given", "named", "kind"),
    [
        (("fil", "a [MASK]"), {}, ConfigError),
        (("fill", "a [MASK]", "b"), {}, ConfigError),
        (("fill", "a [MASK]"), {"options": {"topp": 3}}, ConfigError),
        (("fill", "a [MASK]"), {"options": {"beams": 3}}, ConfigError),
        (("classify", "a"), {"options": {"top": 3}}, ConfigError),
        (("answer", "a?", "b c"), {}, ConfigError),
        *((("fill", "a [MASK]"), {"options": {"top": top}}, ConfigError) for top in (None, "5", 1.5, True, 0)),
        (("fill", 3), {}, DataError),
        (("fill", ["a [MASK]", 3]), {}, DataError),
        (("classify", ["a", "b"], ["c"]), {}, DataError),
    ],
)
def test_what_cannot_be_asked_is_refused(
    words: Model, given: tuple[Any, ...], named: dict[str, Any], kind: type[GlassformerError]
) -> None:
    with pytest.raises(kind):
        words.ask(*given, **named)


@pytest.mark.parametrize("verb", ["fill", "score"])
def test_a_text_that_is_answered_token_by_token_is_not_a_whole_library(words: Model, verb: str) -> None:
    with refused(DataError, wanted=f"{TOKEN_BY_TOKEN:,}", got=f"{TOKEN_BY_TOKEN + 1:,}"):
        words.ask(verb, "a" * (TOKEN_BY_TOKEN + 1))
