"""Counter-based random numbers: the same (seed, epoch, row, position) always gives the same number.

Proposed by Salmon et al. (2011); the mixing function is that of SplitMix64 (Steele et al. 2014). No number depends on
earlier ones, so that other rows, workers and restarts cannot change it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

_ALL = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def random_bits(*names: int | npt.NDArray[np.integer[Any]]) -> Words:
    """64 random bits for each combination of counters; arrays are broadcast against each other."""
    state = np.zeros((), np.uint64)
    for name in names:
        part = np.array(name & _ALL, np.uint64) if isinstance(name, int) else name.astype(np.uint64)
        state = mixed(state ^ part)
    return state


def mixed(state: Words) -> Words:
    """Hash 64 bits: flipping any bit of `state` flips about half of the result."""
    with np.errstate(over="ignore"):  # the arithmetic is modulo 2^64 on purpose
        state = state + _GOLDEN
        state = (state ^ (state >> np.uint64(30))) * _FIRST
        state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


def uniform(*names: int | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1), one for each combination of counters."""
    return (random_bits(*names) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(limit: int | npt.NDArray[np.int64], *names: int | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Whole numbers in [0, limit), for limits far below 2^53."""
    return (uniform(*names) * limit).astype(np.int64)
