"""How often a run is saved and evaluated: so rarely that both take little of its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# The first checkpoint is written soon, so that a short trial loses at most one minute.
_FIRST_SECONDS = 60.0
# Saving takes at most one part in so many of the time.
_LARGEST_SHARE = 100
# Rows of an evaluation during training, always the same: enough to choose the best model.
EVALUATION_ROWS = 512
# Evaluations in a run when the settings do not say how often: fewer if they would read more than a quarter as many rows
# as the steps.
_EVALUATIONS, _LOOKED_AT = 10, 0.25


def evaluations(steps: int | None, batch: int) -> int:
    """Evaluations in a run of so many steps (None: not known) with so many rows each."""
    if steps is None:
        return _EVALUATIONS
    return max(1, min(_EVALUATIONS, int(_LOOKED_AT * steps * batch / EVALUATION_ROWS)))


def enough_learned(steps: int, batch: int) -> bool:
    """Whether so many steps after an evaluation the next one may come: for runs whose number of steps is not known.

    Counted in rows and not by the clock, as the time of an evaluation is not known before the first one.
    """
    return _LOOKED_AT * steps * batch >= EVALUATION_ROWS


@dataclass
class Cadence:
    """When a checkpoint is due by the clock. `usual` is the time between two in seconds, `cost` what the last one took.

    The first checkpoint of a process comes after a minute at the latest, also in a resumed run: a run that is killed
    every few minutes must still make progress.
    """

    usual: float
    clock: Callable[[], float] = time.monotonic
    cost: float | None = None
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    @property
    def interval(self) -> float:
        """Seconds from the last checkpoint to the next."""
        return min(_FIRST_SECONDS, self.usual) if self.cost is None else max(self.usual, _LARGEST_SHARE * self.cost)

    @property
    def due(self) -> bool:
        return self.clock() - self._since >= self.interval

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Inside, a checkpoint is written, and its time is measured."""
        began = self.clock()
        yield
        self._since = self.clock()
        self.cost = self._since - began
