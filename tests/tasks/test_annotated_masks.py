"""Masks that are annotated in the data with their answers."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.base.errors import ConfigError, DataError, MissingColumnError
from glassformer.data.readers.lines import Skipped, stop
from glassformer.data.stores.split import Split
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.saved.recipe import read_recipe
from glassformer.scoring.score import THIS_MODEL, Unigram
from glassformer.tasks.records import RecordSource
from glassformer.tasks.rows import Row, collate
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation
from glassformer.tasks.words.annotated_masks.settings import AnnotatedMasksData, AnnotatedMasksSection
from glassformer.tasks.words.annotated_masks.task import AnnotatedMasks
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from tests.data.made import split

SLIDES = ("She likes the summer better", "He loves to stay healthy", "They go hiking quite often")
ANNOTATED: tuple[tuple[str, list[str]], ...] = (
    ("She [MASK] [MASK] summer better", ["likes", "the"]),
    ("He loves to [MASK] healthy", ["stay"]),
    ("They go hiking quite [MASK]", ["often"]),
)


def task_of(tokenizer: Tokenizer, *, length: int | None = None) -> AnnotatedMasks:
    unigram = Unigram(np.ones(tokenizer.vocabulary_size, np.int64))
    return AnnotatedMasks(AnnotatedMasksSection(), tokenizer, length=length, unigram=unigram)


def row_of(task: AnnotatedMasks, text: str, answers: object, where: str = "x.jsonl, line 1") -> Row:
    (row,) = task.rows(task.example({"text": text, "answers": answers}, where))
    return row


def answered(row: Row) -> list[int]:
    """The ids of a row with its answers in place."""
    ids = list(row.ids)
    for place, label in zip(row.scored_at, row.labels["masked_words"], strict=True):
        ids[place] = label
    return ids


def masked(row: Row) -> list[bool]:
    assert row.masked_words is not None
    return list(row.masked_words)


def write_rows(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def preparation(data: AnnotatedMasksData, tokenizer: Tokenizer, folder: Path, notes: list[str]) -> Preparation:
    @contextmanager
    def stage(title: str, size: int) -> Iterator[Any]:
        yield lambda done: None

    body = bert(vocabulary=tokenizer.vocabulary_size, layers=1, width=8, heads=2, feed_forward=8, max_length=64)
    return Preparation(
        data=data,
        tokenizer=tokenizer,
        body=body,
        cache=folder,
        shares={"validation": data.validation, "test": data.test},
        log=notes.append,
        stage=stage,
    )


def test_the_slides_sentences_with_their_four_masks() -> None:
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=15, lowercase=False, special=SpecialTokens())
    task = task_of(tokenizer)
    rows = [row_of(task, *example) for example in ANNOTATED]
    assert [tokenizer.decode(answered(row)) for row in rows] == list(SLIDES)
    assert [list(row.scored_at) for row in rows] == [[1, 2], [3], [4]]
    assert [[place for place, hides in enumerate(masked(row)) if hides] for row in rows] == [[1, 2], [3], [4]]
    assert [[row.ids[place] for place in row.scored_at] for row in rows] == [[0, 0], [0], [0]]
    assert [tokenizer.token(id_) for row in rows for id_ in row.labels["masked_words"]] == [
        "likes",
        "the",
        "stay",
        "often",
    ]
    batch = collate(rows, pad_id=0, axes=task.axes)
    assert batch.inputs.ids is not None
    assert batch.inputs.masked_words is not None
    assert batch.scored_at is not None
    assert batch.inputs.ids.shape == (3, 5)
    assert batch.inputs.real is None  # nothing was filled up
    assert batch.inputs.masked_words.nonzero().tolist() == [[0, 1], [0, 2], [1, 3], [2, 4]]
    assert batch.scored_at.tolist() == [1, 2, 8, 14]
    assert batch.counts == {"masked_words": 4.0}


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "words"])
def test_answers_of_several_tokens_are_several_masks(kind: Kind) -> None:
    tokenizer = train_tokenizer(kind, SLIDES, vocabulary=300 if kind == "bpe" else 60, lowercase=False)
    several = []
    for (text, answers), whole in zip(ANNOTATED, SLIDES, strict=True):
        row = row_of(task_of(tokenizer), text, answers)
        plain = tokenizer.encode(whole)
        assert answered(row) == plain.ids
        assert tokenizer.decode(row.labels["masked_words"]).split() == answers
        assert [row.ids[place] for place in row.scored_at] == [tokenizer.mask_id] * len(row.scored_at)
        assert [place for place, hides in enumerate(masked(row)) if hides] == list(row.scored_at)
        assert not any(plain.special[place] for place in row.scored_at)
        several.append(len(row.scored_at) > len(answers))
    assert any(several) or kind == "words"


def test_they_are_read_from_tables(tmp_path: Path) -> None:
    data = AnnotatedMasksData()
    path = write_rows(tmp_path / "x.jsonl", [{"text": text, "answers": answers} for text, answers in ANNOTATED])
    found = list(AnnotatedMasks.records(data, [str(path)], stop))
    assert found == [
        Record({"text": text, "answers": answers}, f"{path}, line {number}")
        for number, (text, answers) in enumerate(ANNOTATED, 1)
    ]
    table = tmp_path / "x.tsv"
    table.write_text("text\tanswers\n" + "".join(f"{text}\t{' '.join(answers)}\n" for text, answers in ANNOTATED))
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=60)
    task = task_of(tokenizer)
    of_table = AnnotatedMasks.records(data, [str(table)], stop)
    assert [task.rows(example) for example in task.examples(of_table, stop)] == [
        task.rows(example) for example in task.examples(found, stop)
    ]


def test_of_a_folder_only_the_tables_are_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("about these tables")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    data = AnnotatedMasksData()
    with pytest.raises(DataError) as caught:
        list(AnnotatedMasks.records(data, [str(tmp_path)], stop))
    assert str(tmp_path) in caught.value.wanted
    assert "notes.md" in caught.value.got
    assert "picture.png" in caught.value.got
    for number, (text, answers) in enumerate(ANNOTATED):
        write_rows(tmp_path / f"{number}.jsonl", [{"text": text, "answers": answers}])
    records = AnnotatedMasks.records(data, [str(tmp_path)], stop)
    assert [record.values["text"] for record in records] == [text for text, _ in ANNOTATED]
    with pytest.raises(DataError) as caught:  # asked for by its own name
        list(AnnotatedMasks.records(data, [str(tmp_path / "notes.md")], stop))
    assert str(tmp_path / "notes.md") in caught.value.wanted


@pytest.mark.parametrize(
    ("row", "got"),
    [
        ({"text": "She [MASK]", "answers": ["likes", "the"]}, ["1 masks and 2 answers", "'She [MASK]'"]),
        ({"text": "[MASK]", "answers": []}, ["1 masks and 0 answers"]),
        ({"text": "She likes", "answers": []}, ["0 masks and 0 answers"]),
        ({"text": "She [MASK]", "answers": [3]}, ["'She [MASK]' and [3]"]),
        ({"text": "She [MASK].", "answers": [""]}, ["'She [MASK].'"]),
        ({"text": "She [MASK].", "answers": [" "]}, ["'She [MASK].'"]),
        ({"text": "She [MASK]"}, ["text"]),
    ],
)
def test_rows_that_do_not_fit_are_named(row: dict[str, object], got: list[str], tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [{"text": "She [MASK] it", "answers": ["likes"]}, row])
    task, data = task_of(train_tokenizer("words", SLIDES, vocabulary=60)), AnnotatedMasksData()
    with pytest.raises(DataError) as caught:
        list(task.examples(AnnotatedMasks.records(data, [str(path)], stop), stop))
    assert f"{path}, line 2" in caught.value.wanted
    assert all(each in caught.value.got for each in got)
    assert isinstance(caught.value, MissingColumnError) == ("answers" not in row)
    bad = Skipped()
    kept = list(task.examples(AnnotatedMasks.records(data, [str(path)], bad), bad))
    assert [example.where for example in kept] == [f"{path}, line 1"]
    assert bad.count == 1


def test_an_answer_that_is_no_token_is_refused_with_its_row() -> None:
    """Nothing would be asked there: the loss would be zero."""
    task = task_of(train_tokenizer("wordpiece", SLIDES, vocabulary=60))
    with pytest.raises(DataError) as caught:
        row_of(task, "She [MASK] [MASK]", ["likes", "\u200d"], "x.jsonl, line 2")
    assert "x.jsonl, line 2" in caught.value.wanted
    assert caught.value.got == repr("\u200d")


def test_a_text_that_is_too_long_is_refused_with_its_row() -> None:
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=60)
    longest = len(tokenizer.encode(SLIDES[0]))
    task = task_of(tokenizer, length=longest)
    assert [len(row_of(task, *example).ids) for example in ANNOTATED] == [longest] * 3
    with pytest.raises(DataError) as caught:
        row_of(task, "She likes the summer [MASK] better", ["often"], "x.jsonl, line 4")
    assert "x.jsonl, line 4" in caught.value.wanted
    assert str(longest) in caught.value.wanted
    assert caught.value.got.split()[0] == str(longest + 1)
    assert "data.length" in caught.value.do


def test_rows_that_are_skipped_are_reported_and_the_rest_is_learned(tmp_path: Path) -> None:
    good = [{"text": text, "answers": answers} for text, answers in ANNOTATED]
    path = write_rows(tmp_path / "x.jsonl", [good[0], {"text": "She", "answers": []}, *good[1:]])
    tokenizer, notes = train_tokenizer("words", SLIDES, vocabulary=60), list[str]()
    data = AnnotatedMasksData(files=(str(path),), on_bad_row="skip", length=8)
    task, sources = AnnotatedMasks.prepared(
        AnnotatedMasksSection(), preparation(data, tokenizer, tmp_path / "cache", notes)
    )
    source = sources["train"]
    assert isinstance(source, RecordSource)
    assert [example.where for example in source.examples] == [f"{path}, line {number}" for number in (1, 3, 4)]
    assert sum(f"{path}, line 2" in note for note in notes) == 1
    # The text's tokens as they are with their answers: what is always the most frequent is measured by them.
    counts = np.bincount([id_ for text in SLIDES for id_ in tokenizer.encode(text, special=False).ids])
    assert task.unigram.counts[: len(counts)].tolist() == counts.tolist()


def test_a_tokenizer_learns_from_the_training_split_with_the_answers_in_place(tmp_path: Path) -> None:
    rows = [{"text": f"word{number} [MASK]", "answers": [f"answer{number}"]} for number in range(60)]
    path = write_rows(tmp_path / "x.jsonl", [*rows, {"text": "none", "answers": []}])
    data, shares = AnnotatedMasksData(files=(str(path),), on_bad_row="skip"), {"validation": 0.3, "test": 0.2}
    wanted: dict[Split, list[str]] = {"train": [], "validation": [], "test": []}
    for number, row in enumerate(rows):
        wanted[split(str(row["text"]), seed=0, shares=shares)].append(f"word{number} answer{number}")
    assert all(wanted.values())
    assert list(AnnotatedMasks.training_texts(data, shares)) == wanted["train"]


def test_the_scores_are_those_of_the_masked_tokens() -> None:
    """The loss and the accuracy of a whole forward pass, one text at a time."""
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=60)
    task = task_of(tokenizer)
    config = bert(vocabulary=tokenizer.vocabulary_size, layers=1, width=8, heads=2, feed_forward=8, max_length=16)
    model = build(config).eval()
    examples = [task.example({"text": text, "answers": answers}, "") for text, answers in ANNOTATED]
    scores = task.evaluate(model, RecordSource(task, examples, length=16))
    losses, right = [], []
    for example in examples:
        batch = collate(task.rows(example), pad_id=0, axes=task.axes)
        logits = model(batch.inputs).logits[0].detach().double()
        for place, label in zip(task.rows(example)[0].scored_at, batch.labels["masked_words"].tolist(), strict=True):
            chances = logits[place].softmax(dim=-1)
            losses.append(-float(chances[label].log()))
            right.append(int(chances.argmax()) == label)
    assert scores.count == len(losses) == 4
    assert scores.of[THIS_MODEL]["loss"] == pytest.approx(sum(losses) / 4, abs=1e-5)
    assert scores.of[THIS_MODEL]["accuracy"] == sum(right) / 4
    assert scores.of["unigram"]["loss"] == pytest.approx(
        float(np.log((2 * tokenizer.vocabulary_size + 1) / 2)), abs=1e-9
    )


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_is_between_0_and_1(share: float) -> None:
    tables = {"task": {"name": "annotated-masks"}, "data": {"validation": share}}
    with pytest.raises(ConfigError) as caught:
        read_recipe(tables, where="mine.toml")
    assert "mine.toml" in caught.value.wanted
    assert "data.validation" in caught.value.wanted
