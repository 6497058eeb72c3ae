"""How long a run is and its progress: its budget, its learning rate, when it is saved and measured, and a warning."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
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
    clock, with evaluation, saving and pauses of the process (which cannot be distinguished from slow work), without
    `setup`, the time of compiling. `best` is the best held-out score, found at `best_step`, and `least_loss` the
    lowest held-out loss; `misses` counts the evaluations since either improved. `few` is the number of examples that
    the initial weights were measured on, 0 where these are many. `smoothed` is the running mean of the loss before the
    correction for its beginning at 0, `above` the number of steps for which it was at the baseline's loss, `noticed`
    whether that was logged. `window` holds the sums for the next line of `metrics.jsonl`. `recent` are the last losses,
    whose means are shown, see `Step`.
    """

    step: int = 0
    seconds: float = 0.0
    setup: float = 0.0
    best: float | None = None
    best_loss: float | None = None
    best_step: int = 0
    least_loss: float | None = None
    misses: int = 0
    few: int = 0
    smoothed: float | None = None
    above: int = 0
    noticed: bool = False
    window: Window = field(default_factory=Window)
    recent: dict[str, list[float]] = field(default_factory=dict)

    @property
    def loss_decides(self) -> bool:
        """Whether there are so few held-out examples that the loss alone chooses the best model."""
        return self.few > 0 and self.best_loss is not None

    def has_lower_loss(self, score: float, loss: float, *, of_probabilities: bool) -> bool:
        """Whether a loss is lower than that of the best model; of few examples with one more that is wrong, unless the
        score differs and agrees with the loss.
        """
        best = self.best_loss
        if best is None or self.best is None:
            return False
        if self.loss_decides and of_probabilities and (score - self.best) * (best - loss) <= 0:
            loss, best = (with_one_wrong(each, self.few) for each in (loss, best))
        return loss < best


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


def with_one_wrong(loss: float, count: int) -> float:
    """The mean loss of `count` examples and of one more that is answered wrong with their confidence, exp(−loss). It is
    least at a confidence of n / (n + 1): by Laplace's rule of succession n right answers justify no higher one.
    """
    wrong = -math.log(-math.expm1(-loss)) if loss > 0 else math.inf
    return (count * loss + wrong) / (count + 1)


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


# The share of the peak that the first step of a run that is bounded by minutes has at least.
_FIRST_RISE = 0.01


@dataclass(frozen=True)
class Schedule:
    """A linear rise over `rising` steps or a `share`, then a fall by `shape`, from recorded progress alone."""

    shape: Callable[[float, float, float], float]
    rising: float | None
    share: float
    cooldown: float
    budget: Budget

    @classmethod
    def of(cls, settings: TrainSection, budget: Budget) -> Schedule:
        """The schedule of the settings; a `warmup` below 1 is a share of the run. Raises ConfigError."""
        if settings.schedule == "noam" and not settings.warmup:
            raise ConfigError("the schedule noam needs a warm-up", got="train.warmup = 0", do="set it above 0")
        steps = budget.steps if budget.seconds is None else None
        rising: float | None
        if settings.warmup >= 1:
            rising, share = settings.warmup, 0.0
        else:
            rising, share = settings.warmup * steps if steps else None, settings.warmup
        return cls(SHAPES[settings.schedule], rising, share, settings.cooldown, budget)

    def __call__(self, progress: RunProgress) -> float:
        done, share = self.budget.fraction(progress), self.share
        risen = math.inf
        if self.rising:
            risen = (progress.step + 1) / self.rising
            # The share of the run that so many steps take, at the speed so far where it is bounded by the clock.
            share = self.rising * done / progress.step if progress.step else 1.0
        elif share:
            # By the clock a run begins at 0, and its first step would change nothing.
            risen = max(done / share, _FIRST_RISE)
        fallen = (done - share) / (1 - share) if share < 1 else 0.0
        return self.shape(risen, 1 - max(0.0, fallen), (1 - done) / self.cooldown if self.cooldown else math.inf)


