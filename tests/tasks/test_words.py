"""Scores of tokens and their neighbours: fitted as scikit-learn does, added where held-out texts prefer it.

F tokens and rows of pairs · L labels
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import glassformer as gf
from glassformer.base.errors import ConfigError, ShapeError
from glassformer.config import NEIGHBOURS
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.saved.foreign import rescaled
from glassformer.tasks.labels.classify import words
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify, Labelled
from glassformer.tasks.labels.classify.words import with_words
from glassformer.tasks.records import RecordSource
from glassformer.tasks.rows import collate
from glassformer.training.progress import NoProgress
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for

WORDS = sorted({word.strip(".,") for text in TEXTS for word in text.split()})
LABELS = ("cold", "other", "warm")
PAIRS = 1 << 16


def texts(count: int, seed: int, *, order: bool = False) -> list[Labelled]:
    """Texts whose label a word decides, or which of two neighbours is the first; a tenth of the labels is wrong."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        chosen = list(rng.choice(WORDS, 5))
        label = 0 if "May" in chosen else 2 if "Paris" in chosen else 1
        if order:
            label = int(rng.integers(3))
            chosen[2:4] = [["Bob", "Paris"], ["Paris", "Bob"], ["Paris", "Paris"]][label]
        found.append(Labelled(" ".join(chosen), None, label if rng.random() > 0.1 else int(rng.integers(3))))
    return found


def completed(
    train: list[Labelled], held_out: list[Labelled], **settings: Any
) -> tuple[Classify, Transformer, Transformer, list[str]]:
    """The task, a model with random weights before and after, and what was logged."""
    model = model_for("classify", {"labels": LABELS, "pooling": "mean"})
    section = ClassifySection(labels=LABELS, pooling="mean", **settings)
    task = Classify(section, model.tokenizer, length=32, segments=False, pairs=train[0].pair is not None)
    notes: list[str] = []
    learned, measured = (RecordSource(task, each, length=32) for each in (train, held_out))
    return task, model.module, task.completed(model.module, learned, measured, notes.append), notes


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [False, True])
def test_the_tables_are_the_regression_of_scikit_learn(order: bool) -> None:
    """By dictionaries of tokens and pairs, one text after the other."""
    train, held_out = texts(240, 0, order=order), texts(150, 1, order=order)
    task, before, after, notes = completed(train, held_out)
    assert len(notes) == 1
    assert after.config.sentence_head is not None
    assert after.config.sentence_head.words == PAIRS

    def features(text: Labelled) -> Counter[tuple[int, ...]]:
        (row,) = task.rows(text)
        ids, share = list(row.ids), 1 / np.sqrt(2 * len(row.ids))
        found = Counter[tuple[int, ...]]()
        for one, two in zip([ids[0], *ids], ids, strict=False):
            found[(two,)] += share
            found[-1, (one * NEIGHBOURS[0] + two * NEIGHBOURS[1]) % PAIRS] += share
        return found

    known = sorted({name for text in train for name in features(text)})
    place = {name: number for number, name in enumerate(known)}

    def table(of: list[Labelled]) -> Any:
        rows = np.zeros((len(of), len(known)))  # [texts, F]
        for row, text in zip(rows, of, strict=True):
            for name, value in features(text).items():
                if name in place:
                    row[place[name]] = value
        return rows

    learned = table(train)
    rareness = np.log((1 + len(train)) / (1 + (learned > 0).sum(axis=0))) + 1  # [F]
    model = LogisticRegression(C=0.3, max_iter=100, tol=1e-3).fit(learned * rareness, [each.label for each in train])
    theirs = model.decision_function(table(held_out) * rareness)  # [texts, L]
    logits = []
    for module in (before, after):
        batch = collate([row for text in held_out for row in task.rows(text)], pad_id=0)
        with torch.no_grad():
            logits.append(module.eval()(batch.inputs).sentence_logits.double().numpy())
    before_, after_, theirs = (each - each.mean(axis=1, keepdims=True) for each in (*logits, theirs))  # as softmax does
    (heat, share), *_ = np.linalg.lstsq(np.stack([before_.ravel(), theirs.ravel()], axis=1), after_.ravel(), rcond=None)
    assert share > 0
    # A fit of float64 sums in another order.
    np.testing.assert_allclose(after_, heat * before_ + share * theirs, atol=1e-4 * share)
    right = np.array([each.label for each in held_out])
    assert (logits[1].argmax(axis=1) == right).mean() > (logits[0].argmax(axis=1) == right).mean() + 0.2


