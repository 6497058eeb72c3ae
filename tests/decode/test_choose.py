"""Choosing tokens: against sorting everything, and against the definitions of the filters."""

from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.decode.choose import best_candidates, best_tokens, drawn, filtered, largest


@pytest.mark.parametrize("vocabulary", [5, 64, 130, 1000])
@pytest.mark.parametrize("count", [1, 4, 10])
def test_the_best_candidates_are_those_of_a_stable_sort_of_all(vocabulary: int, count: int) -> None:
    logits = torch.randn(6, 3, vocabulary, dtype=torch.float64)
    logits[3:] = logits[3:].round()  # many are equal
    offset = torch.tensor([0.0, -0.5, -torch.inf], dtype=torch.float64).expand(6, -1)
    total = (logits + offset[:, :, None]).flatten(1)  # [R, B * V]
    values, places = total.sort(dim=1, descending=True, stable=True)
    found = best_candidates(logits, offset, count)
    assert torch.equal(found.score, values[:, :count])
    finite = found.score > -torch.inf
    assert torch.equal((found.parent * vocabulary + found.token)[finite], places[:, :count][finite])


@pytest.mark.parametrize("vocabulary", [5, 64, 130, 1000])
def test_the_best_token_is_the_first_of_the_largest(vocabulary: int) -> None:
    logits = torch.randn(40, 3, vocabulary)
    logits[20:] = logits[20:].round()
    order = logits.sort(dim=-1, descending=True, stable=True).indices
    assert torch.equal(best_tokens(logits), order[..., 0])


def test_of_equal_numbers_the_first_come_first() -> None:
    numbers = torch.tensor([[1.0, 3.0, 3.0, 3.0, 2.0], [-torch.inf, -torch.inf, 1.0, -torch.inf, -torch.inf]])
    values, places = largest(numbers, 2)
    assert places[0].tolist() == [1, 2]
    assert (values[1].tolist(), int(places[1, 0])) == ([1.0, -torch.inf], 2)


def kept(logits: list[float], top_k: int | None = None, top_p: float | None = None, min_p: float | None = None) -> str:
    """The tokens that may be drawn, as letters."""
    left = filtered(torch.tensor(logits).double(), top_k, top_p, min_p)
    return "".join(chr(ord("a") + token) for token in range(len(logits)) if left[token] > -torch.inf)


LOGITS = torch.tensor([0.1, 0.4, 0.2, 0.05, 0.25]).log().tolist()  # b e c a d


@pytest.mark.parametrize(
    ("settings", "letters"),
    [
        ({}, "abcde"),
        ({"top_k": 2}, "be"),
        ({"top_k": 99}, "abcde"),
        ({"top_p": 0.3}, "b"),
        ({"top_p": 0.41}, "be"),
        ({"top_p": 0.66}, "bce"),
        ({"top_p": 1.0}, "abcde"),
        ({"min_p": 0.51}, "be"),
        ({"min_p": 0.2}, "abce"),
        ({"min_p": 1.0}, "b"),
        # Of b and e alone, b has 0.4 / 0.65.
        ({"top_k": 2, "top_p": 0.6}, "b"),
        ({"top_k": 3, "top_p": 0.9, "min_p": 0.49}, "bce"),
    ],
)
def test_what_may_be_drawn(settings: dict[str, Any], letters: str) -> None:
    assert kept(LOGITS, **settings) == letters


@pytest.mark.parametrize(("top_p", "letters"), [(0.25, "a"), (0.26, "ab"), (0.5, "ab"), (0.75, "abc"), (0.76, "abcd")])
def test_equally_likely_tokens_are_kept_until_their_sum_reaches_top_p(top_p: float, letters: str) -> None:
    """Four tokens of 1/4 each, so that no sum is rounded. A sum equal to top_p is enough (Holtzman et al. 2020)."""
    assert kept([0.0, 0.0, 0.0, 0.0], top_p=top_p) == letters


def test_tokens_are_drawn_by_their_probability() -> None:
    """The numbers from 0 to 1 fall to tokens in proportion to their probabilities; to one of probability 0, never."""
    logits = torch.tensor([-torch.inf, 1.0, -torch.inf, 2.0, 0.5, -torch.inf]).double()
    chances = torch.arange(10000).double() / 10000
    chances[-1] = 1 - 2**-53
    tokens = drawn(logits.expand(1, 10000, -1), chances[None])[0]
    shares: Tensor = tokens.bincount(minlength=6) / 10000
    # Of 10,000 numbers at equal distances, at most one more or less at each border.
    torch.testing.assert_close(shares.double(), logits.softmax(dim=-1), rtol=0, atol=2e-4)
    assert shares[[0, 2, 5]].tolist() == [0, 0, 0]
