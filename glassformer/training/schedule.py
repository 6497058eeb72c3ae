"""The learning rate of each step, as a share of its peak: a warm-up, then one of five shapes.

Depends on the recorded progress only, so that it also works for a run that is bounded by minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from glassformer.base.errors import ConfigError
from glassformer.training.budget import Budget, RunProgress
from glassformer.training.settings import TrainSection

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
            rising, share = settings.warmup, settings.warmup / steps if steps else 0.0
        else:
            rising, share = settings.warmup * steps if steps else None, settings.warmup
        return cls(SHAPES[settings.schedule], rising, share, settings.cooldown, budget)

    def __call__(self, progress: RunProgress) -> float:
        done = self.budget.fraction(progress)
        risen = math.inf
        if self.rising:
            risen = (progress.step + 1) / self.rising
        elif self.share:
            # By the clock a run begins at 0, and its first step would change nothing.
            risen = max(done / self.share, _FIRST_RISE)
        fallen = (done - self.share) / (1 - self.share) if self.share < 1 else 0.0
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
