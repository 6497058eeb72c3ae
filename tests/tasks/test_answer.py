"""Questions about passages: windows, labels, the best spans, the threshold, repairs and splits."""

import json
import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.recipe import resolve
from glassformer.scoring.exact_match import exact_and_f1
from glassformer.tasks.labels.answer import answers as passages
from glassformer.tasks.labels.answer.answers import BEST, Passage, best_spans, encode, merged
from glassformer.tasks.labels.answer.settings import AnswerSection
from glassformer.tasks.labels.answer.task import AnswerQuestions, Question
from glassformer.text import words as words_of_text
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from glassformer.training.progress import NoProgress
from tests.refusals import refused

WORDS = [f"w{number}" for number in range(60)]


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return train_tokenizer("wordpiece", [" ".join(WORDS), "größer 😀 naïve"], vocabulary=160)


def asked(task: AnswerQuestions, context: str, *answers: tuple[str, int], question: str = "w1 w2 w3") -> Question:
    stated = [{"text": text, "start": start} for text, start in answers]
    return task.example({"text": question, "pair": context, "answers": stated}, "here")


def task_of(words: Tokenizer, length: int | None = 24, **section: Any) -> AnswerQuestions:
    return AnswerQuestions(AnswerSection(**section), words, length=length, segments=True)


# --------------------------------------------------------------------------- rows


def test_windows_have_the_whole_question_and_learn_the_answer_where_they_have_all_of_it(words: Tokenizer) -> None:
    task = task_of(words, overlap=6)
    context = " ".join(WORDS[number * 7 % 60] for number in range(80))
    text = " ".join(context.split()[33:36])
    example = asked(task, context, (text, context.index(text)))
    rows, ids = list(task.rows(example)), words.ids(context)
    before, between, after = words.pair_frame_ids
    ahead = [*before, *words.ids("w1 w2 w3"), *between]
    right = words.ids(text)
    with_answer, starting = 0, 0
    for row in rows:
        tokens = list(row.ids)
        assert len(tokens) <= 24
        assert tokens[: len(ahead)] == ahead
        assert tokens[-len(after) :] == list(after)
        assert list(row.segments or ()) == [0] * len(ahead) + [1] * (len(tokens) - len(ahead))
        passage = tokens[len(ahead) : -len(after)]
        there = any(passage[place : place + len(right)] == right for place in range(len(passage)))
        start, end = row.labels["start"], row.labels["end"]
        assert (tokens[start : end + 1] == right) if there else (start, end) == (0, 0)
        with_answer += there
        starting += len(row.scored_at)
    assert with_answer >= 1
    assert starting == len(ids)  # each token of the passage may start an answer in one window
    assert math.fsum(row.weight for row in rows) == pytest.approx(1)
    step = 24 - len(ahead) - len(after) - 6
    assert len(rows) == 1 + math.ceil((len(ids) - step - 6) / step)


def test_an_answer_at_either_edge_of_a_window_is_learned_there(words: Tokenizer) -> None:
    """Each token of a long passage as an answer, and each two: a window learns it if and only if it has it all."""
    task = task_of(words, overlap=6)
    context = " ".join(WORDS)
    ids = words.ids(context)
    ahead = len(words.pair_frame_ids[0]) + len(words.ids("w1 w2 w3")) + len(words.pair_frame_ids[1])
    after = len(words.pair_frame_ids[2])
    at_the_end = 0
    for count in (1, 2):
        for number in range(len(WORDS) - count + 1):
            text = " ".join(WORDS[number : number + count])
            right = words.ids(text)
            example = asked(task, context, (text, f"{context} ".index(f"{text} ")))
            assert example.span is not None
            assert ids[example.span[0] : example.span[1] + 1] == right
            for row in task.rows(example):
                passage = list(row.ids)[ahead : len(row.ids) - after]
                places = [at for at in range(len(passage)) if passage[at : at + len(right)] == right]
                assert len(places) <= 1
                start = ahead + places[0] if places else 0
                end = start + len(right) - 1 if places else 0
                assert row.labels == {"start": start, "end": end}
                at_the_end += places == [len(passage) - len(right)]
    assert at_the_end >= 8


