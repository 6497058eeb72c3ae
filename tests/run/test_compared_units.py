"""What two models are compared by, and how many tokens a measured row has, are the same for both of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer as gf
from glassformer.run.compare import compare
from glassformer.run.evaluate import evaluate
from glassformer.scoring.exact_match import answer_measure
from glassformer.scoring.score import interval
from glassformer.tasks.labels.regress.task import RegressSection
from glassformer.training.progress import NoProgress

SETTINGS = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}


def trained(
    folder: Path, task: dict[str, Any], labels: list[Any], *, family: str = "bert", length: int = 16
) -> gf.Model:
    """A tiny model from one record for each label: text n has the words vn."""
    folder.mkdir(parents=True)
    records = [{"text": f"v{n} v{n % 3}", "label": label} for n, label in enumerate(labels)]
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    recipe = {
        "task": task,
        "data": {"files": [str(folder / "records.jsonl")], "validation": 0.2, "length": length},
        "model": {"family": family, "size": "tiny", "settings": SETTINGS},
        "tokenizer": {"vocabulary": 120},
        "train": {"steps": 2, "batch": 8, "compile": "off", "precision": "float32", "threads": 1},
    }
    return gf.train(recipe, out=folder / "run", progress=NoProgress())


def test_a_long_text_is_measured_as_it_is_answered(tmp_path: Path) -> None:
    """A model without numbered positions has the rows of its training, not the 128 tokens of a model without any."""
    model = trained(tmp_path / "a", {"name": "classify"}, ["yes", "no"] * 20, family="modernbert", length=200)
    assert model.config.output_stack.max_length is None
    text = "v1 v2 v3 v4 v5 " * 30
    (tmp_path / "long.jsonl").write_text(json.dumps({"text": text, "label": "yes"}), encoding="utf-8")
    answer = model.classify(text)
    loss = evaluate(model, [tmp_path / "long.jsonl"], baselines=False)["loss"]
    assert answer.windows == 1
    assert loss == pytest.approx(-np.log(answer.probabilities["yes"]), rel=1e-5)  # float32


def test_numbers_are_compared_by_their_own_unit(tmp_path: Path) -> None:
    wide, narrow = (
        trained(tmp_path / name, {"name": "regress"}, [n * factor for n in range(40)])
        for name, factor in (("wide", 10.0), ("narrow", 0.1))
    )
    table = tmp_path / "test.jsonl"
    table.write_text("\n".join(json.dumps({"text": f"v{n}", "label": n / 10}) for n in range(20)), encoding="utf-8")
    found = compare(wide, narrow, table)
    assert found.left_out == ("loss",)
    errors = [np.mean([abs(model.classify(f"v{n}").number - n / 10) for n in range(20)]) for model in (wide, narrow)]
    assert found.judged.score == "mean_absolute_error"
    assert found.judged.difference == pytest.approx(errors[0] - errors[1], rel=1e-5)  # float32
    assert found.judged.verdict == "worse"
    assert compare(wide, wide, table).left_out == ()


@pytest.mark.parametrize("order", [(False, True), (True, False)])
def test_the_loss_of_several_labels_is_not_compared_with_that_of_one(tmp_path: Path, order: tuple[bool, bool]) -> None:
    labels = ["yes", "no"] * 20
    first, second = (
        trained(tmp_path / str(several), {"name": "classify", "several": several}, labels) for several in order
    )
    found = compare(first, second, tmp_path / "True" / "records.jsonl")
    assert found.left_out == ("loss",)
    assert found.judged.score == "accuracy"


def test_the_mean_is_that_of_the_training_records_or_of_the_measured_ones(tmp_path: Path) -> None:
    model = trained(tmp_path / "a", {"name": "regress"}, [float(n) for n in range(100, 140)])
    table = tmp_path / "test.jsonl"
    table.write_text("\n".join(json.dumps({"text": f"v{n}", "label": n}) for n in (103.0, 104.0, 120.0)), "utf-8")
    section = model.task
    assert isinstance(section, RegressSection)
    assert section.mean is not None
    learned = np.mean([abs(n - section.mean) for n in (103, 104, 120)])
    assert evaluate(model, [table])["the_mean_mean_absolute_error"] == pytest.approx(learned, rel=1e-9)
    # As an imported model is: the numbers it has learned from are not known.
    model.task, model.metrics = section.model_copy(update={"mean": 0.0, "deviation": 1.0}), {}
    assert evaluate(model, [table])["the_mean_mean_absolute_error"] == pytest.approx(22 / 3, rel=1e-9)


def test_a_share_of_some_questions_has_the_interval_of_their_number() -> None:
    found = answer_measure(["x"] * 95 + [""] * 3, [("x",)] * 95 + [()] * 3).intervals(samples=50)
    assert tuple(found["no_answer_accuracy"]) == (1.0, *interval(1.0, 3))
    assert tuple(found["has_answer_exact_match"]) == (1.0, *interval(1.0, 95))
    assert tuple(found["exact_match"]) == (1.0, *interval(1.0, 98))
