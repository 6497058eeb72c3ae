"""Classification: what a label is, how much a text weighs, what a start model gives, how a model is scored."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.settings import read_settings
from glassformer.models.families import family_config
from glassformer.models.transformer import build
from glassformer.run.first_weights import adapt
from glassformer.run.independence import independence
from glassformer.saved import artefact
from glassformer.scoring.calibration import log_mean
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify, Labelled
from glassformer.tasks.records import RecordSource
from glassformer.tasks.rows import Row
from glassformer.text import words as words_of_text
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.loop import counts_of, mean_losses, parts_of
from glassformer.training.progress import NoProgress
from tests.refusals import refused

SETTINGS = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "max_length": 32}


def train(folder: Path, records: Sequence[dict[str, Any]], *, model: Any = None, **changes: Any) -> gf.Model:
    """A tiny classifier from these records, its files next to it."""
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    recipe = {
        "task": {"name": "classify"},
        "data": {"files": [str(folder / "records.jsonl")], "validation": 0.2, "length": 16},
        "model": model or {"family": "bert", "size": "tiny", "settings": SETTINGS},
        "train": {"epochs": 1, "batch": 8, "compile": "off", "precision": "float32", "threads": 1, "seed": 3},
        **({} if model else {"tokenizer": {"vocabulary": 120}}),
    }
    return gf.train(recipe, out=folder / "run", set=changes, progress=NoProgress())


def texts(count: int, labels: Sequence[object], offset: int = 0) -> list[dict[str, Any]]:
    return [
        {"text": f"w{(n + offset) * 7 % 31} v{n * 11 % 17} number {n}", "label": labels[n % len(labels)]}
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return train_tokenizer("wordpiece", [" ".join(f"w{n}" for n in range(40))], vocabulary=120)


def test_every_text_weighs_the_same_in_an_epoch_however_many_windows_it_has(words: Tokenizer) -> None:
    task = Classify(ClassifySection(labels=("a", "b")), words, length=16, segments=False)
    examples = [Labelled(f"w{n % 40} w{n % 7}", None, n % 2) for n in range(70)]
    examples.append(Labelled(" ".join(f"w{n % 40}" for n in range(300)), None, 1))
    rows_of = [len(list(task.rows(example))) for example in examples]
    assert rows_of[-1] > 20
    owner = np.repeat(np.arange(len(examples)), rows_of)
    feed = TaskFeed(task, RecordSource(task, examples, length=16), batch=8)
    weight = np.zeros(len(examples))
    for step in range(round(feed.steps_per_epoch)):
        rows, _ = feed._order.of_step(step)
        batch = feed.batch(step)
        for number, row_weight in zip(rows.tolist(), batch.weights.tolist(), strict=False):
            weight[owner[number]] += row_weight / batch.counts["label"]
    assert weight == pytest.approx(np.full(len(examples), weight[0]), rel=1e-6)  # weights are float32
    assert weight.sum() == pytest.approx(feed.steps_per_epoch, rel=1e-6)  # a step weighs 1 on average


@pytest.mark.parametrize("count", [1, 3])
def test_the_loss_of_a_step_is_the_mean_of_its_texts_also_where_they_are_few(words: Tokenizer, count: int) -> None:
    """The last batch of each length is not full, and a long text fills others: with equal answers the loss is log 2."""
    task = Classify(ClassifySection(labels=("a", "b")), words, length=16, segments=False)
    examples = [Labelled(" ".join(f"w{n % 40}" for n in range(1 + size)), None, size % 2) for size in range(40)]
    feed = TaskFeed(task, RecordSource(task, examples, length=16), batch=8)
    weights = []
    for step in range(round(feed.steps_per_epoch)):
        parts = parts_of(feed, step, count)
        counts = counts_of(parts)
        weights.append(sum(float(part.weights.sum()) for part in parts))
        loss = {"label": weights[-1] * math.log(2) / counts["label"]}
        assert mean_losses(loss, counts, {"label": weights[-1]})["label"] == pytest.approx(math.log(2), rel=1e-6)
    assert min(weights) < max(weights) / 2


def test_labels_are_the_same_from_every_kind_of_table_and_only_of_records_that_are_used(tmp_path: Path) -> None:
    records = [*texts(40, [True, "true", 1, "1", 1.0, 0]), *[{"text": " ", "label": "ghost"}] * 5]
    model = train(tmp_path / "mixed", records, **{"data.on_bad_row": "skip"})
    assert model.labels == ("0", "1", "true")
    assert sum(model.metrics["label_counts"].values()) <= 40


@pytest.mark.parametrize("missing", ["label", "pair"])
def test_a_record_without_its_label_or_pair_is_a_bad_row(tmp_path: Path, missing: str) -> None:
    records = [{**each, "pair": "again"} for each in texts(20, ["a", "b"])]
    records[6][missing] = None
    with pytest.raises(DataError) as raised:
        train(tmp_path / "bad", records, **{"data.pair": "pair"})
    assert "records.jsonl, line 7" in raised.value.wanted
    assert raised.value.got == "None"


@pytest.mark.long
def test_the_rows_of_other_labels_are_not_taken_over(tmp_path: Path) -> None:
    first = train(tmp_path / "first", texts(40, ["ham", "spam"]))
    same, said = adapt(first.module, first.config, seed=0, same_labels=True)
    assert (same is first.module, said) == (True, "")
    other, said = adapt(first.module, first.config, seed=0, same_labels=False)
    assert "sentence_head.output.{bias,weight}" in said
    for name, parameter in other.named_parameters():
        own = name.startswith("sentence_head.output.")
        assert torch.equal(parameter, first.module.get_parameter(name)) is not own, name
    start = {"start": str(tmp_path / "first" / "run")}
    second = train(tmp_path / "second", texts(40, ["bad", "good"]), model=start, **{"train.learning_rate": 1e-30})
    again = train(tmp_path / "again", texts(40, ["ham", "spam"]), model=start, **{"train.learning_rate": 1e-30})
    row = "sentence_head.output.weight"
    assert not torch.equal(second.module.get_parameter(row), first.module.get_parameter(row))
    assert torch.equal(again.module.get_parameter(row), first.module.get_parameter(row))


def test_what_is_measured_is_what_is_predicted_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artefact, "has_fast_bfloat16", lambda device: True)
    records = texts(40, ["a", "b"])
    folder = tmp_path / "fast"
    train(folder, records)
    found = {}
    for fast in (False, True):
        model = gf.load(folder / "run", fast=fast)
        answers = model.classify([each["text"] for each in records])
        logs = [answer.log_probabilities[each["label"]] for answer, each in zip(answers, records, strict=True)]
        found[fast] = model.evaluate(folder / "records.jsonl")["loss"]
        assert found[fast] == pytest.approx(-sum(logs) / len(logs), rel=1e-6)  # float32, in other batches
    assert found[True] != found[False]


def test_a_probability_below_the_smallest_float_has_a_logarithm() -> None:
    assert log_mean(np.array([[-800.0, 0.0]])).tolist() == [-800.0, 0.0]
    small, large = log_mean(np.array([[-800.0, 0.0], [-810.0, 0.0]])).tolist()
    assert small == pytest.approx(-800.0 + math.log((1 + math.exp(-10.0)) / 2))
    assert large == 0.0


def test_independence_is_measured_at_every_head(monkeypatch: pytest.MonkeyPatch, words: Tokenizer) -> None:
    config = family_config("bert", SETTINGS | {"vocabulary": words.vocabulary_size, "sentence_labels": 2})
    model = gf.Model(build(config), words, length=32)
    assert independence(model, "w1 w2 w3").holds
    head = model.module.sentence_head
    assert head is not None
    usual = head.vector
    assert usual is not None
    monkeypatch.setattr(head, "vector", lambda states, real: usual(states, real) + states[-1, -1, -1])
    assert not independence(model, "w1 w2 w3").holds


def test_a_text_without_any_token_is_refused_alone_and_among_others() -> None:
    bare = train_tokenizer("wordpiece", ["alpha beta"], vocabulary=40, special=None)
    bare = Tokenizer(json.dumps({**bare.settings, "post_processor": None}), bare.special)
    assert sum(bare.frame) == 0
    config = family_config(
        "bert", SETTINGS | {"vocabulary": bare.vocabulary_size, "sentence_labels": 2, "vocabulary_head": False}
    )
    model = gf.Model(build(config), bare, task=ClassifySection(labels=("a", "b")), length=32)
    for asked in (["\u200b"], ["alpha beta", "\u200b"]):
        with pytest.raises(DataError) as raised:
            model.classify(asked)
        assert raised.value.got == repr("\u200b")


@pytest.mark.parametrize(("first", "second"), [(6000, 6000), (6000, 40), (3, 5000), (700, 900)])
def test_a_long_pair_has_as_many_windows_as_its_longer_text_needs(first: int, second: int) -> None:
    from glassformer.text.windows import pair_windows

    found = pair_windows(first, second, 125)
    assert len(found) <= 2 * max(first, second) // 31 + 2
    for place, length in ((0, first), (1, second)):
        covered = {token for pair in found for token in range(pair[place].start, pair[place].end)}
        assert covered == set(range(length))
    assert all(one.end - one.start + two.end - two.start <= 125 for one, two in found)


@pytest.mark.parametrize("labels", [("a", "a"), ("a", ""), ("a", " ")])
def test_labels_are_different_words(labels: tuple[str, ...]) -> None:
    with refused(ConfigError, wanted="labels"):
        read_settings(ClassifySection, {"name": "classify", "labels": list(labels)})


def test_examples_that_are_only_evaluated_are_not_cut_beforehand(words: Tokenizer) -> None:
    cut: list[Labelled] = []

    class Counting(Classify):
        def rows(self, example: Labelled) -> Iterator[Row]:
            cut.append(example)
            return super().rows(example)

    task = Counting(ClassifySection(labels=("a", "b")), words, length=16, segments=False)
    source = RecordSource(task, [Labelled("w1 w2", None, 0), Labelled("w3", None, 1)], length=16)
    assert cut == []
    assert len(source) == 2
    assert [example.text for example in cut] == ["w1 w2", "w3"]


@pytest.mark.parametrize("pair", [None, "w2 w3 " * 90])
def test_a_long_text_is_encoded_in_parts_and_has_the_rows_of_the_whole(
    words: Tokenizer, pair: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Classify(ClassifySection(labels=("a", "b")), words, length=16, segments=True)
    example = Labelled(" ".join(f"w{n % 40}" for n in range(500)), pair, 0)
    whole = [(list(row.ids), list(row.segments or ()), row.weight) for row in task.rows(example)]
    sizes: list[int] = []
    raw_batch = Tokenizer.raw_batch

    def measured(self: Tokenizer, texts: Sequence[str], *, special: bool = False) -> Any:
        sizes.append(sum(map(len, texts)))
        return raw_batch(self, texts, special=special)

    monkeypatch.setattr(words_of_text, "PART", 50)
    monkeypatch.setattr(words_of_text, "TOGETHER", 2)
    monkeypatch.setattr(Tokenizer, "raw_batch", measured)
    assert [(list(row.ids), list(row.segments or ()), row.weight) for row in task.rows(example)] == whole
    assert len(whole) > 30
    assert max(sizes) <= 200
