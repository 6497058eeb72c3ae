"""Products with weights and inputs of 8 bits: on processors whose instructions multiply bytes, several times as fast.

Each output has a scale of its own for its weights, and each token one for its numbers: no token's result depends on the
others of the batch.

N tokens · I inputs · O outputs
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

# The largest byte of a weight, and of an input on either side of its zero.
_LARGEST, _ZERO = 127.0, 128


class QuantizedProduct:
    """What `F.linear` computes with these weights, in bytes: x Wᵀ + b, with the error of rounding to 8 bits.

    W is rounded once, to whole multiples of a 127th of the largest number of its row; x at each call, to those of a
    127th of the largest number of the token. Their products are added up as integers, exactly.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight = weight.detach().float()
        self.bias = torch.zeros(len(weight)) if bias is None else bias.detach().float()  # [O]
        self.scale = weight.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / _LARGEST  # [O]
        self.zero = torch.zeros(len(weight), dtype=torch.int32)  # [O]
        self.half = torch.tensor(_ZERO + 0.5)
        rounded = (weight / self.scale[:, None]).round().to(torch.int8)  # [O, I]
        self.packed = torch.ops.onednn.qlinear_prepack(rounded, None)

    def __call__(self, x: Tensor) -> Tensor:
        """[..., I] to [..., O], in float32."""
        flat = x.reshape(-1, x.shape[-1]).float()  # [N, I]
        least, most = flat.aminmax(dim=1, keepdim=True)  # [N, 1]
        largest = torch.maximum(most, -least).clamp_(min=torch.finfo(torch.float32).tiny)  # [N, 1]
        # To the nearest: bytes are cut off towards zero, and the half was added before.
        rounded = torch.addcmul(self.half, flat, _LARGEST / largest).to(torch.uint8)  # [N, I]
        product = torch.ops.onednn.qlinear_pointwise(
            *(rounded, 1.0, _ZERO, self.packed, self.scale, self.zero, None, 1.0, 0, torch.float32, "none", [], "")
        )  # [N, O]
        product = torch.addcmul(self.bias, product, largest, value=1 / _LARGEST, out=product)
        return product.view(*x.shape[:-1], -1)  # [..., O]


class QuantizedLinear(nn.Module):
    """In place of a `nn.Linear`."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.product = QuantizedProduct(linear.weight, linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[..., I] to [..., O]."""
        return self.product(x)
