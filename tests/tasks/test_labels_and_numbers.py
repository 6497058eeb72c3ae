"""Several labels, class weights, numbers: the losses against torch's own, what is read, fitted, saved and reported."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.settings import read_settings
from glassformer.run.card import write_card
from glassformer.run.evaluate import evaluate
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.scoring.calibration import COLDEST
from glassformer.tasks.labels.classify.labelling import OneLabel, SeveralLabels
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify, note_of_lists
from glassformer.tasks.labels.labels import Class, Classes, Labelled, note_alike
from glassformer.tasks.labels.regress.numbers import decimal_of, number_of, parsed
from glassformer.tasks.labels.regress.task import Number, Rated, Regress, RegressSection
from glassformer.tasks.records import RecordSource
from glassformer.tasks.rows import label_of, labels_of
from glassformer.training.progress import NoProgress
from tests.refusals import refused

SETTINGS = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "max_length": 32}


def train(folder: Path, records: list[dict[str, Any]], task: dict[str, Any], **changes: Any) -> gf.Model:
    """A tiny model from these records, its files next to it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    recipe = {
        "task": task,
        "data": {"files": [str(folder / "records.jsonl")], "validation": 0.3, "length": 16},
        "model": {"family": "bert", "size": "tiny", "settings": SETTINGS},
        "tokenizer": {"vocabulary": 120},
        "train": {"epochs": 2, "batch": 8, "compile": "off", "precision": "float32", "threads": 1, "seed": 3},
    }
    return gf.train(recipe, out=folder / "run", set=changes, progress=NoProgress())


