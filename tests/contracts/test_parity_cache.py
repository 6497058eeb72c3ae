"""With a cache, piece by piece or in bites, a decoder answers as it does in one go; beams may change places."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.cache import Cache
from tests.contracts.families import ROWS, Padding, Row
from tests.contracts.reference import real_of

# The same sums in another order, in float64.
TOLERANCE = 1e-12
DECODERS = [row for row in ROWS if row.config().decoder is not None]
BITES = {"one by one": (1,) * 6, "three at first": (3, 1, 1, 1), "in bites": (2, 3, 1), "at once": (6,)}


@pytest.mark.parametrize("padding", ["none", "left", "right"])
@pytest.mark.parametrize("row", DECODERS, ids=str)
def test_cached_is_uncached(row: Row, padding: Padding) -> None:
    model = row.model()
    source, side = sides(row, padding)
    whole = answers(model, source, side, None)
    real = real_of(side)
    for bites in BITES.values():
        cache = model.new_cache()
        found, start = [], 0
        for bite in bites:
            found.append(answers(model, source, cut(side, start, start + bite), cache))
            start += bite
        assert cache.length == start
        torch.testing.assert_close(torch.cat(found, dim=1)[real], whole[real], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("padding", ["none", "left"])
@pytest.mark.parametrize("row", DECODERS, ids=str)
def test_beams_may_change_places(row: Row, padding: Padding) -> None:
    """After four pieces the beams continue from other beams, one of them twice."""
    model = row.model()
    source, side = sides(row, padding)
    parents = torch.tensor([2, 0, 2])
    moved = replace(follow(side, parents), ids=torch.cat((of(side)[parents, :4], of(side)[:, 4:]), dim=1))
    whole = answers(model, None if source is None else follow(source, parents), moved, None)
    cache = model.new_cache()
    answers(model, source, cut(side, 0, 4), cache)
    cache.reorder(parents)
    source = None if source is None else follow(source, parents)
    found = torch.cat([answers(model, source, cut(moved, place, place + 1), cache) for place in (4, 5)], dim=1)
    torch.testing.assert_close(found, whole[:, 4:], rtol=0, atol=TOLERANCE)
    assert (whole[0, 4:] - whole[1, 4:]).abs().max() > 1e-3


def sides(row: Row, padding: Padding) -> tuple[Inputs | None, Inputs]:
    """The source, where there is one, and the decoder's side, six pieces long; long enough for any padding."""
    inputs, target = row.batch(padding=padding)
    if target is None:
        return None, cut(inputs, inputs.shape[1] - 6, inputs.shape[1])
    return inputs, target


def answers(model: Transformer, source: Inputs | None, side: Inputs, cache: Cache | None) -> Tensor:
    """Logits of the newest pieces, [B, S, V]."""
    output = model(side, cache=cache) if source is None else model(source, side, cache=cache)
    logits: Tensor = output.logits
    return logits


def of(side: Inputs) -> Tensor:
    assert side.ids is not None
    return side.ids


def cut(side: Inputs, start: int, stop: int) -> Inputs:
    """Some pieces of each row."""
    return Inputs(ids=of(side)[:, start:stop], real=None if side.real is None else side.real[:, start:stop])


def follow(side: Inputs, parents: Tensor) -> Inputs:
    """Rows in the order of their parents."""
    return Inputs(ids=of(side)[parents], real=None if side.real is None else side.real[parents])
