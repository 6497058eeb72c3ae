"""Schedules against their formulas, bounded by steps and by minutes."""

import math
from collections.abc import Callable

import pytest

from glassformer.base.errors import ConfigError
from glassformer.training.budget import SHAPES, Budget, RunProgress, Schedule
from glassformer.training.settings import EpochsByData
from tests.refusals import refused
from tests.training.toy import toy_settings

STEPS, WARMUP = 50, 10


def shares(**settings: object) -> list[float]:
    chosen = toy_settings(**{"steps": STEPS, "warmup": float(WARMUP), **settings})
    schedule = Schedule.of(chosen, Budget.of(chosen, steps_per_epoch=1.0))
    return [schedule(RunProgress(step=step)) for step in range(STEPS)]


def rise(step: int) -> float:
    return min(1.0, (step + 1) / WARMUP)


def rest(step: int) -> float:
    return min(1.0, (STEPS - step) / (STEPS - WARMUP))


FORMULAS: dict[str, Callable[[int], float]] = {
    "linear": lambda s: min(rise(s), rest(s)),
    "cosine": lambda s: min(rise(s), 0.5 * (1 + math.cos(math.pi * (1 - rest(s))))),
    "constant": rise,
    "warmup-stable-decay": lambda s: min(rise(s), (STEPS - s) / (0.2 * STEPS)),
    # d^-0.5 · min(step^-0.5, step · warmup^-1.5), divided by its own peak (d · warmup)^-0.5
    "noam": lambda s: min((s + 1) ** -0.5, (s + 1) * WARMUP**-1.5) * WARMUP**0.5,
}


@pytest.mark.parametrize("name", SHAPES)
def test_schedule_is_its_formula(name: str) -> None:
    for step, share in enumerate(shares(schedule=name)):
        assert share == pytest.approx(FORMULAS[name](step), abs=1e-12), step


@pytest.mark.parametrize("name", SHAPES)
def test_a_share_of_the_run_means_the_same_steps(name: str) -> None:
    assert shares(schedule=name, warmup=WARMUP / STEPS) == pytest.approx(shares(schedule=name), abs=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_each_schedule_peaks_at_one_and_never_stands_still(name: str) -> None:
    values = shares(schedule=name)
    assert max(values) == pytest.approx(1.0)
    assert min(values) > 0


@pytest.mark.parametrize("name", ["linear", "cosine", "warmup-stable-decay", "constant"])
def test_bounded_by_minutes_it_follows_the_clock(name: str) -> None:
    chosen = toy_settings(steps=None, minutes=2.0, schedule=name, warmup=0.2)
    schedule = Schedule.of(chosen, Budget.of(chosen, 1.0))
    setup = 20.0
    for step in range(STEPS):
        by_clock = schedule(RunProgress(step=7, seconds=(120 - setup) * step / STEPS, setup=setup))
        assert by_clock == pytest.approx(min(max(step / WARMUP, 0.01), FORMULAS[name](step)), abs=1e-12), step


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("more", [{}, {"steps": 120}])
def test_minutes_with_a_warmup_in_steps(name: str, more: dict[str, int]) -> None:
    """At a constant speed they give the rates of a run of as many steps; where it also ends by steps, at any speed."""
    by_clock = toy_settings(**{"steps": None, "minutes": 1.0, "warmup": 4.0, "schedule": name, **more})
    by_steps = toy_settings(steps=120, warmup=4.0, schedule=name)
    one, other = (Schedule.of(each, Budget.of(each, 1.0)) for each in (by_clock, by_steps))
    for step in range(120):
        progress = RunProgress(step=step, seconds=0.0 if more else step / 2)
        assert one(progress) == pytest.approx(other(progress), abs=1e-12), step


@pytest.mark.parametrize("name", SHAPES)
def test_whatever_the_warmup_the_rate_stays_between_zero_and_the_peak(name: str) -> None:
    for warmup in (0.0, 0.01, 0.99, 1.0, 3.0, STEPS, 10.0 * STEPS):
        if name == "noam" and not warmup:
            continue
        assert all(0 < share <= 1 for share in shares(schedule=name, warmup=warmup))
    for seconds in (0.0, 1.0, 59.0, 60.0, 61.0):
        chosen = toy_settings(steps=None, minutes=1.0, schedule=name, warmup=0.1)
        assert 0 <= Schedule.of(chosen, Budget.of(chosen, 1.0))(RunProgress(seconds=seconds)) <= 1


def test_noam_needs_a_warmup() -> None:
    with refused(ConfigError, wanted="noam", got="train.warmup = 0"):
        shares(schedule="noam", warmup=0.0)


def test_the_first_bound_reached_ends_the_run() -> None:
    def budget(**settings: object) -> Budget:
        return Budget.of(toy_settings(**{"steps": None, **settings}), steps_per_epoch=2.5)

    assert budget(steps=7) == Budget(7, None)
    assert budget(epochs=2.0) == Budget(5, None)
    assert budget(epochs=1.0) == Budget(3, None)  # each row at least once
    assert budget(epochs=0.01) == Budget(1, None)
    assert budget(steps=7, epochs=2.0, minutes=1.0) == Budget(5, 60.0)
    both = budget(steps=10, minutes=1.0)
    assert not both.reached(RunProgress(step=9, seconds=59.0))
    assert both.reached(RunProgress(step=10, seconds=0.0))
    assert both.reached(RunProgress(step=1, seconds=40.0, setup=20.0))
    assert both.fraction(RunProgress(step=2, seconds=30.0)) == 0.5
    with refused(ConfigError, do=("train.steps", "train.epochs", "train.minutes")):
        budget()


@pytest.mark.parametrize(("rows", "epochs"), [(10, 20), (224, 20), (320, 15), (1_000, 5), (1_568, 4), (10_000, 3)])
def test_little_data_is_gone_through_more_often(rows: int, epochs: int) -> None:
    """At least 150 steps of 32 rows, but three epochs of much data and no more than twenty of little."""
    rule, steps = EpochsByData(), rows / 32
    assert rule.epochs(steps) == epochs
    assert epochs in (3, 20) or epochs * steps >= 150 > (epochs - 1) * steps
    settings = toy_settings(steps=None, epochs_by_data=rule)
    assert Budget.of(settings, steps) == Budget(math.ceil(epochs * steps), None)
    for chosen, budget in (
        ({"epochs": 1.5}, Budget(math.ceil(1.5 * steps), None)),
        ({"steps": 7}, Budget(7, None)),
        ({"minutes": 1.0}, Budget(None, 60.0)),
    ):
        assert Budget.of(settings.model_copy(update=chosen), steps) == budget
    assert EpochsByData(least=5, steps=1, most=2).epochs(steps) == 5
