"""How long a run is and its progress: its budget, its learning rate, and when it is saved and measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from glassformer.base.errors import ConfigError
from glassformer.training.settings import TrainSection


@dataclass
class Window:
    """Sums of losses, tokens and seconds over the steps since the last line of `metrics.jsonl`."""

    steps: int = 0
    loss: float = 0.0
    losses: dict[str, float] = field(default_factory=dict)
    tokens: float = 0.0
    seconds: float = 0.0


@dataclass
class RunProgress:
    """The progress of a run: all state but the weights. Written into each checkpoint.

    `step` counts finished steps and is also the position in the data. `seconds` is the time of these steps by the
    clock, with evaluation, saving and pauses of the process (which cannot be distinguished from slow work), and
    `setup` the time of compiling. `best` is the best held-out score, found at `best_step`, and `least_loss` the
    lowest held-out loss; `misses` counts the evaluations since either improved, `few` whether the initial weights
    were measured on few examples. `smoothed` is the running mean of the loss before the correction for its
    beginning at 0, `above` the number of steps for which it was at the baseline's loss, `noticed` whether that was
    logged. `window` holds the sums for the next line of `metrics.jsonl`. `recent` are the last losses, whose means
    are shown, see `Step`.
    """

    step: int = 0
    seconds: float = 0.0
    setup: float = 0.0
    best: float | None = None
    best_loss: float | None = None
    best_step: int = 0
    least_loss: float | None = None
    misses: int = 0
    few: bool = False
    smoothed: float | None = None
    above: int = 0
    noticed: bool = False
    window: Window = field(default_factory=Window)
    recent: dict[str, list[float]] = field(default_factory=dict)

    @property
    def loss_decides(self) -> bool:
        """Whether there are so few held-out examples that the loss alone chooses the best model."""
        return self.few and self.best_loss is not None


@dataclass(frozen=True)
class Budget:
    """A run ends at `steps` or `seconds` (or None), the earlier; by the clock it is not exactly repeatable."""

    steps: int | None
    seconds: float | None

    @classmethod
    def of(cls, settings: TrainSection, steps_per_epoch: float) -> Budget:
        """The budget of steps, epochs and minutes, or the rule for epochs; raises ConfigError when none is given."""
        limits = [] if settings.steps is None else [settings.steps]
        if settings.epochs is not None:
            limits.append(max(1, math.ceil(settings.epochs * steps_per_epoch)))
        if settings.fitted_epochs is not None:
            limits.append(math.ceil(settings.fitted_epochs.epochs(steps_per_epoch) * steps_per_epoch))
        if not limits and settings.minutes is None:
            raise ConfigError("a run needs an end", got="none", do="set train.steps, train.epochs or train.minutes")
        return cls(min(limits, default=None), None if settings.minutes is None else settings.minutes * 60)

    def fraction(self, progress: RunProgress) -> float:
        """How much of the run is done, 0 … 1. Compiling takes time but makes no steps."""
        by_steps = 0.0 if self.steps is None else progress.step / self.steps
        by_clock = 0.0
        if self.seconds is not None:
            by_clock = progress.seconds / max(self.seconds - progress.setup, 1e-9)
        return min(1.0, max(by_steps, by_clock))

    def reached(self, progress: RunProgress) -> bool:
        return self.fraction(progress) >= 1.0


# The first checkpoint is written soon, so that a short trial loses at most one minute.
_FIRST_SECONDS = 60.0
# Saving takes at most one part in so many of the time.
_LARGEST_SHARE = 100
# Rows of an evaluation during training, always the same: enough to choose the best model.
EVALUATION_ROWS = 512
# Fewer examples are too few to compare accuracies on: the loss decides where weights before the first step are kept.
FEW = 100
# Evaluations in a run when the settings do not say how often: fewer if they would read more than a quarter as many rows
# as the steps.
_EVALUATIONS, _LOOKED_AT = 10, 0.25


def evaluations(steps: int | None, batch: int) -> int:
    """The number of evaluations in a run of `steps` steps (None: not known) with `batch` rows each."""
    if steps is None:
        return _EVALUATIONS
    return max(1, min(_EVALUATIONS, int(_LOOKED_AT * steps * batch / EVALUATION_ROWS)))


def enough_learned(steps: int, batch: int) -> bool:
    """Whether the next evaluation may come this many steps after the last: for runs whose number of steps is not known.
    Counted in rows and not by the clock, as the time of an evaluation is not known before the first one.
    """
    return _LOOKED_AT * steps * batch >= EVALUATION_ROWS


@dataclass
class Cadence:
    """When a checkpoint is due: `usual` seconds apart, more by its `cost`. The first of a process comes after a minute,
    so that a run killed every few minutes still progresses.
    """

    usual: float
    clock: Callable[[], float] = time.monotonic
    cost: float | None = None
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    @property
    def interval(self) -> float:
        return min(_FIRST_SECONDS, self.usual) if self.cost is None else max(self.usual, _LARGEST_SHARE * self.cost)

    @property
    def due(self) -> bool:
        return self.clock() - self._since >= self.interval

    @contextmanager
    def saving(self) -> Iterator[None]:
        began = self.clock()
        yield
        self._since = self.clock()
        self.cost = self._since - began