@pytest.mark.long
def test_the_tables_have_the_precision_of_the_model() -> None:
    train, held_out = texts(240, 0), texts(150, 1)
    task, before, _, _ = completed(train, held_out)
    learned, measured = (RecordSource(task, each, length=32) for each in (train, held_out))
    after = task.completed(before.double(), learned, measured, lambda note: None)
    assert after.config.sentence_head is not None
    assert after.config.sentence_head.words == PAIRS
    assert {each.dtype for each in after.parameters()} == {torch.float64}


def test_words_that_say_nothing_are_not_added() -> None:
    train, held_out = texts(240, 0), texts(150, 1)
    shuffled = [each._replace(label=number % 3) for number, each in enumerate(train)]
    _, before, after, notes = completed(shuffled, held_out)
    assert after is before
    assert not notes


@pytest.mark.parametrize(("count", "settings", "pair"), [(150, {"words": False}, None), (90, {}, None), (150, {}, "a")])
def test_when_they_are_not_fitted(count: int, settings: dict[str, Any], pair: str | None) -> None:
    """Where it is asked for, with few held-out records, and for pairs."""
    train, held_out = ([each._replace(pair=pair) for each in texts(n, n)] for n in (240, count))
    _, before, after, _ = completed(train, held_out, **settings)
    assert after is before


@pytest.mark.long
def test_several_labels_have_a_regression_each() -> None:
    def several(of: list[Labelled]) -> list[Labelled]:
        return [
            each._replace(label=None, several=tuple(n for n, word in enumerate(("May", "Paris")) if word in each.text))
            for each in of
        ]

    task, before, after, _ = completed(several(texts(240, 0)), several(texts(150, 1)), several=True)
    assert after is not before
    losses = [
        task.evaluate(each, RecordSource(task, several(texts(99, 2)), length=32))["loss"] for each in (before, after)
    ]
    assert losses[1] < losses[0]


@pytest.mark.long
def test_a_run_with_words_is_saved_traced_and_started_from(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"text": each.text, "label": LABELS[each.label or 0]}) + "\n" for each in texts(1200, 0))
    )
    start = model_for("masked-lm", {}, width=24, heads=3).save(tmp_path / "start")
    given = {"data.files": [str(tmp_path / "rows.jsonl")], "model.start": str(start), "train.steps": 2}
    fast = {"train.compile": "off", "train.threads": 1, "train.precision": "float32", "data.length": 32}
    first = {**given, **fast, "tune.probe": False}  # as quick as can be; the later ones probe a start with words
    model = gf.train("classify", set=first, out=tmp_path / "run", progress=NoProgress())
    assert model.config.sentence_head is not None
    assert model.config.sentence_head.words == PAIRS
    again = gf.load(tmp_path / "run")
    assert again.classify("Bob likes Paris").probabilities == model.classify("Bob likes Paris").probabilities
    trace = model.trace("Bob likes Paris")
    assert trace.verify().holds
    bias = trace.tensor("parameters.sentence_head.words.bias")
    added = trace["sentence_head.encoded"] + (trace["sentence_head.words.added"] + bias)
    torch.testing.assert_close(trace["sentence_head.logits"], added, rtol=0, atol=0)
    with refused(ConfigError):
        model.export(tmp_path / "theirs", "huggingface")
    model.export(tmp_path / "graph", "onnx", int8=True)
    kept = {each.name: each for each in onnx.load(tmp_path / "graph" / "model_int8.onnx").graph.initializer}
    assert kept["sentence_head.words.token.weight"].data_type == onnx.TensorProto.FLOAT
    assert "encoder.embed.word.weight" not in kept
    with refused(ShapeError, got="vectors"):
        model.module(Inputs(vectors=torch.zeros(1, 3, 24)))
    without = {**given, **fast, "model.start": str(tmp_path / "run"), "task.words": False}
    plain = gf.train("classify", set=without, out=tmp_path / "plain", progress=NoProgress())
    assert plain.config.sentence_head is not None
    assert plain.config.sentence_head.words == 0
    # The head is trained further: of what the words had learned nothing is left in it.
    assert plain.config.sentence_head.pooling == model.config.sentence_head.pooling
    others = {
        **given,
        **fast,
        "model.start": str(tmp_path / "run"),
        "data.validation": 0.0,
        "task.labels": [*LABELS, "more"],
    }
    assert gf.train("classify", set=others, out=tmp_path / "other", progress=NoProgress()).labels == (*LABELS, "more")


