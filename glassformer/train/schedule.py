"""The learning rate from the first step to the last, as a share of its peak."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from glassformer.config import TrainSection
from glassformer.train.ending import Ending, Progress


@dataclass(frozen=True)
class Schedule:
    """Rise over the warm-up, then fall as `shape` says.

    `warmup` is a share of the run below 1, a number of steps from 1 on. A schedule knows only the recorded progress,
    so that it works for a run that is bounded by minutes as well.
    """

    shape: Callable[[float, float, float], float]
    warmup: float
    cooldown: float
    ending: Ending

    @classmethod
    def of(cls, settings: TrainSection, ending: Ending) -> Schedule:
        """The schedule the settings ask for."""
        return cls(SHAPES[settings.schedule], settings.warmup, settings.cooldown, ending)

    def __call__(self, progress: Progress) -> float:
        """The share of the peak for the step that comes next."""
        done = self.ending.fraction(progress)
        steps = self.ending.steps if self.ending.seconds is None else None
        if self.warmup >= 1 or (self.warmup > 0 and steps):
            rising = self.warmup if self.warmup >= 1 else self.warmup * (steps or 0)
            risen = (progress.step + 1) / rising
            share = rising / steps if steps else 0.0
        else:
            risen = done / self.warmup if self.warmup else math.inf
            share = self.warmup
        left = (1 - done) / (1 - share) if share < 1 else 1.0  # of what comes after the warm-up
        return max(0.0, self.shape(risen, min(left, 1.0), self.cooldown))


# Each takes how many warm-ups have passed (1 = just over, the peak), what share of the run after it is left, and the
# share that the cool-down takes.


def linear(risen: float, left: float, cooldown: float) -> float:
    """Straight down to zero."""
    return min(risen, left)


def noam(risen: float, left: float, cooldown: float) -> float:
    """With the inverse root of the step (Vaswani et al. 2017, §5.3), scaled so that the peak is 1."""
    return min(risen, risen**-0.5) if risen < math.inf else 1.0


def cosine(risen: float, left: float, cooldown: float) -> float:
    """Along half a cosine down to zero (Loshchilov & Hutter 2017, without restarts)."""
    return min(risen, 0.5 - 0.5 * math.cos(math.pi * left))


def warmup_stable_decay(risen: float, left: float, cooldown: float) -> float:
    """Level, then straight down to zero over the last `cooldown` (Hu et al. 2024)."""
    return min(risen, 1.0, left / cooldown if cooldown else 1.0)


def constant(risen: float, left: float, cooldown: float) -> float:
    """Level to the end."""
    return min(risen, 1.0)


SHAPES: dict[str, Callable[[float, float, float], float]] = {
    "linear": linear,
    "noam": noam,
    "cosine": cosine,
    "warmup-stable-decay": warmup_stable_decay,
    "constant": constant,
}
