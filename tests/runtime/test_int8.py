"""Matrices of 8 bits: what they stand for, how far off their products are, what they refuse."""

from pathlib import Path

import pytest
import torch
from torch import nn

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.models.families import gpt2
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.runtime.matrices import Int8Linear, Int8Matrix, is_int8, to_int8
from glassformer.saved.foreign import write_foreign


@pytest.fixture
def model() -> gf.Model:
    """A decoder without a tokenizer."""
    torch.manual_seed(0)
    return gf.Model(build(gpt2(size="tiny", vocabulary=200, max_length=64)))


def test_a_rounded_weight_is_off_by_half_a_step_at_most() -> None:
    weight = torch.randn(24, 32, generator=torch.Generator().manual_seed(0))
    weight[3] = 0.0
    matrix = Int8Matrix(weight)
    steps = matrix.scale.float()[:, None]
    # bfloat16 has 8 bits.
    torch.testing.assert_close(steps * 127, weight.abs().amax(dim=1, keepdim=True), rtol=2**-8, atol=1e-30)
    stands_for = matrix.rounded.float() * steps
    # Half a step, and what float32 loses in the division.
    assert ((stands_for - weight).abs() <= steps * 0.50001).all()
    assert matrix.rounded.abs().max() == 127
    assert torch.equal(stands_for[3], torch.zeros(32))


@pytest.mark.parametrize("shape", [(32,), (1, 32), (3, 5, 32)])
def test_the_product_is_that_of_what_the_matrix_stands_for(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    layer = nn.Linear(32, 48)
    rounded, x = Int8Linear(layer), torch.randn(shape)
    if len(shape) == 1:
        x = x[None]
    stands_for = rounded.matrix.rounded.double() * rounded.matrix.scale.double()[:, None]
    exact = x.bfloat16().double() @ stands_for.t()
    found = rounded(x).double() - layer.bias.double()
    # The sum is rounded to bfloat16, which has 8 bits: half of 2 ** -7, and what the sum in float32 loses.
    assert found.shape == exact.shape
    assert ((found - exact).abs() <= exact.abs() * 2**-8 + 1e-4).all()


def test_a_rounded_model_predicts_nearly_the_same(model: gf.Model) -> None:
    inputs = Inputs(ids=torch.randint(200, (2, 9), generator=torch.Generator().manual_seed(2)))
    parameters = model.info()["parameters"]
    with torch.inference_mode():
        before = model.module(inputs).logits
        to_int8(model.module)
        after = model.module(inputs).logits
    assert is_int8(model.module)
    assert model.info()["parameters"]["all"] == parameters["all"]
    assert before is not None
    assert after is not None
    # Measured: 0.0165. One product of rounded numbers is 0.008 off, and the layers add theirs up.
    assert 0 < (after - before).norm() / before.norm() < 0.02


def test_a_rounded_model_is_not_saved_exported_or_rounded_where_it_cannot(model: gf.Model, tmp_path: Path) -> None:
    to_int8(model.module)
    with pytest.raises(ConfigError):
        model.save(tmp_path / "saved")
    with pytest.raises(ConfigError):
        write_foreign(model, tmp_path / "exported")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError):
        to_int8(build(gpt2(layers=1, width=20, heads=2, vocabulary=50)))


def test_a_saved_model_is_opened_in_8_bits(model: gf.Model, tmp_path: Path) -> None:
    opened = gf.load(model.save(tmp_path / "saved"), dtype="int8")
    assert opened.int8
    assert not gf.load(tmp_path / "saved").int8
    assert "int8" in opened.info()["prediction"]["precision"]
