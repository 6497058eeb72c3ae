"""Records that cannot be learned from, and tables written in other ways: reported with file and line, nothing lost."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.readers.lines import stop
from glassformer.data.stores.split import Split, hash_fraction, text_hash
from glassformer.models.families import bert
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.labels.classify.task import Classify
from glassformer.tasks.records import RecordSource
from glassformer.tasks.task import Preparation, Source, drawn_examples
from glassformer.text.train import train_tokenizer
from glassformer.training.progress import NoProgress
from tests.refusals import refused

ROWS = [(f"She likes day {n}" if n % 2 else f"He cooks on day {n}", "yes" if n % 2 else "no") for n in range(40)]


def prepared(
    path: Path, *, section: ClassifySection | None = None, **settings: Any
) -> tuple[Classify, dict[Split, Source], list[str]]:
    """The task, the records of each split and the notes, as a training has them."""
    data = Classify.Data.model_validate({"files": (str(path),), "length": 16, "validation": 0.2, **settings})
    notes: list[str] = []
    preparation = Preparation(
        data=data,
        tokenizer=train_tokenizer("wordpiece", [text for text, _ in ROWS], vocabulary=80),
        body=bert(size="tiny", vocabulary=80),
        cache=path.parent,
        shares=Classify.resolve_shares(data),
        log=notes.append,
        stage=NoProgress().reading,
    )
    task, sources = Classify.prepared(section or ClassifySection(), preparation)
    return task, sources, notes


def count(sources: dict[Split, Source]) -> int:
    return sum(len(source.examples) for source in sources.values() if isinstance(source, RecordSource))


def table(path: Path, rows: list[tuple[Any, ...]], columns: tuple[str, ...] = ("text", "label")) -> Path:
    lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_held_out_file_without_records_is_refused(tmp_path: Path) -> None:
    path, held_out = table(tmp_path / "rows.jsonl", ROWS), tmp_path / "held out.csv"
    held_out.write_text("text,label\n")
    with refused(DataError, wanted="held out.csv", got="none"):
        prepared(path, validation=0.0, validation_files=(str(held_out),))


def test_a_label_unseen_in_training_is_reported_with_its_row(tmp_path: Path) -> None:
    path, held_out = table(tmp_path / "rows.jsonl", ROWS), tmp_path / "held out.jsonl"
    table(held_out, [*ROWS[:3], ("They hike", "perhaps"), *ROWS[3:5]])
    with refused(DataError, wanted="held out.jsonl, line 4", got="'perhaps'", do=("no, yes",)):
        prepared(path, validation=0.0, validation_files=(str(held_out),))
    rejects = tmp_path / "rejects.jsonl"
    more: dict[str, Any] = {"validation": 0.0, "validation_files": (str(held_out),), "rejects": str(rejects)}
    task, sources, notes = prepared(path, **more)
    (found,) = map(json.loads, rejects.read_text().splitlines())
    assert (found["file"], found["line"], found["row"]["label"]) == (str(held_out), 4, "perhaps")
    assert task.section.labels == ("no", "yes")
    assert len(sources["validation"]) == 5
    assert any(str(rejects) in note for note in notes)


def test_held_out_pairs_that_share_a_text_with_training_are_counted(tmp_path: Path) -> None:
    pairs = [(f"day {n // 3}", f"night {n}", "yes" if n % 2 else "no") for n in range(60)]
    path = table(tmp_path / "rows.jsonl", pairs, ("text", "pair", "label"))
    _, sources, notes = prepared(path, pair="pair")
    by_day: dict[str, set[str]] = {}
    for split, source in sources.items():
        assert isinstance(source, RecordSource)
        for example in source.examples:
            by_day.setdefault(example.text, set()).add(split)
    alike = sum("train" in by_day[example.text] for example in sources["validation"].examples)  # type: ignore[attr-defined]  # as above
    assert alike > 0
    assert any(f"{alike} of the {len(sources['validation'])} validation records" in note for note in notes)


def test_one_class_only_is_refused(tmp_path: Path) -> None:
    with refused(DataError, got="'yes'"):
        prepared(table(tmp_path / "rows.jsonl", [(text, "yes") for text, _ in ROWS]))


@pytest.mark.parametrize(
    ("bad", "line"),
    [(("", "She", "no"), 3), (("She", "  ", "no"), 3), (("She", None, "no"), 3), (("She", "He", ""), 3)],
)
def test_a_pair_with_a_side_or_label_missing_is_reported_and_set_aside(tmp_path: Path, bad: Any, line: int) -> None:
    rows: list[tuple[Any, ...]] = [(text, f"and {text}", label) for text, label in ROWS]
    rows.insert(line - 1, bad)
    path = table(tmp_path / "pairs.jsonl", rows, ("text", "pair", "label"))
    with refused(DataError, wanted=f"pairs.jsonl, line {line}"):
        prepared(path, pair="pair")
    rejects = tmp_path / "rejects.jsonl"
    _, sources, _ = prepared(path, pair="pair", rejects=str(rejects))
    (found,) = map(json.loads, rejects.read_text().splitlines())
    assert found["line"] == line
    assert found["row"] == dict(zip(("text", "pair", "label"), bad, strict=True))
    assert count(sources) == len(ROWS)


@pytest.mark.parametrize(
    ("text", "wanted", "got"), [("text,label\n", "few.csv", "none"), ("text,label\nShe,yes\n", "2", "few.csv")]
)
def test_a_table_with_too_few_records_to_split_is_named(tmp_path: Path, text: str, wanted: str, got: str) -> None:
    path = tmp_path / "few.csv"
    path.write_bytes(text.encode())
    with refused(DataError, wanted=wanted, got=got):
        prepared(path)


@pytest.mark.parametrize(("copies", "noted"), [(1, []), (3, [120, 40])])
def test_many_copies_are_reported(tmp_path: Path, copies: int, noted: list[int]) -> None:
    notes = prepared(table(tmp_path / "rows.jsonl", ROWS * copies))[2]
    found = [re.findall(r"\d+", note) for note in notes if "different texts" in note]
    assert [int(number) for numbers in found for number in numbers] == noted


@pytest.mark.parametrize(("label", "got"), [(math.nan, "nan"), (math.inf, "inf"), (None, "None")])
def test_a_label_that_is_missing_is_no_label_of_its_own(tmp_path: Path, label: float | None, got: str) -> None:
    with refused(DataError, wanted="rows.jsonl, line 41", got=got):
        prepared(table(tmp_path / "rows.jsonl", [*ROWS, ("They hike", label)]))


@pytest.mark.parametrize("labels", [("1", "0"), (1, 0), (1.0, 0.0), (True, False)])
def test_labels_are_numbers_or_words(tmp_path: Path, labels: tuple[Any, Any]) -> None:
    path = table(tmp_path / "rows.jsonl", [(text, labels[label == "yes"]) for text, label in ROWS])
    assert prepared(path)[0].section.labels == (("false", "true") if isinstance(labels[0], bool) else ("0", "1"))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.csv", '"{text}, ""really""",{label}'),
        ("b.csv", "{text};{label}"),
        ("c.csv", "{text}|{label}"),
        ("d.tsv", '{text} says "well\t{label}'),  # a quote that is an ordinary character, as in sst2
    ],
)
def test_delimiters_and_quotes_of_every_kind(tmp_path: Path, name: str, line: str) -> None:
    path = tmp_path / name
    path.write_text("".join(line.format(text=text, label=label) + "\n" for text, label in ROWS))
    task, sources, _ = prepared(path, text="0", label="1")
    assert task.section.labels == ("no", "yes")
    assert count(sources) == len(ROWS)


