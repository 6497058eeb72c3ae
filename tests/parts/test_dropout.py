"""Dropout is as random as it must be, and depends on (seed, site, row, place) alone.

B sentences · S tokens · W width
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.parts.dropout import AXIS_MULTIPLIERS, SITE_MULTIPLIER, Dropout, DropoutKey
from glassformer.runtime import compiler

RATES = [0.1, 0.3, 0.5]
SHAPE = (64, 48, 96)


def dropout_key(seed: int = 1, rows: int = 64, first: int = 0) -> DropoutKey:
    return DropoutKey(torch.tensor(seed, dtype=torch.int32), torch.arange(first, first + rows, dtype=torch.int32))


def kept(rate: float, *, seed: int = 1, site: int = 0, shape: tuple[int, ...] = SHAPE) -> Tensor:
    part = Dropout(rate)
    part.site = site
    return part.keep(torch.empty(shape), dropout_key(seed, shape[0])).double()


def correlation(one: Tensor, two: Tensor) -> float:
    """Pearson's, times √n: about a standard normal where the two are unrelated."""
    one, two = one.flatten() - one.mean(), two.flatten() - two.mean()
    return float((one * two).sum() / (one.norm() * two.norm()) * math.sqrt(one.numel()))


# A fair source stays within 5 standard deviations in all but one of two million tries; the seeds are fixed.
FAIR = 5.0


@pytest.mark.parametrize("rate", RATES)
def test_the_share_kept_is_right_everywhere(rate: float) -> None:
    keep = kept(rate)
    deviation = math.sqrt(rate * (1 - rate))
    assert abs(float(keep.mean()) - (1 - rate)) < FAIR * deviation / math.sqrt(keep.numel())
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        count = keep.numel() // keep.shape[axis]
        off = (keep.mean(dim=others) - (1 - rate)) / (deviation / math.sqrt(count))
        assert float(off.abs().max()) < FAIR
        # The shares themselves must scatter as much as fair shares do: too even is not random either.
        assert 0.5 < float(off.square().mean()) < 1.7


@pytest.mark.parametrize("rate", RATES)
def test_neighbours_know_nothing_of_each_other(rate: float) -> None:
    keep = kept(rate)
    for axis in range(3):
        for step in (1, 2, 3, 4, 8, 16, 32):
            length = keep.shape[axis] - step
            one, two = keep.narrow(axis, 0, length), keep.narrow(axis, step, length)
            assert abs(correlation(one, two)) < FAIR, (axis, step)
    diagonal = keep[:, :-1, :-1], keep[:, 1:, 1:]
    assert abs(correlation(*diagonal)) < FAIR


@pytest.mark.parametrize("rate", RATES)
def test_steps_and_sites_know_nothing_of_each_other(rate: float) -> None:
    """Also where rows, sites and steps are small consecutive numbers, as they are in training."""
    keep = kept(rate)
    for seed in (2, 3, 4, 1 + (1 << 16), -1):
        assert abs(correlation(keep, kept(rate, seed=seed))) < FAIR
    for site in (1, 2, 3, 16, 37):
        assert abs(correlation(keep, kept(rate, site=site))) < FAIR
    # Another row of another step, another site of another row: no diagonal through the coordinates may repeat.
    assert abs(correlation(keep[1:], kept(rate, seed=2)[:-1])) < FAIR
    assert abs(correlation(keep[1:], kept(rate, site=1)[:-1])) < FAIR
    assert abs(correlation(keep, kept(rate, seed=2, site=1))) < FAIR


@pytest.mark.parametrize("rate", RATES)
def test_no_two_rows_are_related(rate: float) -> None:
    keep = kept(rate).flatten(1)
    centered = keep - keep.mean(dim=1, keepdim=True)
    matrix = centered @ centered.T / (centered.norm(dim=1)[:, None] * centered.norm(dim=1)[None])
    off = matrix[~torch.eye(len(matrix), dtype=torch.bool)] * math.sqrt(keep.shape[1])
    assert float(off.abs().max()) < FAIR
    assert 0.8 < float(off.square().mean()) < 1.2


@pytest.mark.parametrize("shape", [(16, 32), (16, 4, 24, 24), (2, 3, 4, 5, 6)])
def test_every_axis_counts(shape: tuple[int, ...]) -> None:
    """Attention weights [B, H, Q, K] and pooled vectors [B, W] too; no two slices along an axis are equal."""
    keep = kept(0.5, shape=shape)
    for axis in range(len(shape)):
        slices = {tuple(part.flatten().tolist()) for part in keep.unbind(axis)}
        assert len(slices) == shape[axis]