def test_the_loss_of_several_labels_is_torchs() -> None:
    rng = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 3, generator=rng, dtype=torch.float64)
    numbers = torch.tensor([[0, 2], [1, -100], [-100, -100], [-100, -100]])
    having = torch.tensor([[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=torch.float64)
    weights = torch.tensor([1.0, 0.5, 1.0, 0.0])
    for chosen, factors in (("none", None), ("balanced", [9.0, 1.0, 1 / 9])):
        asked = {"labels": ("a", "b", "c"), "several": True, "class_weights": chosen}
        section = ClassifySection.model_validate(asked)
        mine = SeveralLabels(section, {"a": 1, "b": 5, "c": 9}, 10).loss(logits, numbers, weights)
        its = F.binary_cross_entropy_with_logits(
            logits,
            having,
            weight=weights[:, None].double(),
            pos_weight=None if factors is None else torch.tensor(factors, dtype=torch.float64),
            reduction="sum",
        )
        assert mine.item() == pytest.approx(its.item() / 3, abs=1e-12)


def test_class_weights_name_labels_in_any_unicode_form() -> None:
    section = ClassifySection(labels=("\u00e9t\u00e9", "b"), class_weights={"e\u0301te\u0301": 2.0})
    assert OneLabel(section, {"\u00e9t\u00e9": 1, "b": 1}, 2).factors == [2.0, 1.0]


def test_class_weights_weigh_as_torchs_do() -> None:
    """Sum of weighted losses over the sum of the weights; balanced as scikit-learn computes it."""
    balanced = pytest.importorskip("sklearn.utils.class_weight", reason="the reference").compute_class_weight
    labels = [0] * 6 + [1] * 3 + [2]
    section = ClassifySection(labels=("a", "b", "c"), class_weights="balanced")
    one = OneLabel(section, {"a": 6, "b": 3, "c": 1}, 10)
    assert one.factors == pytest.approx(balanced("balanced", classes=np.arange(3), y=labels).tolist())
    logits = torch.randn(10, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = torch.tensor([one.row_weight(Labelled("", None, label)) for label in labels], dtype=torch.float64)
    mine = one.loss(logits, torch.tensor(labels)[:, None], weights) / weights.sum()
    its = F.cross_entropy(logits, torch.tensor(labels), weight=torch.tensor(one.factors, dtype=torch.float64))
    assert mine.item() == pytest.approx(its.item(), abs=1e-12)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weights", ["none", "balanced", {"b": 7.0}])
def test_the_loss_without_the_text_is_the_least_of_equal_answers(several: bool, weights: Any) -> None:
    """With class weights too: the losses of training are compared with it. Found by L-BFGS."""
    labels, counts = ("a", "b", "c"), {"a": 4000, "b": 500, "c": 900}
    section = ClassifySection(labels=labels, several=several, class_weights=weights)
    labelling = (SeveralLabels if several else OneLabel)(section, counts, sum(counts.values()))
    having = torch.repeat_interleave(torch.arange(3), torch.tensor(list(counts.values())))[:, None]  # [B, 1]
    rows = torch.tensor([labelling.row_weight(Labelled("", None, label)) for label in having[:, 0].tolist()]).double()
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([logits], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        found = labelling.loss(logits.expand(len(having), 3), having, rows) / rows.sum()
        found.backward()
        return found

    search.step(loss)
    assert labelling.baseline_loss == pytest.approx(loss().item(), rel=1e-3)  # shares are smoothed


@pytest.mark.parametrize(
    "values",
    [
        {"class_weights": {"c": 2.0}, "labels": ["a", "b"]},
        {"class_weights": {"a": 0.0}},
        {"threshold": 0.3},
        {"temperature": 0.0},
        {"class_weights": "rare"},
    ],
)
def test_impossible_settings_are_refused(values: dict[str, Any]) -> None:
    with refused(ConfigError):
        read_settings(ClassifySection, {"name": "classify", **values})


def test_labels_of_a_cell_and_of_a_list() -> None:
    assert labels_of("a| b ||c", "", "|") == labels_of(["a", "b", "c"], "", "|") == ["a", "b", "c"]
    assert labels_of("", "", "|") == labels_of([], "", "|") == []
    assert labels_of([1, 2.0, True], "", "|") == ["1", "2", "true"]
    assert labels_of('["a", "b, c"]', "", ",") == ["a", "b, c"]  # as answers in a table are written
    assert labels_of("[]", "", ",") == []
    assert labels_of("[a], b", "", ",") == ["[a]", "b"]
    for bad in (None, 3, ["a", None], [["a"]]):
        with refused(DataError, wanted="line 4"):
            labels_of(bad, "t.jsonl, line 4", "|")


@pytest.mark.parametrize(
    ("labels", "several", "asked"),
    [
        (["a", "b", "c", "a|b", "b|c", "a|c", "a|b|c", "b|a"], True, "data.separator='|'"),
        (["a", "b", "a, b", "b, a", "a, a"], False, "task.several=true"),
        (["a; b", "c; d", "e; f", "g"], True, None),  # each part once: a way to write names
        (["wind", "rain", "hail"], False, None),
    ],
)
def test_labels_that_look_like_lists_say_what_to_set(labels: list[str], several: bool, asked: str | None) -> None:
    note = note_of_lists(labels, several=several)
    assert (asked is None) == (note == "")
    assert asked is None or asked in note


def test_labels_that_only_look_alike_are_named() -> None:
    notes: list[str] = []
    note_alike(["ham", "eggs", "B-PER", "B-LOC"], notes.append)
    assert not notes
    note_alike(["ham", "Spam", "spam", "1", "\uff11", "\u00c9t\u00e9", "\u00e9t\u00e9"], notes.append)
    (note,) = notes
    assert "'Spam' and 'spam'" in note
    assert "'1' and '\uff11'" in note
    assert "'\u00c9t\u00e9' and '\u00e9t\u00e9'" in note
    assert "ham'," not in note


@pytest.mark.parametrize("bad", ["high", "", "nan", "inf", "3_5", None, True, [1], 10**400])
def test_what_is_no_number_is_refused_with_its_line(bad: object) -> None:
    with refused(DataError, wanted="line 4"):
        number_of(bad, "t.jsonl, line 4")


def test_a_decimal_of_parquet_is_a_label_as_the_same_float_is() -> None:
    assert label_of(Decimal("2.0"), "t.parquet, row 1") == label_of(2.0, "t.parquet, row 1") == "2"
    assert label_of(Decimal("1.50"), "t.parquet, row 1") == label_of(1.5, "t.parquet, row 1") == "1.5"
    assert label_of(Decimal(2**70), "t.parquet, row 1") == str(2**70)


def test_a_decimal_of_parquet_is_a_number() -> None:
    assert number_of(Decimal("1.50"), "t.parquet, row 1") == 1.5
    with refused(DataError, wanted="row 2"):
        number_of(Decimal("NaN"), "t.parquet, row 2")


def numbers(cells: Sequence[str]) -> list[float | None]:
    decimal = decimal_of([(f"t.csv, line {line}", cell) for line, cell in enumerate(cells, 2)])
    return [parsed(cell, decimal) for cell in cells]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["812", "1.6", "372", "2.000"], [812, 1.6, 372, 2]),
        (["812", "1.625", "372"], [812, 1.625, 372]),  # a single one, whose zeros no program has left out
        (["1,000,000", "2,500,000", "1,250,000"], [1e6, 2.5e6, 1.25e6]),
        (["1.000.000", "2.500.000"], [1e6, 2.5e6]),
        ([f"{number / 1000:g}" for number in range(1001, 9999, 7)], [n / 1000 for n in range(1001, 9999, 7)]),
        (["\u22121,5", ",25", "1,5E-3"], [-1.5, 0.25, 0.0015]),
        (["8", "1.625", "3", "2.125"], [8, 1.625, 3, 2.125]),
        (["0.125", "812", "1.250"], [0.125, 812, 1.25]),
        (["1367,48", "12", "0,5"], [1367.48, 12, 0.5]),
        (["1.367,48", "1.600", "812"], [1367.48, 1600, 812]),
        (["1,600", "812", "2,000", "29"], [1600, 812, 2000, 29]),  # English
        (["1,600.25", "1,600", "7"], [1600.25, 1600, 7]),
        (["1,600", "812", "2,0"], [1.6, 812, 2]),
        (["2\u202f372,78", "1 112", "9,5"], [2372.78, 1112, 9.5]),  # French
        (["1'234.50", "7"], [1234.5, 7]),  # Swiss
        (["-1.367.000,5", "+3"], [-1367000.5, 3]),
        (["51,18", "77.06", "12,5"], [51.18, None, 12.5]),  # one that is written otherwise is refused alone
        (["1,5", "n/a", " 7 ", "1e3"], [1.5, None, 7, 1000]),
        (["1,2,3", "12.5", ""], [None, 12.5, None]),
    ],
)
def test_how_a_table_writes_its_numbers_is_found(cells: list[str], expected: list[float | None]) -> None:
    assert numbers(cells) == expected


@pytest.mark.parametrize(
    ("cells", "line", "meant"),
    [
        (["812", "1.600", "372", "2.000"], 3, ("1600", "1.600")),
        (["980", "1.250", "750"], 3, ("1250", "1.250")),
        (["27", *["1.482", "2.934"] * 15], 3, ("1482", "1.482")),  # no whole number of three digits
        (["12.5", *["1.112", "26", "2.113", "272"] * 20], 3, ("1112", "1.112")),
        (["12,5", *["1,112", "26", "2,113", "272"] * 20], 3, ("1112", "1.112")),
        (["1,981", "1,070"], 2, ("1981", "1.981")),
        (["1,250", "2,375", "3", "4,750"], 2, ("1250", "1.250")),
    ],
)
def test_numbers_that_may_be_thousands_or_decimals_are_refused(
    cells: list[str], line: int, meant: tuple[str, str]
) -> None:
    with refused(DataError, wanted=f"line {line}", got=cells[line - 2], do=meant):
        numbers(cells)


def test_each_table_of_numbers_is_read_as_it_is_written(tmp_path: Path) -> None:
    table, english = tmp_path / "rents.csv", tmp_path / "english.csv"
    cells = ("small flat {};612,25", "big flat {};1.367,5")
    table.write_text("\n".join(["text;label", *(cells[number % 2].format(number) for number in range(60))]))
    english.write_text('text,label\nsmall flat,612.25\nbig flat,"1,367.5"\n')
    model = train(tmp_path, [{"text": "a"}], {"name": "regress"}, **{"data.files": [str(table)]})
    assert isinstance(model.task, RegressSection)
    assert model.task.mean == pytest.approx((612.25 + 1367.5) / 2, rel=0.1)  # those held out are not counted
    for each in (table, english):
        measured = evaluate(model, files=[str(each)]).of["the mean"]
        assert measured["mean_absolute_error"] == pytest.approx((1367.5 - 612.25) / 2, rel=0.1)
    chosen = tmp_path / "chosen"
    table.write_text("text,label\n" + "".join(f'text {number},"1,{number}"\n' for number in range(100, 160)))
    with refused(DataError, wanted="line 2", do=("--decimal", "to ','")):
        train(chosen, [{"text": "a"}], {"name": "regress"}, **{"data.files": [str(table)]})
    decimal = {"data.files": [str(table)], "data.decimal": ","}
    found = train(chosen, [{"text": "a"}], {"name": "regress"}, **decimal).task
    assert isinstance(found, RegressSection)
    assert found.mean == pytest.approx(1.13, abs=0.05)


def test_a_table_that_begins_with_a_known_label_has_no_header(tmp_path: Path) -> None:
    rows = [f"text {number}\t{'ab'[number % 2]}" for number in range(40)]
    (tmp_path / "train.tsv").write_text("\n".join(rows), encoding="utf-8")
    columns = {"data.text": "0", "data.label": "1"}
    named = {"data.files": [str(tmp_path / "train.tsv")], **columns}
    model = train(tmp_path, [{"text": "a"}], {"name": "classify"}, **named)
    test = tmp_path / "test.tsv"
    test.write_text("Hello\ta\n" + "a longer text\tb\n" * 4, encoding="utf-8")
    assert model.evaluate(test)["targets"] == 5
    test.write_text("text\tlabel\na longer text\ta\n" + "a longer text\tb\n" * 4, encoding="utf-8")
    assert model.evaluate(test)["targets"] == 5


def test_several_labels_from_a_table_to_an_answer(tmp_path: Path) -> None:
    words = ("red", "green", "blue")
    records = []
    for number in range(90):
        chosen = [word for place, word in enumerate(words) if number >> place & 1]
        records.append({"text": f"{' '.join(chosen)} thing {number}", "label": chosen})
    changes = {"train.epochs": 12, "train.learning_rate": 2e-2}
    model = train(tmp_path, records, {"name": "classify", "several": True, "pooling": "max"}, **changes)
    found = model.classify(["red blue thing 5", "thing 8"])
    assert all(isinstance(each, Classes) for each in found)
    assert [set(each.chosen) for each in found] == [{"red", "blue"}, set()]
    assert model.metrics["scores"]["micro_f1"] > model.metrics["scores"]["most_frequent_micro_f1"]
    assert model.metrics["labelled_records"] + model.metrics["measured"]["of"] == 90
    assert "`max`" in model.card
    assert gf.load(tmp_path / "run").evaluate()["micro_f1"] == pytest.approx(model.metrics["scores"]["micro_f1"])
    with refused(DataError, got="'pink'"):
        path = tmp_path / "other.jsonl"
        path.write_text('{"text": "a pink thing", "label": ["red", "pink"]}')
        evaluate(model, [path])


def test_a_list_for_one_label_says_what_to_set(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"text": f"word {number}", "label": "ab"[number % 2]} for number in range(20)]
    records[3]["label"] = ["a", "b"]
    with refused(DataError, wanted="line 4", do="task.several"):
        train(tmp_path, records, {"name": "classify"})


