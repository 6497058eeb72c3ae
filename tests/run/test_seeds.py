"""Several runs that differ in their seed: which is the best, and what is said of all."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import glassformer as gf
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.run.seeds import Seeds
from tests.refusals import refused
from tests.run.heads import model_for
from tests.run.runs import Listener, recipe

RUNS = {
    0: {"loss": 0.75, "accuracy": 0.5, "targets": 8, "baseline_loss": 1.0, "frozen_features_loss": 0.5},
    3: {"loss": 0.25, "accuracy": 0.25, "targets": 8, "baseline_loss": 1.0, "frozen_features_loss": 0.5},
    4: {"loss": 1.5, "accuracy": 0.875, "targets": 8, "baseline_loss": 1.0, "frozen_features_loss": 0.5},
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


def test_the_folder_of_several_runs_names_one_of_them(tmp_path: Path) -> None:
    model = model_for("masked-lm", {})
    (tmp_path / "recipe.toml").write_text("", encoding="utf-8")
    for number in range(2):
        with refused(CheckpointError, do="--resume" if number == 0 else str(tmp_path / "seed-0")):
            gf.load(tmp_path)
        model.save(tmp_path / "seed-0")


def test_all_seeds_learn_from_one_text(text_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(text_file.read_bytes() + b"\n\nShe waits.\n")
    gf.train(recipe(text_file, seeds=2, steps=1), out=tmp_path / "run", progress=Listener())
    with refused(ConfigError, wanted="data.files", got=str(other)):
        gf.train(recipe(other, seeds=3, steps=1), out=tmp_path / "run", resume=True, progress=Listener())
    assert not (tmp_path / "run" / "seed-2").exists()


def test_one_run_does_not_become_several(text_file: Path, tmp_path: Path) -> None:
    gf.train(recipe(text_file, steps=1), out=tmp_path / "run", progress=Listener())
    with refused(ConfigError, wanted="train.seeds", got="2"):
        gf.train(recipe(text_file, seeds=2, steps=1), out=tmp_path / "run", resume=True, progress=Listener())


def test_a_seed_that_found_its_own_settings_is_finished(text_file: Path, tmp_path: Path) -> None:
    """A run that goes on from a model finds its learning rate by the size of its weights."""
    gf.train(recipe(text_file, steps=1), out=tmp_path / "start", progress=Listener())
    settings = recipe(text_file, seeds=2, steps=1) | {"model": {"start": str(tmp_path / "start")}}
    del settings["tokenizer"]
    gf.train(settings, out=tmp_path / "run", progress=Listener())
    again = Listener()
    gf.train(settings, out=tmp_path / "run", resume=True, progress=again)
    assert [note for note in again.notes if "is finished" in note] == again.notes[:2]
    assert not again.steps
