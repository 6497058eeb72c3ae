"""Beams with penalties and in groups: as a plain search finds them; words that must and must not occur."""

from typing import Any

import pytest

from glassformer.base.errors import ConfigError
from glassformer.decode.candidates import Option, options, progress, shared_out
from glassformer.decode.hypotheses import Sentence
from glassformer.decode.loop import decode
from glassformer.decode.request import Hypothesis, Request, occurs
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted
from tests.decode.reference import searched
from tests.decode.sentences import BEAM, IDS, ROUNDING, answers, named, requests, whole, words
from tests.refusals import refused

SEARCHES: dict[str, dict[str, Any]] = {
    "plain": {},
    "length": {"length_penalty": 0.6},
    "coverage": {"length_penalty": 0.6, "coverage_penalty": 0.4},
    "groups": {"beams": 4, "groups": 2, "diversity": 0.7, "n_best": 4},
    "groups of one": {"groups": 3, "diversity": 1.5},
    "groups that agree": {"beams": 4, "groups": 2, "n_best": 4},
    "groups with a length": {"beams": 4, "groups": 2, "diversity": 0.7, "length_penalty": 1.2, "n_best": 1},
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("search", SEARCHES)
def test_beams_are_those_of_a_plain_search(search: str) -> None:
    model = named("marian").model()
    asked = requests(model, 4)
    settings = DecodeSettings.model_validate({**BEAM.model_dump(), "max_tokens": 5, **SEARCHES[search]})
    for number, found in answers(model, asked, settings, slots=3).items():
        expected = searched(model, asked[number], settings)
        assert [whole(answer) for answer in found] == [tokens for _, tokens in expected]
        assert [answer.score for answer in found] == pytest.approx([score for score, _ in expected], abs=ROUNDING)


def test_of_answers_with_equal_scores_the_first_found_comes_first() -> None:
    """Among the three best: as a stable sort of all has them."""
    scores = [-2.0, -1.0, -2.0, -1.0, -3.0, -1.0, -0.5, -2.0]
    every = [Hypothesis((number,), (score,), True, score, score) for number, score in enumerate(scores)]
    sentence = Sentence(Request(0))
    for count, answer in enumerate(every, start=1):
        sentence.add(answer, 3)
        assert sentence.answers == sorted(every[:count], key=lambda each: -each.score)[:3]


def test_no_answer_is_found_twice_by_groups() -> None:
    """Without diversity three groups find thrice what one finds: its two hypotheses, and what ended before."""
    model = named("marian").model()
    settings = BEAM.model_copy(update={"beams": 6, "groups": 3, "n_best": 6})
    alone = BEAM.model_copy(update={"beams": 2, "n_best": 2})
    asked = requests(model, 6)
    of_one = answers(model, asked, alone)
    for number, found in answers(model, asked, settings, slots=4).items():
        assert len({whole(answer) for answer in found}) == len(found)
        assert [whole(answer) for answer in found[:2]] == [whole(answer) for answer in of_one[number]]


def test_groups_differ_more_than_beams() -> None:
    model = named("marian").model()
    asked = requests(model, 6)
    settings = BEAM.model_copy(update={"beams": 4, "n_best": 4})
    apart = settings.model_copy(update={"groups": 4, "diversity": 5.0})

    def firsts(of: DecodeSettings) -> int:
        return sum(len({answer.ids[:1] for answer in found}) for found in answers(model, asked, of).values())

    assert firsts(apart) > firsts(settings)


FORCED: tuple[tuple[tuple[int, ...], ...], ...] = (((9,),), ((9,), (4, 11)), ((4, 11, 4), (12,), (13,)), ((3, 3, 3),))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("forced", FORCED, ids=str)
@pytest.mark.parametrize("beams", [1, 3])
def test_forced_words_occur_in_every_answer(forced: tuple[tuple[int, ...], ...], beams: int) -> None:
    model = named("marian").model()
    least = sum(map(len, forced)) + 1
    asked = [
        Request(each.number, source=each.source, forced=words(*forced), max_tokens=least + each.number)
        for each in requests(model, 5)
    ]
    settings = BEAM.model_copy(update={"beams": beams, "n_best": 1})
    for number, found in answers(model, asked, settings, slots=2, forced=True).items():
        (answer,) = found
        assert all(occurs(word, answer.ids) for word in forced)
        assert len(whole(answer)) <= least + number


def test_sentences_without_forced_words_do_not_notice_those_with() -> None:
    model = named("marian").model()
    free = requests(model, 4)
    bound = [Request(9 + each.number, source=each.source, forced=words((9,), (4, 11))) for each in free]
    alone = answers(model, free, BEAM)
    together = answers(
        model, [each for pair in zip(free, bound, strict=True) for each in pair], BEAM, slots=3, forced=True
    )
    assert {number: [each.ids for each in found] for number, found in together.items() if number < 9} == {
        number: [each.ids for each in found] for number, found in alone.items()
    }


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_forbidden_words_occur_in_no_answer(method: str) -> None:
    model = named("marian").model()
    settings = DecodeSettings.model_validate({"method": method, "max_tokens": 8, "min_tokens": 8})
    asked = requests(model, 6)
    free = answers(model, asked, settings)
    seen = [answer.ids for found in free.values() for answer in found]
    forbidden = {number: ((found[0].ids[0],), found[0].ids[2:4], (7, 7, 7)) for number, found in free.items()}
    bound = [Request(each.number, source=each.source, forbidden=forbidden[each.number]) for each in asked]
    found = answers(model, bound, settings, slots=4)
    assert seen
    for number, (answer,) in found.items():
        assert not any(occurs(word, answer.ids) for word in forbidden[number])
        # The log-probabilities are the model's own, whatever was left out.
        assert answer.log_probability == pytest.approx(sum(answer.token_log_probabilities))


IMPOSSIBLE: dict[str, tuple[Request, str, str]] = {
    "too many": (Request(7, source=(5,), forced=words((3,), (4, 5, 6, 8, 9, 10))), "8", "max_tokens = 7"),
    "too many after the prefix": (
        Request(7, source=(5,), prefix=(3,) * 5, forced=words((4, 5))),
        "8",
        "max_tokens = 7",
    ),
    "both": (Request(7, source=(5,), forced=words((3, 4, 5)), forbidden=((4, 5),)), "[3, 4, 5]", "[4, 5]"),
    "prefix": (Request(7, source=(5,), prefix=(3,), forbidden=((3,),)), "[3]", "[3]"),
    "the end": (Request(7, source=(5,), forced=words((3, 2))), "end", "[3, 2]"),
    "no tokens": (Request(7, source=(5,), forbidden=((),)), "token", "empty"),
    "no such token": (Request(7, source=(5,), forced=words((23,))), "22", "23"),
    "no such source": (Request(7, source=(-1,)), "22", "-1"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_requests_are_refused(name: str) -> None:
    request, wanted, got = IMPOSSIBLE[name]
    with refused(ConfigError, wanted=("request 7", wanted), got=got):
        list(decode(named("marian").model(), [request], Wanted(BEAM, ids=IDS)))


def test_forced_words_need_beams() -> None:
    asked = [Request(0, source=(5,), forced=words((3,)))]
    with refused(ConfigError, wanted="beam", got="greedy"):
        list(decode(named("marian").model(), asked, Wanted(DecodeSettings(), ids=IDS)))


def test_where_nothing_is_allowed_there_is_no_answer() -> None:
    model = named("marian").model()
    nothing = tuple((token,) for token in range(23))
    for method in ("greedy", "beam", "sample"):
        settings = DecodeSettings.model_validate({"method": method, "max_tokens": 9})
        found = answers(model, [Request(0, source=(5,), forbidden=nothing), Request(1, source=(5,))], settings)
        assert found[0] == []
        assert len(found[1]) == 1


def test_progress_counts_whole_words_and_the_one_begun_at_the_end() -> None:
    forced = words((4, 5, 6), (7,))
    assert [progress(text, forced) for text in ([], [4], [4, 5], [4, 5, 4], [4, 5, 6], [4, 5, 6, 1, 7])] == [
        0, 1, 2, 1, 3, 4,
    ]  # fmt: skip


def test_beams_are_shared_out_by_progress() -> None:
    ordered = [Option(-float(rank), 0, rank, progress) for rank, progress in enumerate([0, 0, 0, 1, 0, 2, 1])]
    tokens = [option.token for option in shared_out(ordered, 4)]
    assert tokens == [0, 3, 5, 6]  # two of the most progress were asked for, and it has one: the next takes over
    assert [option.token for option in shared_out(ordered, 1)] == [5]
    assert len(shared_out(ordered, 99)) == 7


def test_options_hold_what_is_best_and_what_is_missing() -> None:
    import torch

    scores = torch.tensor([[0.0, -1.0, -2.0, -3.0], [-5.0, -4.0, -6.0, -torch.inf]])
    found = options([(0.0, 0, 0), (-torch.inf, 0, 3)], [[], [2]], words((2, 3)), scores)
    assert {(each.parent, each.token, each.score, each.progress) for each in found} == {
        (0, 0, 0.0, 0), (0, 2, -2.0, 1), (1, 1, -4.0, 0), (1, 2, -6.0, 1),
    }  # fmt: skip
