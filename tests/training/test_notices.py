"""The plateau is told once, and only where it is one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from glassformer.training.budget import RunProgress
from glassformer.training.notices import plateau
from tests.training.toy import toy_settings

BASELINE = 6.0


def told(losses: Iterable[float], *, steps: int, baseline: float | None = BASELINE, **settings: object) -> list[int]:
    progress, found = RunProgress(), []
    for loss in losses:
        progress.step += 1
        if plateau(progress, loss, progress.step / steps, baseline, toy_settings(**settings)):
            found.append(progress.step)
    return found


def test_a_loss_that_stays_at_the_unigram_entropy_is_told_once() -> None:
    assert told([6.05 + 0.3 * math.sin(step) for step in range(1000)], steps=1000) == [200]


def test_a_short_plateau_is_normal() -> None:
    assert told([9.0] * 20 + [6.0] * 150 + [4.0] * 830, steps=1000) == []


def test_a_plateau_in_the_middle_counts_from_its_beginning() -> None:
    found = told([3.0] * 300 + [6.0] * 700, steps=1000)
    assert len(found) == 1
    assert 500 < found[0] < 650  # a fifth of the run after the running mean has risen


def test_a_short_run_is_not_judged() -> None:
    assert told([6.0] * 99, steps=99) == []


def test_without_a_baseline_loss_nothing_is_told() -> None:
    assert told([6.0] * 1000, steps=1000, baseline=None) == []


def test_the_notice_names_likely_causes() -> None:
    progress = RunProgress(step=1000, smoothed=6.0, above=999)
    said = plateau(progress, 6.0, 0.5, BASELINE, toy_settings(learning_rate=0.25, warmup=7.0))
    assert said is not None
    assert "after 1,000 steps the loss is 6.00; knowing only how frequent each token is gives 6.00" in said
    for cause in ("too few steps", "learning rate", "0.25", "warm-up", "7 steps", "8 rows", "repeat", "mask rate"):
        assert cause in said
