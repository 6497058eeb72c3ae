"""Warnings early in a run, while its settings can still be changed cheaply."""

from collections.abc import Sequence

from glassformer.training.budget import RunProgress
from glassformer.training.settings import TrainSection

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
