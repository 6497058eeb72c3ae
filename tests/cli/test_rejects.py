"""What a command says of rows that it cannot use, how it sets them aside, and files that can be read only once."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import DataError
from glassformer.cli.__main__ import main
from glassformer.cli.terminal.readers import Reader, SentenceReader, TableReader, Text, read_lines_as
from glassformer.data.readers.lines import stop

Run = Callable[..., Any]
TINY = ["--steps", "2", "--vocabulary", "120", "--length", "24", "--batch", "4", "--set", "train.compile=off"]
WORDS = ("She likes the summer", "He cooks in the winter", "They hike on a day", "We sleep all week")
ROWS = [(f"{WORDS[n % 4]} {n}", "yes" if n % 2 else "no") for n in range(40)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    path.write_text("".join(f"{text}\t{label}\n" for text, label in ROWS))
    return path


@pytest.fixture(scope="module")
def model(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained with numbered columns."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert (
        main(
            ["train", "classify", str(table), "--text-column", "0", "--label-column", "1", *TINY, "--out", str(folder)]
        )
        == 0
    )
    return folder


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A table whose lines 3, 5 and 8 cannot be used."""
    path = tmp_path / "mixed.csv"
    rows = [f"{n},{text},{label},x" for n, (text, label) in enumerate(ROWS)]
    rows[1], rows[3], rows[6] = "1,She,,x", "3,He,no", "6,  ,yes,x"
    path.write_text("".join(f"{row}\n" for row in ("id,text,label,more", *rows)))
    return path


def test_training_sets_rows_aside_as_they_are_and_a_measurement_leaves_them_out(
    run: Run, mixed: Path, tmp_path: Path
) -> None:
    """A measurement of what was held out, and one of a file, read the training data again: the second for baselines."""
    rejects, again, folder = tmp_path / "rejects.jsonl", tmp_path / "again.jsonl", tmp_path / "run"
    assert run("train", "classify", mixed, "--rejects", rejects, *TINY, "--out", folder).code == 0
    found = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(each["file"], each["line"]) for each in found] == [(str(mixed), line) for line in (3, 5, 8)]
    assert [each["row"] for each in found] == [
        {"id": "1", "text": "She", "label": "", "more": "x"},
        ["3", "He", "no"],
        {"id": "6", "text": "  ", "label": "yes", "more": "x"},
    ]
    before = rejects.read_bytes()
    rejects.unlink()
    for words in ((), (mixed, "--rejects", again)):
        done = run("evaluate", folder, *words, "--json")
        assert (done.code, "tf_idf_accuracy" in json.loads(done.out)) == (0, True)
    assert (rejects.exists(), again.read_bytes() == before) == (False, True)
    assert run("evaluate", folder, mixed).code == 2  # in a file that is named each bad row stops


def test_rejects_never_replace_a_table_of_a_folder(run: Run, mixed: Path, tmp_path: Path) -> None:
    before = mixed.read_bytes()
    done = run("train", "classify", tmp_path, "--rejects", mixed, *TINY, "--out", tmp_path / "run")
    assert (done.code, mixed.read_bytes()) == (2, before)
    assert f"{mixed}, which is read" in done.err


ROW, TEXT_WAY = "--rejects FILE", "data.on_bad_row=skip"


