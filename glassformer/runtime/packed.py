"""Matrices laid out for the processor, for passes over many tokens.

oneDNN multiplies by a matrix that it has laid out once quicker than by one in rows, which is laid out anew at each
product, and it works out a bias and an activation while a tile of the product is still in the processor's cache. Laying
out reads and writes each weight once, as much as some fifty tokens cost: so it is done for a pass over many texts, and
given up after it. Nothing has to be kept in step with weights that change.

B sentences · S tokens · I inputs · O outputs · W width
"""

from __future__ import annotations

import copy
import platform

import torch
from torch import Tensor, nn

from glassformer.models.transformer import Transformer
from glassformer.parts.feed_forward import ACTIVATIONS, FeedForward
from glassformer.parts.tap import watcher

# By the activation that follows a product: what oneDNN calls it.
_FOLLOWING = {"relu": ("relu", ""), "gelu": ("gelu", "none"), "gelu_tanh": ("gelu", "tanh")}


class PackedLinear(nn.Module):
    """f(x Wᵀ + b) of a linear layer, where f is an activation or nothing, in the type `dtype`."""

    def __init__(self, layer: nn.Linear, dtype: torch.dtype, following: str | None = None) -> None:
        super().__init__()
        weight = layer.weight.detach().to(dtype)  # [O, I]
        self.dtype = dtype
        self.matrix = torch.ops.mkldnn._reorder_linear_weight(weight)
        self.bias = None if layer.bias is None else layer.bias.detach().to(dtype)  # [O]
        self.following = ("none", "") if following is None else _FOLLOWING[following]

    def forward(self, x: Tensor) -> Tensor:
        """[..., I] to [..., O]."""
        name, form = self.following
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x.to(self.dtype), self.matrix, self.bias, name, [], form)
        return found  # [..., O]


def packed(model: Transformer, *, fast: bool) -> Transformer:
    """The same model for prediction, the matrices of its blocks laid out for the processor: in bfloat16 where `fast`,
    else in the type of the weights. The other parameters are shared, and the model itself stays as it is.

    It is the model itself where oneDNN does not multiply its type here, and where somebody watches the model's tensors.
    """
    weight = model.word_table
    dtype = torch.bfloat16 if fast else weight.dtype
    if watcher.get() is not None or not can_pack(weight.device, dtype):
        return model
    shared: dict[int, object] = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    twin = copy.deepcopy(model, shared)
    for stack in (twin.encoder, twin.decoder):
        if stack is not None:
            for module in list(stack.blocks.modules()):
                _pack_layers(module, dtype)
    return twin


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies this type on this device: float32 on any x86 processor, bfloat16 where it has it."""
    on = device.type == "cpu" and platform.machine() in ("x86_64", "AMD64")
    if not on or not torch.backends.mkldnn.is_available() or not torch.backends.mkldnn.enabled:
        return False
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):  # torch's own names, which later versions may lack
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _pack_layers(parent: nn.Module, dtype: torch.dtype) -> None:
    """Replace the linear layers that this module holds itself, and an activation that oneDNN works out with one."""
    following = None
    if type(parent) is FeedForward:
        following = next((name for name in _FOLLOWING if ACTIVATIONS[name] is parent.activation), None)
        if following is not None:
            parent.activation = _as_it_is
    for name, child in list(parent.named_children()):
        if type(child) is nn.Linear:
            setattr(parent, name, PackedLinear(child, dtype, following if name == "hidden" else None))


def _as_it_is(x: Tensor) -> Tensor:
    return x
