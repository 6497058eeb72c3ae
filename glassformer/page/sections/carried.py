"""Which numbers a page carries: every tensor of the run and every weight, as far as the limit allows.

A number on the page is never an approximation: a tensor is carried whole or not at all, and what the page can work out
is sent as its difference from that (`derived.py`). Of a table with a row for each word of the vocabulary there may be
only the rows that the run uses. What is left out is listed, and the page says so where it would be needed.
"""

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

# Narrower types in which numbers of the key's type may be written, the narrowest first.
NARROWER: Mapping[torch.dtype, tuple[torch.dtype, ...]] = {
    torch.float64: (torch.bfloat16, torch.float32),
    torch.float32: (torch.bfloat16,),
    torch.int64: (torch.int32,),
}

PLANES = "planes, sign last"
"""How a file says that the bytes of its numbers are in the order of `planes`."""
SIGNED = {torch.float32: torch.int32, torch.bfloat16: torch.int16}

BEYOND_LIMIT, NOT_SAVED, OTHER_ROWS = "limit", "not saved", "rows"
"""Why a tensor is left out: the page is full, or the trace was saved without it and has no model to compute it; or only
the rows of its words are carried.
"""
BEST = 20
"""Of the words that a place could be, the rows of so many are carried."""
PIECE = 8192
SAMPLES, SAMPLE = 8, 4096
"""How much of a large tensor is compressed to estimate its size."""


@dataclass
class Carried:
    """The run's tensors and the facts of its inputs, the weights, and why each of the others is left out. `unsure` has
    the tensors that are steps from their formulas, with the numbers of some places.
    """

    limit: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    unsure: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    opens: bool = True
    """Whether each number of the first blocks has all of its operands."""

    @property
    def nbytes(self) -> int:
        """About how many bytes of the page they take."""
        return sum(self.sizes.values())

    def room(self, name: str, size: int, most: int | None = None) -> bool:
        """Whether so many bytes fit in the place of this tensor, of at most `most`; if so, they are counted."""
        fits = self.nbytes - self.sizes.get(name, 0) + size <= (self.limit if most is None else most)
        if fits:
            self.sizes[name] = size
            self.left_out.pop(name, None)
        elif name not in self.sizes:
            self.left_out[name] = BEYOND_LIMIT
        return fits

    def add(self, into: dict[str, Tensor], name: str, tensor: Tensor, most: int | None = None) -> bool:
        """Take a tensor in where it fits; returns whether it does."""
        narrow = lossless(tensor.detach().cpu())
        if fits := self.room(name, packed_bytes(narrow), most):
            into[name] = narrow
        return fits

    def add_rows(self, name: str, tensor: Tensor, rows: list[int]) -> bool:
        """Take in these rows of a table that does not fit whole."""
        if fits := bool(rows) and self.add(self.weights, name, tensor[rows]):
            self.rows[name], self.left_out[name] = rows, OTHER_ROWS
        return fits

    def drop(self, name: str) -> None:
        """Leave a tensor of the run out again."""
        del self.tensors[name], self.sizes[name]
        self.unsure.pop(name, None)
        self.left_out[name] = BEYOND_LIMIT


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
    return round(len(compressed(data, level=1)) * 4 / 3 * tensor.numel() / max(len(flat), 1))


def compressed(data: bytes, *, level: int = 6) -> bytes:
    """As gzip, the same bytes for the same data. Nothing in weights repeats: they are shorter without a search for it,
    and with a code for each piece, because mantissas and exponents follow one another.
    """
    packer = zlib.compressobj(level, wbits=31, strategy=zlib.Z_HUFFMAN_ONLY)
    pieces = (data[start : start + PIECE] for start in range(0, len(data), PIECE))
    coded = b"".join(packer.compress(piece) + packer.flush(zlib.Z_BLOCK) for piece in pieces) + packer.flush()
    return min(gzip.compress(data, compresslevel=level, mtime=0), coded, key=len)


def planes(tensor: Tensor) -> Tensor:
    """The bytes of the numbers in another order: the first of each, the second of each … In memory of its own.

    The upper bytes of numbers are alike: so they compress to about four fifths of what they do number by number. Before
    that the sign of a float is moved to its end, which leaves all of the exponent in one byte.
    """
    data = tensor.contiguous().flatten()
    if signed := SIGNED.get(tensor.dtype):
        bits = data.view(signed)
        data = (bits << 1) | (bits < 0)
    data = data.view(torch.uint8).view(-1, tensor.element_size())
    return data.T.clone(memory_format=torch.contiguous_format).flatten().view(tensor.dtype).view(tensor.shape)


def lossless(tensor: Tensor) -> Tensor:
    """The same numbers in the narrowest type that holds each of them exactly."""
    for dtype in NARROWER.get(tensor.dtype, ()):
        narrow = tensor.to(dtype)
        if torch.equal(narrow.to(tensor.dtype), tensor):
            return narrow.contiguous()
    return tensor.contiguous()