# Each takes the time so far in warm-ups (1 = at the peak), the share of the run after the warm-up that is left, and the
# time that is left in cool-downs.


def linear(risen: float, left: float, cooldowns: float) -> float:
    return min(risen, left)


def noam(risen: float, left: float, cooldowns: float) -> float:
    """Proportional to the inverse square root of the step (Vaswani et al. 2017, §5.3), scaled so that the peak is 1."""
    return risen if risen <= 1 else risen**-0.5


def cosine(risen: float, left: float, cooldowns: float) -> float:
    """Along half a cosine down to zero (Loshchilov & Hutter 2017, without restarts)."""
    return min(risen, 0.5 - 0.5 * math.cos(math.pi * left))


def warmup_stable_decay(risen: float, left: float, cooldowns: float) -> float:
    """Constant, then linearly down to zero over the cool-down, a share of the whole run (Hu et al. 2024)."""
    return min(risen, 1.0, cooldowns)


def constant(risen: float, left: float, cooldowns: float) -> float:
    return min(risen, 1.0)


SHAPES: dict[str, Callable[[float, float, float], float]] = {
    "linear": linear,
    "noam": noam,
    "cosine": cosine,
    "warmup-stable-decay": warmup_stable_decay,
    "constant": constant,
}


# The loss counts as stuck until it is clearly below the loss of knowing only how frequent each token is.
_CLEARLY_BELOW = 0.95
_SMOOTHING = 0.98
_LEAST_STEPS = 100
_LONG = 0.2


def plateau(
    progress: RunProgress,
    loss: float,
    fraction: float,
    baseline_loss: float | None,
    settings: TrainSection,
    causes: Sequence[str] = (),
) -> str | None:
    """Add a step's loss; a warning with likely causes once the loss was the baseline's for a fifth of the run, unless
    the held-out loss was below it; without the warm-up.
    """
    progress.smoothed = _SMOOTHING * (progress.smoothed or 0.0) + (1 - _SMOOTHING) * loss
    if baseline_loss is None or progress.noticed:
        return None
    mean = smoothed_loss(progress)
    learned = progress.best_loss is not None and progress.best_loss < baseline_loss
    rising = fraction < settings.warmup if settings.warmup < 1 else progress.step < settings.warmup
    stuck = mean > _CLEARLY_BELOW * baseline_loss and not learned and not rising
    progress.above = progress.above + 1 if stuck else 0
    share = fraction * progress.above / max(progress.step, 1)
    if progress.above < _LEAST_STEPS or share < _LONG:
        return None
    progress.noticed = True
    return (
        f"after {progress.step:,} steps the loss is {mean:.2f}; predicting each answer by its frequency alone gives "
        f"{baseline_loss:.2f}. The model does not use the context yet. "
        f"Likely causes: {'; '.join([*_causes(settings), *causes])}"
    )


def smoothed_loss(progress: RunProgress) -> float:
    """The running mean of losses, corrected for its start at 0 as in Adam (Kingma & Ba 2015, §3)."""
    return (progress.smoothed or 0.0) / (1 - _SMOOTHING ** max(progress.step, 1))


def _causes(settings: TrainSection) -> list[str]:
    rate = f"{settings.rate:g}"
    batch = f"{settings.batch:,} rows" if settings.batch_tokens is None else f"{settings.batch_tokens:,} tokens"
    causes = ["too few steps so far: this plateau is normal at first and lasts longer for larger models"]
    causes.append(f"a learning rate that is too low or too high (now {rate}; try a third and three times as much)")
    if settings.warmup < 1:
        causes.append(f"a warm-up that is too short for this rate (now {settings.warmup:.0%} of the run)")
    else:
        causes.append(f"a warm-up that is too short or too long (now {settings.warmup:,.0f} steps)")
    causes.append(f"a small batch (now {batch})")
    return causes
