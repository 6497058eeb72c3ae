"""Better, worse, or not different: what the interval of a paired difference says."""

from dataclasses import replace

import numpy as np
import pytest

from glassformer.scoring.score import THIS_MODEL, Measure, Scores, share_of
from glassformer.scoring.verdict import differences, intervals, intervals_by_flat_name, samples_for, to_dict, verdict


def scores(**right: np.ndarray) -> Scores:
    measures = {
        name.replace("_", " ") if name != "tfidf" else "TF-IDF": share_of(flags) for name, flags in right.items()
    }
    count = len(next(iter(right.values())))
    return Scores(count, "texts", {name: each.values() for name, each in measures.items()}, measures=measures)


def flags(share: float, count: int = 400) -> np.ndarray:
    return np.arange(count) < share * count


def test_the_best_baseline_is_the_one_to_beat() -> None:
    found = verdict(scores(this_model=flags(0.9), most_frequent=flags(0.6), tfidf=flags(0.8)), "accuracy")
    assert found is not None
    assert (found.baseline, found.difference.verdict) == ("TF-IDF", "better")
    # On the same examples 40 of 400 differ: the deviation of their share is √(0.1 · 0.9 / 400) = 0.015.
    assert (found.difference.low, found.difference.high) == pytest.approx((0.1 - 0.0294, 0.1 + 0.0294), abs=0.004)
    assert all(
        part in found.sentence for part in ("better than the baseline TF-IDF", "90.00%", "80.00%", "+10.00 points")
    )


@pytest.mark.parametrize(
    ("mine", "other", "expected"), [(0.8, 0.9, "worse"), (0.805, 0.8, "not different"), (0.8, 0.8, "not different")]
)
def test_the_interval_decides(mine: float, other: float, expected: str) -> None:
    found = verdict(scores(this_model=flags(mine), most_frequent=flags(other)), "accuracy")
    assert found is not None
    assert found.difference.verdict == expected


@pytest.mark.parametrize("score", ["loss", "perplexity", "bits_per_byte", "repeated_4"])
def test_of_a_loss_less_is_better(score: str) -> None:
    def measure(values: np.ndarray, score: str = "loss") -> Measure:
        return Measure(np.stack([values, np.ones(50)], axis=1), lambda sums: {score: sums[..., 0] / sums[..., 1]})

    one, other = measure(np.linspace(0, 1, 50), score), measure(np.linspace(1, 2, 50), score)
    assert differences(one, other)[score].verdict == "better"
    assert differences(other, one)[score].verdict == "worse"
    low, high = measure(np.linspace(0, 1, 50)), measure(np.linspace(1, 2, 50))
    both = Scores(50, "texts", {THIS_MODEL: high.values(), "a": low.values()}, measures={THIS_MODEL: high, "a": low})
    found = verdict(both, "-loss")
    assert found is not None
    assert found.difference.verdict == "worse"
    assert found.sentence.startswith("worse than the baseline a")


def test_without_measures_there_is_no_verdict() -> None:
    plain = Scores(3, "texts", {THIS_MODEL: {"accuracy": 1.0}, "most frequent": {"accuracy": 0.5}})
    assert verdict(plain, "accuracy") is None
    assert to_dict(plain, "accuracy") == {"accuracy": 1.0, "targets": 3.0, "most_frequent_accuracy": 0.5}


def test_few_examples_are_reported() -> None:
    found = verdict(scores(this_model=flags(0.5, 8), most_frequent=flags(0.5, 8)), "accuracy")
    assert found is not None
    assert "8 examples are few" in found.sentence


def test_of_equal_baselines_always_the_same_one_is_named() -> None:
    """Training and evaluation measure them in another order."""
    for names in (("frozen_features", "TF-IDF"), ("TF-IDF", "frozen_features")):
        found = verdict(scores(this_model=flags(0.9), **{name: flags(0.8) for name in names}), "accuracy")
        assert found is not None
        assert found.baseline.startswith("TF")


def test_the_linear_probe_is_not_compared_with_itself() -> None:
    of = scores(this_model=flags(0.9), frozen_features=flags(0.9), tfidf=flags(0.7))
    tuned, kept = (verdict(of, "accuracy", {"steps": 9, "best_step": step}) for step in (4, 0))
    assert tuned is not None
    assert kept is not None
    assert (tuned.baseline, kept.baseline) == ("frozen features", "TF-IDF")
    assert (tuned.kept, "calibration" in kept.kept) == ("", False)
    assert kept.sentence.startswith(kept.kept)
    assert verdict(scores(this_model=flags(0.9), frozen_features=flags(0.9)), "accuracy", {"best_step": 0}) is None


