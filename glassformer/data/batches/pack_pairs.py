"""Several pairs of texts in one row: sources one after another in the encoder's row, targets in the decoder's.

Padding pairs, which have two lengths each, to common lengths wastes a fifth of the arithmetic in a dozen shapes;
packing them into nearly full rows wastes a twentieth in one or two.

E pairs · R rows · N shapes · C pairs of a pattern
"""

from dataclasses import dataclass

import numpy as np

from glassformer.data.batches.batch import Flags, Flat, Integers, shuffled

# The shortest row holds about so many mean pairs: more fill better, and each token is compared with more others.
_PAIRS = 2.4
# Lengths that are tried, in steps above that, and the pairs on which.
_NEAR, _SAMPLE = (0, 1, 2), 4000
# Matrix products are fastest at multiples of this.
_STEP = 4
_MOST_SHAPES = 12


@dataclass(frozen=True)
class PackedPairs:
    """Which pairs are in which row: `members` has the pairs of each row [R], `shape_of` [R] the number of its shape in
    `shapes` [N, 2], the tokens of the source and of the target; `left_out` are the pairs that fit into none.
    """

    members: Flat
    shape_of: Integers
    shapes: Integers
    left_out: Integers

    @property
    def filled(self) -> tuple[int, int]:
        """Rows times tokens, of the source and of the target, padding included."""
        source, target = self.shapes[self.shape_of].sum(axis=0).tolist()
        return source, target


def choose_rooms(lengths: Integers, longest: int) -> Integers:
    """Sizes [N, 2] of rows for pairs [E, 2]: the cheapest short one, then doubled up to `longest`."""
    fits = lengths[np.all(lengths <= longest, axis=1)]
    if not len(fits):
        return np.array([[longest, longest]])
    largest, mean = fits.max(axis=0), fits.mean(axis=0)
    sample = fits[:: -(-len(fits) // _SAMPLE)]
    about = (_PAIRS * mean / _STEP).astype(np.int64)
    tried = {
        tuple(np.clip((about + np.array([more, also])) * _STEP, 1, longest).tolist())
        for more in _NEAR
        for also in (more - 1, more, more + 1)
    }
    return min((_rooms(np.array(room), largest) for room in sorted(tried)), key=lambda rooms: _cost(sample, rooms))


def _rooms(room: Integers, largest: Integers) -> Integers:
    rooms = [room]
    while bool(np.any(rooms[-1] < largest)):
        most = largest if len(rooms) == _MOST_SHAPES - 1 else np.minimum(rooms[-1] * 2, largest)
        rooms.append(np.maximum(rooms[-1], most))
    return np.array(rooms, np.int64)


def _cost(lengths: Integers, rooms: Integers) -> float:
    """The arithmetic of pairs in these rooms: a target token costs as much as two source tokens."""
    source, target = pack_pairs(lengths, rooms, key=0).filled
    return float(source + 2 * target)


def pack_pairs(lengths: Integers, rooms: Integers, *, key: int) -> PackedPairs:
    """Put pairs [E, 2] into rows of the shapes `rooms` [N, 2], each into the smallest that holds it."""
    fits: Flags = np.all(lengths[:, None] <= rooms[None], axis=2)  # [E, N]
    shape_of_pair = np.where(np.any(fits, axis=1), fits.argmax(axis=1), len(rooms))  # [E]
    rows: list[Integers] = []
    shape_of: list[int] = []
    for shape, room in enumerate(rooms):
        here = np.flatnonzero(shape_of_pair == shape)
        packed = _packed(lengths[here], room, key)
        rows += [here[row] for row in packed]
        shape_of += [shape] * len(packed)
    used, renumbered = np.unique(np.array(shape_of, np.int64), return_inverse=True)
    left_out = np.flatnonzero(shape_of_pair == len(rooms))
    return PackedPairs(Flat.of([row.tolist() for row in rows]), renumbered, rooms[used], left_out)


def _packed(lengths: Integers, room: Integers, key: int) -> list[Integers]:
    sizes, kind = np.unique(lengths, axis=0, return_inverse=True)  # [K, 2], [E]
    kind = kind.reshape(-1)
    mixed = shuffled(np.arange(len(kind)), len(kind), key=key) if len(kind) else kind
    members = mixed[np.argsort(kind[mixed], kind="stable")]  # kind after kind
    left = np.bincount(kind, minlength=len(sizes))  # pairs of each kind
    at = left.cumsum() - left
    # Largest first: what is long in either direction finds room least easily.
    order = np.lexsort((-sizes.sum(axis=1), -(sizes / room).max(axis=1)))
    rows: list[Integers] = []
    for first in order.tolist():
        while left[first]:
            pattern = _pattern(first, sizes, left, room)
            used, times = np.unique(np.array(pattern), return_counts=True)
            repeats = int((left[used] // times).min())
            taken = np.concatenate(
                [members[at[k] : at[k] + repeats * n].reshape(repeats, n) for k, n in zip(used, times, strict=True)],
                axis=1,
            )  # [repeats, C]
            at[used] += repeats * times
            left[used] -= repeats * times
            rows += list(taken)
    return rows


def _pattern(first: int, sizes: Integers, left: Integers, room: Integers) -> list[int]:
    """The kinds of the pairs of one row: the first, then always the one that leaves the least room on both sides."""
    pattern, rest = [first], room - sizes[first]
    spare = left.copy()
    spare[first] -= 1
    while True:
        fits: Flags = (sizes <= rest).all(axis=1) & (spare > 0)  # [K]
        if not fits.any():
            return pattern
        unused = (rest - sizes) / room  # [K, 2]
        loss = unused.sum(axis=1) + 0.5 * np.abs(unused[:, 0] - unused[:, 1])
        best = int(np.where(fits, loss, np.inf).argmin())
        pattern.append(best)
        spare[best] -= 1
        rest = rest - sizes[best]