@pytest.mark.parametrize(("name", "columns"), [("sst2/train.tsv", ("0", "1")), ("sms_spam/sms.tsv", ("1", "0"))])
def test_the_bare_quotes_of_real_tables_lose_no_row(name: str, columns: tuple[str, str], data_directory: Path) -> None:
    data = Classify.Data(text=columns[0], label=columns[1])
    found = [each.values for each in Classify.records(data, [str(data_directory / name)], bad=stop)]
    lines = [line for line in (data_directory / name).read_text(encoding="utf-8").split("\n") if line.strip()]
    order = ("text", "label") if columns[0] == "0" else ("label", "text")
    assert ["\t".join(str(each[role]) for role in order) for each in found] == lines
    assert any(sign in line for line in lines for sign in ("``", '"'))
    assert len({each["label"] for each in found}) == 2


def test_rows_repeated_across_splits_are_reported(tmp_path: Path) -> None:
    path = table(tmp_path / "rows.jsonl", ROWS)
    held_out = table(tmp_path / "more.jsonl", [*ROWS[:3], ("Something else", "no")])
    _, _, notes = prepared(path, validation=0.0, validation_files=(str(held_out),))
    assert any("3 of the validation records" in note for note in notes)


def held_out_text(path: Path) -> str:
    """A text that the random split of `prepared` holds out."""
    data = Classify.Data(files=(str(path),), length=16, validation=0.2)
    texts = (f"They hike on day {n}" for n in range(1000))
    return next(text for text in texts if hash_fraction(text_hash(text), data.seed) < data.validation)


