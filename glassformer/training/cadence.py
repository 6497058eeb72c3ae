"""How often a run is saved: soon at first, then so seldom that it costs next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Whoever tries something for a few minutes loses at most one of them.
_FIRST_SECONDS = 60.0
# Of the time, saving takes at most one part in so many.
_LARGEST_SHARE = 100


@dataclass
class Cadence:
    """When a checkpoint is due by the clock. `usual` is the time between two in seconds, `cost` what the last one took.

    The first one of a process comes after a minute at the latest, also of a run that was resumed: one that is killed
    every few minutes must still get on.
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
        """Whether it is time."""
        return self.clock() - self._since >= self.interval

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Inside, a checkpoint is written; its time is taken."""
        began = self.clock()
        yield
        self._since = self.clock()
        self.cost = self._since - began