def test_a_temperature_is_fitted_saved_and_used(tmp_path: Path) -> None:
    """The log loss of the validation records falls, the labels remain, and the model that is saved knows it."""
    records = [{"text": f"w{n * 7 % 31} v{n * 11 % 17}", "label": "abc"[n * n % 3]} for n in range(150)]
    model = train(tmp_path, records, {"name": "classify"}, **{"train.epochs": 4, "train.learning_rate": 1e-2})
    assert isinstance(model.task, ClassifySection)
    task = Classify(model.task, model.tokenizer, length=16, segments=False)
    known = {label: number for number, label in enumerate(model.labels)}
    examples = [Labelled(each["text"], None, known[each["label"]]) for each in records[:100]]
    source = RecordSource(task, examples, length=16)
    plain = Classify(model.task.model_copy(update={"temperature": 1.0}), model.tokenizer, length=16, segments=False)
    fitted = plain.fitted(model.module, source, print)
    before, after = (each.evaluate(model.module, source) for each in (plain, fitted))
    assert fitted.section.temperature != 1.0
    assert after["loss"] < before["loss"]
    assert after["accuracy"] == before["accuracy"]
    for factor in (0.97, 1.03):
        other = fitted.section.model_copy(update={"temperature": fitted.section.temperature * factor})
        near = Classify(other, model.tokenizer, length=16, segments=False)
        assert near.evaluate(model.module, source)["loss"] > after["loss"]
    model.task = fitted.section
    again = gf.load(model.save(tmp_path / "again"))
    answer = again.classify(examples[0].text)
    assert isinstance(answer, Class)
    logits = again.module(plain_batch(plain, examples[0]).inputs, heads=("sentence_head",)).sentence_logits
    expected = (logits / fitted.section.temperature).log_softmax(dim=-1)[0].tolist()
    assert answer.logarithms == pytest.approx(expected, abs=1e-5)  # float32


