"""Scores as sums over examples, against scikit-learn and SciPy, on all examples and in bootstrap samples."""

from typing import Any

import numpy as np
import pytest

from glassformer.scoring import agreement
from glassformer.scoring.score import Measure, resampled, share_of, tail

metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the reference of these scores")
stats = pytest.importorskip("scipy.stats", reason="SciPy is the reference of these scores")
sparse = pytest.importorskip("scipy.sparse", reason="statistics of labels are sparse matrices")
# Float64 sums of a few hundred numbers, in another order.
ORDER = 1e-12


def drawn(labels: int, *, seed: int = 0, count: int = 200) -> tuple[list[int], list[int], list[float]]:
    """Right labels, guesses that are right half of the time, and losses; the last label never occurs."""
    rng = np.random.default_rng(seed)
    true = rng.integers(max(labels - 1, 2), size=count)
    guessed = np.where(rng.random(count) < 0.5, true, rng.integers(max(labels - 1, 2), size=count))
    return true.tolist(), guessed.tolist(), rng.random(count).tolist()


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_one_label_is_scored_as_scikit_learn_does(labels: int) -> None:
    true, guessed, losses = drawn(labels)
    names = [f"label {number}" for number in range(labels)]
    found = agreement.one_label(losses, true, guessed, names).values()
    assert found["loss"] == pytest.approx(np.mean(losses), abs=ORDER)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(true, guessed), abs=ORDER)
    assert found["accuracy"] == pytest.approx(metrics.f1_score(true, guessed, average="micro"), abs=ORDER)
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(true, guessed, average="macro"), abs=ORDER)
    assert found["matthews"] == pytest.approx(metrics.matthews_corrcoef(true, guessed), abs=ORDER)
    if labels == 2:
        for number, name in enumerate(names):
            assert found[f"label_{name}_f1"] == pytest.approx(
                metrics.f1_score(true, guessed, pos_label=number), abs=ORDER
            )


def test_a_constant_guess_has_no_correlation() -> None:
    assert agreement.one_label([1.0, 1.0], [0, 1], [0, 0], ["a", "b"]).values()["matthews"] == 0
    found = agreement.numbers(np.array([1.0, 2.0]), np.array([3.0, 3.0]), deviation=1.0).values()
    assert found.keys() == {"loss", "mean_absolute_error"}


def test_several_labels_are_scored_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(1)
    true, guessed = rng.random((2, 150, 5)) < 0.3
    guessed = np.where(rng.random(guessed.shape) < 0.5, true, guessed)
    sets = [[np.flatnonzero(row).tolist() for row in each] for each in (true, guessed)]
    found = agreement.several_labels([0.5] * 150, sets[0], sets[1], list("abcde")).values()
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(true, guessed), abs=ORDER)
    for kind in ("micro", "macro"):
        assert found[f"{kind}_f1"] == pytest.approx(metrics.f1_score(true, guessed, average=kind), abs=ORDER)


def test_numbers_are_scored_as_scipy_does() -> None:
    rng = np.random.default_rng(2)
    true = np.round(rng.normal(1e6, 2, 120), 1)  # ties, and far from zero
    guessed = np.round(true + rng.normal(0, 1, 120), 1)
    found = agreement.numbers(true, guessed, deviation=2.0).values()
    assert found["pearson"] == pytest.approx(stats.pearsonr(true, guessed).statistic, abs=1e-9)  # SciPy's sums differ
    assert found["spearman"] == pytest.approx(stats.spearmanr(true, guessed).statistic, abs=ORDER)
    assert found["mean_absolute_error"] == pytest.approx(metrics.mean_absolute_error(true, guessed), abs=ORDER)
    assert found["loss"] == pytest.approx(metrics.mean_squared_error(true, guessed) / 4, abs=ORDER)
    assert agreement.ranks(true).tolist() == stats.rankdata(true).tolist()


def expanded(count: int) -> tuple[float, float]:
    """The quantiles of the expanded percentile interval."""
    end = float(stats.norm.cdf(stats.t.ppf(0.025, count - 1) * np.sqrt(count / (count - 1))))
    return end, 1 - end


# The means of resampled numbers are only nearly normal; with 2.5 % at each end it would be 0.11, 0.045 and 0.004.
@pytest.mark.parametrize(("count", "tolerance"), [(8, 0.08), (20, 0.03), (200, 0.01)])
def test_the_interval_of_a_mean_is_about_that_of_student(count: int, tolerance: float) -> None:
    each = np.random.default_rng(count).normal(size=count)
    measure = Measure(each[:, None], lambda sums: {"mean": sums[..., 0] / count})
    found = measure.intervals(samples=40_000)["mean"]
    low, high = stats.t.interval(0.95, count - 1, each.mean(), each.std(ddof=1) / np.sqrt(count))
    assert (found.low, found.high) == pytest.approx((low, high), abs=(high - low) * tolerance)


@pytest.mark.parametrize("right", [0, 50])
def test_where_all_are_right_or_none_the_interval_is_wilsons(right: int) -> None:
    found = share_of([right > 0] * 50).intervals(samples=200)["accuracy"]
    theirs = stats.binomtest(right, 50).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)  # its z has 7 digits


def test_compared_with_an_undefined_correlation_the_interval_is_that_of_the_model() -> None:
    true = [0] * 20 + [1] * 20
    guessed = [1 - label if place in {*range(9), *range(20, 29)} else label for place, label in enumerate(true)]
    ours, one = (agreement.one_label([0.7] * 40, true, of, ["a", "b"]) for of in (guessed, [0] * 40))
    drawn = ours.scores(resampled(ours.statistics, 1000, 0))["matthews"]
    found, end = ours.compared(one, samples=1000)["matthews"], tail(20)  # the label b has as few examples among both
    assert found == pytest.approx((0.1, *np.quantile(drawn, (end, 1 - end))), rel=1e-12)
    assert one.compared(ours, samples=1000)["matthews"] == pytest.approx((-0.1, -found.high, -found.low), rel=1e-12)


