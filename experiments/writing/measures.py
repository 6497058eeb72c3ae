"""Losses of every token of a book, two ways: each row alone, and with what came before it.

N tokens of the book · R rows · S tokens of a row · V vocabulary
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from experiments.writing.models import Recurrent
from glassformer.data.batches.batch import Integers
from glassformer.scoring.score import Measure, Reals, Trigram

# Rows that are measured together.
TOGETHER = 16
ALONE, CONTINUED = "each row alone", "with what came before"
Logits = Callable[[Tensor], Tensor]  # [B, S] to [B, S, V]


@torch.inference_mode()
def by_windows(logits_of: Logits, stream: Integers, length: int) -> dict[str, Reals]:
    """The losses of a model that reads so many tokens at once: of rows, and of windows that overlap by half, of which
    the second half counts. [N - 1] each
    """
    return {
        ALONE: _windows(logits_of, stream, length, step=length),
        CONTINUED: _windows(logits_of, stream, length, step=length // 2),
    }


def _windows(logits_of: Logits, stream: Integers, length: int, *, step: int) -> Reals:
    found = np.full(len(stream) - 1, np.nan)
    for starts in _some(range(0, max(1, len(stream) - 1 - (length - step)), step)):
        ends = [min(start + length, len(stream) - 1) for start in starts]
        longest = max(end - start for start, end in zip(starts, ends, strict=True))
        # The last window is shorter: it is filled up at its end, where nothing before it looks.
        at = np.minimum(np.array(starts)[:, None] + np.arange(longest), len(stream) - 2)  # [B, S]
        losses = _losses(logits_of(_tensor(stream[at])), _tensor(stream[at + 1]))
        for start, end, row in zip(starts, ends, losses, strict=True):
            first = 0 if start == 0 else length - step
            found[start + first : end] = row[first : end - start]
    return found


@torch.inference_mode()
def carried_on(module: Recurrent, stream: Integers, length: int) -> dict[str, Reals]:
    """The same of a model that carries its state: from nothing at each row, and through the whole book. [N - 1] each"""
    alone = _windows(lambda ids: module(ids)[0], stream, length, step=length)
    state, parts = None, []
    for start in range(0, len(stream) - 1, length):
        end = min(start + length, len(stream) - 1)
        logits, state = module(_tensor(stream[None, start:end]), state)
        parts.append(_losses(logits, _tensor(stream[None, start + 1 : end + 1]))[0])
    return {ALONE: alone, CONTINUED: np.concatenate(parts)}


def by_trigram(counted: Trigram, stream: Integers, length: int) -> dict[str, Reals]:
    """The same of a trigram: the first token of a row has one before it. [N - 1] each"""
    before = np.concatenate([[-1], stream[:-2]])  # [N - 1]
    alone = np.where(np.arange(len(before)) % length == 0, -1, before)
    asked = np.asarray(stream[:-1], np.int64), np.asarray(stream[1:], np.int64)
    return {
        ALONE: -np.log(counted.probability(alone, *asked)),
        CONTINUED: -np.log(counted.probability(before, *asked)),
    }


def measure_of(losses: Reals, sizes: Integers, length: int) -> Measure:
    """Bits per byte and the loss per token; drawn again and again are rows of the book. `sizes` are the bytes of each
    token whose loss it is. [N - 1], [N - 1]
    """
    rows = np.arange(len(losses)) // length
    each = (losses, np.ones(len(losses)), sizes.astype(np.float64))
    sums: Reals = np.stack([np.bincount(rows, weights) for weights in each], axis=1).astype(np.float64)  # [R, 3]

    def scores(of: Reals) -> Mapping[str, Reals]:
        return {"bits_per_byte": of[..., 0] / math.log(2) / of[..., 2], "loss": of[..., 0] / of[..., 1]}

    return Measure(sums, scores)


def _losses(logits: Tensor, labels: Tensor) -> Reals:
    """[B, S, V], [B, S] -> [B, S]."""
    logits = logits.float()
    found = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return found.view(labels.shape).double().numpy()


def _tensor(ids: Integers) -> Tensor:
    return torch.from_numpy(np.asarray(ids, np.int64))


def _some(starts: range) -> Iterator[list[int]]:
    for first in range(0, len(starts), TOGETHER):
        yield list(starts[first : first + TOGETHER])