def test_a_question_without_an_answer_learns_the_first_token(words: Tokenizer) -> None:
    task = task_of(words)
    (row,) = task.rows(asked(task, "w4 w5 w6"))
    assert row.labels == {"start": 0, "end": 0}
    (row,) = task.rows(task.example({"text": "w1", "pair": "w4"}, ""))
    assert row.labels == {}


def test_the_most_frequent_answer_is_learned_and_all_count_as_right(words: Tokenizer) -> None:
    task = task_of(words)
    context = "w4 w5 w6 w7"
    example = asked(task, context, ("w4", 0), ("w6 w7", 6), ("w6 w7", 6))
    assert example.answers == ("w4", "w6 w7", "w6 w7")
    assert example.span is not None
    first, last = example.passage.characters_of(*example.span)
    assert context[first:last] == "w6 w7"


def test_a_long_question_is_cut_to_its_limit_or_to_half_of_a_short_row(words: Tokenizer) -> None:
    long = " ".join(WORDS * 2)
    tokens = len(words.ids(long))
    example = asked(task_of(words, length=384), "w4", question=long)
    assert (len(example.ids), example.cut) == (64, tokens - 64)
    task = task_of(words, length=23)
    example = asked(task, long, question=long)
    assert len(example.ids) == 10
    assert max(len(row.ids) for row in task.rows(example)) == 23
    with refused(ConfigError, got="4"):
        asked(task_of(words, length=4), "w4")


@pytest.mark.parametrize(
    ("record", "got"),
    [
        ({"text": "", "pair": "w1"}, "''"),
        ({"text": None, "pair": "w1"}, "None"),
        ({"text": "w1", "pair": " "}, "' '"),
        ({"text": "w1", "pair": "\u200b"}, "'\\u200b'"),
        ({"text": "w1"}, "a question without a passage"),
        ({"text": "w1", "pair": "w1 w2", "answers": 1066}, "1066"),
        (
            {"text": "w1", "pair": "w1 w2", "answers": [{"text": "w9", "start": 3}]},
            "'w9', stated to start at character 3",
        ),
        (
            {"text": "w1", "pair": "w1 w2 w1", "answers": [{"text": "w1"}]},
            "'w1', without its position; it occurs 2 times",
        ),
    ],
)
def test_a_bad_record_is_refused_with_its_place(words: Tokenizer, record: dict[str, object], got: str) -> None:
    with pytest.raises(DataError) as raised:
        task_of(words).example(record, "rows.jsonl, line 4")
    assert raised.value.wanted.startswith("rows.jsonl, line 4")
    assert raised.value.got == got


