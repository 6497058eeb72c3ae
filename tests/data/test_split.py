"""Sides of a split: the same on every machine, repeats together, shares as asked."""

import numpy as np
import pytest

from glassformer.base.errors import ConfigError
from glassformer.data.stores.corpus import shares_for
from glassformer.data.stores.split import Repeats, hash_fraction, repeats, shared, split_of, text_hash
from tests.data.made import split
from tests.refusals import refused

SHARES = {"validation": 0.2, "test": 0.1}


def test_sides_never_change() -> None:
    """Golden: a saved model finds its validation rows again with any later version."""
    assert text_hash("She likes the summer better") == 0x924CC8D2D52E167E
    splits = [split(f"text {number}", seed=0, shares=SHARES) for number in range(8)]
    assert splits == ["train", "validation", "train", "train", "train", "train", "train", "test"]


def test_what_reads_alike_stays_together() -> None:
    alike = ["The Café  is\nopen", "the cafe\u0301 is open", "THE CAFÉ IS OPEN ", "Ｔｈｅ café is open"]
    assert len({text_hash(text) for text in alike}) == 1
    assert text_hash("the cafe is open") != text_hash(alike[0])


def test_shares_are_kept_and_seeds_differ() -> None:
    splits = [[split(f"text {number}", seed=seed, shares=SHARES) for number in range(10_000)] for seed in (0, 1)]
    for each in splits:
        # Binomial with 10,000 draws: four standard deviations are 0.016.
        assert each.count("validation") / 10_000 == pytest.approx(0.2, abs=0.016)
        assert each.count("test") / 10_000 == pytest.approx(0.1, abs=0.012)
    equal = np.mean([left == right for left, right in zip(*splits, strict=True)])
    assert equal == pytest.approx(0.7**2 + 0.2**2 + 0.1**2, abs=0.02)


def test_a_larger_share_only_adds() -> None:
    for number in range(500):
        small = split(f"text {number}", seed=3, shares={"validation": 0.1})
        large = split(f"text {number}", seed=3, shares={"validation": 0.3})
        assert small == large or (small, large) == ("train", "validation")


@pytest.mark.parametrize("shares", [{"validation": 0.5, "test": 0.5}, {"validation": -0.1}])
def test_impossible_shares_are_refused(shares: dict[str, float]) -> None:
    with refused(ConfigError, wanted=("validation", "test"), got=str(shares)):
        split("text", seed=0, shares=shares)


def test_repeats_are_counted() -> None:
    hashes = np.array([text_hash(text) for text in ("a", "b", "A", "c", "a ")], np.uint64)
    assert repeats(hashes) == Repeats(documents=5, repeated=2)
    assert str(repeats(hashes)) == "2 of 5 documents (40.0%) repeat an earlier one"
    assert shared(hashes[:2], hashes[2:]) == 2


def test_of_a_few_texts_each_split_has_one() -> None:
    for first in range(0, 4_000, 4):
        texts = [f"text {number}" for number in range(first, first + 4)]
        shares = shares_for(texts, SHARES, seed=0)
        assert {split_of(hash_fraction(text_hash(text), 0), shares) for text in texts} == {
            "train",
            "validation",
            "test",
        }
