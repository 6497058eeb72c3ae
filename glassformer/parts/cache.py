"""Keys and values already computed, handed in as a value that knows the places of its tokens: a `KeyValueCache`.

`Cache` grows by each step, all rows alike. `SlotCache` is made for decoding: its rows are slots that sentences enter
and leave, and each row holds all hypotheses of its sentence, as a tree of tokens.

B sentences · S newest tokens · K key tokens · G key-value heads · D query size · E value size
R slots · C columns that memory is allocated for · P tokens of a prompt · M memory tokens
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ShapeError

# Columns that a buffer has from the start: growing copies all that it holds.
FEWEST = 32
# The value of a fact for tokens it was not given for, where other tokens have it. Documents have no such default.
DEFAULT_FACTS: Mapping[str, bool | int] = {"real": True, "masked_words": False, "segments": 0}


class KeysAndValues(Protocol):
    """The keys [B, G, K, D] and values [B, G, K, E] of one attention; None before the first."""

    @property
    def key(self) -> Tensor | None: ...

    @property
    def value(self) -> Tensor | None: ...

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest keys and values and return all that are looked at."""
        ...


Pair = TypeVar("Pair", bound=KeysAndValues, covariant=True)


@dataclass(frozen=True)
class LayerCache(Generic[Pair]):
    """One block: self-attention grows with each step, cross-attention is computed once from the memory."""

    own: Pair
    memory: Pair