def test_the_advice_for_a_bad_row_names_what_the_command_has(
    run: Run, model: Path, trained: Path, mixed: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text('{"text": "She"}\n' * 9 + "{not json\n")
    unread = tmp_path / "rows.jsonl"
    unread.write_text('{"text": "She likes"}\n{"text": " "}\n')
    out = ("--out", tmp_path / "run")
    columns = ("--text-column", "text", "--label-column", "label")
    cases: list[tuple[tuple[object, ...], str, set[str]]] = [
        (("train", "classify", mixed, *TINY, *out), "mixed.csv, line", {ROW}),
        (("train", "masked-lm", damaged, *TINY, *out), "line 10", {TEXT_WAY}),
        (("evaluate", model, mixed, *columns), "mixed.csv, line", {ROW}),
        (("evaluate", trained, damaged), "line 10", set()),
        (("compare", model, model, mixed, *columns), "mixed.csv, line", set()),
        (("classify", model, "--file", damaged), "line 10", {ROW}),
        (("classify", model, "--file", unread), "line 2", {ROW}),
        (("classify", model, " "), "words", set()),
        (("classify", model, "--file", tmp_path / "none"), "no such file", set()),
    ]
    for words, place, ways in cases:
        done = run(*words)
        assert (done.code, place in done.err) == (2, True), done.err
        assert {way for way in (ROW, TEXT_WAY) if way in done.err} == ways, done.err


def test_lines_of_json_are_measured_by_role_where_the_training_table_had_numbers(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    path, named = tmp_path / "rows.jsonl", tmp_path / "named.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for text, label in ROWS))
    named.write_text(path.read_text().replace('"text"', '"said"'))
    expected = run("evaluate", model, table, "--json").records
    assert run("evaluate", model, path, "--json").records == expected
    assert run("evaluate", model, named, "--text-column", "said", "--json").records == expected
    assert run("evaluate", model, named).code == 2
    assert run("compare", model, model, path, "--json").records[0]["count"] == len(ROWS)


# --------------------------------------------------------------------------- what can be read only once


@contextmanager
def opened(path: Path | None, content: bytes = b"") -> Iterator[str]:
    """The name that a shell gives to a file, or to a pipe with some content."""
    reader = os.open(path, os.O_RDONLY) if path is not None else -1
    if path is None:
        reader, writer = os.pipe()
        os.write(writer, content)
        os.close(writer)
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)


LINES = "".join(json.dumps({"id": n, "text": text}) + "\n" for n, (text, _) in enumerate(ROWS[:3])).encode()
PLAIN = "".join(f"{text}\n" for text, _ in ROWS[:3]).encode()


@pytest.mark.parametrize("content", [LINES, PLAIN, b"\xef\xbb\xbf\n" + LINES])
def test_a_file_without_a_suffix_is_read_by_its_content(run: Run, model: Path, tmp_path: Path, content: bytes) -> None:
    """Also a pipe and standard input, each opened once, whatever its name leads to."""
    path, out = tmp_path / "rows", tmp_path / "out.jsonl"
    path.write_bytes(content)
    expected = run("classify", model, "--file", "-", "--json", stdin=content).records
    assert [each["text"] for each in expected] == [text for text, _ in ROWS[:3]]
    assert [each.get("id") for each in expected] == ([None] * 3 if content == PLAIN else [0, 1, 2])
    assert run("classify", model, "--file", path, "--json").records == expected
    with opened(path) as name:
        assert run("classify", model, "--file", name, "--json").records == expected
    for _ in range(2):  # the second time there is a file to replace
        with opened(None, content) as name:
            words = ("--json", "--out", out, "--overwrite", "--rejects", tmp_path / "rejects.jsonl")
            assert run("classify", model, "--file", name, *words).code == 0
        assert [json.loads(line) for line in out.read_text().splitlines()] == expected


def test_a_stream_of_lines_that_are_no_text(run: Run, model: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    content = LINES + b"{not json\n" + b'{"id": 8, "said": "She"}\n' + b'{"id": 9, "text": "\0"}\n'
    with opened(None, content) as name:
        done = run("classify", model, "--file", name, "--json", "--rejects", rejects)
    assert [each["id"] for each in done.records] == [0, 1, 2]
    assert run("classify", model, "--file", "-", stdin=b"{not json\n" + LINES).code == 2  # never read as texts
    found = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(each["file"], each["line"], each["row"]) for each in found] == [
        (name, 4, "{not json"),
        (name, 5, {"id": 8, "said": "She"}),
        (name, 6, None),
    ]


def test_a_stream_that_cannot_be_opened_is_named(run: Run, model: Path) -> None:
    one, two = socket.socketpair()
    with one, two:
        name = f"/dev/fd/{one.fileno()}"
        done = run("classify", model, "--file", name)
    assert done.code == 2
    assert name in done.err


def lines(*texts: str) -> list[Text]:
    return [Text({"text": text}, f"a pipe, line {number}") for number, text in enumerate(texts, start=1)]


def test_a_verb_says_how_it_reads(tmp_path: Path) -> None:
    """Sentences as words; pairs, which no plain line can hold; and columns that had numbers in training."""
    tag: Reader = SentenceReader({"text": "text", "words": "1"}, {})
    rows = ('{"words": ["EU", "calls"], "id": 4}', '{"text": "She calls"}')
    (path := tmp_path / "rows.jsonl").write_text("".join(f"{row}\n" for row in rows))
    (bare := tmp_path / "rows").write_text(path.read_text())
    (columns := tmp_path / "rows.conll").write_text("1\tEU\n2\tcalls\n\n1\tShe\n2\tcalls\n")
    (plain := tmp_path / "rows.txt").write_text("EU calls\n\nShe calls\n")
    for found in (read_lines_as(tag, lines(*rows), stop), *(tag.of_file(each, stop) for each in (path, bare, columns))):
        one, two = found
        assert (one.values["text"], two.values["text"]) == ("EU calls", "She calls")
        assert one.values["words"] == ["EU", "calls"]
        assert one.where
    assert [each.values for each in tag.of_file(plain, stop)] == [{"text": "EU calls"}, {"text": "She calls"}]
    assert list(read_lines_as(tag, lines("EU calls"), stop)) == lines("EU calls")

    answer: Reader = TableReader({"text": "0", "pair": "1"}, {"text": "question", "pair": "context"})
    asked = '{"question": "Who?", "context": "She calls."}'
    (found_one,) = read_lines_as(answer, lines(asked), stop)
    assert found_one.values == {"text": "Who?", "pair": "She calls."}
    with pytest.raises(DataError) as caught:
        list(read_lines_as(answer, lines("Who?"), stop))
    assert caught.value.where == "a pipe, line 1"


def test_of_a_damaged_file_of_questions_the_rest_is_learned_from(run: Run, tmp_path: Path) -> None:
    path, rejects = tmp_path / "questions.json", tmp_path / "rejects.jsonl"
    passages = [f"{WORDS[n % 4]} of {n}." for n in range(20)]
    paragraphs: list[dict[str, Any]] = [
        {"context": passage, "qas": [{"id": f"q{n}", "question": "Who?", "answers": [{"text": passage.split()[0]}]}]}
        for n, passage in enumerate(passages)
    ]
    paragraphs[7]["qas"][0]["answers"] = [{"text": "gone", "answer_start": 3}]
    paragraphs[12]["qas"] = None
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs[:5]}, {"paragraphs": paragraphs[5:]}]}))
    done = run("train", "answer", path, *TINY, "--rejects", rejects, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(each["file"], each["line"], each["place"]) for each in found] == [
        (str(path), None, "data[1].paragraphs[2].qas[0]"),
        (str(path), None, "data[1].paragraphs[7]"),
    ]
    assert found[0]["row"] == {**paragraphs[7]["qas"][0], "context": passages[7]}
    assert found[1]["row"] == paragraphs[12]
    done = run("train", "answer", path, *TINY, "--out", tmp_path / "other")
    assert (done.code, "--rejects FILE" in done.err) == (2, True)
