"""Rows that cannot be used are set aside as they stand in their file, in the order of the files."""

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import DataError
from glassformer.data.readers.rejects import rejecting
from glassformer.data.readers.rows import read_table


def found(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "text", "own"),
    [
        ("a.jsonl", '{"id": 3, "said": "She", "more": [1, "x"]}\n', {"id": 3, "said": "She", "more": [1, "x"]}),
        ("a.csv", 'id,said,more\n3,"She, too",x\n', {"id": "3", "said": "She, too", "more": "x"}),
        ("a.csv", "id,said,note,note\n3,She,x,y\n", ["3", "She", "x", "y"]),
        ("a.tsv", "3\tShe\tx\n4\tHe\ty\n", ["3", "She", "x"]),
    ],
)
def test_a_row_has_its_own_columns_also_those_that_nobody_asked_for(
    tmp_path: Path, name: str, text: str, own: object
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    row = next(read_table(path, ["1" if name == "a.tsv" else "said"]))
    assert len(row.values) == 1
    assert row.own == own


def test_a_sentence_with_a_damaged_line_is_set_aside_whole(tmp_path: Path) -> None:
    path, bad = tmp_path / "a.conll", list[DataError]()
    path.write_bytes(b"EU\tO\n\nIn\tO\nBonn\nnow\tO\n\nno \xff\tO\nend\tO\n\n.\tO\n")
    rows = list(read_table(path, bad=bad.append))
    assert [(row.values["text"], row.own) for row in rows] == [("EU", [["EU", "O"]]), (".", [[".", "O"]])]
    assert [(error.where, error.row) for error in bad] == [
        (f"{path}, line 4", [["In", "O"], ["Bonn"], ["now", "O"]]),
        (f"{path}, line 7", [["end", "O"]]),  # the line that is no text has no cells
    ]


def test_rejects_are_in_the_order_of_the_files_and_their_lines(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one.csv", "two, line 7.csv", "three.json"))
    came = [(two, "line 9"), (one, "line 20"), (two, "line 3"), (one, "line 3"), (three, "data[10].paragraphs[0]")]
    came += [(three, "data[2].paragraphs[1].qas[30] (id a, line 8)"), (three, "data[2]"), (two, "row 4")]
    path = tmp_path / "rejects.jsonl"
    with rejecting(path, [one, two, three]) as bad:
        for number, (file, place) in enumerate(came):
            where = f"{file}, {place}"
            bad(DataError(f"{where} must be good", got="half \ud83d").about(where, [number]))
        bad(DataError("a text of the command").about("", "text"))
    records = found(path)
    assert [each["row"] for each in records] == [[3], [1], [2], [7], [0], [6], [5], [4], "text"]
    assert [each["file"] for each in records] == [*map(str, [one] * 2 + [two] * 3 + [three] * 3), None]
    assert [each["line"] for each in records] == [3, 20, 3, 4, 9, None, None, None, None]
    assert [each.get("place") for each in records[5:]] == [
        "data[2]", "data[2].paragraphs[1].qas[30]", "data[10].paragraphs[0]", None
    ]  # fmt: skip
    assert bad.count == 9


def test_what_was_set_aside_until_an_error_is_in_order_too(tmp_path: Path) -> None:
    path = tmp_path / "rejects.jsonl"

    def stopped() -> None:
        with rejecting(path) as bad:
            for line in (5, 2):
                bad(DataError("bad").about(f"rows.csv, line {line}", line))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert [each["line"] for each in found(path)] == [2, 5]