def plain_batch(task: Classify, example: Labelled) -> Any:
    from glassformer.tasks.rows import collate

    return collate(list(task.rows(example)), pad_id=0)


def test_where_all_is_right_no_temperature_is_fitted(tmp_path: Path) -> None:
    """The loss then falls with the temperature for ever."""
    records = [{"text": f"v{number}", "label": "ab"[number % 2]} for number in range(20)]
    model = train(tmp_path, records, {"name": "classify"}, **{"train.epochs": None, "train.steps": 1})
    assert isinstance(model.task, ClassifySection)
    task = Classify(model.task, model.tokenizer, length=16, segments=False)
    for flipped in (False, True):
        guessed = [model.labels.index(each.label) for each in model.classify([each["text"] for each in records])]
        guessed[7] ^= flipped
        examples = [Labelled(each["text"], None, label) for each, label in zip(records, guessed, strict=True)]
        fitted = task.fitted(model.module, RecordSource(task, examples, length=16), print)
        assert (fitted.section.temperature == 1.0) is not flipped


class Undecided(Classify):
    """Gives all texts the same two logits, nearly equal."""

    def predict(self, model: Any, batches: Any) -> Any:
        for batch in batches:
            yield from ((row, np.array([1e-3, 0.0])) for row in batch.row_ids.tolist())


