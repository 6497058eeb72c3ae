"""Matrices in another layout or type than in training, for prediction on a processor."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.base.errors import ConfigError, DeviceError
from glassformer.models.heads import VocabularyHead
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import DropoutKey
from glassformer.parts.projection import Product, Projection
from glassformer.runtime.measured import fastest
from glassformer.runtime.products import by_onednn

# The largest whole number of 8 bits that has a negative.
LARGEST = 127
# torch reads 8-bit rows whose length is a multiple of this.
MULTIPLE = 16


class Int8Matrix(nn.Module):
    """x Wᵀ + b, where each row of W is whole numbers from -127 to 127 times a scale, the row's largest number / 127 in
    bfloat16. Inputs and results of the product are bfloat16 too, sums float32.
    """

    rounded: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor) -> None:
        """`weight` [O, I] in floating point."""
        super().__init__()
        weight = weight.detach().float()
        largest = weight.abs().amax(dim=1).clamp(min=LARGEST * torch.finfo(torch.bfloat16).tiny)  # [O]
        scale = (largest / LARGEST).to(torch.bfloat16)  # [O]: in the type it is multiplied in, so that no row is off
        whole = (weight / scale[:, None].float()).round().clamp(-LARGEST, LARGEST)  # [O, I]
        self.register_buffer("rounded", whole.to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor, _: Tensor, bias: Tensor | None) -> Tensor:
        """Inputs [..., I] to outputs [..., O]; the floating-point matrix that it replaces is not read."""
        flat = x.flatten(0, -2).to(torch.bfloat16)  # [N, I]
        found = torch._weight_int8pack_mm(flat, self.rounded, self.scale)  # [N, O]
        found = found.unflatten(0, x.shape[:-1]).to(x.dtype)  # [..., O]
        return found if bias is None else found + bias


class Int8Linear(nn.Module):
    """A linear layer with an `Int8Matrix`."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.matrix, self.bias = Int8Matrix(layer.weight), layer.bias
        self.nothing = torch.empty(0)

    def forward(self, x: Tensor, dropout_key: DropoutKey | None = None, tokens: Tensor | None = None) -> Tensor:
        """Inputs [..., I] to outputs [..., O]; without dropout or adapters, as in prediction."""
        return self.matrix(x, self.nothing, self.bias)  # [..., O]


def to_int8(model: Transformer) -> None:
    """Round the matrices of all blocks and of the vocabulary head to 8 bits, in place. The word vectors are unchanged:
    a step reads only a row of them. Raises DeviceError for a model that is not on a processor, ConfigError where a
    matrix has a number of columns that torch's product does not take.
    """
    device = model.word_table.device
    if device.type != "cpu":
        raise DeviceError("8-bit matrices need a CPU", got=str(device), do="use --device cpu")
    layers = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear)
    ]
    if wrong := [child.in_features for _, _, child in layers if child.in_features % MULTIPLE]:
        raise ConfigError(
            f"8-bit matrices need a multiple of {MULTIPLE} columns", got=str(wrong[0]), do="use another type"
        )
    for parent, name, child in layers:
        setattr(parent, name, Int8Linear(child))
    head = model.head
    if head is not None:
        head.product = Int8Matrix(model.word_table if head.weight is None else head.weight)


def is_int8(model: Transformer) -> bool:
    return any(isinstance(module, Int8Matrix) for module in model.modules())


LEAST_NUMBERS = 2**19
"""Smaller matrices stay in the caches, and are multiplied as they are."""

MOST_ROWS = 64
"""More rows are multiplied by the unchanged matrix: oneDNN keeps some memory for each number of rows."""

MOST_BYTES = 2**30
"""The matrices are in memory twice; larger ones together than this are left unchanged."""

# How much faster a laid-out matrix must be: to lay it out takes as long as some ten products, which the 64 next tokens
# of a text are to save.
_LEAST = 1.2
# Numbers of rows for which both products are measured: each stands for those up to it.
_MEASURED_ROWS = (1, 8, MOST_ROWS)
# Rows of a matrix that are measured, of one that has more, and bytes of the matrices multiplied in turn: a text
# reads all matrices of its model between two readings of one, which leaves the caches.
_MEASURED_OUTPUTS, _MEASURED_BYTES = 8192, 1 << 25


