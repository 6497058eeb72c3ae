"""Dialogues from files of every kind: which turns, which of them are replies, and what is refused where."""

import json
from pathlib import Path

import pytest

from glassformer.base.errors import DataError
from glassformer.data.readers.read import Dialogue, read_dialogues
from tests.refusals import refused


def read(path: Path, text: str, column: str = "turns") -> list[Dialogue]:
    path.write_text(text, encoding="utf-8")
    return list(read_dialogues(path, column=column))


def test_a_turn_a_line_and_a_blank_line_between_dialogues(tmp_path: Path) -> None:
    found = read(tmp_path / "a.txt", "Hi\nHello  you\n\n\nWho?\n  Me.\nAh.\n")
    assert [each.turns for each in found] == [("Hi", "Hello you"), ("Who?", "Me.", "Ah.")]
    assert [each.replies for each in found] == [(False, True), (False, True, True)]
    assert found[1].where.endswith("a.txt, line 5")


def test_lists_of_turns_and_messages_with_roles(tmp_path: Path) -> None:
    rows = [
        {"turns": ["Hi", "Hello\nyou", "Bye"]},
        {
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "Bye"},
            ]
        },
        {"turns": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
    ]
    found = read(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [each.turns for each in found] == [
        ("Hi", "Hello you", "Bye"),
        ("Be kind.", "Hi", "Hello", "Bye"),
        ("Hi", "Hello"),
    ]
    assert [each.replies for each in found] == [(False, True, True), (False, False, True, False), (False, True)]
    assert read(tmp_path / "b.jsonl", json.dumps({"talk": ["a", "b"]}), column="talk")[0].turns == ("a", "b")


def test_a_table_has_a_prompt_and_its_reply(tmp_path: Path) -> None:
    assert [each.turns for each in read(tmp_path / "a.tsv", "Hi how are you\tI am fine\nWho\tMe\n")] == [
        ("Hi how are you", "I am fine"),
        ("Who", "Me"),
    ]
    found = read(tmp_path / "a.csv", "prompt,reply\nHi,Hello\n")
    assert [each.turns for each in found] == [("Hi", "Hello")]


@pytest.mark.parametrize(
    ("row", "got"),
    [
        ({"turns": ["alone"]}, "1"),
        ({"turns": ["a", " "]}, "' '"),
        ({"turns": "a text"}, "a text"),
        ({"turns": ["a", 3]}, "3"),
        ({"turns": [{"role": "pilot", "content": "a"}, {"role": "user", "content": "b"}]}, "pilot"),
        ({"turns": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}, "none of the assistant"),
        ({"other": ["a", "b"]}, "other"),
    ],
)
def test_what_is_no_dialogue_is_named_with_its_line(tmp_path: Path, row: object, got: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"turns": ["a", "b"]}) + "\n" + json.dumps(row) + "\n", encoding="utf-8")
    with refused(DataError, wanted=f"{path}, line 2", got=got):
        list(read_dialogues(path, column="turns"))
    left: list[DataError] = []
    assert len(list(read_dialogues(path, column="turns", bad=left.append))) == 1
    assert len(left) == 1
