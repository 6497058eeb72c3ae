"""Which numbers a page carries: every tensor of the run and every weight, as far as the limit allows.

A tensor is carried whole or not at all, so that a number on the page is never an approximation. What is left out is
listed, and the page says so where it would be needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from glassformer.look.trace.tensors import Tensors


# Narrower types in which numbers of the key's type may be written, the narrowest first.
NARROWER: Mapping[torch.dtype, tuple[torch.dtype, ...]] = {
    torch.float64: (torch.bfloat16, torch.float32),
    torch.float32: (torch.bfloat16,),
    torch.int64: (torch.int32,),
}


BEYOND_LIMIT, NOT_SAVED = "limit", "not saved"
"""Why a tensor is left out: the page is full, or the trace was saved without it and has no model to compute it."""


@dataclass
class Carried:
    """The run's tensors and the facts of its inputs, the weights, and why each of the others is left out."""

    limit: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    nbytes: int = 0

    def add(self, into: dict[str, Tensor], name: str, tensor: Tensor) -> None:
        """Take a tensor in where it fits."""
        narrow = lossless(tensor.detach().cpu())
        if self.nbytes + narrow.nbytes > self.limit:
            self.left_out[name] = BEYOND_LIMIT
        else:
            into[name] = narrow
            self.nbytes += narrow.nbytes


def carry(trace: Tensors, limit: int) -> Carried:
    """Facts first, then the run's tensors unit by unit, then the weights, small ones first, up to `limit` bytes.

    The weights come last because the pictures do without them: one that is too large makes only the formulas that read
    it impossible to work out on the page. A tensor that a saved trace does not hold is left out too.
    """
    found = Carried(limit)
    for name, tensor in trace.facts.items():
        found.add(found.tensors, name, tensor)
    units: dict[str, list[str]] = {}
    for name in trace:
        units.setdefault(trace.statement.unit(name), []).append(name)
    full = False
    for names in units.values():
        known = [name for name in names if not full and (trace.replay is not None or name in trace.stored)]
        held = trace.hold(known)
        for name in names:
            if name in known:
                found.add(found.tensors, name, held.tensor(name))
            else:
                found.left_out[name] = BEYOND_LIMIT if full else NOT_SAVED
        # The units that follow are not computed again only to find that they do not fit either.
        full = full or any(name in found.left_out for name in known)
    for name, tensor in sorted(trace.parameters.items(), key=lambda each: each[1].nbytes):
        found.add(found.weights, name, tensor)
    return found


def lossless(tensor: Tensor) -> Tensor:
    """The same numbers in the narrowest type that holds each of them exactly."""
    for dtype in NARROWER.get(tensor.dtype, ()):
        narrow = tensor.to(dtype)
        if torch.equal(narrow.to(tensor.dtype), tensor):
            return narrow.contiguous()
    return tensor.contiguous()
