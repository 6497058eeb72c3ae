"""Matrices laid out for the processor, for passes over many tokens.

oneDNN multiplies by a matrix that it has laid out once quicker than by one in rows, and it adds the bias while a tile
of the product is still in the processor's cache. Laying out reads and writes each weight once, which costs as much as
some fifty tokens: so it is done for a pass over many texts and given up after it. Nothing has to be kept in step with
weights that change. decisions/2026-11-23-vectors-of-many-texts.md says what was tried beside it.

I inputs · O outputs
"""

from __future__ import annotations

import copy
import platform

import torch
from torch import Tensor, nn

from glassformer.models.transformer import Transformer
from glassformer.parts.tap import watcher


class PackedLinear(nn.Module):
    """x Wᵀ + b of a linear layer, inputs and outputs in the type `dtype`."""

    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.matrix = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().to(dtype))  # [O, I]
        self.bias = None if layer.bias is None else layer.bias.detach().to(dtype)  # [O]

    def forward(self, x: Tensor, *_: object) -> Tensor:
        """[..., I] to [..., O]; what a layer is told beside its inputs belongs to training."""
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x.to(self.dtype), self.matrix, self.bias, "none", [], "")
        return found  # [..., O]


def packed(model: Transformer, *, fast: bool) -> Transformer:
    """The same model for prediction, the matrices of its blocks laid out for the processor: in bfloat16 where `fast`,
    else in the type of the weights. The other parameters are shared, and the model itself stays as it is.

    It is the model itself where oneDNN does not multiply its type here, where somebody watches the model's tensors, and
    where it is of a class that has its answers from elsewhere.
    """
    weight = model.word_table
    dtype = torch.bfloat16 if fast else weight.dtype
    if type(model) is not Transformer or watcher.get() is not None or not can_pack(weight.device, dtype):
        return model
    shared: dict[int, object] = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    twin = copy.deepcopy(model, shared)
    for stack in (twin.encoder, twin.decoder):
        if stack is not None:
            for parent in list(stack.blocks.modules()):
                for name, child in list(parent.named_children()):
                    if isinstance(child, nn.Linear) and _is_plain(child):
                        setattr(parent, name, PackedLinear(child, dtype))
    return twin


def _is_plain(layer: nn.Linear) -> bool:
    """Whether it is x Wᵀ + b and nothing else: no hook, no part of its own such as an adapter, no parametrization."""
    return not (layer._forward_hooks or layer._forward_pre_hooks or any(True for _ in layer.children()))


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies this type on this device: float32 on any x86 processor, bfloat16 where it has it."""
    on = device.type == "cpu" and platform.machine() in ("x86_64", "AMD64")
    if not on or not torch.backends.mkldnn.is_available() or not torch.backends.mkldnn.enabled:
        return False
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):  # torch's own names, which later versions may lack
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported())