@pytest.mark.parametrize("several", [False, True])
def test_a_label_of_which_the_random_split_holds_out_all_records_is_known_and_reported(
    tmp_path: Path, several: bool
) -> None:
    path = tmp_path / "rows.jsonl"
    rare = held_out_text(path)
    table(path, [*ROWS, (rare, "rare")])
    task, sources, notes = prepared(path, section=ClassifySection(several=several))
    assert task.section.labels == ("no", "rare", "yes")
    assert task.frequencies["rare"] == 0
    assert count(sources) == len(ROWS) + 1
    (message,) = [note for note in notes if "'rare'" in note]
    assert f"{path}, line {len(ROWS) + 1}" in message
    assert "(1)" in message
    # The same label in a validation file of its own is still a mistake.
    held_out = table(tmp_path / "held out.jsonl", [ROWS[0], (rare, "rare")])
    with refused(DataError, wanted="held out.jsonl, line 2", got="'rare'"):
        prepared(
            table(path, ROWS),
            section=ClassifySection(several=several),
            validation=0.0,
            validation_files=(str(held_out),),
        )


def test_a_second_label_that_is_held_out_whole_is_still_one_class_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    table(path, [*((text, "yes") for text, _ in ROWS), (held_out_text(path), "rare")])
    with refused(DataError, got=("1", "'yes'")):
        prepared(path)


def test_weights_of_labels_that_are_not_there_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "rows.jsonl", ROWS)
    with refused(ConfigError, wanted="'maybe'"):
        prepared(path, section=ClassifySection(class_weights={"maybe": 2.0}))


def test_labels_without_a_held_out_record_are_named(tmp_path: Path) -> None:
    path = table(tmp_path / "rows.jsonl", [*ROWS, ("It rains", "rare")])
    said = [note for note in prepared(path)[2] if note.startswith("no held-out record")]
    assert [note.partition(": ")[2] for note in said] == ["rare"]
    path = table(tmp_path / "more.jsonl", ROWS)
    assert not [note for note in prepared(path)[2] if note.startswith("no held-out record")]


def test_a_column_of_no_labels_is_refused_by_its_first_value(tmp_path: Path) -> None:
    with refused(DataError, wanted="line 1", got="[1]"):
        prepared(table(tmp_path / "rows.jsonl", [(text, [1]) for text, _ in ROWS]))


def test_copies_with_different_labels_are_named(tmp_path: Path) -> None:
    text, label = ROWS[4]
    assert not [note for note in prepared(table(tmp_path / "rows.jsonl", [*ROWS, ROWS[4]]))[2] if "different" in note]
    other = {"yes": "no", "no": "yes"}[label]
    notes = prepared(table(tmp_path / "rows.jsonl", [*ROWS, (text, other)]))[2]
    (note,) = [note for note in notes if "different labels" in note]
    for value in ("1 text", f"line 5 ({label})", f"line 41 ({other})"):
        assert value in note


def test_models_of_other_lengths_are_measured_on_the_same_records(tmp_path: Path) -> None:
    path = table(tmp_path / "rows.jsonl", ROWS)
    drawn = []
    for length in (8, 16):
        source = prepared(path, length=length)[1]["train"]
        drawn.append([example.text for example in drawn_examples(source, 7)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 7
