"""The vectors that are nearest to another one: exactly, by reading them all; by faiss where that is installed.

N vectors · W their numbers · Q questions · K how many are asked for
"""

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import ConfigError, MissingExtraError

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.floating[Any]]
Scores = TypeVar("Scores", npt.NDArray[np.float32], npt.NDArray[np.float64])
Backend = Literal["auto", "exact", "faiss"]

# Vectors that are compared together with all questions, and questions together.
_BLOCK, _QUESTIONS = 1 << 16, 256

# Scores that differ by less are equal: so much a text's own vector differs with the other texts of its batch.
TOLERANCE = 1e-6
# The most candidates of a question beyond those asked for: of very many equal ones, those of the smallest rows.
_EQUAL = 1 << 16


class Exact:
    """Finds vectors by their inner product with others: it reads all of them for each block of questions. They may be
    mapped from a file and are not copied. `empty` are rows that must not be found.
    """

    name = "exact"

    def __init__(self, vectors: Floats, empty: Sequence[int] = ()) -> None:
        self.vectors = vectors  # [N, W]
        self._empty = np.array(sorted(empty), np.int64)

    def find(self, questions: Floats, top: int) -> tuple[Floats, Integers]:
        """The largest products [Q, K] with vectors [Q, W] and the rows [Q, K] they are of, largest first; those within
        TOLERANCE of the first of them are equal, and come in the order of their rows. K is `top`, or N where there are
        fewer. Rows that are empty are not found, and not counted.
        """
        top = min(top, len(self.vectors) - len(self._empty))
        found = [
            each
            for at in range(0, len(questions), _QUESTIONS)
            for each in self._find(questions[at : at + _QUESTIONS], top)
        ]
        return _stacked(found, top)

    def _find(self, questions: Floats, top: int) -> Iterator[tuple[Floats, Integers]]:
        best = [np.zeros(0, np.float32) for _ in questions]
        rows = [np.zeros(0, np.int64) for _ in questions]
        for at in range(0, len(self.vectors), _BLOCK):
            scores = questions @ np.asarray(self.vectors[at : at + _BLOCK]).T  # [Q, block]
            begin, end = self._empty.searchsorted([at, at + scores.shape[1]])
            scores[:, self._empty[begin:end] - at] = -np.inf
            for number, its in enumerate(scores):
                here = np.flatnonzero(its >= _edge(best[number] if len(best[number]) >= top else its, top))
                here = here[its[here] > -np.inf]
                mine, of = np.concatenate([best[number], its[here]]), np.concatenate([rows[number], at + here])
                kept = candidates(mine, top)
                best[number], rows[number] = mine[kept], of[kept]
        for mine, of in zip(best, rows, strict=True):
            yield ordered(mine, of, top)


class Faiss:
    """The flat inner-product index of faiss: the same products, in its own kernels."""

    name = "faiss"

    def __init__(self, vectors: Floats, empty: Sequence[int] = ()) -> None:
        import faiss

        self._index = faiss.IndexFlatIP(vectors.shape[1])
        self._rows = np.delete(np.arange(len(vectors)), np.array(empty, np.int64))
        for at in range(0, len(self._rows), _BLOCK):
            self._index.add(np.ascontiguousarray(vectors[self._rows[at : at + _BLOCK]]))

    def find(self, questions: Floats, top: int) -> tuple[Floats, Integers]:
        """The same by faiss, which is asked for more, until the last one is not equal to the last that is wanted."""
        top = min(top, len(self._rows))
        return _stacked([self._one(question[None], top) for question in questions], top)

    def _one(self, question: Floats, top: int) -> tuple[Floats, Integers]:
        asked = top
        while True:
            asked = min(2 * asked + 8, len(self._rows))
            scores, rows = self._index.search(np.ascontiguousarray(question, np.float32), asked)
            if asked == len(self._rows) or scores[0, -1] < scores[0, top - 1] - TOLERANCE:
                return ordered(scores[0], self._rows[rows[0]], top)


def ordered(scores: Scores, rows: Integers, top: int) -> tuple[Scores, Integers]:
    """The `top` largest scores [K] and their rows: the largest first, and those that are within TOLERANCE of it in the
    order of their rows; then the largest of the others, and so on.
    """
    order = np.lexsort((rows, -scores.astype(np.float64)))
    scores, rows = scores[order], rows[order]
    begin = 0
    while begin < min(top, len(scores)):
        end = begin + int(np.searchsorted(-scores[begin:], -(scores[begin] - TOLERANCE), side="right"))
        within = begin + np.argsort(rows[begin:end], kind="stable")
        scores[begin:end], rows[begin:end] = scores[within], rows[within]
        begin = end
    return scores[:top], rows[:top]


def _edge(scores: Reals, top: int) -> float:
    """The least score that may be among the `top`, of these and of others."""
    if len(scores) < top:
        return -np.inf
    return float(np.partition(scores, len(scores) - top)[-top]) - TOLERANCE


def candidates(scores: Reals, top: int) -> Integers:
    """Which of these scores, in the order of their rows, may be among the `top`."""
    kept = np.flatnonzero(scores >= _edge(scores, top))
    if len(kept) <= top + _EQUAL:
        return kept
    surely = scores[kept] > _edge(scores, top) + 2 * TOLERANCE
    return np.sort(np.concatenate([kept[surely], kept[~surely][:_EQUAL]]))


def _stacked(found: Sequence[tuple[Floats, Integers]], top: int) -> tuple[Floats, Integers]:
    if not found:
        return np.zeros((0, top), np.float32), np.zeros((0, top), np.int64)
    return np.stack([scores for scores, _ in found]), np.stack([rows for _, rows in found])


def nearest(vectors: Floats, backend: Backend = "auto", *, empty: Sequence[int] = ()) -> Exact | Faiss:
    """What finds them: with `auto` faiss where it is installed, else `Exact`; or as asked for. Never the rows that are
    `empty`. Raises MissingExtraError where faiss is asked for and not there, ConfigError for another name.
    """
    if backend not in get_args(Backend):
        raise ConfigError(f"a backend is {', '.join(get_args(Backend))}", got=repr(backend)[:60])
    spec = importlib.util.find_spec("faiss")
    there = spec is not None and spec.origin is not None  # a folder `faiss` in the working directory has none
    if backend == "faiss" and not there:
        raise MissingExtraError("faiss-cpu", extra="faiss")
    if backend == "faiss" or (backend == "auto" and there):
        return Faiss(vectors, empty)
    return Exact(vectors, empty)
