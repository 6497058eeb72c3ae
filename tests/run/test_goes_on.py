"""A run that starts from a model of the same task measures this model too, and keeps it if no step is better."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.config import SentenceHeadConfig
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.run.evaluate import evaluate
from glassformer.run.learned import learned_from
from glassformer.run.probe import in_units
from glassformer.tasks.labels.regress.task import RegressSection
from glassformer.tasks.settings import HeadOutputs
from tests.contracts.families import FAMILIES
from tests.run.runs import Listener

LISTENER = Listener()
SETTINGS = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "max_length": 32}


def trained(
    folder: Path, labels: list[Any], task: str, *, start: Path | None = None, data: Any = (), **train: Any
) -> gf.Model:
    folder.mkdir(parents=True)
    records = [{"text": f"v{n} v{n % 2} v{n % 2}", "label": label} for n, label in enumerate(labels)]
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    model = {"start": str(start)} if start else {"family": "bert", "size": "tiny", "settings": SETTINGS}
    recipe = {
        "task": {"name": task},
        "data": {"files": [str(folder / "records.jsonl")], "validation": 0.4, "length": 16, **dict(data)},
        "model": model,
        **({} if start else {"tokenizer": {"vocabulary": 120}}),
        "train": {"batch": 8, "compile": "off", "precision": "float32", "threads": 1, **train},
    }
    return gf.train(recipe, out=folder / "run", progress=LISTENER)


def test_a_start_that_no_step_improves_is_kept(tmp_path: Path) -> None:
    labels = ["even", "odd"] * 60
    first = trained(tmp_path / "first", labels, "classify", steps=150, learning_rate=3e-3)
    assert evaluate(first)["accuracy"] > 0.8
    start = tmp_path / "first" / "run"
    second = trained(tmp_path / "second", labels, "classify", start=start, steps=6, learning_rate=1.0)
    assert second.metrics["best_step"] == 0
    mine, others = second.module.state_dict(), first.module.state_dict()
    assert all(torch.equal(mine[name], others[name]) for name in others)
    better = trained(tmp_path / "third", labels, "classify", start=start, steps=20, learning_rate=1e-3)
    assert better.metrics["scores"]["loss"] <= second.metrics["scores"]["loss"]


def test_the_numbers_of_a_start_keep_their_unit(tmp_path: Path) -> None:
    first = trained(tmp_path / "first", [10.0, 30.0] * 40, "regress", steps=150, learning_rate=3e-3)
    start = tmp_path / "first" / "run"
    second = trained(tmp_path / "second", [12.0, 28.0, 20.0] * 30, "regress", start=start, steps=2, learning_rate=1.0)
    assert isinstance(first.task, RegressSection)
    assert isinstance(second.task, RegressSection)
    assert (second.task.mean, second.task.deviation) == (first.task.mean, first.task.deviation)
    assert second.metrics["best_step"] == 0
    assert second.metrics["mean_number"] == pytest.approx(20, abs=2)  # the mean of the new records
    texts = [f"v{n}" for n in range(5)]
    assert [each.number for each in second.classify(texts)] == [each.number for each in first.classify(texts)]


def test_numbers_of_another_size_are_learned_anew(tmp_path: Path) -> None:
    trained(tmp_path / "first", [2.0, 4.0] * 40, "regress", steps=4)
    start = tmp_path / "first" / "run"
    LISTENER.notes.clear()
    second = trained(tmp_path / "second", [69_000.0, 71_000.0] * 40, "regress", start=start, steps=2)
    assert any("linear probe of the frozen states" in note for note in LISTENER.notes)
    assert second.metrics["mean_number"] == pytest.approx(70_000, rel=1e-2)
    assert second.metrics["scores"]["loss"] < 2  # in units of the deviation


def test_a_head_for_numbers_gives_the_same_in_other_units() -> None:
    bert = next(row for row in FAMILIES if row.family == "bert").config()
    head = SentenceHeadConfig(labels=1)
    module = build(bert.model_copy(update={"head": None, "sentence_head": head}), seed=0).eval()
    inputs = Inputs(ids=torch.tensor([[1, 2, 3], [3, 2, 1]]))
    before = module(inputs).sentence_logits
    assert before is not None
    in_units(module, HeadOutputs(), HeadOutputs(scale=2.9, shift=10.6))
    after = module(inputs).sentence_logits
    assert after is not None
    torch.testing.assert_close(after * 2.9 + 10.6, before, rtol=0, atol=1e-5)  # three roundings in float32
    assert HeadOutputs().fits(HeadOutputs(scale=2.9, shift=10.6))
    assert not HeadOutputs(scale=1.4, shift=3.0).fits(HeadOutputs(scale=1e4, shift=7e4))


def test_choosing_is_no_start_for_the_head_of_numbers(tmp_path: Path) -> None:
    """Both heads have one output and no labels."""
    folder = tmp_path / "first"
    folder.mkdir()
    rows = [{"text": f"v{n}", "choices": [f"v{n % 2}", f"v{1 - n % 2}"], "label": 0} for n in range(80)]
    (folder / "choices.jsonl").write_text("\n".join(map(json.dumps, rows)))
    gf.train(
        {
            "task": {"name": "choose"},
            "data": {"files": [str(folder / "choices.jsonl")], "length": 16},
            "model": {"family": "bert", "size": "tiny", "settings": SETTINGS},
            "tokenizer": {"vocabulary": 120},
            "train": {"batch": 8, "steps": 2, "compile": "off", "precision": "float32", "threads": 1},
        },
        out=folder / "run",
        progress=LISTENER,
    )
    LISTENER.notes.clear()
    trained(tmp_path / "second", [2.0, 4.0] * 40, "regress", start=folder / "run", steps=2)
    assert any("linear probe of the frozen states" in note for note in LISTENER.notes)


def test_what_a_start_has_learned_is_named(tmp_path: Path) -> None:
    """Its records among those that are held out; in the same share of the same file are none."""
    labels, first = ["even", "odd"] * 60, tmp_path / "first"
    trained(first, labels, "classify", steps=2)
    table = str(first / "records.jsonl")
    for name, data, leaks in [
        ("same", {"files": [table], "validation": 0.3}, False),
        ("share", {"files": [table], "validation": 0.5}, True),
        ("seed", {"files": [table], "seed": 1}, True),
        ("file", {"validation": 0.0, "validation_files": [table]}, True),
        ("other", {}, False),
    ]:
        LISTENER.notes.clear()
        other = ["odd", "even"] * 40 if name in ("other", "file") else labels  # not a copy of the first
        trained(tmp_path / name, other, "classify", start=first / "run", data=data, steps=2)
        assert [note.partition(":")[0] for note in LISTENER.notes if "held out now" in note] == [
            "records.jsonl"
        ] * leaks
    LISTENER.notes.clear()
    second = gf.load(tmp_path / "file" / "run")
    evaluate(second, [table], progress=LISTENER)
    assert [note.partition(":")[0] for note in LISTENER.notes if "was trained on" in note] == ["records.jsonl"]
    # The first one made again from the second: each has learned from the files of both.
    assert second.recipe is not None
    shutil.rmtree(first / "run")
    trained(tmp_path / "again", labels, "classify", start=tmp_path / "file" / "run", steps=2)
    shutil.move(tmp_path / "again" / "run", first / "run")
    files = [tmp_path / name / "records.jsonl" for name in ("again", "file", "other")]
    assert learned_from(gf.load(first / "run"), files) == files  # "other" is a copy of "file"
    hub = second.recipe.model.model_copy(update={"start": "hub:owner/name"})
    second.recipe = second.recipe.model_copy(update={"model": hub})
    assert learned_from(second, files) == files[1:]


def test_records_that_a_start_has_learned_from_another_file_are_counted(tmp_path: Path) -> None:
    """The file with one label corrected."""
    labels, first = ["even", "odd"] * 60, tmp_path / "first"
    trained(first, labels, "classify", steps=2)
    for name, data, leaks in [("same", {}, False), ("seed", {"seed": 1}, True)]:
        LISTENER.notes.clear()
        trained(tmp_path / name, ["odd", *labels[1:]], "classify", start=first / "run", data=data, steps=2)
        notes = [note for note in LISTENER.notes if "held out now" in note]
        assert len(notes) == leaks
        for note in notes:
            count, held_out = (int(word) for word in note.split() if word.isdigit())
            assert 0 < count < held_out < 60


def test_finished_seeds_of_a_small_start_are_not_trained_again(tmp_path: Path) -> None:
    """Their recipe has more epochs than the one of all seeds, as the start is small."""
    trained(tmp_path / "first", [2.0, 4.0] * 10, "regress", steps=2)
    rule = {"least": 1, "small": 2, "steps": 1, "most": 2}
    more: dict[str, Any] = {"start": tmp_path / "first" / "run", "seeds": 2, "epochs_by_data": rule}
    trained(tmp_path / "second", [2.0, 4.0] * 10, "regress", **more)
    LISTENER.notes.clear()
    gf.train(out=tmp_path / "second" / "run", resume=True, progress=LISTENER)
    assert [note.partition(" is finished")[0] for note in LISTENER.notes if "is finished" in note] == [
        "seed 0",
        "seed 1",
    ]
