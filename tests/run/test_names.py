"""The linear probe of few records also learns from the labels' names, and is never measured on them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import glassformer as gf
from glassformer.run import probe as module
from glassformer.run.frozen_states import read_states, solutions
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.probe import STRENGTHS
from glassformer.saved.recipe import resolve
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify, Labelled
from glassformer.tasks.records import RecordSource
from glassformer.training.progress import NoProgress
from tests.run.heads import TEXTS, model_for, small_tokenizer, spread_of

WORDS = sorted({word.strip(".,") for text in TEXTS for word in text.split()})
# "7" has no letter, and no record is labelled "better-Rome".
NAMES = {"7": None, "Alice_likes": "Alice likes", "better-Rome": "better Rome", "cold": "cold"}


def records(path: Path, count: int, seed: int) -> tuple[Path, list[str], list[str]]:
    """A file of texts of a few words and labels that two of the words decide, the texts and the labels."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(count)]
    labels = ["cold" if "May" in text or "Bob" in text else rng.choice(["7", "Alice_likes"]) for text in texts]
    path.write_text("".join(f"{json.dumps({'text': t, 'label': of})}\n" for t, of in zip(texts, labels, strict=True)))
    return path, texts, labels


def prepared(folder: Path, **data: Any) -> Prepared:
    start = model_for("masked-lm", {}, width=24, heads=3).save(folder / "start")
    recipe = {
        "task": {"name": "classify", "labels": list(NAMES)},
        "data": {"files": [str(folder / "rows.jsonl")], "validation": 0.0, "length": 32, **data},
        "model": {"start": str(start)},
        "train": {"steps": 2, "compile": "off", "threads": 1, "precision": "float32"},
    }
    return prepare_run(resolve(recipe), folder / "run", NoProgress())


def test_the_layer_is_that_of_scikit_learn_with_each_name_as_one_more_text(tmp_path: Path) -> None:
    _, texts, labels = records(tmp_path / "rows.jsonl", 60, 0)
    path, held_out, true = records(tmp_path / "held-out.jsonl", 120, 1)
    made = prepared(tmp_path, validation_files=[str(path)])
    assert made.probe is not None
    pooling = made.task.section.model_dump()["pooling"]
    start = gf.load(tmp_path / "start")
    texts += [name for name in NAMES.values() if name is not None]
    labels += [label for label, name in NAMES.items() if name is not None]
    learned, measured = (start.embed(of, pooling=pooling).astype(np.float64) for of in (texts, held_out))
    mean, spread = learned.mean(axis=0), spread_of(learned)
    ours = torch.tensor(measured @ made.probe.weight.double().numpy().T + made.probe.bias.numpy()).softmax(-1).numpy()
    apart = []
    for strength in STRENGTHS:
        layer = LogisticRegression(C=strength, tol=1e-10, max_iter=5000).fit((learned - mean) / spread, labels)
        theirs = layer.predict_proba((measured - mean) / spread)
        assert list(layer.classes_) == list(NAMES)
        loss = log_loss(true, theirs, labels=list(NAMES))
        apart.append((np.abs(theirs - ours).max(), abs(loss - made.probe.losses[pooling])))
    probability, loss = min(apart)
    assert probability < 2e-3  # ours stops after 60 steps in float32
    assert loss < 2e-3


@pytest.mark.parametrize("files", [[], ["held-out.jsonl"]], ids=["cross-validation", "held out"])
def test_no_name_is_measured(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records(tmp_path / "rows.jsonl", 60, 0)
    records(tmp_path / "held-out.jsonl", 120, 1)
    parts: list[tuple[int, Any, Any]] = []

    def spy(task: Any, start: Any, part: Any, number: int, *more: Any) -> Any:
        parts.append((number, *part))
        return solutions(task, start, part, number, *more)

    monkeypatch.setattr(module, "solutions", spy)
    monkeypatch.setattr(module, "_FITTING", 0.0)
    prepared(tmp_path, validation_files=[str(tmp_path / name) for name in files])
    start = gf.load(tmp_path / "start")
    named = [name for name in NAMES.values() if name is not None]
    names = [torch.from_numpy(start.embed(named, pooling=pooling)) for pooling in ("first", "mean")]

    def has(read: Any, number: int) -> list[bool]:
        return [bool((read.vectors[number] - name).abs().amax(dim=1).lt(1e-5).any()) for name in names[number]]

    assert len(parts) == (3 if files else 16)  # of five folds, and of all
    for number, learned, measured in parts:
        assert all(has(learned, number))
        assert not any(has(measured, number))
        assert len(learned) == (60 if files or len(measured) == 60 else 48) + len(named)


def test_names_are_read_within_the_seconds_of_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records(tmp_path / "rows.jsonl", 60, 0)
    seconds, spent = list[float](), list[float]()

    def spy(*values: Any) -> Any:
        seconds.append(values[-2])
        found = read_states(*values)
        spent.append(values[-1].now)
        return found

    monkeypatch.setattr(module, "read_states", spy)
    monkeypatch.setattr(module, "_FITTING", 0.0)
    prepared(tmp_path)
    assert len(seconds) == 2
    assert seconds[0] == module._SECONDS * module._OTHERS
    assert seconds[1] == module._SECONDS - spent[0] < module._SECONDS


@pytest.mark.parametrize(
    ("settings", "pair", "count", "expected"),
    [
        ({"labels": tuple(NAMES)}, None, 127, [(name, n) for n, name in enumerate(NAMES.values()) if name]),
        ({"labels": tuple(NAMES)}, None, 128, None),
        ({"labels": tuple(NAMES)}, "Paris", 5, None),
        ({"labels": tuple(NAMES), "several": True}, None, 5, None),
        ({"labels": ("0", "1", "-1.5", "_")}, None, 5, None),
    ],
    ids=["few", "enough", "pairs", "several", "numbers"],
)
def test_which_names_are_learned(
    settings: dict[str, Any], pair: str | None, count: int, expected: list[tuple[str, int]] | None
) -> None:
    task = Classify(ClassifySection(**settings), small_tokenizer(), length=32, segments=False)
    several = task.section.several
    example = Labelled("a cold day", pair, None if several else 1, (1,) if several else None)
    found = task.names(RecordSource(task, [example] * count, length=32))
    assert (found and [(each.text, each.label) for each in found.examples]) == expected
