"""Masks are an algebra: each predicate against a loop over cells, the laws, the fills, printing and drawing.

B sentences · Q query tokens · K key tokens · H heads
"""

import itertools
import math
from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import Tensor

from glassformer.parts.mask import (
    Mask,
    Side,
    build_fill,
    causal,
    custom,
    document_mask,
    draw,
    everything,
    full,
    no_key,
    padding,
    prefix,
    segment,
    visible,
    window,
)

B, S = 3, 6


def side() -> Side:
    """Three sentences of six tokens about which everything is known."""
    return Side(
        index=torch.arange(S)[None],
        real=torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 1]], dtype=torch.bool),
        masked_words=torch.tensor([[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0] * 6], dtype=torch.bool),
        segments=torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 0, 0], [0] * 6]),
        documents=torch.tensor([[0, 0, 1, 1, 2, 2], [5, 5, 5, 5, 9, 9], [1, 2, 3, 1, 2, 3]]),
    )


Cell = Callable[[Side, int, int, int], bool]


def fact(values: Tensor | None, row: int, place: int) -> int:
    assert values is not None
    return int(values[row, place])


MATRIX = torch.tensor([[[(q * k) % 3 != 1 for k in range(S)] for q in range(S)]])
PREDICATES: dict[str, tuple[Mask, Cell]] = {
    "everything": (everything(), lambda s, b, q, k: True),
    "padding": (padding(), lambda s, b, q, k: bool(fact(s.real, b, k))),
    "causal": (causal(), lambda s, b, q, k: k <= q),
    "window(2)": (window(2), lambda s, b, q, k: abs(q - k) <= 2),
    "segment": (segment(), lambda s, b, q, k: fact(s.segments, b, q) == fact(s.segments, b, k)),
    "document_mask": (document_mask(), lambda s, b, q, k: fact(s.documents, b, q) == fact(s.documents, b, k)),
    "visible": (visible(), lambda s, b, q, k: not fact(s.masked_words, b, k)),
    "prefix(2)": (prefix(2), lambda s, b, q, k: k < 2),
    "custom": (custom(MATRIX), lambda s, b, q, k: (q * k) % 3 != 1),
}


def by_loop(cell: Cell) -> Tensor:
    tokens = side()
    return torch.tensor([[[cell(tokens, b, q, k) for k in range(S)] for q in range(S)] for b in range(B)])


def matrix(mask: Mask, query: Side | None = None) -> Tensor:
    """The mask for all sentences, [B, Q, K]."""
    key = side()
    query = key if query is None else query
    return full(mask(query, key), query, key).expand(B, -1, -1)


@pytest.mark.parametrize("name", PREDICATES)
def test_each_predicate_is_its_loop(name: str) -> None:
    mask, cell = PREDICATES[name]
    assert torch.equal(matrix(mask), by_loop(cell))
    assert str(mask) == name


@pytest.mark.parametrize(("one", "two"), list(itertools.product(PREDICATES, repeat=2)))
def test_the_algebra_is_that_of_its_cells(one: str, two: str) -> None:
    (a, a_cell), (b, b_cell) = PREDICATES[one], PREDICATES[two]
    assert torch.equal(matrix(a & b), by_loop(lambda *at: a_cell(*at) and b_cell(*at)))
    assert torch.equal(matrix(a | b), by_loop(lambda *at: a_cell(*at) or b_cell(*at)))
    assert torch.equal(matrix(~(a & b)), matrix(~a | ~b))
    assert torch.equal(matrix(a & everything()), matrix(a))


@pytest.mark.parametrize("name", [name for name in PREDICATES if name != "custom"])
def test_newest_tokens_see_what_they_saw_in_the_whole(name: str) -> None:
    """With a cache, queries are the last tokens only; their rows are the last rows of the whole mask."""
    everyone = side()
    newest = Side(
        everyone.index[:, 4:],
        None,
        *(
            None if fact is None else fact[:, 4:]
            for fact in (everyone.masked_words, everyone.segments, everyone.documents)
        ),
    )
    mask = PREDICATES[name][0]
    assert torch.equal(matrix(mask, newest), matrix(mask)[:, 4:])


