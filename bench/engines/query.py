"""The vector of one short query at a time, with the encoder loaded."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import glassformer as gf
from bench.engines import onnx, vectors
from bench.engines.row import Answer, Array, Case, Row

QUERY = "how do I change the oil of a small engine"


def repeated(vector: Callable[[], Array], count: int) -> Answer:
    """The same query as often as asked for; its last vector is kept."""

    def answer(case: str) -> Array:
        for _ in range(count - 1):
            vector()
        return np.asarray(vector(), np.float32).reshape(1, -1)

    return answer


def ours(engine: str) -> Callable[[Path, int], Answer]:
    """`Model.embed` of one text."""

    def opened(folder: Path, count: int) -> Answer:
        model = gf.load(vectors.encoder(), device="cpu", engine=engine)
        return repeated(lambda: model.embed([QUERY]), count)

    return opened


def peer(made: Callable[[Path], vectors.States]) -> Callable[[Path, int], Answer]:
    """A batch of one text."""

    def opened(folder: Path, count: int) -> Answer:
        pooled = vectors.pooled(made(folder))
        return repeated(lambda: pooled([QUERY]), count)

    return opened


ROW = Row(
    title="one short query, encoder loaded",
    count=(500, 20),
    names=("query",),
    sides={
        vectors.TORCH: ours("torch"),
        "ours, onnxruntime": ours("onnxruntime"),
        "ours, auto": ours("auto"),
        "transformers": peer(lambda folder: vectors.of_transformers(torch.float32)),
        "onnxruntime": peer(lambda folder: vectors.of_onnx(folder / onnx.FLOAT)),
    },
    compared=dict.fromkeys((vectors.TORCH, "ours, onnxruntime", "ours, auto"), ("transformers", "onnxruntime")),
    judge="transformers",
    prepare=vectors.prepare,
    cases=lambda folder, count: {"query": Case(count, "queries", count * vectors.operations([QUERY]))},
)
