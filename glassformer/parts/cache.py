"""Keys and values already computed, handed in as a value that knows the places of its tokens: a `KeyValueCache`.

`Cache` grows by each step, all rows alike. `SlotCache` is made for decoding: its rows are slots that sentences enter
and leave, and each row holds all hypotheses of its sentence, as a tree of tokens.

B sentences · S newest tokens · K key tokens · G key-value heads · D query size · E value size
R slots · C columns that memory is allocated for · P tokens of a prompt · M memory tokens
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ShapeError

# Free columns that a row of a `SlotCache` has at least when it grows, since growing copies all that it holds; of long
# texts more: this share of the columns. All columns are looked at: what is contiguous is read twice as fast as a part.
ROOM, SHARE = 8, 8
# The value of a fact for tokens it was not given for, where other tokens have it. Documents have no such default.
DEFAULT_FACTS: Mapping[str, bool | int] = {"real": True, "masked_words": False, "segments": 0}


@dataclass
class Pairs:
    """The keys [B, G, K, D] and values [B, G, K, E] of one attention of a `Cache`."""

    key: Tensor | None = None
    value: Tensor | None = None

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the newest keys and values and return all of them."""
        if self.key is not None and self.value is not None:
            key = torch.cat((self.key, key), dim=2)  # [B, G, K, D]
            value = torch.cat((self.value, value), dim=2)  # [B, G, K, E]
        self.key, self.value = key, value
        return key, value


Pair = TypeVar("Pair", "Pairs", "SlotPairs", covariant=True)


@dataclass(frozen=True)
class LayerCache(Generic[Pair]):
    """One block: self-attention grows with each step, cross-attention is computed once from the memory."""

    own: Pair
    memory: Pair


