"""Pairs from tables and from two files; files that part are refused, and the error says where."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from glassformer.base.errors import DataError
from glassformer.data.readers.lines import Skipped
from glassformer.data.readers.parallel import USUAL, pair_columns, parting_line, read_parallel
from tests.refusals import refused

ENGLISH = ["Go.", "", "I am a student.", "Yes"]
FRENCH = ["Va !", "Rien.", "Je suis étudiant.", ""]
PAIRS = [{"source": one, "target": other} for one, other in zip(ENGLISH, FRENCH, strict=True)]


def written(path: Path, text: str | bytes) -> Path:
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def captions(count: int) -> list[str]:
    """Lines of so different lengths that they tell which belong together."""
    return ["x" * int(each) for each in np.random.default_rng(0).integers(20, 120, count)]


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
def test_the_same_lines_of_two_files_are_pairs(tmp_path: Path, suffix: str, end: str) -> None:
    one = written(tmp_path / f"a.{suffix}", "\n".join(ENGLISH) + end)
    other = written(tmp_path / f"b.{suffix}", "\n".join([*FRENCH[:3], FRENCH[3] + "\n"]))
    rows = list(read_parallel(one, other))
    assert [row.values for row in rows] == PAIRS
    assert [row.where for row in rows] == [f"{one}, line {number}" for number in (1, 2, 3, 4)]


def test_a_line_that_cannot_be_used_takes_its_pair_along(tmp_path: Path) -> None:
    one = written(tmp_path / "a.txt", b"one\n\xff\nthree\nfour\nfive\n")
    other = written(tmp_path / "b.txt", b"un\ndeux\ntrois\n\xff\n\xff\n")
    skipped = Skipped()
    found = [tuple(row.values.values()) for row in read_parallel(one, other, bad=skipped)]
    assert found == [("one", "un"), ("three", "trois")]
    assert skipped.count == 3
    with refused(DataError, wanted=f"{one}, line 2"):
        list(read_parallel(one, other))


@pytest.mark.parametrize(("missing", "count"), [(0, 1), (37, 1), (150, 4), (199, 1)])
@pytest.mark.parametrize("swapped", [False, True])
def test_files_that_part_are_refused_with_the_line(tmp_path: Path, missing: int, count: int, swapped: bool) -> None:
    lines = captions(200)
    whole = written(tmp_path / "whole.txt", "\n".join(lines) + "\n")
    cut = written(tmp_path / "cut.txt.gz", "\n".join(lines[:missing] + lines[missing + count :]) + "\n")
    one, other = (cut, whole) if swapped else (whole, cut)
    with refused(DataError, wanted=(str(one), str(other)), got=("200", str(200 - count)), do=str(whole)) as caught:
        list(read_parallel(one, other))
    at = parting_line(
        *(np.array([len(line) for line in some]) for some in (lines, lines[:missing] + lines[missing + count :]))
    )
    assert at is not None
    assert abs(at - missing) <= 1  # lines of one length may be next to each other
    assert f"about line {at + 1}," in caught.value.do


def test_lengths_that_tell_nothing_are_said_to(tmp_path: Path) -> None:
    alike = written(tmp_path / "alike.txt", "abc\n" * 50)
    other = written(tmp_path / "other.txt", "abc\n" * 48)
    with refused(DataError, got=("50", "48"), do=(str(other), "2 lines")):
        next(read_parallel(alike, other))


def test_lines_that_lack_in_many_places_are_not_reported_as_one() -> None:
    lengths = np.random.default_rng(0).integers(20, 120, 400)
    assert parting_line(lengths, np.delete(lengths, 200)) is not None
    assert parting_line(lengths, np.delete(lengths, range(20, 400, 40))) is None
    assert parting_line(lengths[:10], lengths[1:10]) is None
    assert parting_line(lengths, lengths) is None


@pytest.mark.parametrize("broken", [b"", b"\xff\xfea\0", b"a\0b"])
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, broken: bytes) -> None:
    one, other = written(tmp_path / "a.txt", broken), written(tmp_path / "b.txt", broken)
    with refused(DataError, wanted=str(one)):
        list(read_parallel(one, other))
    damaged = tmp_path / "c.txt.gz"
    damaged.write_bytes(gzip.compress(b"one\n" * 99)[:20])
    with refused(DataError, wanted=str(damaged)):
        list(read_parallel(damaged, damaged))
    with refused(DataError, wanted=str(tmp_path / "none.txt")):
        list(read_parallel(tmp_path / "none.txt", one))


@pytest.mark.parametrize(
    ("rows", "pair", "alone"),
    [
        ([("1", "Two dogs", "Deux chiens"), ("2", "A man", "Un homme")], ("1", "2"), "1"),
        ([("nr", "quelle", "ziel"), ("1", "Two dogs", "Deux chiens"), ("2", "A man", "Un homme")], ("1", "2"), "1"),
        ([("Two dogs", "0.5", "Deux chiens"), ("A man", "1e-3", "Un homme")], ("0", "2"), "0"),
        ([("1", "eins"), ("2", "zwei")], ("0", "1"), "1"),
        ([("1", "10"), ("2", "20")], ("0", "1"), "0"),
        ([("source", "target", "more"), ("1", "10", "a")], ("source", "target"), "source"),
    ],
)
def test_columns_of_numbers_are_neither_source_nor_target(
    tmp_path: Path, rows: list[tuple[str, ...]], pair: tuple[str, str], alone: str
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    assert tuple(pair_columns(USUAL, path).values()) == pair
    assert pair_columns({"text": "source"}, path) == {"text": alone}
    assert pair_columns({"text": "0", "target": "2"}, path) == {"text": "0", "target": "2"}


@pytest.mark.parametrize(
    ("columns", "read"),
    [
        (("id", "text"), {"text": "text"}),
        (("source", "text"), {"text": "source"}),
        (("id", "other"), {"text": "source"}),  # refused where it is read
    ],
)
def test_json_lines_without_source_are_read_by_their_text(
    columns: tuple[str, ...], read: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(dict.fromkeys(columns, "a")) + "\n")
    assert pair_columns({"text": "source"}, path) == read
