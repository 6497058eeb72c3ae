"""A classifier from a table, by the command line alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.cli.__main__ import main
from glassformer.run.evaluate import evaluate
from glassformer.scoring.score import THIS_MODEL

Run = Callable[..., Any]
TINY = ["--steps", "2", "--vocabulary", "120", "--length", "24", "--batch", "4", "--set", "train.compile=off"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs without a header: first text, second text, label."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    rows = [
        f"She likes day {number}\tHe cooks on day {number}\t{'yes' if number % 2 else 'no'}" for number in range(60)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def classifier(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "pairs"
    words = ["--text-column", "0", "--pair-column", "1", "--label-column", "2", *TINY, "--out", str(folder)]
    assert main(["train", "classify", str(table), *words]) == 0
    return folder


def test_a_pair_has_a_label_and_chances(run: Run, classifier: Path) -> None:
    texts = ("She likes day 3", "He cooks on day 3")
    (record,) = run("classify", classifier, texts[0], "--pair", texts[1], "--json").records
    found = load(classifier).classify(*texts)
    chances = {"probability": pytest.approx(found.probability), "probabilities": pytest.approx(found.probabilities)}
    assert record == {"label": found.label, **chances, "text": texts[0], "pair": texts[1], "windows": 1}
    assert found.probability == found.probabilities[found.label]
    assert found.probabilities.keys() == {"no", "yes"}
    assert sum(found.probabilities.values()) == pytest.approx(1, abs=1e-6)
    shown = run("classify", classifier, texts[0], "--pair", texts[1]).out
    assert all(part in shown for part in (*texts, *(f"{chance:.1%}" for chance in found.probabilities.values())))


def test_many_pairs_in_order_from_a_table(run: Run, classifier: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    pairs = [(f"She likes day {number}", f"He cooks on day {number % 7}") for number in range(20)]
    path.write_text("".join(json.dumps({"one": one, "two": two}) + "\n" for one, two in pairs))
    done = run("classify", classifier, "--file", path, "--text-column", "one", "--pair-column", "two", "--json")
    expected = load(classifier).classify([one for one, _ in pairs], [two for _, two in pairs])
    assert [record["label"] for record in done.records] == [each.label for each in expected]
    for record, each in zip(done.records, expected, strict=True):
        assert record["probabilities"] == pytest.approx(each.probabilities, abs=1e-6)


def test_it_is_measured_again_with_the_most_frequent_label(run: Run, classifier: Path, table: Path) -> None:
    (record,) = run("evaluate", classifier, "--json").records
    scores = load(classifier).metrics["scores"]
    assert {name: record[name] for name in scores} == pytest.approx(scores, rel=1e-5)
    assert record.keys() - scores.keys() == {"against", "report"}  # fewer than six records have no interval
    assert {"labels", "confusion", "calibration"} <= record["report"].keys()
    assert {"accuracy", "most_frequent_accuracy"} <= record.keys()
    (everything,) = run("evaluate", classifier, table, "--json").records
    assert everything["targets"] == 60
    assert "intervals" in everything
    (private,) = run("evaluate", classifier, table, "--no-examples", "--json").records
    assert private["report"].keys() == everything["report"].keys() - {"worst", "quotes"}


def test_a_file_of_ones_own_is_held_out(run: Run, table: Path, tmp_path: Path) -> None:
    held = tmp_path / "dev.tsv"
    held.write_text("".join(f"She likes night {n}\tHe cooks on night {n}\t{('no', 'yes')[n % 2]}\n" for n in range(14)))
    words = ["--text-column", "0", "--pair-column", "1", "--label-column", "2", *TINY, "--validation-file", held]
    assert run("train", "classify", table, *words, "--out", tmp_path / "run").code == 0
    model = load(tmp_path / "run")
    assert model.data is not None
    assert model.data.validation_files == (str(held),)
    assert len(evaluate(model).measures[THIS_MODEL]) == 14


def test_a_model_without_labels_does_not_classify(run: Run, trained: Path) -> None:
    done = run("classify", trained, "She likes it")
    assert (done.code, done.out) == (2, "")
    assert "train classify" in done.err
    assert done.err.count("\n") == 1


def test_a_classifier_does_not_fill(run: Run, classifier: Path) -> None:
    done = run("fill", classifier, "She [MASK] it")
    assert (done.code, done.out) == (2, "")
    assert "train masked-lm" in done.err