class Cache:
    """One `LayerCache` per block, and the facts of the tokens seen so far: which are real, in which document."""

    def __init__(self, layers: int) -> None:
        self.layers = tuple(LayerCache(Pairs(), Pairs()) for _ in range(layers))
        self.length = 0
        self.facts: dict[str, Tensor] = {}  # each [B, K]

    def keys(self, tokens: int) -> int:
        """The number of key tokens that so many newest tokens look at, themselves among them."""
        return self.length + tokens

    reach = keys
    """The number of positions that the longest text has with so many newest tokens."""

    def places(self, tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Places in the text of all key tokens, [1, K], and of so many newest ones, [1, S]."""
        index = torch.arange(self.length + tokens, device=device)[None]  # [1, K]
        return index, index[:, self.length :]

    def advance(
        self, batch: int, tokens: int, newest: Mapping[str, Tensor], device: torch.device
    ) -> Mapping[str, Tensor]:
        """Count `tokens` new ones with these facts, each [B, S]; returns all facts so far, each [B, K]. Raises
        ShapeError when documents are given for some tokens and not for others, or for other rows than so far, and has
        then counted nothing.
        """
        key = self.layers[0].own.key
        if key is not None and key.shape[0] != batch:
            raise ShapeError(f"a step must go on with the cache's {key.shape[0]} sentences", got=f"{batch}")
        if self.length:
            names = self.facts.keys() | newest.keys()
            before = _filled(names, self.facts, (batch, self.length), device)
            newest = _filled(names, newest, (batch, tokens), device)
            newest = {name: torch.cat((before[name], newest[name]), dim=1) for name in names}  # [B, K]
        self.facts = dict(newest)
        self.length += tokens
        return self.facts


def _filled(
    names: Set[str], facts: Mapping[str, Tensor], shape: tuple[int, int], device: torch.device
) -> dict[str, Tensor]:
    """These facts of some tokens: as they were given, else their defaults."""
    lost = names - facts.keys() - DEFAULT_FACTS.keys()
    if lost:
        raise ShapeError(f"{min(lost)} must be given for all tokens or for none", got="tokens with and tokens without")
    return {
        name: facts[name] if name in facts else torch.full(shape, DEFAULT_FACTS[name], device=device)  # [B, S]
        for name in names
    }


class Columns:
    """Columns of a `SlotCache`: how many there are (`width`), and which hold the newest tokens of each row."""

    def __init__(self) -> None:
        self.width = 0
        self.newest = torch.empty(0, dtype=torch.int64)  # [R, S]
        self._flat: tuple[Tensor, torch.Size, Tensor] | None = None

    def fit(self, needed: int, *, grows: bool) -> None:
        """Change the width where so many columns do not fit, or where far fewer are needed. `grows`: soon more are."""
        room = max(ROOM, needed // SHARE)
        wanted = needed + room * grows
        if not needed <= self.width <= wanted + room:
            self.width = wanted

    def flat(self, shape: torch.Size) -> Tensor:
        """Places [R * G * S] of the newest tokens in a flat buffer [R * G * C, ...], for all attentions."""
        if self._flat is None or self._flat[0] is not self.newest or self._flat[1] != shape:
            rows = torch.arange(shape[0] * shape[1], device=self.newest.device).view(shape[0], shape[1], 1)  # [R, G, 1]
            self._flat = self.newest, shape, (rows * shape[2] + self.newest[:, None]).flatten()
        return self._flat[2]


class SlotPairs:
    """The keys [R, G, C, D] and values [R, G, C, E] of one attention, contiguous, in memory that grows."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write the newest keys and values to their columns and return all."""
        self.fit()
        assert self.key is not None
        assert self.value is not None
        for buffer, newest in ((self.key, key), (self.value, value)):
            buffer.view(-1, buffer.shape[3]).index_copy_(0, self.columns.flat(buffer.shape), newest.flatten(0, 2))
        return self.key, self.value

    def fit(self) -> None:
        """Give the buffers as many columns as there are now."""
        if self.key is not None and self.value is not None:
            self.key, self.value = (_fitted(each, self.columns.width, 2) for each in (self.key, self.value))

    def put(self, rows: Tensor, key: Tensor, value: Tensor, slots: int) -> None:
        """Keys [N, G, P, D] and values [N, G, P, E] become the first columns of these rows [N]."""
        self.key, self.value = _put(self.key, rows, key, slots), _put(self.value, rows, value, slots)

    def keep(self, rows: Tensor) -> None:
        """These rows [N] alone, in this order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key.index_select(0, rows), self.value.index_select(0, rows)


class SlotCache:
    """Keys and values of sentences that enter and leave: one row for each, a tree of tokens for its hypotheses.

    A token is written once and never moved. It stays as long as a hypothesis goes on from it; its column is then free
    for another token. Who may look at whom is decided by the mask that `place` gives, and by nothing else: a column's
    number says nothing about its place in the text, which `positions` [R, C] holds.
    """

    def __init__(self, layers: int, slots: int) -> None:
        self.slots = slots
        self.own, self.memory = Columns(), Columns()
        self.layers = tuple(LayerCache(SlotPairs(self.own), SlotPairs(self.memory)) for _ in range(layers))
        self.facts: Mapping[str, Tensor] = {}
        self.positions = torch.zeros(slots, 0, dtype=torch.int64)
        self.longest = 0
        self.memory_real = torch.zeros(slots, 0, dtype=torch.bool)

    def put(self, rows: Tensor, cache: Cache, of: Tensor, memory_real: Tensor | None) -> None:
        """Sentences `of` [N] of another cache, whose tokens stand at its first columns, take these rows [N].
        `memory_real` [B, M] are the real tokens of that cache's memory, where there is one.
        """
        for mine, its in zip(self.layers, cache.layers, strict=True):
            for ours, theirs in ((mine.own, its.own), (mine.memory, its.memory)):
                if theirs.key is not None and theirs.value is not None:
                    ours.put(rows, theirs.key[of], theirs.value[of], self.slots)
        places = torch.arange(cache.length, device=rows.device).expand(len(rows), -1)  # [N, P]
        self.positions = _put(self.positions, rows, places, self.slots)  # [R, C]
        if memory_real is not None:
            real = self.memory_real.to(rows.device).index_fill(0, rows, False)  # [R, M]
            self.memory_real = _put(real, rows, memory_real[of], self.slots)  # [R, M]

    def keep(self, rows: Tensor) -> None:
        """These rows [N] alone, in this order: the others have left."""
        for layer in self.layers:
            layer.own.keep(rows)
            layer.memory.keep(rows)
        self.positions, self.memory_real = self.positions[rows], self.memory_real[rows]
        self.slots = len(rows)

    def place(self, look: Tensor, positions: Tensor) -> Tensor:
        """Choose a free column for the newest token of each hypothesis, and say which columns it may look at. `look`
        [R, S, K] marks the columns that hold the tokens of each hypothesis so far, `positions` [R, 1] is the place in
        the text of its newest one. Returns the same with the newest token itself, [R, S, K].
        """
        newest = look.shape[1]
        used = F.pad(look.any(dim=1), (0, newest))  # [R, K + S]
        # A stable order by whether a column is used: the free ones first, those of the lowest numbers before others.
        columns = used.byte().argsort(dim=1, stable=True)[:, :newest]  # [R, S]
        taken = used.any(dim=0).index_fill(0, columns.flatten(), True)  # [K + S]
        ends = torch.arange(1, len(taken) + 1, device=taken.device) * taken  # [K + S]
        # A device that computes on while Python runs is waited for once in a step, for both numbers.
        needed, self.longest = torch.stack((ends.max(), positions.max() + 1)).tolist()
        self.own.fit(needed, grows=True)
        self.own.newest, width = columns, self.own.width
        self.positions = _fitted(self.positions, width, 1).scatter(1, columns, positions.expand(-1, newest))  # [R, C]
        return _fitted(look, width, 2).scatter(2, columns[:, :, None], True)  # [R, S, C]

    def trim_memory(self, live: Tensor) -> Tensor:
        """Keep little more memory than the longest sentence of the live rows [N] has; its real tokens, [R, M]."""
        lengths = self.memory_real[live].any(dim=0).nonzero()  # [M, 1]
        needed = int(lengths[-1]) + 1 if len(lengths) else min(1, self.memory_real.shape[1])
        self.memory.fit(needed, grows=False)
        self.memory_real = _fitted(self.memory_real, self.memory.width, 1)
        for layer in self.layers:
            layer.memory.fit()
        return self.memory_real  # [R, M]

    def keys(self, tokens: int) -> int:
        """The number of columns that are looked at."""
        return self.own.width

    def reach(self, tokens: int) -> int:
        """The number of positions that the longest text has with its newest tokens."""
        return self.longest

    def places(self, tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Places in the text of all key tokens, [R, K], and of the newest ones, [R, S]."""
        return self.positions, self.positions.gather(1, self.own.newest)

    def advance(
        self, batch: int, tokens: int, newest: Mapping[str, Tensor], device: torch.device
    ) -> Mapping[str, Tensor]:
        """No facts: each token is real, and all of a row belong to one text."""
        assert not newest, "the tokens of a hypothesis are all real"
        return self.facts


KeyValueCache = Cache | SlotCache
"""What a stack goes on from: one `LayerCache` for each block, and where its tokens stand."""


def _put(buffer: Tensor | None, rows: Tensor, first: Tensor, slots: int) -> Tensor:
    """The first columns [N, ..., P, D] of these rows [N] of a buffer [R, ..., C, D], which is made where there is none;
    of facts [N, P] of a buffer [R, C].
    """
    dim = 1 if first.dim() == 2 else 2
    size = first.shape[dim]
    if buffer is None:
        buffer = first.new_zeros(slots, *first.shape[1:])
    buffer = _fitted(buffer.to(first.device), max(size, buffer.shape[dim]), dim)
    buffer.narrow(dim, 0, size)[rows] = first
    return buffer


def _fitted(buffer: Tensor, columns: int, dim: int) -> Tensor:
    """A buffer with so many columns on this axis: what is new is 0."""
    more = columns - buffer.shape[dim]
    if more <= 0:
        return buffer.narrow(dim, 0, columns).contiguous()
    shape = list(buffer.shape)
    shape[dim] = more
    return torch.cat((buffer, buffer.new_zeros(shape)), dim=dim)
