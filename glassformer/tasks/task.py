"""What a training loop needs to know of a task: its batches, its loss, its scores. Nothing else.

B rows · S pieces · N chosen places
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import Noise


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows that go through the model together.

    `labels` holds what is to be found, -100 where nothing is asked: at the flat indices `places` [N] into B·S, or
    everywhere [B, S]. `targets` counts the labels that are asked and `pieces` the real pieces, both known before the
    forward pass. `numbers` [B] int32 name the rows within their step, so that chance treats each row as its own
    however the step is cut into parts. `target` feeds the decoder of an encoder–decoder.
    """

    inputs: Inputs
    labels: Tensor
    numbers: Tensor
    targets: int
    pieces: int
    places: Tensor | None = None
    target: Inputs | None = None

    def to(self, device: torch.device) -> Batch:
        """The same on another device."""
        return replace(
            self,
            inputs=self.inputs.to(device),
            labels=self.labels.to(device),
            numbers=self.numbers.to(device),
            places=None if self.places is None else self.places.to(device),
            target=None if self.target is None else self.target.to(device),
        )

    def with_noise(self, seed: Tensor) -> Batch:
        """The same with the source of its dropout: `seed` is an int32 scalar that belongs to the step."""
        return replace(self, inputs=replace(self.inputs, noise=Noise(seed, self.numbers)))

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """All tensors with a name each, to be written down."""
        for side, inputs in (("inputs", self.inputs), ("target", self.target)):
            for name, value in vars(inputs).items() if inputs is not None else ():
                if isinstance(value, Tensor):
                    yield f"{side}.{name}", value
        for name in ("labels", "numbers", "places"):
            value = getattr(self, name)
            if value is not None:
                yield name, value


class Task(Protocol):
    """Text turned into something to learn. Random choices come from (seed, epoch, row), never from the batch."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Names the data and how it is cut: two runs with the same one see the same examples."""
        ...

    @property
    def steps_per_epoch(self) -> float:
        """Steps until each row was seen once."""
        ...

    @property
    def blind_loss(self) -> float | None:
        """Loss per target of the best guess that looks at nothing (the unigram entropy), None where unknown."""
        ...

    def rows(self, step: int) -> int:
        """How many rows a step has, at least one."""
        ...

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        """One of the `parts` into which the rows of a step are cut: a pure function of data, seed and numbers."""
        ...

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        """The sum of the losses of all targets, at least float32, so that whoever knows their number can divide."""
        ...

    def evaluate(self, model: Transformer, *, rows: int | None = None) -> dict[str, float]:
        """Scores on all rows, or on `rows` of them drawn once and for all. `loss` is among them: less is better."""
        ...


@contextmanager
def evaluating(model: Transformer) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards the model is in the mode it was in."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