class KeyValueCache(Protocol):
    """What a stack asks of its cache: one `LayerCache` for each block, and where its tokens stand."""

    @property
    def layers(self) -> Sequence[LayerCache[KeysAndValues]]: ...

    @property
    def facts(self) -> Mapping[str, Tensor]:
        """The facts of the tokens so far, each [B, K]: which are real, in which document."""
        ...

    def keys(self, tokens: int) -> int:
        """The number of key tokens that so many newest tokens look at, themselves among them."""
        ...

    def reach(self, tokens: int) -> int:
        """The number of positions that the longest text has with so many newest tokens."""
        ...

    def places(self, tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Places in the text of all key tokens, [1 or B, K], and of so many newest ones, [1 or B, S]."""
        ...

    def advance(
        self, batch: int, tokens: int, newest: Mapping[str, Tensor], device: torch.device
    ) -> Mapping[str, Tensor]:
        """Count `tokens` new ones with these facts, each [B, S]; returns all facts so far, each [B, K]."""
        ...


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

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows in the given order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key.index_select(0, rows), self.value.index_select(0, rows)


class Cache:
    """One `LayerCache` per block, and the facts of the tokens seen so far: which are real, in which document."""

    def __init__(self, layers: int) -> None:
        self.layers = tuple(LayerCache(Pairs(), Pairs()) for _ in range(layers))
        self.length = 0
        self.facts: dict[str, Tensor] = {}  # each [B, K]

    def keys(self, tokens: int) -> int:
        """The number of key tokens that so many newest tokens look at, themselves among them."""
        return self.length + tokens

    def reach(self, tokens: int) -> int:
        """The number of positions that the text has with so many newest tokens."""
        return self.length + tokens

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

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch in the given order, as hypotheses that follow their parents do."""
        for layer in self.layers:
            layer.own.reorder(rows)
            layer.memory.reorder(rows)
        self.facts = {name: fact.index_select(0, rows) for name, fact in self.facts.items()}


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
    """Where each row of a `SlotCache` keeps its tokens: which columns the newest ones are written to, and how many
    columns, `width`, are looked at.
    """

    def __init__(self) -> None:
        self.width = 0
        self.newest = torch.empty(0, dtype=torch.int64)  # [R, S]
        self._flat: tuple[Tensor, int, Tensor] | None = None

    def flat(self, columns: int) -> Tensor:
        """The places [R * S] of the newest tokens in a buffer [R * C, ...] of so many columns: all attentions write to
        the same ones.
        """
        if self._flat is None or self._flat[0] is not self.newest or self._flat[1] != columns:
            rows = torch.arange(len(self.newest), device=self.newest.device)[:, None] * columns  # [R, 1]
            self._flat = self.newest, columns, (rows + self.newest).flatten()
        return self._flat[2]


class SlotPairs:
    """The keys [R, C, G, D] and values [R, C, G, E] of one attention, in memory that grows by doubling. Tokens stand
    before heads, so that what is written for one token is contiguous.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def key(self) -> Tensor | None:
        """The keys looked at, [R, G, K, D]."""
        return None if self.keys is None else self.keys[:, : self.columns.width].transpose(1, 2)  # [R, G, K, D]

    @property
    def value(self) -> Tensor | None:
        """The values looked at, [R, G, K, E]."""
        return None if self.values is None else self.values[:, : self.columns.width].transpose(1, 2)  # [R, G, K, E]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write the newest keys and values to their columns and return all that are looked at."""
        assert self.keys is not None
        assert self.values is not None
        self.keys = _write(_widened(self.keys, self.columns.width), self.columns, key)
        self.values = _write(_widened(self.values, self.columns.width), self.columns, value)
        assert self.key is not None
        assert self.value is not None
        return self.key, self.value

    def put(self, rows: Tensor, key: Tensor, value: Tensor, slots: int) -> None:
        """Keys [N, G, P, D] and values [N, G, P, E] become the first columns of these rows [N]."""
        self.keys = _put(self.keys, rows, key.transpose(1, 2), slots)
        self.values = _put(self.values, rows, value.transpose(1, 2), slots)

    def keep(self, rows: Tensor) -> None:
        """These rows [N] alone, in this order."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys.index_select(0, rows), self.values.index_select(0, rows)


class SlotCache:
    """Keys and values of sentences that enter and leave: one row for each, a tree of tokens for its hypotheses.

    A token is written once and never moved. It stays as long as a hypothesis goes on from it; its column is then free
    for another token. Who may look at whom is told by the mask that `place` gives, and by nothing else: a column's
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
        [R, S, K] tells which columns hold the tokens that each hypothesis has so far, `positions` [R, 1] the place in
        the text of its newest one. Returns the same with the newest token itself, [R, S, K].
        """
        newest = look.shape[1]
        used = F.pad(look.any(dim=1), (0, newest))  # [R, K + S]
        # A stable order by whether a column is used: the free ones first, those of the lowest numbers before others.
        columns = used.byte().argsort(dim=1, stable=True)[:, :newest]  # [R, S]
        taken = used.any(dim=0).index_fill(0, columns.flatten(), True)  # [K + S]
        ends = torch.arange(1, len(taken) + 1, device=taken.device) * taken  # [K + S]
        # A device that computes on while Python runs is waited for once in a step, for both numbers.
        width, self.longest = torch.stack((ends.max(), positions.max() + 1)).tolist()
        self.own.newest, self.own.width = columns, width
        self.positions = _widened(self.positions, width).scatter(1, columns, positions.expand(-1, newest))  # [R, C]
        may_look = F.pad(look, (0, newest))[..., :width]  # [R, S, K]
        return may_look.scatter(2, columns[:, :, None], True)  # [R, S, K]

    def trim_memory(self, live: Tensor) -> Tensor:
        """Look at no more memory than the longest sentence of the live rows [N] has; its real tokens, [R, M]."""
        lengths = self.memory_real[live].any(dim=0).nonzero()  # [M, 1]
        self.memory.width = int(lengths[-1]) + 1 if len(lengths) else min(1, self.memory_real.shape[1])
        return self.memory_real[:, : self.memory.width]  # [R, M]

    def keys(self, tokens: int) -> int:
        """The number of columns that are looked at."""
        return self.own.width

    def reach(self, tokens: int) -> int:
        """The number of positions that the longest text has with its newest tokens."""
        return self.longest

    def places(self, tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Places in the text of all key tokens, [R, K], and of the newest ones, [R, S]."""
        return self.positions[:, : self.own.width], self.positions.gather(1, self.own.newest)

    def advance(
        self, batch: int, tokens: int, newest: Mapping[str, Tensor], device: torch.device
    ) -> Mapping[str, Tensor]:
        """No facts: each token is real, and all of a row belong to one text."""
        assert not newest, "the tokens of a hypothesis are all real"
        return self.facts


def _write(buffer: Tensor, columns: Columns, newest: Tensor) -> Tensor:
    """Newest keys or values [R, G, S, D] at their columns of a buffer [R, C, G, D]."""
    flat = buffer.flatten(2).flatten(0, 1)  # [R * C, G * D]
    flat.index_copy_(0, columns.flat(buffer.shape[1]), newest.transpose(1, 2).flatten(2).flatten(0, 1))
    return buffer


def _put(buffer: Tensor | None, rows: Tensor, first: Tensor, slots: int) -> Tensor:
    """The first columns [N, P, ...] of these rows [N] of a buffer [R, C, ...], which is made where there is none."""
    if buffer is None:
        buffer = first.new_zeros(slots, 0, *first.shape[2:])
    buffer = _widened(buffer.to(first.device), first.shape[1])
    buffer[rows, : first.shape[1]] = first
    return buffer


def _widened(buffer: Tensor, columns: int) -> Tensor:
    """A buffer [R, C, ...] with at least so many columns: where it has fewer, at least twice as many as before."""
    if buffer.shape[1] >= columns:
        return buffer
    more = max(columns, 2 * buffer.shape[1], FEWEST) - buffer.shape[1]
    return torch.cat((buffer, buffer.new_zeros(len(buffer), more, *buffer.shape[2:])), dim=1)  # [R, C, ...]