@pytest.mark.long
@pytest.mark.parametrize("copies", [1, 1000])
def test_a_few_records_move_the_temperature_little_and_its_limit_is_reported(tmp_path: Path, copies: int) -> None:
    """Where three of four guesses are right, the log loss alone is least at T = 0.0009, however few they are."""
    records = [{"text": f"v{number}", "label": "ab"[number % 2]} for number in range(20)]
    model = train(tmp_path, records, {"name": "classify"}, **{"train.epochs": None, "train.steps": 1})
    task = Undecided(ClassifySection(labels=("a", "b")), model.tokenizer, length=16, segments=False)
    examples = [Labelled("v1", None, label) for label in (0, 0, 0, 1)] * copies
    notes: list[str] = []
    model.task = task.fitted(model.module, RecordSource(task, examples, length=16), notes.append).section
    if copies == 1:
        assert model.task.temperature == pytest.approx(1, rel=0.01)
    else:
        assert model.task.temperature == pytest.approx(COLDEST, rel=1e-3)
    (line,) = [line for line in write_card(model, tmp_path).splitlines() if "temperature" in line] or [""]
    assert ["least" in note for note in notes] == [True] * (copies > 1)
    assert ("least" in line) is (copies > 1)


@pytest.mark.long
def test_a_number_is_learned_in_units_of_the_deviation_and_answered_in_its_own(tmp_path: Path) -> None:
    words = ("one", "two", "three", "four")
    records = [{"text": f"{words[n % 4]} v{n * 7 % 31}", "label": 1000 + 50 * (n % 4)} for n in range(120)]
    changes = {"train.epochs": 14, "train.learning_rate": 2e-2}
    model = train(tmp_path, records, {"name": "regress"}, **changes)
    assert isinstance(model.task, RegressSection)
    assert model.task.mean == pytest.approx(1075, abs=15)
    assert model.task.deviation == pytest.approx(np.std([0, 50, 100, 150]), rel=0.1)
    low, high = model.classify(["one v3", "four v3"])
    assert isinstance(low, Number)
    assert 980 < low.number < 1040
    assert 1110 < high.number < 1170
    scores = evaluate(model)
    assert scores["pearson"] > 0.9
    assert scores["loss"] < scores["the_mean_loss"]
    assert "the_mean_pearson" not in scores.flat()
    assert {"text", "number", "guessed"} == scores.report["worst"][0].keys()
    write_foreign(model, tmp_path / "theirs")
    exported, _ = read_foreign(tmp_path / "theirs", gf.Model)
    assert exported.classify("four v3").number == pytest.approx(high.number, rel=1e-5)  # float32
    resumed = gf.train(None, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert resumed.task == model.task


def test_the_squared_error_is_that_of_standardised_numbers(tmp_path: Path) -> None:
    records = [{"text": f"v{n}", "label": n * n} for n in range(20)]
    model = train(tmp_path, records, {"name": "regress"}, **{"train.epochs": None, "train.steps": 1})
    assert isinstance(model.task, RegressSection)
    task = Regress(model.task, model.tokenizer, length=16, segments=False)
    from glassformer.tasks.rows import collate

    examples = [Rated("v1 v2", None, 7.0), Rated("v3 " * 40, None, -2.0)]
    batch = collate([row for each in examples for row in task.rows(each)], pad_id=0, axes=task.axes)
    assert batch.counts["number"] == pytest.approx(2)  # windows share the weight of their text
    loss = task.losses(model.module, batch)["number"].item()
    answers = task.logits(model.module, batch)[:, 0].tolist()
    assert task.section.mean is not None
    assert task.section.deviation is not None
    targets = [(number - task.section.mean) / task.section.deviation for number in (7.0, *[-2.0] * (len(answers) - 1))]
    weights = [1.0, *[1 / (len(answers) - 1)] * (len(answers) - 1)]
    expected = math.fsum(w * (a - t) ** 2 for w, a, t in zip(weights, answers, targets, strict=True))
    assert loss == pytest.approx(expected, rel=1e-5)  # float32
    row = next(iter(task.rows(examples[0])))
    far = collate([replace(row, labels={"number": -100.0})], pad_id=0, axes=task.axes)
    assert far.counts["number"] == pytest.approx(1)  # -100 marks what has no label among ids, not among numbers


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_numbers_whose_deviation_cannot_be_squared_are_refused(unit: float, tmp_path: Path) -> None:
    records = [{"text": f"number {number}", "label": number % 3 * unit} for number in range(12)]
    with refused(DataError, wanted="standard deviation"):
        train(tmp_path, records, {"name": "regress"})
