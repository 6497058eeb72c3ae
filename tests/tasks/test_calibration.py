"""Temperature and reliability, against SciPy and against counting by hand."""

import math

import numpy as np
import pytest

from glassformer.scoring.calibration import Reliability, fitted_temperature, log_mean, log_sigmoid, log_softmax

optimize = pytest.importorskip("scipy.optimize", reason="SciPy is the reference of the search")
special = pytest.importorskip("scipy.special", reason="SciPy is the reference of the functions")


@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0])
def test_the_temperature_is_that_of_the_least_loss(factor: float) -> None:
    """Labels drawn from softmax(z): logits that are `factor` times too large need that temperature."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (20_000, 4))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)

    def log_loss(temperature: float) -> float:
        return -float(log_softmax(factor * logits / temperature)[np.arange(len(labels)), labels].mean())

    found = fitted_temperature(log_loss)
    reference = optimize.minimize_scalar(lambda place: log_loss(math.exp(place)), bounds=(-3, 3), method="bounded")
    assert found == pytest.approx(math.exp(reference.x), rel=1e-3)  # the searches stop at 1e-4 and at 1e-5 of log T
    assert found == pytest.approx(factor, rel=0.05)  # 20,000 drawn labels


def test_logarithms_are_exact_far_out() -> None:
    logits = np.array([[-800.0, 0.0, 3.0], [900.0, -2.0, 1.0]])
    assert log_softmax(logits) == pytest.approx(special.log_softmax(logits, axis=-1), abs=1e-12)
    assert log_sigmoid(logits) == pytest.approx(special.log_expit(logits), abs=1e-12)
    assert log_mean(logits) == pytest.approx(special.logsumexp(logits, axis=0) - math.log(2), abs=1e-12)


def test_reliability_is_what_counting_gives() -> None:
    rng = np.random.default_rng(1)
    probabilities = np.append(rng.random(500), [0.0, 0.1, 1.0])
    right = rng.random(503) < probabilities**2
    found = Reliability()
    for probability, one in zip(probabilities, right, strict=True):
        found.add(probability, one)
    at_once = Reliability()
    at_once.add(probabilities, right)
    assert found.table() == at_once.table()
    error = 0.0
    for each in found.table():
        inside = (probabilities >= each["from"]) & ((probabilities < each["to"]) | (each["to"] == 1.0))
        assert each["count"] == inside.sum()
        assert each["right"] == pytest.approx(right[inside].mean())
        assert each["probability"] == pytest.approx(probabilities[inside].mean())
        error += inside.mean() * abs(right[inside].mean() - probabilities[inside].mean())
    assert found.expected_error == pytest.approx(error)


def test_errors_of_calibration_do_not_cancel() -> None:
    """Guesses of 0.25 that always come true and guesses of 0.75 that never do: both are wrong by 0.75."""
    found = Reliability()
    found.add(np.array([0.25, 0.25, 0.75, 0.75]), [True, True, False, False])
    assert found.expected_error == 0.75
    found.add(np.array([0.25, 0.75]), [False, True])  # now 2 of 3, and 1 of 3: off by 5/12 each
    assert found.expected_error == pytest.approx(5 / 12)
