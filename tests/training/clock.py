"""A clock that a test sets, and a task whose steps take time by it."""

from torch import Tensor

from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from tests.training.toy import Toy


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow(Toy):
    """A step takes ten seconds by a clock of its own."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        self.clock.now += 10
        return super().loss(model, batch)
