"""One file of several that cannot be read stops a training, or is left out where bad rows are to be; and it is said."""

import gzip
import json
from pathlib import Path

import pytest

from glassformer.base.errors import DataError
from glassformer.data.readers.files import files_of
from glassformer.data.readers.lines import Skipped, of_each, read_lines, stop_unless
from glassformer.data.readers.read import read
from glassformer.data.readers.rejects import bad_rows
from glassformer.data.settings import CorpusSection, RecordSection
from glassformer.data.stores.corpus import prepare
from glassformer.tasks.labels.classify.settings import ClassifyData
from glassformer.tasks.labels.classify.task import Classify
from glassformer.tasks.labels.tag.settings import TagData
from glassformer.tasks.labels.tag.task import Tag
from glassformer.tasks.tables import TableTask
from glassformer.tasks.writing.chat.alone import ChatAlone
from glassformer.tasks.writing.chat.settings import ChatData
from glassformer.tasks.writing.chat.task import Chat
from glassformer.tasks.writing.translate.settings import TranslateData
from glassformer.tasks.writing.translate.task import Translate
from glassformer.text.tokenizer import Tokenizer

OPEN = 'text,label\n"one, two",a\n"never closed,b\nmore,c\n'
CSV = "text,label\nShe reads,a\nHe writes,b\n"


def test_the_other_files_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text(OPEN)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "zipped"}\n' * 9)[:-9])
    (tmp_path / "d.txt").write_text("plain")
    bad = Skipped()
    found = [document.text for document in read(tmp_path, bad=bad)]
    assert {"She reads", "He writes", "plain"} <= {*found}
    assert "one, two" in found  # what stands before the damage
    assert (bad.count, bad.files) == (2, 2)
    assert "b.csv, line 3" in bad.first[0]
    with pytest.raises(DataError) as caught:
        list(read(tmp_path, bad=stop_unless("on_bad_row")))
    assert caught.value.left_out_by == "on_bad_row"


def test_a_file_alone_and_files_that_are_all_broken_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,label\n"never closed,b\n')
    (tmp_path / "b.txt").write_bytes(b"")
    bad = Skipped()
    for files in (["a.csv"], ["a.csv", "b.txt"]):
        with pytest.raises(DataError) as caught:
            list(of_each([tmp_path / name for name in files], lambda path: read(path, bad=bad), bad))
        assert "a.csv" in caught.value.wanted


def test_a_file_that_is_gone_while_others_are_read(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"the text of {name}\n")
    bad, found = Skipped(), []
    for line in of_each(files_of([tmp_path]), lambda path: read_lines(path, bad=bad), bad):
        (tmp_path / "b.txt").unlink(missing_ok=True)
        found.append(line.text)
    assert found == ["the text of a.txt", "the text of c.txt"]
    assert bad.files == 1


def test_what_is_left_out_of_a_corpus_is_reported_also_from_the_cache(tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.csv").write_text(CSV)
    (folder / "b.csv").write_text(OPEN)
    data = CorpusSection(files=(str(folder),), validation=0.0)
    with pytest.raises(DataError):
        prepare(data, tokenizer, tmp_path / "cache")
    for _ in range(2):
        corpus = prepare(data.model_copy(update={"on_bad_row": "skip"}), tokenizer, tmp_path / "cache")
        assert corpus.stores["train"].documents == 3
        assert corpus.files_skipped == 1
        assert "b.csv" in corpus.notes()[-1]


@pytest.mark.parametrize(
    ("task", "data", "suffix"),
    [
        (Classify, ClassifyData(), ".csv"),
        (Chat, ChatData(), ".csv"),
        (ChatAlone, ChatData(), ".csv"),
        (Translate, TranslateData(), ".csv"),
        (Tag, TagData(), ".tsv"),
    ],
)
def test_records_of_the_other_files(task: type[TableTask], data: RecordSection, suffix: str, tmp_path: Path) -> None:
    good = "EU\tB-ORG\n.\tO\n" if task is Tag else CSV
    (tmp_path / f"a{suffix}").write_text(good)
    (tmp_path / f"b{suffix}").write_bytes(b"EU\tB-ORG\n" + b"\0" * 20 if task is Tag else OPEN.encode())
    (tmp_path / f"c{suffix}").write_text(good)
    data = data.model_copy(update={"files": (f"{tmp_path}/*{suffix}",)})
    with pytest.raises(DataError):
        list(task.records(data, data.files, stop_unless("rejects")))
    notes: list[str] = []
    skipping = data.model_copy(update={"rejects": str(tmp_path / "rejects.jsonl")})
    with bad_rows(skipping, notes.append) as bad:
        found = {Path(each.where.partition(", ")[0]).name for each in task.records(skipping, data.files, bad)}
    assert {f"a{suffix}", f"c{suffix}"} <= found
    assert any(f"b{suffix}" in each and "1 file" in each for each in notes)
    rejects = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert Path(rejects[-1]["file"]).name == f"b{suffix}"
