"""The same attention written four ways, as the source documents draw it; the tests hold them equal, this times them.

`python -m bench.attention_four_ways` writes docs/results/bench-attention-four-ways.json. The first way is this
package's own, in torch on one thread, the next two are numpy, the last is plain Python; all in float64. Weights as in
torch: output x input, so q = W x.

B sentences · S tokens · W width · H heads · D query and key size · E value size
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from experiments import results
from glassformer.config import AttentionConfig
from glassformer.parts.attention import Attention
from glassformer.parts.context import Context

Array = NDArray[np.float64]
MODULE = "one matrix for all heads (this package)"


@dataclass(frozen=True)
class Problem:
    """States x [B, S, W]; query and key [H·D, W], value [H·E, W], output [W, H·E]; may_look [S, S], True = may look."""

    x: Array
    query: Array
    key: Array
    value: Array
    output: Array
    may_look: NDArray[np.bool_]
    heads: int

    @staticmethod
    def draw(
        *, batch: int = 3, tokens: int = 5, width: int = 6, heads: int = 2, query_size: int = 4, value_size: int = 3
    ) -> Problem:
        """Random numbers, and a mask that lets each token see itself and those before it."""
        rng = np.random.default_rng(0)
        return Problem(
            x=rng.normal(size=(batch, tokens, width)),
            query=rng.normal(size=(heads * query_size, width)) / math.sqrt(width),
            key=rng.normal(size=(heads * query_size, width)) / math.sqrt(width),
            value=rng.normal(size=(heads * value_size, width)) / math.sqrt(width),
            output=rng.normal(size=(width, heads * value_size)) / math.sqrt(width),
            may_look=np.tril(np.ones((tokens, tokens), dtype=bool)),
            heads=heads,
        )

    @property
    def query_size(self) -> int:
        """Numbers in one head's query."""
        return len(self.query) // self.heads

    @property
    def value_size(self) -> int:
        """Numbers in one head's value."""
        return len(self.value) // self.heads


def module(problem: Problem) -> Callable[[], Array]:
    """One matrix for all heads and one fused kernel: this package's own part."""
    width = problem.x.shape[-1]
    attention = Attention(
        AttentionConfig(
            heads=problem.heads,
            key_value_heads=problem.heads,
            query_size=problem.query_size,
            value_size=problem.value_size,
            bias=False,
            output_bias=False,
        ),
        width,
    ).double()
    with torch.no_grad():
        for name in ("query", "key", "value", "output"):
            attention.get_parameter(f"{name}.weight").copy_(torch.from_numpy(getattr(problem, name)))
    x, context = torch.from_numpy(problem.x), Context(masks={None: torch.from_numpy(problem.may_look)[None, None]})

    def run() -> Array:
        with torch.inference_mode():
            return attention(x, context).numpy()

    return run


def split_after_projection(problem: Problem) -> Array:
    """One projection, then the vectors are cut into heads: all heads in one four-dimensional product."""

    def project(matrix: Array) -> Array:
        batch, tokens, _ = problem.x.shape
        return (problem.x @ matrix.T).reshape(batch, tokens, problem.heads, -1).transpose(0, 2, 1, 3)  # [B, H, S, D]

    query, key, value = project(problem.query), project(problem.key), project(problem.value)
    weights = softmax(
        masked(query @ key.transpose(0, 1, 3, 2) / math.sqrt(problem.query_size), problem)
    )  # [B, H, S, S]
    mixed = (weights @ value).transpose(0, 2, 1, 3)  # [B, S, H, E]
    return mixed.reshape(*mixed.shape[:2], -1) @ problem.output.T  # [B, S, W]


def one_matrix_per_head(problem: Problem) -> Array:
    """Each head has its own small matrices; the heads' results are laid side by side."""
    mixed = []
    for query, key, value in zip(
        *(np.split(matrix, problem.heads) for matrix in (problem.query, problem.key, problem.value)), strict=True
    ):
        queries, keys, values = problem.x @ query.T, problem.x @ key.T, problem.x @ value.T  # [B, S, D], [B, S, E]
        scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(problem.query_size)  # [B, S, S]
        mixed.append(softmax(masked(scores, problem)) @ values)  # [B, S, E]
    return np.concatenate(mixed, axis=-1) @ problem.output.T  # [B, S, W]


def loop_over_cells(problem: Problem) -> Array:
    """Sentence by sentence, head by head, word by word, cell by cell, in plain Python numbers."""
    return np.array([_sentence(problem, states) for states in problem.x.tolist()])


def _sentence(problem: Problem, states: list[list[float]]) -> list[list[float]]:
    query, key, value = (
        [[_dot(row, state) for row in matrix.tolist()] for state in states]
        for matrix in (problem.query, problem.key, problem.value)
    )
    results = []
    for place, queries in enumerate(query):
        merged = []
        for head in range(problem.heads):
            here = slice(head * problem.query_size, (head + 1) * problem.query_size)
            seen = [other for other in range(len(states)) if problem.may_look[place, other]]
            grown = [math.exp(_dot(queries[here], key[other][here]) / math.sqrt(problem.query_size)) for other in seen]
            for channel in range(head * problem.value_size, (head + 1) * problem.value_size):
                total = sum(part * value[other][channel] for part, other in zip(grown, seen, strict=True))
                merged.append(total / sum(grown))
        results.append([_dot(row, merged) for row in problem.output.tolist()])
    return results


def _dot(one: list[float], two: list[float]) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


def masked(scores: Array, problem: Problem) -> Array:
    """Minus infinity where one may not look."""
    return np.where(problem.may_look, scores, -np.inf)


def softmax(scores: Array) -> Array:
    """Over the last axis; the greatest score is taken away first, so that nothing overflows."""
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)


def median_seconds(run: Callable[[], Array], *, rounds: int) -> float:
    """The median of several runs, after one to warm up."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure() -> dict[str, object]:
    """Milliseconds of the four ways at two sizes, on one thread."""
    torch.set_num_threads(1)
    larger = Problem.draw(batch=8, tokens=64, width=128, heads=4, query_size=32, value_size=32)
    sizes = {"the slides: 3 x 5 words, 2 heads of 4": Problem.draw(), "8 x 64 words, 4 heads of 32": larger}
    return {"milliseconds": {size: _milliseconds(problem) for size, problem in sizes.items()}}


def _milliseconds(problem: Problem) -> dict[str, float]:
    ways: dict[str, tuple[Callable[[], Array], int]] = {
        MODULE: (module(problem), 50),
        "split after one projection": (partial(split_after_projection, problem), 50),
        "one matrix for each head": (partial(one_matrix_per_head, problem), 50),
        "a loop over heads and cells": (partial(loop_over_cells, problem), 3),
    }
    return {name: median_seconds(run, rounds=rounds) * 1e3 for name, (run, rounds) in ways.items()}


if __name__ == "__main__":
    print(results.write("bench-attention-four-ways", "python -m bench.attention_four_ways", measure()))