def test_what_is_not_known_forbids_nothing() -> None:
    """A batch without padding, masked words, segments or documents needs no mask at all: the kernel gets None."""
    bare = Side(torch.arange(4)[None])
    for mask in (
        padding(),
        visible(),
        segment(),
        document_mask(),
        everything(),
        padding() & visible() & document_mask(),
    ):
        assert mask(bare, bare) is None
    assert (padding() & causal())(bare, bare) is not None
    assert (padding() | causal())(bare, bare) is None
    assert not full((~everything())(bare, bare), bare, bare).any()


def test_masks_print_as_what_was_written() -> None:
    assert str(padding() & document_mask() & causal()) == "padding & document_mask & causal"
    assert str((causal() | prefix(3)) & ~visible()) == "(causal | prefix(3)) & ~(visible)"
    assert str(custom(MATRIX, "fox") & window(1)) == "fox & window(1)"


def test_masks_draw_as_text() -> None:
    words = ["She", "likes", "it"]
    tokens = Side(torch.arange(3)[None], masked_words=torch.tensor([[False, True, False]]))
    picture = draw(full((causal() & visible())(tokens, tokens), tokens, tokens)[0], words)
    assert picture == "\n".join(
        [
            "        l",
            "        i",
            "      S k",
            "      h e i",
            "      e s t",
            "  She ■ · ·",
            "likes ■ · ·",
            "   it ■ · ■",
        ]
    )


def test_a_drawing_may_have_other_words_above_than_at_its_side() -> None:
    picture = draw(torch.tensor([[True, False, True]]), ["Elle"], ["She", "is", "in"])
    assert picture.splitlines()[-1] == "Elle ■ · ■"
    assert picture.splitlines()[2] == "     e s n"


# --------------------------------------------------------------------------- fills

SCORES = torch.tensor([[2.0, -1.0, 0.5, 3.0]], dtype=torch.float64)
LOOKS = torch.tensor([[True, False, True, False]])
NOTHING = torch.zeros(1, 4, dtype=torch.bool)
Rule = Literal["set", "add"]


def softmax(scores: list[float]) -> list[float]:
    grown = [math.exp(score - max(scores)) for score in scores]
    return [part / sum(grown) for part in grown]


def weights(rule: Rule, value: float | str, may_look: Tensor, scores: Tensor = SCORES) -> Tensor:
    fill = build_fill(rule, value)
    return fill.softmax(fill(scores, may_look), may_look)


