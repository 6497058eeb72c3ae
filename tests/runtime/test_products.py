"""Products of many rows by oneDNN: equal to `F.linear` up to rounding, of few sizes, and only where they are asked for.

N rows · I inputs · O outputs
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.parts.projection import Projection
from glassformer.parts.tap import watcher
from glassformer.runtime import products
from glassformer.runtime.products import FEWEST_ROWS, MOST_ROWS, best_product, by_onednn, choose_products

INPUTS, OUTPUTS = 48, 80
ROWS = (FEWEST_ROWS, 16, 17, 64, 65, 500, 513, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS, 2 * MOST_ROWS + 100)

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")


def operands(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(sum(shape))
    drawn = [
        torch.randn(each, generator=generator).to(dtype) for each in ((*shape, INPUTS), (OUTPUTS, INPUTS), (OUTPUTS,))
    ]
    return drawn[0], drawn[1], drawn[2]


@pytest.fixture
def multiplied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that oneDNN is given."""
    rows: list[int] = []

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows.append(len(x))
        return own(x, weight, bias)

    own = products._of_a_size
    monkeypatch.setattr(products, "_of_a_size", product)
    return rows


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", ROWS)
def test_it_is_the_product_to_rounding(multiplied: list[int], rows: int, bias: bool) -> None:
    x, weight, added = operands(rows)
    with torch.inference_mode():
        found = by_onednn(x, weight, added if bias else None)
    exact = F.linear(x.double(), weight.double(), added.double() if bias else None)
    assert multiplied
    # Sums of 48 products of about 1, and float32 has seven digits: a product that skips one is off by 0.1 and more.
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-4)


def test_axes_before_the_last_are_kept_of_any_layout() -> None:
    x, weight, bias = operands(3, 5, 7)
    for given in (x, x.transpose(0, 1), x[:, ::2]):
        with torch.inference_mode():
            found = by_onednn(given, weight, bias)
        torch.testing.assert_close(found, F.linear(given, weight, bias), rtol=0, atol=1e-4)


def test_few_sizes_are_multiplied_and_few_zeros(multiplied: list[int]) -> None:
    """oneDNN keeps memory for each."""
    sizes: set[int] = set()
    for rows in range(FEWEST_ROWS, 2100, 7):
        x, weight, bias = operands(rows)
        multiplied.clear()
        with torch.inference_mode():
            by_onednn(x, weight, bias)
        assert rows <= sum(multiplied) < max(rows + 16, 1.25 * rows + 64)
        sizes.update(multiplied)
    assert len(sizes) <= 16
    assert max(sizes) == MOST_ROWS


def few() -> tuple[Tensor, ...]:
    return operands(FEWEST_ROWS - 1)


def of_float64() -> tuple[Tensor, ...]:
    return operands(100, dtype=torch.float64)


def of_bfloat16() -> tuple[Tensor, ...]:
    return operands(100, dtype=torch.bfloat16)


@pytest.mark.parametrize("given", [few, of_float64, of_bfloat16])
def test_all_else_is_left_to_torch(multiplied: list[int], given: Callable[[], tuple[Tensor, ...]]) -> None:
    x, weight, bias = given()
    with torch.inference_mode():
        assert torch.equal(by_onednn(x, weight, bias), F.linear(x, weight, bias))
    assert not multiplied


def test_what_learns_or_is_looked_at_is_left_to_torch(multiplied: list[int]) -> None:
    class Watching:
        def wants(self, *_: Any) -> bool:
            return False

        def see(self, _: Any, __: str, tensor: Tensor) -> Tensor:
            return tensor

    x, weight, bias = operands(100)
    weight.requires_grad_()
    by_onednn(x, weight, bias).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(dim=0).expand(OUTPUTS, -1), rtol=1e-5, atol=1e-5)
    token = watcher.set(Watching())
    with torch.inference_mode():
        assert torch.equal(by_onednn(x, weight, bias), F.linear(x, weight, bias))
    watcher.reset(token)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        assert by_onednn(x, weight, bias).dtype == torch.bfloat16
    assert not multiplied


@pytest.fixture
def unmeasured() -> Iterator[None]:
    """A process that has not measured yet, before and after."""
    best_product.cache_clear()
    yield
    best_product.cache_clear()


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("faster", ["MKL", "oneDNN"])
def test_what_was_measured_is_chosen(monkeypatch: pytest.MonkeyPatch, faster: str) -> None:
    def measured(what: str, ways: Mapping[str, Callable[[], Tensor]], *, least: float) -> str:
        first, second = (way() for way in ways.values())
        assert torch.equal(first, second)  # whole numbers: both are exact
        assert least > 1
        return faster

    monkeypatch.setattr(products, "fastest", measured)
    layer = Projection(INPUTS, OUTPUTS, bias=True)
    choose_products(layer)
    assert layer.product is best_product()
    assert layer.product is (by_onednn if faster == "oneDNN" else F.linear)


@pytest.mark.usefixtures("unmeasured")
def test_a_process_keeps_to_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "fastest", lambda *_, **__: "oneDNN")
    first = best_product()
    monkeypatch.setattr(products, "fastest", lambda *_, **__: "MKL")  # the machine is loaded, or the cache was emptied
    assert best_product() is first


@pytest.mark.usefixtures("unmeasured")
def test_a_layer_with_a_product_of_its_own_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def own(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, weight, bias)

    monkeypatch.setattr(products, "fastest", lambda *_, **__: "oneDNN")
    layer = Projection(INPUTS, OUTPUTS, bias=True)
    layer.product = own
    choose_products(layer)
    assert layer.product is own
