"""x Wᵀ + b of many rows in float32 on a processor, by the faster of the two libraries that torch comes with: MKL, which
`F.linear` calls, or oneDNN. On an AMD processor with AVX-512, MKL multiplies at the rate of AVX2, and oneDNN more than
twice as fast (decisions/2026-11-27-the-faster-product.md).

N rows, such as the tokens of all sentences · I inputs · O outputs
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.models.heads import VocabularyHead
from glassformer.parts.projection import Product, Projection
from glassformer.parts.tap import watcher
from glassformer.runtime.measured import fastest

# Rows of one product at most, and from how many on oneDNN is faster.
MOST_ROWS, FEWEST_ROWS = 1024, 12
# For each number of rows and each matrix oneDNN keeps about 1 kB a row. So few numbers of rows are used, and a product
# is filled up with rows of zeros: to a multiple of the second number, for so many rows at most.
_FILLED_TO = ((64, 16), (512, 64), (MOST_ROWS, 128))
# What is measured once on a machine: rows, outputs, inputs; and how much faster oneDNN must be to pay for the zeros.
_MEASURED, _LEAST = (512, 512, 512), 1.2


def choose_products(model: nn.Module) -> None:
    """Let oneDNN multiply by the matrices of a model where that is faster on this machine."""
    product = best_product()
    for layer in model.modules():
        if isinstance(layer, Projection | VocabularyHead) and layer.product is F.linear:
            layer.product = product


@cache
def best_product() -> Product:
    """The product of many rows in float32 that is faster on this processor, measured once on a machine. One process
    keeps to one product, so that a model opened twice gives the same bits.
    """
    if not torch.backends.mkldnn.is_available():
        return F.linear
    rows, outputs, inputs = _MEASURED
    x, weight = torch.ones(rows, inputs), torch.ones(outputs, inputs)
    with torch.inference_mode():
        ways = {"MKL": lambda: F.linear(x, weight), "oneDNN": lambda: by_onednn(x, weight, None)}
        name = fastest(f"{rows} rows by {outputs} x {inputs} in turn, float32", ways, least=_LEAST)
    return by_onednn if name == "oneDNN" else F.linear


def by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Inputs [..., I] to outputs [..., O], equal to `F.linear` up to rounding. Few rows, other types and devices, and
    what needs a gradient, is compiled or is looked at, are left to `F.linear`.
    """
    if torch.compiler.is_compiling() or torch.is_grad_enabled() or watcher.get() is not None:
        return F.linear(x, weight, bias)  # [..., O]
    rows = x.numel() // x.shape[-1]
    if rows < FEWEST_ROWS or x.dtype != torch.float32 or x.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
        return F.linear(x, weight, bias)  # [..., O]
    parts = [_filled(part, weight, bias) for part in x.reshape(rows, -1).split(MOST_ROWS)]
    found = parts[0] if len(parts) == 1 else torch.cat(parts)  # [N, O]
    return found.view(*x.shape[:-1], -1)  # [..., O]


def _filled(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Inputs [N, I] to outputs [N, O], of at most MOST_ROWS rows, in a product of one of few sizes."""
    rows = len(x)
    multiple = next(multiple for most, multiple in _FILLED_TO if rows <= most)
    if filled := -rows % multiple:
        x = F.pad(x, (0, 0, 0, filled))  # [N + filled, I]
    return _of_a_size(x, weight, bias)[:rows]  # [N, O]


def _of_a_size(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """[N, I] to [N, O]."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found  # [N, O]