@pytest.mark.parametrize("rule", ["set", "add"])
@pytest.mark.parametrize("value", [-1000.0, -10000.0, "lowest", "-inf"])
def test_hidden_keys_weigh_exactly_nothing(rule: Rule, value: float | str) -> None:
    one, two = softmax([2.0, 0.5])
    torch.testing.assert_close(
        weights(rule, value, LOOKS), torch.tensor([[one, 0.0, two, 0.0]], dtype=torch.float64), rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("value", [-1000.0, -10000.0, "lowest"])
def test_a_row_with_no_key_is_uniform_when_the_fill_is_set(value: float | str) -> None:
    assert weights("set", value, NOTHING).tolist() == [[0.25] * 4]


@pytest.mark.parametrize(("value", "tolerance"), [(-1000.0, 1e-13), (-10000.0, 1e-12)])
def test_a_row_with_no_key_forgets_the_mask_when_the_fill_is_added(value: float, tolerance: float) -> None:
    """Softmax does not change when every score is shifted alike; the sum rounds at the fill's last digit."""
    expected = torch.tensor([softmax(SCORES[0].tolist())], dtype=torch.float64)
    torch.testing.assert_close(weights("add", value, NOTHING), expected, rtol=tolerance, atol=0)


def test_a_row_with_no_key_is_uniform_when_the_lowest_number_is_added() -> None:
    """The lowest number swallows the scores whole: score + lowest = lowest."""
    assert weights("add", "lowest", NOTHING).tolist() == [[0.25] * 4]


@pytest.mark.parametrize("rule", ["set", "add"])
def test_a_row_with_no_key_is_zero_under_minus_infinity_forward_and_backward(rule: Rule) -> None:
    scores = SCORES.repeat(2, 1).requires_grad_()
    answer = weights(rule, "-inf", torch.cat((NOTHING, LOOKS)), scores)
    assert answer[0].tolist() == [0.0] * 4
    (answer * torch.arange(4)).sum().backward()
    assert scores.grad is not None
    assert scores.grad[0].tolist() == [0.0] * 4
    assert bool(scores.grad.isfinite().all())
    assert scores.grad[1, 0] != 0


REACHABLE = torch.tensor([[True, True, False, True]])


@pytest.mark.parametrize(("rule", "expected"), [("set", [1.0, 1.0, 1.0]), ("add", [2.0, -1.0, 3.0])])
def test_a_row_of_hidden_keys_keeps_to_its_reach(rule: Rule, expected: list[float]) -> None:
    """Among the keys in reach the fill keeps its own arithmetic; what is out of reach weighs exactly nothing."""
    fill = build_fill(rule, -1000.0).within(REACHABLE)
    one, two, three = softmax(expected)
    found = fill.softmax(fill(SCORES, NOTHING), NOTHING)
    torch.testing.assert_close(found, torch.tensor([[one, two, 0, three]], dtype=torch.float64), rtol=0, atol=1e-13)
    assert found[0, 2] == 0


@pytest.mark.parametrize("rule", ["set", "add"])
def test_a_row_with_nothing_in_reach_is_zero_forward_and_backward(rule: Rule) -> None:
    scores = SCORES.repeat(2, 1).requires_grad_()
    may_look = torch.cat((NOTHING, LOOKS & REACHABLE))
    fill = build_fill(rule, -1000.0).within(torch.cat((NOTHING, REACHABLE)))
    answer = fill.softmax(fill(scores, may_look), may_look)
    assert answer.tolist() == [[0.0] * 4, [1.0, 0.0, 0.0, 0.0]]
    (answer * torch.arange(4)).sum().backward()
    assert scores.grad is not None
    assert bool(scores.grad.isfinite().all())


def test_reach_says_nothing_to_who_was_made_to_look_and_to_minus_infinity() -> None:
    fill = build_fill("set", -1000.0)
    assert fill.within(None) is fill
    assert fill.within(REACHABLE)(SCORES, LOOKS).tolist() == [[2.0, -1000.0, 0.5, -1000.0]]
    assert fill.within(REACHABLE)(SCORES, NOTHING).tolist() == [[-1000.0, -1000.0, -math.inf, -1000.0]]
    forbid = build_fill("add", "-inf")
    assert forbid.within(REACHABLE) is forbid


def test_the_naive_minus_infinity_is_not_a_number() -> None:
    """Why the row needs a rule: softmax of nothing but minus infinities divides zero by zero."""
    assert bool(torch.full((4,), -math.inf).softmax(dim=0).isnan().all())


def test_rows_without_a_key_are_found() -> None:
    assert no_key(torch.stack((LOOKS, NOTHING))).flatten().tolist() == [False, True]


def test_setting_forgets_the_score_and_adding_keeps_it() -> None:
    assert build_fill("set", -1000.0)(SCORES, LOOKS).tolist() == [[2.0, -1000.0, 0.5, -1000.0]]
    assert build_fill("add", -1000.0)(SCORES, LOOKS).tolist() == [[2.0, -1001.0, 0.5, -997.0]]
    assert build_fill("set", "-inf")(SCORES, LOOKS).tolist() == [[2.0, -math.inf, 0.5, -math.inf]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_lowest_number_is_that_of_the_type(dtype: torch.dtype) -> None:
    masked = build_fill("set", "lowest")(SCORES.to(dtype), LOOKS)
    assert masked[0, 1].item() == torch.finfo(dtype).min
