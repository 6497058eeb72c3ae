"""Several runs that differ in their seed: which is the best, and what is said of all."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from glassformer.run.seeds import Seeds

RUNS = {
    0: {"loss": 0.75, "accuracy": 0.5, "targets": 8, "baseline_loss": 1.0},
    3: {"loss": 0.25, "accuracy": 0.25, "targets": 8, "baseline_loss": 1.0},
    4: {"loss": 1.5, "accuracy": 0.875, "targets": 8, "baseline_loss": 1.0},
}


@pytest.mark.parametrize(("best_score", "seed"), [("-loss", 3), ("accuracy", 4)])
def test_the_best_of_several_seeds(best_score: str, seed: int, tmp_path: Path) -> None:
    found = Seeds(RUNS, best_score, ("baseline",))
    assert found.best == seed
    found.write(tmp_path)
    written = json.loads((tmp_path / "seeds.json").read_text())
    assert written["best"] == f"seed-{seed}"
    assert written["best_by"] == best_score.lstrip("-")


def test_of_equal_seeds_the_first() -> None:
    assert Seeds({5: {"loss": 1.0}, 2: {"loss": 0.5}, 9: {"loss": 0.5}}, "-loss").best == 2


def test_mean_and_deviation_are_those_of_a_sample() -> None:
    found = Seeds(RUNS, "-loss", ("baseline",)).to_dict()["scores"]
    assert found.keys() == {"loss", "accuracy"}
    for name, its in found.items():
        values = [scores[name] for scores in RUNS.values()]
        assert math.isclose(its["mean"], np.mean(values))
        assert math.isclose(its["deviation"], np.std(values, ddof=1))
