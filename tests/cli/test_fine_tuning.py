"""What a fine-tuning chooses by its records and by the model to start from, and what is said of it: epochs, rate."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.run.prepare import prepare_run
from glassformer.saved.recipe import read_saved_recipe, resolve
from glassformer.training.progress import NoProgress
from glassformer.training.settings import EpochsByData
from tests.cli.conftest import Run
from tests.run.heads import TEXTS, model_for

RECORDS, HELD_OUT, BATCH = 60, 0.1, 8
SMALL = ("--batch", str(BATCH), "--length", "24", "--threads", "1", "--set", "train.compile=off")


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """The words of a fine-tuning from a small model."""
    table = tmp_path / "few.jsonl"
    records = ({"text": f"{number} {TEXTS[number % 2]}", "label": number % 2} for number in range(RECORDS))
    table.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    model = model_for("classify", {"labels": ("0", "1")}).save(tmp_path / "start")
    return ["classify", str(table), "--start", str(model), *SMALL]


def test_few_records_are_gone_through_more_often_unless_the_user_says_how_often(run: Run, asked: list[str]) -> None:
    """Three epochs of these are some twenty steps, which was neither enough nor reported."""
    done = run("plan", *asked, "--json")
    (found,) = done.records
    assert found["epochs"] == pytest.approx(EpochsByData().most, abs=0.5)
    assert found["steps"] > 100
    assert f"20 epochs, {found['steps']:,} steps" in done.err
    assert "--epochs" in done.err
    few = run("plan", *asked, "--epochs", "3", "--json")
    assert few.records[0]["epochs"] == pytest.approx(3, abs=0.5)
    assert "--epochs" not in few.err
    rule = run("plan", *asked, "--set", "train.epochs_by_data.steps=40", "--json")
    assert 40 <= rule.records[0]["steps"] < 40 + found["steps"] / 20 + 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "start", "fewest"), [("regress", "start", 10), ("regress", "sentences", 3), ("classify", "start", 3)]
)
def test_numbers_are_learned_from_a_small_start_in_more_epochs(
    asked: list[str], tmp_path: Path, task: str, start: str, fewest: int
) -> None:
    changes = {"data.files": [asked[1]], "model.start": str(tmp_path / start) if start == "start" else start}
    recipe = resolve(task, {**changes, "data.length": 24, "train.threads": 1})
    made = prepare_run(recipe, tmp_path / "run", NoProgress()).recipe.train.epochs_by_data
    assert made is not None
    assert made.least == fewest
    assert recipe.train.epochs_by_data == made.model_copy(update={"least": 3})


def test_a_run_does_the_steps_that_were_reported_and_keeps_the_rule(run: Run, asked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    rule = ("--set", "train.epochs_by_data={least = 1, steps = 9, most = 5}")
    done = run("train", *asked, *rule, "--out", out, "--json")
    assert done.code == 0
    assert f", {done.records[0]['steps']:,} steps" in done.err
    assert 9 <= done.records[0]["steps"] < 20
    known = read_saved_recipe(out)
    assert known is not None
    assert known.train.fitted_epochs == EpochsByData(least=1, steps=9, most=5)


def test_the_learning_rate_is_that_of_the_start_and_is_kept(run: Run, asked: list[str], tmp_path: Path) -> None:
    start, rates = gf.load(tmp_path / "start"), {}
    for times in (1, 10):
        with torch.no_grad():
            for parameter in start.module.parameters():
                parameter.mul_(times)
        start.save(tmp_path / "start")
        matrices = [
            parameter.detach().numpy().ravel()
            for name, parameter in start.module.named_parameters()
            if ".blocks." in name and parameter.ndim == 2
        ]
        done = run("train", *asked, "--steps", "2", "--out", tmp_path / f"run-{times}")
        known = read_saved_recipe(tmp_path / f"run-{times}")
        assert known is not None
        rates[times] = known.train.rate
        size = float(np.sqrt(np.mean(np.square(np.concatenate(matrices)), dtype=np.float64)))
        assert rates[times] == pytest.approx(size / start.config.output_stack.width, rel=0.05)  # to two digits
        assert f"learning rate {rates[times]:g}" in done.err
    assert rates[10] == pytest.approx(10 * rates[1], rel=0.1)
    found = run("train", *asked, "--steps", "2", "--learning-rate", "0.0007", "--out", tmp_path / "own")
    known = read_saved_recipe(tmp_path / "own")
    assert known is not None
    assert known.train.learning_rate == 0.0007
    assert "from the size of the start" not in found.err


def test_the_time_of_several_seeds_is_that_of_all_runs(run: Run, asked: list[str]) -> None:
    (one,) = run("plan", *asked, "--json").records
    (three,) = run("plan", *asked, "--seeds", "3", "--json").records
    assert (one["runs"], three["runs"]) == (1, 3)
    for plan in (one, three):
        each = plan["preparing_seconds"] + plan["seconds_of_run"] + plan["ending_seconds"]
        assert plan["seconds"] == pytest.approx(plan["runs"] * each)
    assert min(one[name] for name in ("preparing_seconds", "evaluation_seconds", "ending_seconds")) > 0
    assert three["steps"] == one["steps"]
    assert "3 such runs" in run("plan", *asked, "--seeds", "3").out
