"""Rows of pieces through the model, in batches bounded by their size; answers come back in the order of the rows.

B rows · S pieces · V vocabulary · n places asked about in one row, N in all
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.data.batch import pad
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.tasks.cross_entropy import widened
from glassformer.text.tokenizer import Encoding, Tokenizer

# Pieces per forward, padding included: enough for full speed, little enough for any machine.
_BATCH = 8192


@dataclass(frozen=True)
class Row:
    """What the model is shown, and the places in it that it is asked about. `hidden` marks hidden words."""

    ids: list[int]
    hidden: list[bool]
    places: list[int]


def framed(encoding: Encoding, start: int, end: int, tokenizer: Tokenizer, places: Iterable[int]) -> Row:
    """A stretch of a text between the special pieces; `places` count from the beginning of the text."""
    before, after = tokenizer.frame_ids
    return Row(
        ids=[*before, *encoding.ids[start:end], *after],
        hidden=[*[False] * len(before), *encoding.hidden[start:end], *[False] * len(after)],
        places=[place - start + len(before) for place in places],
    )


def log_probabilities(module: Transformer, rows: Iterable[Row], *, pad_id: int, fast: bool) -> Iterator[Tensor]:
    """For each row the log-probabilities at its places, [n, V]; in bfloat16 arithmetic when `fast`."""
    for batch in _batches(rows):
        yield from _answer(module, batch, pad_id=pad_id, fast=fast)


def _answer(module: Transformer, rows: list[Row], *, pad_id: int, fast: bool) -> tuple[Tensor, ...]:
    device = next(module.parameters()).device
    inputs, length = tensors(rows, pad_id=pad_id, device=device)
    places = torch.tensor([index * length + place for index, row in enumerate(rows) for place in row.places])
    with torch.inference_mode(), precision(device, fast=fast):
        logits = module(inputs, places=places.to(device)).logits  # [N, V]
    assert logits is not None
    return widened(logits).log_softmax(dim=-1).cpu().split([len(row.places) for row in rows])


def tensors(rows: list[Row], *, pad_id: int, device: torch.device) -> tuple[Inputs, int]:
    """Rows side by side, filled up to the longest; no mask where nothing was filled up."""
    length = max(len(row.ids) for row in rows)
    ids, real = pad([row.ids for row in rows], length, pad_id)  # [B, S], [B, S]
    hidden = torch.tensor([[*row.hidden, *[False] * (length - len(row.hidden))] for row in rows])  # [B, S]
    inputs = Inputs(
        ids=torch.from_numpy(ids),
        real=None if real.all() else torch.from_numpy(real),
        hidden=hidden if hidden.any() else None,
    )
    return inputs.to(device), length


def precision(device: torch.device, *, fast: bool) -> AbstractContextManager[None]:
    """The arithmetic of prediction: as the weights are, or bfloat16 where it does no harm."""
    return torch.autocast(device.type, torch.bfloat16, enabled=fast)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    longest = 0
    for row in rows:
        longest = max(longest, len(row.ids))
        if batch and longest * (len(batch) + 1) > _BATCH:
            yield batch
            batch, longest = [], len(row.ids)
        batch.append(row)
    if batch:
        yield batch