class LaidOut:
    """x Wᵀ + b of few rows in float32, equal to `F.linear` up to rounding; all else is left to the `usual` product, and
    the numbers of rows that are not `faster`: those up to each of _MEASURED_ROWS.
    """

    def __init__(
        self,
        weight: Tensor,
        faster: Sequence[bool] = (True,) * len(_MEASURED_ROWS),
        usual: Product = F.linear,
    ) -> None:
        """`weight` [O, I] in float32, on a processor."""
        self.matrix: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), 1)
        self.faster, self.usual = faster, usual

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Inputs [..., I] to outputs [..., O]."""
        rows = x.numel() // x.shape[-1]
        if rows > MOST_ROWS or not self.faster[bisect_left(_MEASURED_ROWS, rows)]:
            return self.usual(x, weight, bias)  # [..., O]
        if x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
            return self.usual(x, weight, bias)  # [..., O]
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.matrix, bias, "none", [], "")
        return found  # [..., O]


@contextmanager
def laid_out(model: Transformer, rows: int = MOST_ROWS + 1) -> Iterator[None]:
    """Inside, large matrices of the stack that writes are laid out where that is faster, in float32: for as many `rows`
    as are written together, or, where these are more than are ever multiplied so, for what is left of them.
    """
    layers: list[tuple[Projection | VocabularyHead, Tensor]] = [
        (layer, layer.weight) for layer in model.output_stack.modules() if isinstance(layer, Projection)
    ]
    if model.head is not None:
        layers.append((model.head, model.word_table if model.head.weight is None else model.head.weight))
    chosen = [
        (layer, weight)
        for layer, weight in layers
        if layer.product in (F.linear, by_onednn) and weight.numel() >= LEAST_NUMBERS and _can_be(weight)
    ]
    if sum(weight.nbytes for _, weight in chosen) > MOST_BYTES:
        chosen = []
    usual = [layer.product for layer, _ in chosen]
    try:
        faster = {size: laid_out_is_faster(*size) for size in {(*weight.shape,) for _, weight in chosen}}
        for layer, weight in chosen:
            of_size = faster[(*weight.shape,)]
            if any(of_size) if rows > MOST_ROWS else of_size[bisect_left(_MEASURED_ROWS, rows)]:
                layer.product = LaidOut(weight, faster[(*weight.shape,)], layer.product)
        yield
    finally:
        for (layer, _), product in zip(chosen, usual, strict=True):
            layer.product = product


def laid_out_is_faster(outputs: int, inputs: int) -> tuple[bool, ...]:
    """For each of _MEASURED_ROWS, whether oneDNN's product with a laid-out matrix [O, I] is clearly faster than
    torch's own.
    """
    outputs = min(outputs, _MEASURED_OUTPUTS)
    made: list[tuple[Tensor, LaidOut]] = []

    def matrices() -> list[tuple[Tensor, LaidOut]]:
        if not made:
            generator = torch.Generator().manual_seed(0)
            for _ in range(max(2, _MEASURED_BYTES // (4 * outputs * inputs))):
                weight = torch.rand(outputs, inputs, generator=generator)
                made.append((weight, LaidOut(weight)))
        return made

    def found(rows: int) -> bool:
        x = torch.ones(rows, inputs)
        ways = {
            "plain": lambda: [F.linear(x, weight) for weight, _ in matrices()],
            "laid out": lambda: [product(x, weight, None) for weight, product in matrices()],
        }
        return fastest(f"{rows} rows by {outputs} x {inputs}, laid out or not", ways, least=_LEAST) == "laid out"

    return tuple(map(found, _MEASURED_ROWS))


def _can_be(weight: Tensor) -> bool:
    """Whether oneDNN lays out such a matrix here, and products are of its type."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
        return False
    return bool(torch.backends.mkldnn.is_available())
