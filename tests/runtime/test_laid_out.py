"""Matrices laid out for few rows: the same products up to rounding, only where they are meant for, and undone."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.decode import loop
from glassformer.decode.loop import decode
from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.decode.step import Wanted
from glassformer.models.families import gpt2
from glassformer.models.transformer import Transformer, build
from glassformer.parts.projection import Projection
from glassformer.runtime import matrices as module
from glassformer.runtime.matrices import MOST_ROWS, LaidOut, laid_out


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Transformer:
    """A small decoder, of which the matrices of the feed-forward networks and of the vocabulary count as large."""
    monkeypatch.setattr(module, "LEAST_NUMBERS", 20_000)
    monkeypatch.setattr(module, "laid_out_is_faster", lambda outputs, inputs: (True, True, True))
    return build(gpt2(size="tiny", vocabulary=400, max_length=96), seed=3).eval()


def products(model: Transformer) -> list[object]:
    """What multiplies, layer by layer, the vocabulary head last."""
    assert model.head is not None
    layers = [layer for layer in model.modules() if isinstance(layer, Projection)]
    return [*(layer.product for layer in layers), model.head.product]


def numbers(model: Transformer) -> list[int]:
    """The sizes of the matrices in the same order."""
    layers = [layer for layer in model.modules() if isinstance(layer, Projection)]
    return [*(layer.weight.numel() for layer in layers), model.word_table.numel()]


@pytest.mark.parametrize("shape", [(48,), (1, 48), (1, 1, 48), (4, 16, 48)])
@pytest.mark.parametrize("biased", [False, True])
def test_the_product_is_that_of_the_matrix(shape: tuple[int, ...], biased: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    weight, x = torch.randn(80, 48, generator=generator), torch.randn(shape, generator=generator)
    bias = torch.randn(80, generator=generator) if biased else None
    found = LaidOut(weight)(x, weight, bias)
    exact = F.linear(x.double(), weight.double(), None if bias is None else bias.double())
    assert found.shape == exact.shape
    # Sums of 48 products of up to 16, in float32.
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=48 * 2**-22)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_rows_and_other_types_are_multiplied_as_ever(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    weight = torch.randn(80, 48, generator=generator)
    product = LaidOut(weight)
    x = torch.randn(MOST_ROWS + 1 if dtype == torch.float32 else 1, 48, generator=generator, dtype=dtype)
    assert torch.equal(product(x, weight.to(dtype), None), F.linear(x, weight.to(dtype)))


def test_rows_that_are_not_faster_are_multiplied_as_ever() -> None:
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(80, 48, generator=generator)
    ours = list[int]()

    def counted(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ours.append(len(x))
        return F.linear(x, weight, bias)

    product = LaidOut(weight, (False, True, False), counted)
    for rows in (1, 2, 8, 9, MOST_ROWS):
        product(torch.randn(rows, 48, generator=generator), weight, None)
    assert ours == [1, 9, MOST_ROWS]


def test_a_matrix_that_is_never_faster_is_not_laid_out(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "laid_out_is_faster", lambda outputs, inputs: (False, False, False))
    with laid_out(model):
        assert all(product is F.linear for product in products(model))


@pytest.mark.parametrize(("rows", "faster"), [(1, False), (2, True), (8, True), (9, False), (64, False), (65, True)])
def test_only_what_is_faster_for_the_rows_that_are_written_is_laid_out(
    model: Transformer, monkeypatch: pytest.MonkeyPatch, rows: int, faster: bool
) -> None:
    """Of more rows than are multiplied so some will be left when others have ended."""
    monkeypatch.setattr(module, "laid_out_is_faster", lambda outputs, inputs: (False, True, False))
    with laid_out(model, rows):
        assert any(isinstance(product, LaidOut) for product in products(model)) is faster


def test_both_products_are_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_MEASURED_BYTES", 1)
    found = module.laid_out_is_faster(80, 48)
    assert len(found) == len(module._MEASURED_ROWS)
    monkeypatch.setattr(module, "LaidOut", None)  # what is known is not measured again
    assert module.laid_out_is_faster(80, 48) == found


def test_the_plain_product_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laying out takes time: where nothing is measured, or both are as fast, nothing is laid out."""
    monkeypatch.setattr(module, "fastest", lambda what, ways, least: next(iter(ways)))
    assert not any(module.laid_out_is_faster(80, 48))


def test_only_large_matrices_are_laid_out_and_that_ends(model: Transformer) -> None:
    sizes = numbers(model)
    assert min(sizes) < 20_000 <= max(sizes)
    within: list[object] = []

    def stopped() -> None:
        with laid_out(model):
            within.extend(products(model))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stopped()
    assert [isinstance(product, LaidOut) for product in within] == [size >= 20_000 for size in sizes]
    assert all(product is F.linear for product in products(model))


def test_what_is_multiplied_otherwise_stays(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.autocast("cpu", torch.bfloat16), laid_out(model):
        assert all(product is F.linear for product in products(model))
    with laid_out(model.double()):
        assert all(product is F.linear for product in products(model))
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    with laid_out(model.float()):
        assert all(product is F.linear for product in products(model))


@pytest.mark.parametrize("beams", [1, 3])
def test_a_text_is_written_as_without(model: Transformer, monkeypatch: pytest.MonkeyPatch, beams: int) -> None:
    called = 0

    def counting(self: LaidOut, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        nonlocal called
        called += 1
        return multiply(self, x, weight, bias)

    multiply = LaidOut.__call__
    monkeypatch.setattr(LaidOut, "__call__", counting)

    def written(after: int) -> list[tuple[list[int], float]]:
        monkeypatch.setattr(loop, "LAID_OUT_AFTER", after)
        settings = DecodeSettings(method="beam" if beams > 1 else "greedy", beams=beams, max_tokens=30, min_tokens=30)
        requests = [Request(number, prompt=[5 + number, 9, 2]) for number in range(2)]
        steps = decode(model, requests, Wanted(settings, ids=SpecialIds(begin=399, end=(399,))))
        answers = [each.hypotheses[0] for step in steps for each in step.finished]
        return [(list(each.ids), each.score) for each in answers]

    plain = written(1000)
    assert called == 0
    found = written(3)
    assert called > 20
    assert [ids for ids, _ in found] == [ids for ids, _ in plain]
    # Log-probabilities of 30 tokens, each of sums in float32.
    torch.testing.assert_close([score for _, score in found], [score for _, score in plain], rtol=1e-5, atol=1e-5)
    assert all(product is F.linear for product in products(model))
