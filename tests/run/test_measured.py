"""The card says what a model was measured on, and says so if that is its own training text."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.run.evaluate import evaluate
from glassformer.saved.recipe import resolve
from glassformer.training.progress import NoProgress
from tests.run.runs import Listener, recipe

TOLD = "was trained on this text"


def measured_line(model: Model) -> str:
    (line,) = [line for line in (model.card or "").splitlines() if line.startswith("Measured on ")]
    return line


@pytest.mark.parametrize("limit", [1024, 3])
def test_the_card_says_which_rows_and_how_many(
    text_file: Path, tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["glassformer.run.train"], "_MEASURED_ROWS", limit)
    model = train(recipe(text_file, steps=1), out=tmp_path / "run", progress=Listener())
    there, count = model.metrics["measured"]["of"], model.metrics["measured"]["count"]
    assert model.recipe is not None
    assert there > 3
    assert count == min(there, limit)
    line = measured_line(model)
    assert {int(number) for number in re.findall(r"(?<![\d.])\d+(?![\d.])", line)} == (
        {there, count, model.recipe.data.length, int(model.metrics["scores"]["targets"])}
    )
    for part in ("held-out", "20.00%", "prose.txt", "rows of 24 tokens", "all " if count == there else f"{count} of "):
        assert part in line


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("limit", [1024, 3])
def test_scores_of_the_steps_and_of_the_end_are_distinguished_where_they_may_differ(
    text_file: Path, tmp_path: Path, limit: int, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how many examples they are of, or by their arithmetic; elsewhere they are the same."""
    monkeypatch.setattr(sys.modules["glassformer.run.train"], "EVALUATION_ROWS", limit)
    monkeypatch.setattr(sys.modules["glassformer.training.run"], "EVALUATION_ROWS", limit)
    listener = Listener()
    model = train(recipe(text_file, steps=1, precision=precision), out=tmp_path / "run", progress=listener)
    notes = [note for note in listener.notes if "measured again" in note]
    there = model.metrics["measured"]["of"]
    assert len(notes) == (limit == 3 or precision == "bfloat16")
    for note in notes:
        assert f"on {there} of {there} held-out examples in float32" in note
        assert f"on {min(there, limit)} of them in {precision}" in note


def test_the_card_names_validation_files_and_the_training_text(text_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(text_file.read_text(encoding="utf-8").replace("She", "He"), encoding="utf-8")
    values: dict[str, Any] = recipe(text_file, steps=1)
    values["data"]["validation_files"] = [str(other)]
    line = measured_line(train(values, out=tmp_path / "held", progress=Listener()))
    assert "other.txt" in line
    assert "prose.txt" not in line
    values["data"] |= {"validation_files": [], "validation": 0.0}
    line = measured_line(train(values, out=tmp_path / "none", progress=Listener()))
    assert "the training text: all " in line
    assert "prose.txt" in line


def test_a_card_of_changed_metrics_is_still_written(run: Model, tmp_path: Path) -> None:
    from glassformer.run.card import write_card

    wrong: tuple[object, ...] = (None, 3, {}, {"count": "x", "of": 1, "unit": 2})
    for damaged in wrong:
        run.metrics = {**run.metrics, "measured": damaged}
        assert "Measured on held-out text, " in write_card(run, tmp_path)


def test_measuring_the_training_text_is_reported(run: Model, text_file: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.txt", tmp_path / "other.txt"
    copy.write_bytes(text_file.read_bytes())
    other.write_bytes(text_file.read_bytes().replace(b"She", b"Her"))  # of the same size
    for files, named in (([text_file], "prose.txt"), ([other, copy], "copy.txt"), ([other], ""), ([], "")):
        listener = Listener()
        evaluate(run, files, progress=listener)
        found = [note for note in listener.notes if TOLD in note]
        assert [note.partition(":")[0] for note in found] == ([named] if named else [])
    text_file.unlink()
    listener = Listener()
    evaluate(run, [copy], progress=listener)  # what the model has learned from cannot be compared any more
    assert not [note for note in listener.notes if TOLD in note]


def test_records_that_are_left_out_are_not_counted_as_measured() -> None:
    source, asked = SimpleNamespace(examples=range(271), left_out=211), resolve({"task": {"name": "answer"}})
    measured = sys.modules["glassformer.run.train"]._measured(source, asked, 1024)
    assert measured == {"count": 60, "of": 271, "unit": "records", "left_out": 211}


def test_the_card_says_how_many_pairs_were_measured_and_how_many_are_too_long(tmp_path: Path) -> None:
    table, held_out = tmp_path / "pairs.tsv", tmp_path / "held-out.tsv"
    for path, who in ((table, "he"), (held_out, "she")):
        path.write_text("".join(f"{f'{who} ' * (1 if n % 5 else 90)}sees\til voit {n}\n" for n in range(40)))
    given = {
        "task": {"name": "translate"},
        "data": {"files": [str(table)], "validation_files": [str(held_out)], "length": 32, "validation": 0.0},
        "tokenizer": {"vocabulary": 300},
        "model": {"family": "vaswani2017", "settings": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16}},
        "train": {"steps": 1, "batch": 4, "threads": 1},
    }
    model = train(given, out=tmp_path / "run", progress=NoProgress())
    assert model.metrics["measured"] == {"count": 32, "of": 40, "unit": "records", "left_out": 8}
    assert "drawn at random" not in model.card
