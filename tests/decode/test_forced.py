"""Forced words never make an answer worse than one that has them without being forced."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from glassformer.base.errors import ConfigError
from glassformer.decode.loop import decode
from glassformer.decode.request import ForcedWord, Request, contains, occurs
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted
from tests.decode.sentences import BEAM, IDS, ROUNDING, answers, log_probabilities, named, requests, whole, words
from tests.refusals import refused


@pytest.mark.sampled(2)
@pytest.mark.parametrize("alpha", [0.0, 0.8])
@pytest.mark.parametrize("beams", [2, 4])
@pytest.mark.parametrize("name", ["marian", "gpt2"])
def test_what_a_free_search_finds_with_the_words_is_found(name: str, beams: int, alpha: float) -> None:
    model = named(name).model()
    settings = BEAM.model_copy(update={"beams": beams, "n_best": beams, "length_penalty": alpha})
    asked = requests(model, 6)
    free = answers(model, asked, settings)
    worse = 0
    for size, at in ((1, 0), (1, 2), (2, 1)):
        bound = {
            number: Request(number, source=asked[number].source, prompt=asked[number].prompt, forced=words(word))
            for number, found in free.items()
            if len(word := found[-1].ids[at : at + size]) == size
        }
        for number, found in answers(model, [*bound.values()], settings, slots=4, forced=True).items():
            (forced,) = bound[number].forced
            admissible = [answer for answer in free[number] if occurs(forced.inside, answer.ids)]
            assert len(found) >= len(admissible) > 0
            for mine, its in zip(found, admissible, strict=False):
                assert mine.score >= its.score - ROUNDING
            assert len({whole(answer) for answer in found}) == len(found)
            assert [answer.score for answer in found] == sorted((answer.score for answer in found), reverse=True)
            worse += len(admissible) < len(free[number])
    assert worse or beams == 2  # some words are not in all answers


def test_answers_with_forced_words_are_those_of_a_sentence_alone_and_have_the_models_probabilities() -> None:
    model = named("marian").model()
    asked = requests(model, 7, forced=words((9,), (4, 11)))
    together = answers(model, asked, BEAM, slots=3, forced=True)
    for request in asked:
        alone = answers(model, [request], BEAM, forced=True)[request.number]
        for mine, its in zip(together[request.number], alone, strict=True):
            assert mine.ids == its.ids
            logs = log_probabilities(model, request, whole(mine))  # [T, V]
            expected = sum(float(logs[place, token]) for place, token in enumerate(whole(mine)))
            assert mine.log_probability == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("written", [(4, 10), (9, 8, 4, 10), (6, 7, 10)], ids=["first", "after a sign", "in parts"])
def test_a_word_may_stand_at_the_beginning_or_in_other_tokens(written: tuple[int, ...]) -> None:
    model = named("marian").model(vocabulary=12)
    pieces = ("", "", "", " ab", "ab", " a", "a", "b", "'", " x", ".", " b")

    def text_of(ids: Sequence[int]) -> str:
        return "".join(pieces[id_] for id_ in ids).lstrip()

    settings = BEAM.model_copy(update={"beams": 2, "n_best": 1})
    free = Request(0, source=(5, 6), prefix=written)
    bound = replace(free, forced=(ForcedWord((3,), (4,), "ab"),))
    (expected,) = answers(model, [free], settings)[0]
    (found,) = answers(model, [bound], settings, forced=True, text_of=text_of)[0]
    assert found.ids == expected.ids


@pytest.mark.parametrize("beams", [1, 2, 4])
def test_a_longer_word_is_another_word(beams: int) -> None:
    pieces = (" y", " z", "", " ab", "ab", " a", "a", "b", "'", " x", ".", " b")

    def text_of(ids: Sequence[int]) -> str:
        return "".join(pieces[id_] for id_ in ids).lstrip()

    model = named("marian").model(vocabulary=12)
    settings = BEAM.model_copy(update={"beams": beams, "n_best": 1})
    asked = requests(model, 12, forced=(ForcedWord((3,), (4,), "ab"),))
    found = answers(model, asked, settings, forced=True, text_of=text_of)
    texts = [text_of(answer.ids) for (answer,) in found.values()]
    assert all(contains(text, "ab") for text in texts)
    assert len(found) == len(asked)


def test_the_words_of_requests_are_announced() -> None:
    asked = [Request(0, source=(5,), forced=words((3,)))]
    with refused(ConfigError, wanted="forced", got="False"):
        list(decode(named("marian").model(), asked, Wanted(BEAM, ids=IDS)))
    groups = BEAM.model_copy(update={"beams": 4, "groups": 2})
    with refused(ConfigError, wanted="one group", got="groups = 2"):
        list(decode(named("marian").model(), asked, Wanted(groups, ids=IDS, forced=True)))


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_what_follows_a_prefix_can_be_restricted(method: str) -> None:
    model = named("marian").model()
    settings = DecodeSettings.model_validate({"method": method, "max_tokens": 8})
    some = (7, 8, 2)
    free = requests(model, 5, prefix=(9, 4))
    bound = requests(model, 5, prefix=(9, 4), following=some)
    loose, found = (answers(model, asked, settings, slots=2) for asked in (free, bound))
    seen = 0
    for number, (answer,) in found.items():
        tokens = whole(answer)
        assert tokens[2] in some
        logs = log_probabilities(model, bound[number], tokens)
        expected = [float(logs[place, token]) for place, token in enumerate(tokens)]
        assert answer.token_log_probabilities == pytest.approx(expected, abs=ROUNDING)
        seen += whole(loose[number][0])[2] not in some
    assert seen > 1
