"""SQuAD's nested JSON as rows, the forms of answers, and answers that do not stand where they say."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.rows import read_table
from glassformer.data.readers.squad import NEAR, StatedAnswer, placed, stated_answers
from glassformer.data.readers.table_format import find_format
from tests.refusals import refused

CONTEXT = "The Normans gave their name to Normandy, a region in France."
ASKED: list[dict[str, Any]] = [
    {"id": "x1", "question": "Where?", "answers": [{"text": "France", "answer_start": 53}], "is_impossible": False},
    {"id": "x2", "question": "Who else?", "answers": [], "is_impossible": True},
]


def write(path: Path, questions: object = ASKED, context: object = CONTEXT) -> Path:
    whole = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": context, "qas": questions}] * 2}]}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def test_each_question_is_a_row_and_those_of_a_passage_share_it(tmp_path: Path) -> None:
    path = write(tmp_path / "some.json")
    rows = list(read_table(path))
    assert [row.values["id"] for row in rows] == ["x1", "x2", "x1", "x2"]
    assert [row.where for row in rows[:2]] == [
        f"{path}, data[0].paragraphs[0].qas[0] (id x1)",
        f"{path}, data[0].paragraphs[0].qas[1] (id x2)",
    ]
    assert rows[0].values["context"] is rows[1].values["context"]
    assert rows[1].values["answers"] == []
    zipped = tmp_path / "some.json.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert [row.values for row in read_table(zipped)] == [row.values for row in rows]
    assert next(read_table(path, ["question"])).values == {"question": "Where?"}
    assert find_format(path).columns == ("id", "question", "context", "answers")


def test_a_question_without_answers_can_be_asked_but_not_learned(tmp_path: Path) -> None:
    path = write(tmp_path / "test.json", [{"id": 7, "question": "Where?"}])
    assert len(list(read_table(path, ["question", "context"]))) == 2
    with refused(MissingColumnError, wanted=(f"{path}, data[0].paragraphs[0].qas[0] (id 7)", "'answers'")):
        list(read_table(path, ["question", "context", "answers"]))


@pytest.mark.parametrize(
    ("text", "wanted", "got"),
    [
        ('{"data": [\n{"paragraphs": [}]}', "line 2", "column 17"),
        ('{"data": [', "line 1", "column 11"),
        ('{"data": {}}', "SQuAD", "data"),
        ('[{"question": "Who?"}]', "SQuAD", "data"),
        ('{"data": [{"paragraphs": [7]}]}', "data[0].paragraphs[0]", "7"),
        ('{"data": [7]}', "data[0]", "7"),
        ('{"data": [{"title": "a"}]}', "data[0]", "None"),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": null}]}]}', "data[0].paragraphs[0]", "None"),
        ('{"data": [], "data": []}', "SQuAD", "data"),
        ("[" * 100_000, "JSON", "deep"),
    ],
)
def test_damage_is_named_with_its_place(tmp_path: Path, text: str, wanted: str, got: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with refused(DataError, wanted=(str(path), wanted), got=got):
        list(read_table(path))


@pytest.mark.parametrize(
    ("question", "got"),
    [
        ("no object", "'no object'"),
        ({**ASKED[0], "is_impossible": True}, "both"),
        ({**ASKED[0], "question": "half \ud83d"}, "'\\ud83d'"),
    ],
)
def test_a_bad_question_is_set_aside_and_the_others_are_read(tmp_path: Path, question: object, got: str) -> None:
    path = write(tmp_path / "some.json", [question, ASKED[1]])
    bad: list[DataError] = []
    assert len(list(read_table(path, bad=bad.append))) == 2
    assert [error.where.partition(" (id")[0] for error in bad] == [
        f"{path}, data[0].paragraphs[{number}].qas[0]" for number in (0, 1)
    ]
    assert got in bad[0].got


def test_of_a_damaged_file_only_what_is_damaged_is_set_aside(tmp_path: Path) -> None:
    """An article, a paragraph, a question with one key twice: each with its place, and as it stands in the file."""
    path = tmp_path / "some.json"
    paragraphs: list[Any] = [{"context": CONTEXT, "qas": None}, "none", {"context": CONTEXT, "qas": ASKED}]
    whole = json.dumps({"data": [{"paragraphs": paragraphs}, {"title": "empty"}]})
    path.write_text(whole.replace('"id": "x2"', '"id": "x2", "id": "x3"'), encoding="utf-8")
    bad: list[DataError] = []
    assert [row.values["id"] for row in read_table(path, bad=bad.append)] == ["x1"]
    assert [(error.where, error.row) for error in bad[:2]] == [
        (f"{path}, data[0].paragraphs[0]", paragraphs[0]),
        (f"{path}, data[0].paragraphs[1]", "none"),
    ]
    assert (bad[2].where, "'id'" in bad[2].got) == (f"{path}, data[0].paragraphs[2].qas[1]", True)
    assert (bad[3].where, bad[3].row) == (f"{path}, data[1]", {"title": "empty"})


FRANCE = (StatedAnswer("France", 53),)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([{"text": "France", "start": 53}], FRANCE),
        ([{"text": "France", "answer_start": 53}], FRANCE),
        ({"text": ["France"], "answer_start": [53]}, FRANCE),
        ({"text": "France", "start": 53}, FRANCE),
        ('[{"text": "France", "start": 53}]', FRANCE),
        (["France", "Gaul"], (StatedAnswer("France", None), StatedAnswer("Gaul", None))),
        ("France", (StatedAnswer("France", None),)),
        ("[France", (StatedAnswer("[France", None),)),
        ([], ()),
        ("[]", ()),
    ],
)
def test_the_forms_of_answers(value: object, found: tuple[StatedAnswer, ...]) -> None:
    assert stated_answers(value, "here") == found


@pytest.mark.parametrize(
    "value",
    [
        1066,
        None,
        [1066],
        [{"text": 1066, "start": 3}],
        [{"text": "", "start": 3}],
        [{"text": "a", "start": "3"}],
        [True],
    ],
)
def test_what_is_no_answer_is_refused_with_its_place(value: object) -> None:
    with refused(DataError, wanted="rows.jsonl, line 4"):
        stated_answers(value, "rows.jsonl, line 4")


@pytest.mark.parametrize(
    ("context", "text", "said", "start"),
    [
        (CONTEXT, "France", 53, 53),
        (CONTEXT, "France", 54, 53),
        (CONTEXT, "France", 0, 53),  # far away, but there only once
        (CONTEXT, "France", -1, 53),
        (CONTEXT, "France", None, 53),
        (CONTEXT, "Gaul", 53, None),
        (CONTEXT, "Norman", 29, 31),  # next to where it says, though there twice
        (CONTEXT, "Norman", None, None),
        ("aaaxxxxaaa", "aaa", 3, 0),  # of two places nearby the nearer, before it and after it
        ("aaaxxxxaaa", "aaa", 4, 7),
        ("a" * 3 + "x" * 100 + "a" * 3, "aaa", NEAR, 0),
        ("a" * 3 + "x" * 100 + "a" * 3, "aaa", NEAR + 1, None),
        ("a" * 3 + "x" * 100 + "a" * 3, "aaa", 50, None),
    ],
)
def test_where_an_answer_stands(context: str, text: str, said: int | None, start: int | None) -> None:
    assert placed(context, StatedAnswer(text, said)) == start
