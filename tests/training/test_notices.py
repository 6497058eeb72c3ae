"""The plateau is reported once, and only where it is one."""

import math
from collections.abc import Iterable

import pytest

from glassformer.tasks import task_named
from glassformer.training.budget import RunProgress, plateau, smoothed_loss
from tests.training.toy import toy_settings

BASELINE = 6.0


def notices(
    losses: Iterable[float],
    *,
    steps: int,
    baseline: float | None = BASELINE,
    held_out: float | None = None,
    **settings: object,
) -> list[int]:
    progress, found = RunProgress(best_loss=held_out), list[int]()
    for loss in losses:
        progress.step += 1
        if plateau(progress, loss, progress.step / steps, baseline, toy_settings(**settings)):
            found.append(progress.step)
    return found


def test_a_loss_that_stays_at_the_unigram_entropy_is_reported_once() -> None:
    assert notices([6.05 + 0.3 * math.sin(step) for step in range(1000)], steps=1000) == [300]


def test_the_warm_up_is_no_plateau() -> None:
    slow = [6.0] * 260 + [4.0] * 740
    assert notices(slow, steps=1000, warmup=0.0) == [200]
    assert notices(slow, steps=1000, warmup=0.25) == []
    assert notices(slow, steps=1000, warmup=250.0) == []


def test_a_short_plateau_is_normal() -> None:
    assert notices([9.0] * 20 + [6.0] * 150 + [4.0] * 830, steps=1000) == []


def test_a_plateau_in_the_middle_counts_from_its_beginning() -> None:
    found = notices([3.0] * 300 + [6.0] * 700, steps=1000)
    assert len(found) == 1
    assert 500 < found[0] < 650  # a fifth of the run after the running mean has risen


def test_a_short_run_is_not_judged() -> None:
    assert notices([6.0] * 99, steps=99) == []


def test_without_a_baseline_loss_nothing_is_reported() -> None:
    assert notices([6.0] * 1000, steps=1000, baseline=None) == []


def test_the_notice_names_likely_causes() -> None:
    causes = ("too few steps", "learning rate", "0.25", "warm-up", "7 steps", "8 rows")
    for task in ("masked-lm", "bert", "annotated-masks", "classify"):
        of_task = task_named(task).plateau_causes
        progress = RunProgress(step=1000, smoothed=6.0, above=999)
        said = plateau(progress, 6.0, 0.5, BASELINE, toy_settings(learning_rate=0.25, warmup=7.0), of_task)
        assert said is not None
        for part in ("1,000", "6.00", *causes):
            assert part in said
        for word in ("mask rate", "repeat"):
            assert (word in said) is (task != "classify")  # which masks nothing


def test_the_mean_is_that_of_the_losses_so_far() -> None:
    """Against the weighted mean itself: sum of 0.98^age · loss over the sum of 0.98^age."""
    progress, losses = RunProgress(), [9.0, 9.0, 5.0, 4.0, 4.5]
    for loss in losses:
        progress.step += 1
        plateau(progress, loss, progress.step / 1000, BASELINE, toy_settings())
    weights = [0.98**age for age in reversed(range(len(losses)))]
    mean = sum(weight * loss for weight, loss in zip(weights, losses, strict=True)) / sum(weights)
    assert smoothed_loss(progress) == pytest.approx(mean, rel=1e-12)


def test_the_high_loss_of_the_first_steps_is_not_taken_for_a_plateau() -> None:
    """A mean that begins at the first loss would still be above 5.7 at step 100 and beyond."""
    assert notices([9.2] + [5.5] * 399, steps=400) == []


def test_a_held_out_loss_below_the_baseline_is_no_plateau() -> None:
    flat = [5.9] * 400
    assert notices(flat, steps=400) == [139]
    assert notices(flat, steps=400, held_out=5.95) == []
    assert notices(flat, steps=400, held_out=6.05) == [139]