def test_for_the_linear_probe_the_verdict_says_that_its_loss_is_before_calibration() -> None:
    def losses(value: float) -> Measure:
        return Measure(np.full((50, 1), value), lambda sums: {"loss": sums[..., 0] / 50})

    measures = {THIS_MODEL: losses(0.7), "frozen features": losses(0.8), "most frequent": losses(1.0)}
    found = verdict(Scores(50, "texts", {}, measures=measures), "-loss", {"best_step": 0})
    assert found is not None
    assert "calibration" in found.kept


def test_a_single_example_has_neither_interval_nor_verdict() -> None:
    one = scores(this_model=flags(1, 1), most_frequent=flags(0, 1))
    assert verdict(one, "accuracy") is None
    assert to_dict(one, "accuracy") == {"accuracy": 1.0, "targets": 1.0, "most_frequent_accuracy": 0.0}


def test_the_examples_are_those_that_the_bootstrap_draws() -> None:
    """Tags are counted as words and drawn as sentences: 8 sentences are few, whatever their length."""
    sentences = scores(this_model=flags(0.5, 8), most_frequent=flags(0.5, 8))
    found = verdict(replace(sentences, count=2000, unit="words"), "accuracy")
    assert found is not None
    assert found.count == 8
    assert "8 examples are few" in found.sentence


def test_all_of_it_is_plain_json() -> None:
    found = to_dict(scores(this_model=flags(0.9), tfidf=flags(0.8)), "accuracy")
    low, high = found["intervals"]["this model"]["accuracy"]
    assert low < 0.9 < high
    assert found["against"]["verdict"] == "better"
    assert found["tf_idf_accuracy"] == 0.8
    assert intervals_by_flat_name(scores(tfidf=flags(0.8))).keys() == {"tf_idf_accuracy"}


def test_very_many_examples_have_fewer_samples() -> None:
    assert [samples_for(count) for count in (0, 1000, 100_000, 10_000_000)] == [2000, 2000, 400, 200]


@pytest.mark.parametrize(
    ("facts", "advice"),
    [({"steps": 9, "best_step": 9}, "--minutes"), ({"steps": 9, "best_step": 0}, "--learning-rate"),
     ({"steps": 9, "best_step": 4}, ""), ({}, "")],
)  # fmt: skip
def test_for_a_model_that_is_not_better_the_verdict_says_what_to_try(facts: dict[str, int], advice: str) -> None:
    for mine, other in ((0.5, 0.9), (0.5, 0.5), (0.9, 0.5)):
        found = verdict(scores(this_model=flags(mine), tfidf=flags(other)), "accuracy", facts)
        assert found is not None
        assert advice in found.sentence or mine > other
        assert ("--" in found.sentence) == (bool(advice) and mine <= other)


def test_a_lower_loss_does_not_hide_a_lower_bleu() -> None:
    losses = {THIS_MODEL: flags(0.2).astype(float), "unigram": flags(0.8).astype(float)}
    measures = {
        name: Measure(np.stack([each, np.ones_like(each)], axis=1), lambda sums: {"loss": sums[..., 0] / sums[..., 1]})
        for name, each in losses.items()
    }
    of = {name: {**each.values(), "bleu": 3.0 if name == THIS_MODEL else 0.1} for name, each in measures.items()}
    facts = {"steps": 9, "best_step": 9}
    plain = verdict(Scores(400, "sentences", of, measures=measures), "-loss", facts)
    found = verdict(Scores(400, "sentences", of | {"copy source": {"bleu": 5.0}}, measures=measures), "-loss", facts)
    assert plain is not None
    assert found is not None
    assert (plain.difference.verdict, found.difference.verdict) == ("better", "better")
    assert "--minutes" not in plain.sentence
    assert all(part in found.sentence for part in ("copy source", "3.00", "5.00", "--minutes"))


def test_a_perfect_score_needs_no_advice() -> None:
    found = verdict(scores(this_model=flags(1), tfidf=flags(1)), "accuracy", {"steps": 9, "best_step": 9})
    assert found is not None
    assert "--" not in found.sentence


@pytest.mark.parametrize(("mine", "other", "clear"), [(0.505, 0.5, True), (0.5, 0.5, False), (0.5, 0.505, False)])
def test_what_is_lower_is_no_improvement_though_it_is_not_clear(mine: float, other: float, clear: bool) -> None:
    found = verdict(scores(this_model=flags(mine), tfidf=flags(other)), "accuracy")
    assert found is not None
    assert found.difference.verdict == "not different"
    assert ("no clear improvement" in found.sentence) == clear


@pytest.mark.parametrize("count", [1, 5, 6])
def test_too_few_examples_decide_nothing(count: int) -> None:
    """Of five examples all favour one of two equal models in one case of sixteen."""
    found = differences(share_of([True] * count), share_of([False] * count))["accuracy"]
    assert found.verdict == ("better" if count == 6 else "not different")
    assert (found.to_dict()["low"] is None) == (count < 6)
    assert bool(intervals(share_of([True] * count))) == (count == 6)
