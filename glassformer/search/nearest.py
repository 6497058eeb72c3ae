"""The vectors that are nearest to another one: exactly, by reading them all; by faiss where that is installed.

N vectors · W their numbers · Q questions · K how many are asked for
"""

from __future__ import annotations

import importlib.util
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from glassformer.errors import MissingExtraError

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Backend = Literal["auto", "exact", "faiss"]

# Vectors that are compared together with all questions, and questions together.
_BLOCK, _QUESTIONS = 1 << 16, 256


class Nearest(Protocol):
    """What finds vectors by their inner product with others."""

    name: str

    def find(self, questions: Floats, top: int) -> tuple[Floats, Integers]:
        """The largest products [Q, K] with vectors [Q, W] and the rows [Q, K] they are of, largest first; of equal
        ones the smaller row first. K is `top`, or N where there are fewer.
        """
        ...


class Exact:
    """Reads all vectors for each block of questions; they may be mapped from a file: no copy of them is made."""

    name = "exact"

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors  # [N, W]

    def find(self, questions: Floats, top: int) -> tuple[Floats, Integers]:
        """By matrix products in float32."""
        top = min(top, len(self.vectors))
        found = [self._find(questions[at : at + _QUESTIONS], top) for at in range(0, len(questions), _QUESTIONS)]
        if not found:
            return np.zeros((0, top), np.float32), np.zeros((0, top), np.int64)
        return np.concatenate([scores for scores, _ in found]), np.concatenate([rows for _, rows in found])

    def _find(self, questions: Floats, top: int) -> tuple[Floats, Integers]:
        best = np.zeros((len(questions), 0), np.float32)
        rows = np.zeros((len(questions), 0), np.int64)
        for at in range(0, len(self.vectors), _BLOCK):
            scores = questions @ np.asarray(self.vectors[at : at + _BLOCK]).T  # [Q, block]
            here = np.broadcast_to(np.arange(at, at + scores.shape[1]), scores.shape)
            best = np.concatenate([best, scores], axis=1)
            rows = np.concatenate([rows, here], axis=1)
            if best.shape[1] > top:
                # All that are as large as the K-th largest: of equal ones the smaller rows are wanted.
                edge = np.partition(best, best.shape[1] - top, axis=1)[:, -top][:, None]  # [Q, 1]
                order = np.argsort(np.where(best >= edge, -best, np.inf), axis=1, kind="stable")[:, :top]
                best, rows = np.take_along_axis(best, order, axis=1), np.take_along_axis(rows, order, axis=1)
        order = np.lexsort((rows, -best), axis=1)
        return np.take_along_axis(best, order, axis=1), np.take_along_axis(rows, order, axis=1)


class Faiss:
    """The flat inner-product index of faiss: the same products, in its own kernels."""

    name = "faiss"

    def __init__(self, vectors: Floats) -> None:
        import faiss

        self._index = faiss.IndexFlatIP(vectors.shape[1])
        for at in range(0, len(vectors), _BLOCK):
            self._index.add(np.ascontiguousarray(vectors[at : at + _BLOCK]))
        self._count = len(vectors)

    def find(self, questions: Floats, top: int) -> tuple[Floats, Integers]:
        """As faiss finds them; equal products in the order of their rows."""
        scores, rows = self._index.search(np.ascontiguousarray(questions, np.float32), min(top, self._count))
        order = np.lexsort((rows, -scores), axis=1)
        return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def nearest(vectors: Floats, backend: Backend = "auto") -> Nearest:
    """What finds them: faiss where it is installed and the vectors are many enough to be worth their copy, or as asked
    for. Raises MissingExtraError where faiss is asked for and not there.
    """
    spec = importlib.util.find_spec("faiss")
    there = spec is not None and spec.origin is not None  # a folder of that name, beside which Python runs, has none
    if backend == "faiss" and not there:
        raise MissingExtraError("faiss-cpu", extra="faiss", purpose="searching with faiss")
    if backend == "faiss" or (backend == "auto" and there):
        return Faiss(vectors)
    return Exact(vectors)