@pytest.mark.parametrize("rate", RATES)
def test_mean_and_variance_of_what_goes_on(rate: float) -> None:
    """Scaling by 1/(1-p) keeps the mean; the variance grows by p/(1-p) of the square."""
    part = Dropout(rate).train()
    x = torch.full(SHAPE, 2.0, dtype=torch.float64)
    y = part(x, dropout_key())
    count = y.numel()
    variance = 4.0 * rate / (1 - rate)
    assert abs(float(y.mean()) - 2.0) < FAIR * math.sqrt(variance / count)
    assert float(y.var()) == pytest.approx(variance, rel=0.02)
    assert set(y.unique().tolist()) == {0.0, 2.0 / (1 - rate)}


def test_a_cell_does_not_depend_on_batch_or_padding() -> None:
    part = Dropout(0.5).train()
    x = torch.randn(6, 10, 8)
    whole = part(x, dropout_key(5, 6))
    alone = part(x[4:5], dropout_key(5, 1, first=4))
    assert torch.equal(alone, whole[4:5])
    assert torch.equal(part(x[:, :7], dropout_key(5, 6)), whole[:, :7])
    longer = part(torch.nn.functional.pad(x, (0, 0, 0, 9)), dropout_key(5, 6))
    assert torch.equal(longer[:, :10], whole)
    shuffled = DropoutKey(torch.tensor(5, dtype=torch.int32), torch.tensor([3, 0, 5], dtype=torch.int32))
    assert torch.equal(part(x[[3, 0, 5]], shuffled), whole[[3, 0, 5]])


def test_the_same_seed_gives_the_same_choice_and_another_gives_another() -> None:
    assert torch.equal(kept(0.5), kept(0.5))
    assert not torch.equal(kept(0.5), kept(0.5, seed=2))
    assert not torch.equal(kept(0.5), kept(0.5, site=1))


def test_gradients_pass_where_numbers_stayed() -> None:
    part = Dropout(0.5).train()
    x = torch.randn(4, 6, requires_grad=True)
    part(x, dropout_key(3, 4)).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad != 0, part.keep(x, dropout_key(3, 4)))
    assert set(x.grad.unique().tolist()) == {0.0, 2.0}


def test_predicting_and_a_rate_of_zero_change_nothing() -> None:
    x = torch.randn(4, 6)
    assert Dropout(0.5).eval()(x, None) is x
    assert Dropout(0.0).train()(x, dropout_key(1, 4)) is x


def test_a_training_loop_of_a_user_is_seeded_with_torch() -> None:
    part = Dropout(0.5).train()
    x = torch.ones(4, 64)
    results = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        results.append(part(x, DropoutKey.from_torch(4, x.device)))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_the_choice_does_not_depend_on_the_precision(dtype: torch.dtype) -> None:
    part = Dropout(0.5).train()
    x = torch.ones(4, 64, dtype=dtype)
    y = part(x, dropout_key(9, 4))
    assert y.dtype == dtype
    assert torch.equal(y != 0, part.keep(torch.ones(4, 64), dropout_key(9, 4)))


@pytest.mark.long
def test_compiled_drops_the_same_numbers_to_the_end_of_each_row() -> None:
    """Rows of 48 bfloat16 numbers are one vector and a half: of the half, kernels once wrote nothing."""
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    dropout, x = Dropout(0.1).train(), torch.rand(2, 3, 48, 48).bfloat16()
    found = torch.compile(dropout, dynamic=False)(x, dropout_key(rows=2))
    assert torch.equal(found, dropout(x, dropout_key(rows=2)))


@pytest.mark.parametrize("shape", [(3, 40_000), (3, 50, 400), (2, 3, 70, 130)])
def test_a_mask_made_in_parts_is_the_hash_of_each_coordinate(shape: tuple[int, ...]) -> None:
    """By numpy, with 64 bits; each mask is larger than the numbers that are made together."""

    def mixed(counter: Any, salt: int = 0) -> Any:
        counter = ((counter ^ (counter >> 16)) * 0x7FEB352D + salt) % 2**32
        counter = (counter ^ (counter >> 15)) * 0x846CA68B % 2**32
        return counter ^ (counter >> 16)

    rate, site = 0.3, 5
    part = Dropout(rate)
    part.site = site
    keys = mixed(np.arange(shape[0], dtype=np.uint64) + mixed(np.uint64(1)))
    counter = keys.reshape(-1, *[1] * (len(shape) - 1))
    for axis, multiplier in zip(range(1, len(shape)), AXIS_MULTIPLIERS, strict=False):
        places = np.arange(shape[axis], dtype=np.uint64) * multiplier
        counter = (counter + places.reshape(-1, *[1] * (len(shape) - 1 - axis))) % 2**32
    # int32 orders the same bits from −2^31: the numbers from 2^31 on come first.
    signed = mixed(counter, site * SITE_MULTIPLIER % 2**32).astype(np.uint32).view(np.int32)
    expected = signed >= int(rate * 2**32) - 2**31
    assert (part.keep(torch.empty(shape), dropout_key(1, shape[0])).numpy() == expected).all()