def test_intervals_are_those_of_the_scores_of_resampled_examples() -> None:
    true, guessed, losses = drawn(3)
    true[7] = guessed[7] = 3  # not in each sample, and "never" in none: the mean is over the labels that occur
    measure = agreement.one_label(losses, true, guessed, ["a", "b", "c", "rare", "never"])
    generator = np.random.default_rng(5)
    values = []
    for _ in range(60):
        chosen = generator.integers(len(true), size=len(true))
        values.append(metrics.f1_score(np.array(true)[chosen], np.array(guessed)[chosen], average="macro"))
    found = measure.intervals(samples=60, seed=5)["macro_f1"]
    assert (found.low, found.high) == pytest.approx(np.quantile(values, expanded(len(true))), abs=ORDER)


def test_perfect_predictions_have_a_macro_f1_of_one_in_each_sample() -> None:
    """Whichever labels a sample lacks, also where each has one example."""
    true = list(range(20))
    measure = agreement.one_label([0.0] * 20, true, true, [str(label) for label in true])
    assert set(measure.scores(resampled(measure.statistics, 60, 5))["macro_f1"].tolist()) == {1.0}


def test_an_f1_of_one_has_the_interval_of_its_examples() -> None:
    """That of all examples are right; for a label, of those that have it or are predicted to have it."""
    measure = agreement.one_label([0.0] * 50, [0] * 47 + [1] * 3, [0] * 47 + [1] * 3, ["a", "b"])
    found = measure.intervals(samples=60)
    for name, count in {"accuracy": 50, "macro_f1": 50, "label_a_f1": 47}.items():
        theirs = stats.binomtest(count, count).proportion_ci(method="wilson")
        assert (found[name].low, found[name].high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)
    absent = agreement.one_label([0.0] * 3, [0, 0, 0], [0, 0, 0], ["a", "b"]).intervals(samples=60)
    assert absent["label_b_f1"] == (0, 0, 1)


def test_the_f1_of_a_label_that_occurs_nowhere_is_0() -> None:
    found = agreement.one_label([0.0] * 3, [0, 0, 0], [0, 0, 0], ["a", "b"]).values()
    assert (found["label_a_f1"], found["label_b_f1"], found["macro_f1"]) == (1, 0, 1)


def test_sparse_statistics_are_the_dense_ones() -> None:
    rng = np.random.default_rng(3)
    dense = rng.random((20, 8)) * (rng.random((20, 8)) < 0.2)  # [E, K]
    sums = resampled(sparse.csr_matrix(dense), 50, 1)  # [R, K]
    assert sums.shape == (50, 8)
    assert sums.tolist() == [pytest.approx(each, abs=ORDER) for each in resampled(dense, 50, 1).tolist()]


def test_ten_thousand_labels_need_little_memory_and_time() -> None:
    count, labels = 3000, 10_000
    rng = np.random.default_rng(4)
    true = rng.integers(labels, size=count).tolist()
    names: Any = range(labels)
    measure = agreement.one_label([1.0] * count, true, true[::-1], names)
    assert measure.values()["macro_f1"] == pytest.approx(metrics.f1_score(true, true[::-1], average="macro"), abs=ORDER)
    small = agreement.bounded(measure, labels)
    assert isinstance(small, Measure)
    assert isinstance(small.statistics, np.ndarray)
    assert small.statistics.nbytes == 3 * 8 * count
    assert small.intervals(samples=20).keys() == {"loss", "accuracy"}


def test_a_sample_without_a_label_says_nothing_of_its_f1() -> None:
    """Three of a hundred records have the label, and all are right: a bootstrap sample in twenty has none of them."""
    labels = [0] * 97 + [1] * 3
    found = agreement.one_label([0.0] * 100, labels, labels, ["ham", "spam"]).intervals(samples=500)
    theirs = stats.binomtest(3, 3).proportion_ci(method="wilson")
    assert found["label_spam_f1"] == pytest.approx((1.0, theirs.low, theirs.high), abs=1e-6)
    assert found["matthews"] == (1.0, 1.0, 1.0)
    constant = agreement.one_label([0.0] * 50, [0] * 25 + [1] * 25, [0] * 50, ["ham", "spam"]).intervals(samples=60)
    assert constant["matthews"] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e100])
def test_a_correlation_has_no_unit(unit: float) -> None:
    generator = np.random.default_rng(0)
    true = generator.normal(size=40)
    guessed = true + generator.normal(size=40)
    found = agreement.numbers(true * unit, guessed * unit, deviation=unit).values()
    assert found["pearson"] == pytest.approx(stats.pearsonr(true, guessed).statistic, rel=1e-12)


def test_a_correlation_is_at_most_one_where_sums_have_lost_their_digits() -> None:
    generator = np.random.default_rng(0)
    true = np.array([1e8, *generator.normal(size=60)])
    guessed = np.array([1e8, *(true[1:] + 0.01 * generator.normal(size=60))])
    measure = agreement.numbers(true, guessed, deviation=1.0)
    assert measure.values()["pearson"] <= 1
    assert max(measure.intervals(samples=500)["pearson"]) <= 1


def test_two_records_have_no_correlation() -> None:
    found = agreement.numbers(np.array([1.0, 2.0]), np.array([5.0, 3.0]), deviation=1.0).values()
    assert found.keys() == {"loss", "mean_absolute_error"}
