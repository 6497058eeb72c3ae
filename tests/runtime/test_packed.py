"""Matrices laid out for the processor: the same numbers, the model untouched, nothing left behind."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from glassformer.look.watch import watch
from glassformer.parts.feed_forward import FeedForward
from glassformer.runtime.packed import PackedLinear, can_pack, packed
from tests.contracts.families import FAMILIES, Row

CPU = torch.device("cpu")
pytestmark = pytest.mark.skipif(not can_pack(CPU, torch.float32), reason="oneDNN multiplies nothing here")


def packed_layers(model: nn.Module) -> list[PackedLinear]:
    return [module for module in model.modules() if isinstance(module, PackedLinear)]


@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_each_family_gives_the_same_states(row: Row) -> None:
    """No further from float64 than the plain model is, but for what sums in another order round."""
    exact, plain = row.model(), row.model(dtype=torch.float32)
    laid_out = packed(plain, fast=False)
    batch = row.batch(padding="right")
    with torch.inference_mode():
        right, found, ours = (model(*batch).states.double() for model in (exact, plain, laid_out))
    assert packed_layers(laid_out)
    scale = 1 + right.abs().max()
    assert (ours - right).abs().max() <= 4 * (found - right).abs().max() + 1e-6 * scale


def test_the_model_is_untouched_and_shares_what_is_no_matrix_of_a_block() -> None:
    model = named("bert").model(dtype=torch.float32)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    laid_out = packed(model, fast=False)
    assert not packed_layers(model)
    assert laid_out.word_table is model.word_table
    assert before.keys() == model.state_dict().keys()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    blocks = len(laid_out.output_stack.blocks)
    assert len(packed_layers(laid_out)) == 6 * blocks  # query, key, value, output; hidden, output


def test_whoever_watches_sees_the_model_itself() -> None:
    model = named("bert").model(dtype=torch.float32)
    with watch(model, ["encoder.blocks.0.feed_forward.hidden"]):
        assert packed(model, fast=False) is model


def test_a_layer_that_does_more_than_its_product_stays_as_it_is() -> None:
    model = named("bert").model(dtype=torch.float32)
    network: Any = next(module for module in model.modules() if isinstance(module, FeedForward))
    seen: list[int] = []
    network.hidden.register_forward_hook(lambda *_: seen.append(1))
    network.output.adapter = nn.Module()
    laid_out = packed(model, fast=False)
    assert len(packed_layers(laid_out)) == 6 * len(model.output_stack.blocks) - 2
    with torch.inference_mode():
        laid_out(*named("bert").batch())
    assert seen == [1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_types_stay_as_they_are(dtype: torch.dtype) -> None:
    model = named("bert").model(dtype=torch.float32).to(dtype)
    assert packed(model, fast=False) is model


def test_without_the_names_of_torch_nothing_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    model = named("bert").model(dtype=torch.float32)
    assert packed(model, fast=False) is model


@pytest.mark.skipif(not can_pack(CPU, torch.bfloat16), reason="this processor has no bfloat16 instructions")
def test_in_bfloat16_the_states_are_as_near_as_autocasts() -> None:
    row = named("bert")
    exact, plain = row.model(), row.model(dtype=torch.float32)
    batch = row.batch(padding="right")
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        found, ours = (model(*batch).states.double() for model in (plain, packed(plain, fast=True)))
    with torch.inference_mode():
        right = exact(*batch).states
    assert (ours - right).abs().max() <= 2 * (found - right).abs().max()


def named(name: str) -> Row:
    return next(row for row in FAMILIES if row.name == name)
