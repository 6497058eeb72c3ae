"""Which files a path stands for: all that can be read, and each that is left aside with its reason."""

import gzip
import json
import os
import socket
from pathlib import Path

import pytest

from glassformer.base.errors import DataError
from glassformer.data.readers.files import FoundFiles, LeftAside, files_for, files_of, find_files
from glassformer.data.readers.lines import read_lines
from glassformer.data.readers.read import read
from glassformer.data.settings import CorpusSection, DataSection
from glassformer.data.stores.corpus import prepare, training_texts
from glassformer.tasks.labels.answer.settings import AnswerData
from glassformer.tasks.labels.classify.settings import ClassifyData
from glassformer.tasks.labels.tag.settings import TagData
from glassformer.tasks.writing.chat.settings import ChatData
from glassformer.tasks.writing.translate.settings import TranslateData
from glassformer.text.tokenizer import Tokenizer


def reasons(found: FoundFiles) -> dict[str, str]:
    return {each.path.name: each.reason for each in found.left_aside}


def fill(folder: Path) -> None:
    """Text, tables, and what is neither."""
    (folder / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    contents: dict[str, bytes] = {
        "a.txt": b"plain text",
        "b.jsonl": b'{"text": "json lines"}\n',
        "c.csv.gz": gzip.compress(b"id,text\n1,commas\n"),
        "deep/d.tsv": b"text\tid\ntabs\t1\n",
        "e.tsv": b"name\tvalue\none\t1\n",
        "f.jsonl": b'{"body": "no"}\n{"body": "neither"}\n',
        "g.json": b'["no"]',
        "h.png": b"\x89PNG\r\n\x1a\n\0\0",
        "i.txt": b"binary \0 here",
        "j.conll": b"word\tO\n",
        "k.txt": b"",
        "l.md": b" \n\n",
        "m.txt": "sixteen".encode("utf-16"),
        ".hidden.txt": b"no",
        ".git/config": b"no",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)


READ = ["a.txt", "b.jsonl", "c.csv.gz", "d.tsv", "j.conll"]


def test_a_folder_is_its_text_and_its_tables(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    found = find_files([tmp_path / "data"])
    assert [path.name for path in found.used] == READ
    assert reasons(found) == {
        "e.tsv": "no column 'text'",
        "f.jsonl": "no column 'text'",
        "g.json": "JSON, not JSON Lines",
        "h.png": "not text",
        "i.txt": "not text",
        "k.txt": "empty",
        "l.md": "only blanks",
        "m.txt": "UTF-16, not UTF-8",
        ".hidden.txt": "hidden",
        ".git": "hidden",
    }
    texts = [document.text for document in read(tmp_path / "data")]
    assert texts == ["plain text", "json lines", "commas", "tabs", "word"]
    assert [path.name for path in files_of([tmp_path / "data"], text="value", reads="tables")] == ["e.tsv"]


def test_training_learns_from_text_and_tables_of_a_folder(
    texts: list[str], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "some.txt").write_text("\n\n".join(texts[:10]))
    (folder / "more.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[10:]))
    section = CorpusSection(files=(str(folder),), validation=0.0)
    assert sorted(training_texts(section, {"validation": 0.0, "test": 0.0})) == sorted(texts)
    corpus = prepare(section, tokenizer, tmp_path / "cache")
    assert len(corpus.stores["train"]) == sum(len(tokenizer.encode(text, special=False)) for text in texts)


def test_what_is_reported_is_short_and_names_the_first(tmp_path: Path) -> None:
    aside = [LeftAside(tmp_path / f"{number}.png", "not text") for number in range(5000)]
    aside += [LeftAside(tmp_path / f"x.{number}", f"unknown suffix .{number}") for number in range(5000)]
    aside.append(LeftAside(tmp_path / "line\nend\udcff", "empty"))
    found = str(FoundFiles((tmp_path / "a.txt", tmp_path / "b.csv", tmp_path / "c.csv"), tuple(aside)))
    assert found.startswith("3 files: 1 text, 2 tables; skipped: 0.png, 1.png, 2.png, 3.png and 4,996 more (not text)")
    assert found.endswith("4,998 more")
    assert len(found) < 400
    odd = str(FoundFiles((), tuple(aside[-1:])))
    assert odd.isprintable()
    one = FoundFiles((tmp_path / "a.txt",), ())
    assert str(one) == "1 file: 1 text"
    both = one.paired_with(FoundFiles((tmp_path / "b.txt",), tuple(aside)))
    assert all(name in both for name in ("a.txt", "b.txt", "0.png", "4,998 more"))
    assert len(both) < 400


def test_patterns_stand_for_what_they_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    assert [path.name for path in files_of(["data/*.txt"])] == ["a.txt"]
    assert [path.name for path in files_of(["data/**/*.tsv", str(tmp_path / "d*" / "[bf].jsonl")])] == [
        "d.tsv",
        "b.jsonl",
    ]
    assert [path.name for path in files_of(["data/*.conll"])] == ["j.conll"]  # the suffix was asked for
    everything = find_files(["data/*"])
    assert [path.name for path in everything.used] == ["a.txt", "b.jsonl", "c.csv.gz", "d.tsv", "j.conll"]
    assert ".hidden.txt" not in reasons(everything)
    (tmp_path / "what[1].txt").write_text("a name with brackets")
    assert [path.name for path in files_of(["what[1].txt"])] == ["what[1].txt"]


ASKED = {"context": "c", "qas": [{"id": "1", "question": "q", "answers": []}]}
SQUAD = {"data": [{"title": "", "paragraphs": [ASKED]}]}
KINDS: dict[str, bytes] = {
    "turns.txt": b"Hi\nHello\n",
    "turns.jsonl": b'{"turns": ["Hi", "Hello"]}\n',
    "messages.jsonl": b'{"messages": []}\n',
    "texts.jsonl": b'{"text": "a"}\n',
    "pair.csv": b"Hi,Hello\nWho,Me\n",
    "pair.tsv": b"Hi\tHello\nWho\tMe\n",
    "words.conll": b"EU\tO\n",
    "words.jsonl": b'{"words": ["EU"], "tags": ["O"]}\n',
    "squad.json": json.dumps(SQUAD).encode(),
    "other.json": b'{"data": 1}',
}


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (ChatData(), ["messages.jsonl", "pair.csv", "pair.tsv", "turns.jsonl", "turns.txt"]),
        (TranslateData(), ["pair.csv", "pair.tsv"]),
        (TagData(), ["pair.tsv", "texts.jsonl", "words.conll", "words.jsonl"]),
        (AnswerData(), ["squad.json"]),
        (ClassifyData(), ["texts.jsonl", "words.conll"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_folder_and_a_pattern_give_what_the_task_reads(data: DataSection, read: list[str], tmp_path: Path) -> None:
    for name, content in KINDS.items():
        (tmp_path / name).write_bytes(content)
    assert [path.name for path in files_for(data, [tmp_path])] == read
    words_in_text = ["turns.txt"] if isinstance(data, TagData) else []  # a suffix that was asked for
    found = [path.name for path in files_for(data, [str(tmp_path / "*")])]
    assert sorted(found) == sorted({*read, *words_in_text})
    assert [path.name for path in files_for(ChatData(), [str(tmp_path / "*.txt")])] == ["turns.txt"]


@pytest.mark.parametrize("pattern", ["data/*.nothing", "nowhere/*.txt", "data/a**b.txt", "*[.txt"])
def test_a_pattern_without_a_match_is_reported(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as caught:
        files_of([pattern])
    assert pattern in caught.value.wanted
    with pytest.raises(DataError) as caught:
        files_of(["data/*.png"])
    assert "data/*.png" in caught.value.wanted
    assert "h.png" in caught.value.got


def test_a_file_found_twice_is_read_once_and_reported(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    found = find_files([tmp_path / "data", tmp_path / "data" / "a.txt"])
    assert [path.name for path in found.used] == READ
    assert reasons(found)["a.txt"] == "named twice"


def test_links_are_followed_once(tmp_path: Path) -> None:
    fill(tmp_path / "other")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "loop").symlink_to(folder)
    (folder / "other").symlink_to(tmp_path / "other")
    (folder / "z.txt").symlink_to(tmp_path / "gone")
    (folder / "self.txt").symlink_to(folder / "self.txt")
    found = find_files([folder])
    assert [path.name for path in found.used] == READ
    assert reasons(found)["z.txt"] == reasons(found)["self.txt"] == "a broken link"
    with pytest.raises(DataError) as caught:
        files_of([folder / "z.txt"])
    assert str(folder / "z.txt") in caught.value.wanted


def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.jsonl"))
    for path in (tmp_path / "pipe.txt", tmp_path / "socket.jsonl", Path("/dev/zero")):
        with pytest.raises(DataError) as caught:
            files_of([path])
        assert str(path) in caught.value.wanted
        with pytest.raises(DataError) as caught:
            next(read_lines(path))
        assert str(path) in caught.value.wanted
    (tmp_path / "a.txt").write_text("text")
    found = find_files([tmp_path])
    assert [path.name for path in found.used] == ["a.txt"]
    assert reasons(found) == {"pipe.txt": "a named pipe", "socket.jsonl": "a socket"}


def test_a_folder_that_may_not_be_opened_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "data")
    listing = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr("glassformer.data.readers.files.os.scandir", refuse)
    assert reasons(find_files([tmp_path / "data"]))["deep"] == "Permission denied"
    with pytest.raises(DataError) as caught:
        find_files([tmp_path / "data" / "deep"])
    assert str(tmp_path / "data" / "deep") in caught.value.wanted


def test_a_damaged_table_of_a_folder_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "c.jsonl.gz").write_bytes(b"no gzip")
    assert [path.name for path in files_of([tmp_path])] == ["a.txt", "b.parquet", "c.jsonl.gz"]
    with pytest.raises(DataError) as caught:
        list(read(tmp_path))
    assert "b.parquet" in caught.value.wanted