@pytest.mark.parametrize("pooling", ["mean", "pooler", "pair"])
def test_a_head_with_the_same_labels_is_trained_further(pooling: str, tmp_path: Path) -> None:
    """After no step that moves anything, the answers are those of the start, with the pooling that it had."""
    pair = "Bob" if pooling == "pair" else None
    records = [{"text": each.text, "pair": pair, "label": LABELS[each.label or 0]} for each in texts(60, 0)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    start = model_for("classify", {"labels": LABELS, "pooling": pooling})
    start.save(tmp_path / "start")
    given = {"data.files": [str(tmp_path / "rows.jsonl")], "model.start": str(tmp_path / "start"), "train.steps": 1}
    tiny = {"train.learning_rate": 1e-12, "data.validation": 0.0, "train.compile": "off", "data.length": 32}
    more = {"data.pair": "pair"} if pair else {}
    model = gf.train(
        "classify", set={**given, **tiny, **more, "train.threads": 1}, out=tmp_path / "run", progress=NoProgress()
    )
    assert model.config.sentence_head is not None
    assert model.config.sentence_head.pooling == pooling
    one, two = (each.classify(TEXTS[0], pair).probabilities for each in (start, model))
    assert two == pytest.approx(one, rel=1e-5)


@pytest.mark.long
def test_nothing_is_added_where_nothing_can_be_gained() -> None:
    """All is right already, with a held-out loss of 0."""
    train, held_out = texts(240, 0), texts(150, 1)
    task, before, _, _ = completed(train, held_out)
    right = [np.eye(3)[[each.label or 0]] * 1000 for each in held_out]
    assert with_words(task, task.labelling, before, train, held_out, right, 1.0, print) is before


@pytest.mark.long
def test_labels_of_a_sorted_table_are_all_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only a part of the rows is read, it is drawn."""
    monkeypatch.setattr(words, "_ROWS", 120)
    train = sorted(texts(400, 0), key=lambda each: each.label or 0)
    _, _, after, _ = completed(train, texts(150, 1))
    assert after.sentence_head is not None
    assert after.sentence_head.words is not None
    assert (after.sentence_head.words.token.weight.abs().sum(dim=0) > 0).all()  # [L]


@pytest.mark.long
def test_a_label_that_all_texts_have_stays_likely() -> None:
    def several(of: list[Labelled]) -> list[Labelled]:
        return [each._replace(label=None, several=(0, *(() if each.label == 0 else (1,)))) for each in of]

    _, _, after, _ = completed(several(texts(240, 0)), several(texts(150, 1)), several=True)
    assert after.sentence_head is not None
    assert after.sentence_head.words is not None
    bias = after.sentence_head.words.bias  # [L]
    assert bias[0] > 0 > bias[2]


@pytest.mark.long
def test_the_temperature_of_an_export_is_in_the_tables_too() -> None:
    train, held_out = texts(240, 0), texts(150, 1)
    task, _, after, _ = completed(train, held_out)
    batch = collate([row for text in held_out for row in task.rows(text)], pad_id=0)
    state = after.state_dict()
    module = Transformer(after.config).eval()
    module.load_state_dict(state | rescaled(task.section.model_copy(update={"temperature": 4.0}), state))
    with torch.no_grad():
        logits, quarter = (each(batch.inputs).sentence_logits for each in (after.eval(), module))
    torch.testing.assert_close(quarter, logits / 4, rtol=1e-5, atol=1e-6)  # float32