def test_a_passage_is_encoded_once_and_forgotten(words: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []

    def counted(tokenizer: Tokenizer, text: str) -> Passage:
        encoded.append(text)
        return encode(tokenizer, text)

    monkeypatch.setattr(passages, "encode", counted)
    task = task_of(words)
    examples = [asked(task, "".join(["w4", " w5"]), question=f"w{number}") for number in range(5)]
    assert encoded == ["w4 w5"]
    assert all(example.passage is examples[0].passage for example in examples)
    del examples
    asked(task, "w4 w5")
    assert len(encoded) == 2


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_in_parts_a_passage_has_the_tokens_and_characters_of_the_whole(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Größer als zwei  😀😀 naïve,\n\n dann nichts.\t" * 40
    tokenizer = train_tokenizer(kind, [text], vocabulary=300)
    whole = encode(tokenizer, text)
    monkeypatch.setattr(words_of_text, "PART", 50)
    parted = encode(tokenizer, text)
    assert parted.ids == whole.ids
    each = range(len(whole))
    assert [parted.characters_of(token, token) for token in each] == [
        whole.characters_of(token, token) for token in each
    ]
    for token in range(0, len(whole), 7):
        start, end = whole.characters_of(token, min(token + 3, len(whole) - 1))
        found = whole.tokens_of(start, end)
        assert start == end or (found is not None and text[slice(*whole.characters_of(*found))] == text[start:end])


# --------------------------------------------------------------------------- spans


def test_the_best_spans_are_those_of_trying_all() -> None:
    """Two windows of one passage, against every legal span of both."""
    torch.manual_seed(0)
    logits = torch.randn(2, 14, 2, dtype=torch.float64)
    starts = [range(3, 8), range(4, 9)]  # where a span may start; 3 and 4 tokens ahead
    ends_at = torch.tensor([9, 11])
    may_start = torch.zeros(2, 14, dtype=torch.bool)
    for row, places in enumerate(starts):
        may_start[row, list(places)] = True
    found = best_spans(logits, may_start, ends_at, longest=4, count=5)
    text = " ".join("abcdefghijklmnopqrst")
    characters = np.arange(40, dtype=np.int32)
    passage = Passage(text, array("i", range(20)), characters[::2], characters[1::2])
    shifts = [-3, 5 - 4]
    spans, none = merged(list(found), shifts, passage, count=7, no_answer=True)
    every = []
    for row, places in enumerate(starts):
        for first in places:
            for last in range(first, min(first + 4, int(ends_at[row]))):
                score = float(logits[row, first, 0] + logits[row, last, 1] - logits[row, 0].sum())
                every.append((score, first + shifts[row], last + shifts[row]))
    every.sort(reverse=True)
    total = sum(math.exp(each[0]) for each in every[:BEST]) + 1
    assert len(spans) == 7
    assert none == pytest.approx(1 / total)
    for span, (score, first, last) in zip(spans, every, strict=False):
        assert (span.start, span.end) == (2 * first, 2 * last + 1)
        assert span.text == text[span.start : span.end]
        assert span.score == pytest.approx(score, abs=1e-12)
        assert span.probability == pytest.approx(math.exp(score) / total)
    certain, _ = merged(list(found), shifts, passage, count=3, no_answer=False)
    assert certain[0].probability == pytest.approx(spans[0].probability * total / (total - 1))


# --------------------------------------------------------------------------- training


def rows_for(folder: Path, count: int = 60, **change: Any) -> Path:
    """Questions whose answer is the word after the one that is asked for; every third has none."""
    rows = []
    for number in range(count):
        about = WORDS[(number // 3 * 7) % 59 :][:5]
        passage = f"{' '.join(about)} end {number // 3}"
        place = number % len(about[:-1])
        answers = [] if number % 3 == 2 else [{"text": about[place + 1], "start": passage.index(about[place + 1])}]
        rows.append({"question": f"after {about[place]} {number}", "context": passage, "answers": answers})
    path = folder / "questions.jsonl"
    rows[4] = {**rows[4], **change}
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def recipe(path: Path) -> dict[str, Any]:
    settings = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "max_length": 32}
    return {
        "task": {"name": "answer"},
        "data": {"files": [str(path)], "validation": 0.3, "length": 32},
        "tokenizer": {"vocabulary": 150},
        "model": {"family": "bert", "size": "tiny", "settings": settings},
        "train": {"epochs": 1, "batch": 8, "compile": "off", "precision": "float32", "threads": 1, "device": "cpu"},
    }


def examples_of(prepared: Prepared) -> list[list[Question]]:
    """The questions to learn from, and those held out."""
    sources: list[Any] = [feed.source for feed in (prepared.feed, prepared.held_out) if feed is not None]
    return [source.examples for source in sources]


class Notes(NoProgress):
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_the_questions_about_a_passage_are_in_one_split(tmp_path: Path) -> None:
    prepared = prepare_run(resolve(recipe(rows_for(tmp_path))), tmp_path / "run", NoProgress())
    learned, held_out = examples_of(prepared)
    assert {each.passage.text for each in learned}.isdisjoint(each.passage.text for each in held_out)
    assert min(len(learned), len(held_out)) > 0
    assert len(learned) + len(held_out) == 60
    assert isinstance(prepared.task, AnswerQuestions)
    assert prepared.task.section.no_answer is True


def test_a_repaired_answer_is_reported_with_its_place(tmp_path: Path) -> None:
    passage = "w7 w8 w9 w10 w11 end 1"
    path = rows_for(tmp_path, context=passage, answers=[{"text": "w9", "start": 7}, {"text": "gone", "start": 0}])
    notes = Notes()
    prepared = prepare_run(resolve(recipe(path)), tmp_path / "run", notes)
    (note,) = [each for each in notes.notes if f"{path}, line 5" in each]
    assert note.startswith("1 ")
    (mended,) = [each for examples in examples_of(prepared) for each in examples if each.answers == ("w9", "gone")]
    assert mended.span is not None
    assert passage[slice(*mended.passage.characters_of(*mended.span))] == "w9"


def test_the_threshold_is_chosen_on_validation_and_saved(tmp_path: Path) -> None:
    model = gf.train(recipe(rows_for(tmp_path)), out=tmp_path / "run", progress=NoProgress())
    prepared = prepare_run(resolve(recipe(rows_for(tmp_path))), tmp_path / "again", NoProgress())
    assert prepared.held_out is not None
    assert isinstance(prepared.task, AnswerQuestions)
    source, task = prepared.held_out.source, prepared.task
    _, examples = examples_of(prepared)
    fitted = task.fitted(model.module, source, print)
    unfitted = task.evaluate(model.module, source)["f1"]
    best = fitted.evaluate(model.module, source)["f1"]
    assert best >= unfitted
    assert isinstance(fitted.section, AnswerSection)
    assert task.section.threshold == 0.0  # unchanged
    answers = model.answer([each.question for each in examples], [each.passage.text for each in examples], top=1)
    for threshold in [span.score - 1e-6 for answer in answers for span in answer.spans]:
        texts = ["" if answer.spans[0].score <= threshold else answer.spans[0].text for answer in answers]
        tried = [exact_and_f1(text, each.answers or ())[1] for text, each in zip(texts, examples, strict=True)]
        assert sum(tried) / len(tried) <= best + 1e-9
    again = AnswerSection.model_validate(json.loads(fitted.section.model_dump_json()))
    assert again.threshold == fitted.section.threshold
    model.task = again
    loaded = gf.load(model.save(tmp_path / "saved"))
    assert loaded.task == again
    found = loaded.answer("after w7", "w7 w8 w9 end 3")
    assert found.threshold == again.threshold
    assert (found.best is None) == (found.spans[0].score <= again.threshold)
    for answer in [*answers, found]:
        chance = answer.no_answer_probability if answer.best is None else answer.best.probability
        assert answer.to_dict()["probability"] == chance


def test_where_all_questions_have_an_answer_there_is_always_one(tmp_path: Path) -> None:
    path = rows_for(tmp_path)
    rows = [row for row in map(json.loads, path.read_text().splitlines()) if row["answers"]]
    path.write_text("\n".join(map(json.dumps, rows)))
    model = gf.train(recipe(path), out=tmp_path / "run", progress=NoProgress())
    assert isinstance(model.task, AnswerSection)
    assert model.task.no_answer is False
    context = "größer  w8\n [w9] 😀 w10 " * 9
    for found in model.answer(["after w7", "w8 w9"], [context, context], top=30):
        assert found.best is not None
        assert found.no_answer_probability is None
        assert len(found.spans) == 30
        assert sum(span.probability for span in found.spans) == pytest.approx(1)
        assert all(span.text == context[span.start : span.end] for span in found.spans)
        assert "threshold" not in found.to_dict()
    assert model.evaluate()["f1"] >= 0
    assert set(model.metrics["scores"]) >= {"f1", "exact_match", "sliding_window_f1"}
