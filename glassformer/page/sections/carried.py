"""Which numbers a page carries: every tensor of the run and every weight, as far as the limit allows.

A tensor is carried whole or not at all, so that a number on the page is never an approximation; of a table with a row
for each word of the vocabulary the rows that the run uses, where it does not fit whole. What is left out is listed, and
the page says so where it would be needed.
"""

from __future__ import annotations

import gzip
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


BEYOND_LIMIT, NOT_SAVED, OTHER_ROWS = "limit", "not saved", "rows"
"""Why a tensor is left out: the page is full, or the trace was saved without it and has no model to compute it; or only
the rows of its words are carried.
"""
BEST = 20
"""Of the words that a place could be, the rows of so many are carried."""
SAMPLES, SAMPLE = 8, 4096
"""How much of a large tensor is compressed to estimate its size."""


@dataclass
class Carried:
    """The run's tensors and the facts of its inputs, the weights, and why each of the others is left out."""

    limit: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    nbytes: int = 0

    def add(self, into: dict[str, Tensor], name: str, tensor: Tensor) -> bool:
        """Take a tensor in where it fits; returns whether it does. `limit` and `nbytes` are bytes of the page."""
        narrow = lossless(tensor.detach().cpu())
        size = packed_bytes(narrow)
        if fits := self.nbytes + size <= self.limit:
            into[name] = narrow
            self.nbytes += size
        else:
            self.left_out[name] = BEYOND_LIMIT
        return fits

    def add_rows(self, name: str, tensor: Tensor, rows: list[int]) -> None:
        """Take in these rows of a table that does not fit whole."""
        if rows and self.add(self.weights, name, tensor[rows]):
            self.rows[name], self.left_out[name] = rows, OTHER_ROWS


def carry(trace: Tensors, limit: int) -> Carried:
    """Facts first, then the attention weights, the other tensors of the run unit by unit, and the model's weights,
    small ones first, up to `limit` bytes.

    The weights come last because the pictures do without them: one that is too large makes only the formulas that read
    it impossible to work out on the page. A tensor that a saved trace does not hold is left out too.
    """
    found = Carried(limit)
    for name, tensor in trace.facts.items():
        found.add(found.tensors, name, tensor)
    units: dict[str, list[str]] = {"": []}
    for name in trace:
        unit = "" if name.endswith("_attention.weights") else trace.statement.unit(name)
        units.setdefault(unit, []).append(name)
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
        if not found.add(found.weights, name, tensor) and name.endswith("embed.word.weight"):
            found.add_rows(name, tensor, rows_used(found.tensors, len(tensor)))
    return found


def rows_used(tensors: Mapping[str, Tensor], words: int) -> list[int]:
    """The words of a run that a vocabulary of so many has: those of its texts, and the best guesses of each place."""
    used = {int(id_) for name, ids in tensors.items() if name.endswith(".ids") for id_ in ids.flatten()}
    logits = tensors.get("head.logits")
    if logits is not None and logits.shape[-1] == words:
        used |= set(logits.float().topk(min(BEST, words)).indices.flatten().tolist())
    return sorted(id_ for id_ in used if 0 <= id_ < words)


def packed_bytes(tensor: Tensor) -> int:
    """About how many bytes of a page these numbers take: compressed, in base64. Of a large tensor samples tell."""
    flat = tensor.flatten()
    each = len(flat) // SAMPLES
    if each > SAMPLE:
        # From the middle: an attention that looks back only begins with zeros.
        flat = flat[: each * SAMPLES].view(SAMPLES, each).narrow(1, (each - SAMPLE) // 2, SAMPLE).flatten()
    data = planes(flat).view(torch.uint8).numpy().tobytes()
    return round(len(gzip.compress(data, compresslevel=1)) * 4 / 3 * tensor.numel() / max(len(flat), 1))


def planes(tensor: Tensor) -> Tensor:
    """The bytes of the numbers in another order: the first of each, the second of each … In memory of its own.

    The upper bytes of numbers are alike: so they compress to about four fifths of what they do number by number.
    """
    data = tensor.contiguous().flatten().view(torch.uint8).view(-1, tensor.element_size())
    return data.T.clone(memory_format=torch.contiguous_format).flatten().view(tensor.dtype).view(tensor.shape)


def lossless(tensor: Tensor) -> Tensor:
    """The same numbers in the narrowest type that holds each of them exactly."""
    for dtype in NARROWER.get(tensor.dtype, ()):
        narrow = tensor.to(dtype)
        if torch.equal(narrow.to(tensor.dtype), tensor):
            return narrow.contiguous()
    return tensor.contiguous()
