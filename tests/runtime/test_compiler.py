"""The options of the compiler: they may change the speed of a step, never its sense."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.utils import fresh_cache, run_and_get_code

from glassformer.models.inputs import Batch, Inputs
from glassformer.runtime import compiler


def batch_of(ids: Tensor, real: Tensor | None) -> Batch:
    """A batch of nothing but ids and padding, for an encoder and a decoder."""
    return Batch(
        inputs=Inputs(ids=ids, real=real),
        decoder_inputs=None if real is None else Inputs(ids=ids, real=real.flip(1)),
        labels={"one": torch.zeros(2, dtype=torch.int64)},
        row_ids=torch.arange(2, dtype=torch.int32),
        weights=torch.ones(2),
        counts={"one": 2.0},
        tokens=8,
    )


@pytest.mark.parametrize("padded", [True, False])
def test_inside_flags_are_flags_again(monkeypatch: pytest.MonkeyPatch, padded: bool) -> None:
    """`real` travels as a number on both sides, and is what it was where the loss sees it."""
    torch._dynamo.reset()
    monkeypatch.setattr(compiler, "_build", lambda graph, examples: graph.forward)
    real = torch.tensor([[True, True, False, True], [True, False, False, False]]) if padded else None

    def losses(batch: Batch) -> dict[str, Tensor]:
        assert batch.inputs.ids is not None
        total = batch.inputs.ids.sum()
        for side in (batch.inputs, batch.decoder_inputs):
            if side is not None and side.real is not None:
                assert side.real.dtype == torch.bool
                total = total + (torch.arange(8).view(2, 4) * side.real).sum()
        return {"one": total}

    given = batch_of(torch.arange(8).view(2, 4), real)
    assert torch.equal(compiler.compiled(losses)(given)["one"], losses(given)["one"])
    assert given.inputs.real is real  # what was handed in is as it was


@pytest.mark.long
def test_a_bias_is_added_after_its_product() -> None:
    """The kernels hold a plain product; the numbers are those of the two together, to bfloat16's rounding."""
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    torch._dynamo.reset()
    layer = torch.nn.Linear(16, 24)
    x = torch.randn(2, 4, 16, generator=torch.Generator().manual_seed(0))

    def losses(batch: Batch) -> dict[str, Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            return {"one": torch.nn.functional.relu(layer(batch.inputs.vectors)).float().sum()}

    weights = list(layer.parameters())
    before = dict(select_decomp_table())
    given = replace(batch_of(torch.zeros(2, 4, dtype=torch.int64), None), inputs=Inputs(vectors=x))
    with fresh_cache():  # a kernel that is found there is not written down again
        answers, code = run_and_get_code(compiler.compiled(losses), given)
    assert "extern_kernels.addmm" not in code[0]
    assert "extern_kernels.mm" in code[0]
    answer, expected = answers["one"], losses(given)["one"]
    assert answer.item() == pytest.approx(expected.item(), rel=2**-8)
    for mine, its in zip(torch.autograd.grad(answer, weights), torch.autograd.grad(expected, weights), strict=True):
        assert (mine - its).abs().max() <= 2**-7 * its.abs().max()
    assert select_decomp_table() == before  # torch's own table is as it was
