"""Masked words: hide some, ask the model what stood there (Devlin et al. 2019, §3.1).

B rows · N hidden places, filled up to the same number in each batch · V vocabulary
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batch import Integers
from glassformer.data.corrupt import IGNORED
from glassformer.data.order import Order
from glassformer.errors import ConfigError
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.tasks.cross_entropy import cross_entropy, widened
from glassformer.tasks.hidden import HiddenWords
from glassformer.tasks.metrics import Baseline, Tally, Unigram
from glassformer.tasks.task import Batch, evaluating

# Evaluation hides words as no epoch of training does.
HELD_OUT_EPOCH = -1


class RowOrder(Protocol):
    """Which rows come in which step."""

    def __len__(self) -> int: ...

    def of_step(self, step: int) -> tuple[Integers, Integers]:
        """The rows of a step and the epoch of each: [B], [B]."""
        ...


class MaskedLM:
    """Finding hidden words. `batch` rows make a step; `order` replaces the usual one (rows in buckets bring their own).

    `baselines` are measured beside the model when it is evaluated.
    """

    name = "masked-lm"

    def __init__(
        self,
        hidden: HiddenWords,
        *,
        batch: int = 32,
        seed: int = 0,
        order: RowOrder | None = None,
        baselines: Sequence[Baseline] = (),
    ) -> None:
        self._hidden, self._batch, self._baselines = hidden, batch, tuple(baselines)
        self._order = order or Order(len(hidden), batch, hidden.fingerprint, seed)
        self._held_out = Order(len(hidden), batch, hidden.fingerprint, seed)

    @property
    def fingerprint(self) -> str:
        """Names the data, how it is cut and how it is hidden."""
        return self._hidden.fingerprint

    @property
    def steps_per_epoch(self) -> float:
        """Steps until each row was seen once."""
        return len(self._hidden) / self._batch if isinstance(self._order, Order) else float(len(self._order))

    @cached_property
    def unigram(self) -> Unigram:
        """How frequent each piece of this text is that could be hidden."""
        return self._hidden.unigram()

    @property
    def blind_loss(self) -> float:
        """The entropy of the text's pieces: what is reached by knowing how frequent each of them is."""
        return self.unigram.entropy

    def rows(self, step: int) -> int:
        """How many rows a step has: fewer in the last batch of a bucket."""
        return len(self._order.of_step(step)[0])

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        """One of the `parts` of a step; raises ConfigError when there are fewer rows than parts."""
        numbers, epochs = self._order.of_step(step)
        if not 0 < parts <= len(numbers):
            raise ConfigError("each part of a step needs a row", got=f"{len(numbers)} rows for {parts} parts")
        mine = np.array_split(np.arange(len(numbers)), parts)[part]
        return self._assemble(numbers[mine], epochs[mine], mine)

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        """The sum of the cross-entropies at the hidden places, a scalar of at least float32."""
        logits = model(batch.inputs, places=batch.places).logits  # [N, V]
        assert logits is not None
        return cross_entropy(logits, batch.labels)

    def evaluate(self, model: Transformer, *, rows: int | None = None) -> dict[str, float]:
        """`loss` per hidden word, `perplexity`, `accuracy`, the number of `targets`, and the same of each baseline."""
        tally = Tally()
        baselines = [(baseline, Tally()) for baseline in self._baselines]
        device = next(model.parameters()).device
        count = min(rows or len(self._hidden), len(self._hidden))
        with evaluating(model):
            for number in range(math.ceil(count / self._batch)):
                numbers = self._held_out.of_epoch(HELD_OUT_EPOCH, number)[: count - number * self._batch]
                batch = self._assemble(numbers, np.full_like(numbers, HELD_OUT_EPOCH), np.arange(len(numbers)))
                moved = batch.to(device)
                logits = model(moved.inputs, places=moved.places).logits  # [N, V]
                asked = moved.labels != IGNORED
                log_probabilities = widened(logits[asked]).log_softmax(dim=-1)
                labels = moved.labels[asked]
                tally.add(
                    -log_probabilities.gather(1, labels[:, None])[:, 0],
                    log_probabilities.argmax(dim=-1) == labels,
                )
                for baseline, its_tally in baselines:
                    its_tally.add(*_guessed(baseline, batch))
        scores = tally.scores()
        for baseline, its_tally in baselines:
            scores |= {
                f"{baseline.name}_{name}": value for name, value in its_tally.scores().items() if name != "targets"
            }
        return scores

    def _assemble(self, numbers: Integers, epochs: Integers, order: Integers) -> Batch:
        rows, corrupted = self._hidden.rows(numbers, epochs)
        length = corrupted.ids.shape[1]
        # The same number of places in each batch, so that a compiled step never meets another shape.
        places = np.zeros(len(numbers) * self._hidden.most(length), np.int64)  # [N]
        places[: len(corrupted.places)] = corrupted.places
        labels = np.full_like(places, IGNORED)  # [N]
        labels[: len(corrupted.places)] = corrupted.labels.ravel()[corrupted.places]
        return Batch(
            inputs=Inputs(
                ids=torch.from_numpy(corrupted.ids),
                real=torch.from_numpy(rows.real),
                positions=torch.from_numpy(rows.positions),
                documents=torch.from_numpy(rows.documents) if self._hidden.walls else None,
                hidden=torch.from_numpy(corrupted.hidden),
            ),
            labels=torch.from_numpy(labels),
            places=torch.from_numpy(places),
            numbers=torch.from_numpy(order.astype(np.int32)),
            targets=len(corrupted.places),
            pieces=int(rows.real.sum()),
        )


def _guessed(baseline: Baseline, batch: Batch) -> tuple[Tensor, Tensor]:
    assert batch.inputs.ids is not None
    assert batch.places is not None
    asked = batch.labels.numpy() != IGNORED
    places, labels = batch.places.numpy()[asked], batch.labels.numpy()[asked]
    losses, right = baseline.guess(batch.inputs.ids.numpy(), places, labels)
    return torch.from_numpy(losses), torch.from_numpy(right)
