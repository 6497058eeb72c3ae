"""The store holds what the tokenizer says, whole or not at all, and reads back the same."""

import errno
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.base.errors import DataError
from glassformer.base.json_text import read_sealed_json, sealed_json
from glassformer.data.readers import paragraphs
from glassformer.data.readers.paragraphs import sentence_starts
from glassformer.data.readers.read import Document
from glassformer.data.stores import store as stores
from glassformer.data.stores.split import text_hash
from glassformer.data.stores.store import TokenStore
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from tests.damage import flipped_bits
from tests.data.made import build_store
from tests.refusals import refused

KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram", "words")
SOURCES = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
MakeStore = Callable[[Sequence[str]], TokenStore]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_store_holds_the_tokenizers_tokens(kind: Kind, texts: list[str], tmp_path: Path) -> None:
    """Also for documents that are cut into chunks, and for blanks in rows: as if each was encoded in one go."""
    rng = random.Random(1)
    blanks = (" ", " ", " ", "\n", "  ", "\n\n", " \n  ")
    long = "".join(word + rng.choice(blanks) for text in texts * 3 for word in text.split())
    documents = [*texts, long, "x" * 9000, "[MASK] " + texts[0]]
    tokenizer = train_tokenizer(kind, documents, vocabulary=300)
    store = build_store((Document(text, "") for text in documents), tokenizer, tmp_path / "store")
    assert store.documents == len(documents)
    assert store.ids.dtype == np.uint16
    for number, text in enumerate(documents):
        wanted = tokenizer.encode(text, special=False)
        if text.startswith("xx"):
            continue  # a word of more than a chunk is cut in two
        assert store.document(number).tolist() == wanted.ids
        places = np.arange(store.offsets[number], store.offsets[number + 1])
        words = np.array([-1 if word is None else word for word in wanted.words])
        assert store.words_begin(places).tolist() == [True, *(words[1:] != words[:-1]).tolist()]
        inside = store.sentences[(store.sentences >= places[0]) & (store.sentences <= places[-1])] - places[0]
        ends = [end for _, end in wanted.offsets]
        begun = {bisect_right(ends, start) for start in sentence_starts(text)}
        assert inside.tolist() == sorted(begun - {len(wanted)})


def test_sentences_begin_where_a_reader_would_say() -> None:
    text = '  Dr. A. Watson came. "Why?" he asked. She said no… Then 3 dogs! and cats.\n\n  New line. the end.'
    starts = sentence_starts(text)
    parts = [text[begin:end].strip() for begin, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    assert parts == [
        "Dr. A. Watson came.",
        '"Why?" he asked.',
        "She said no…",
        "Then 3 dogs! and cats.",
        "New line. the end.",
    ]
    assert sentence_starts(" \n") == sentence_starts("") == []


@pytest.mark.parametrize(
    "parts",
    [
        ["Das ist gut.", "Über den Berg.", "„Nein.“", "Äpfel u. a. sind da! noch da."],
        ["Это А. С. Пушкин.", "Он жил в Москве?", "Щука плавает… и спит.", "3 рыбы."],
        ["Είναι καλό.", "Ώρα να πάμε."],
        ["你好。", "「他来了！」", "我们走吧？！", "好"],
        ["Dr. Ärger kam.\nnoch eine zeile", "und eine mit punkt.", "neu"],
    ],
)
def test_sentences_of_other_scripts(parts: list[str]) -> None:
    """Parts that end with 。！？ stand side by side; a lower letter begins a sentence on a new line only."""
    text = parts[0]
    for part in parts[1:]:
        text += "" if text[-1] in "。！？」" else "\n" if part[0].islower() or part == "neu" else " "
        text += part
    wanted = [token for part in parts for token in part.split("\n")]
    starts = sentence_starts(text)
    assert [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)] == wanted


# The rule as it was before its time was made to grow with the text alone.
_OLD_START = re.compile(
    r"""[。！？]+["'”’»)\]」』]*\s*|\n\s*|(?P<mark>[.!?…]+)["'”’“‘»)\]]*(?P<blank>\s+)(?=["'“‘„‚«(\[]*(?P<next>\w))"""
)


def _old_starts(text: str) -> list[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paragraphs, "_START", _OLD_START)
        return sentence_starts(text)


@settings(deadline=None, max_examples=400)
@given(st.text(st.sampled_from("""..!?…"'”“‘»)]([ \n\t\u3000。！？」aBé1東Dr"""), max_size=60))
def test_sentences_begin_where_the_slow_rule_saw_them(text: str) -> None:
    assert sentence_starts(text) == _old_starts(text)


@pytest.mark.parametrize("name", ["text_books", "text_state_union", "tatoeba_en_fr", "xquad"])
def test_sentences_of_real_text_begin_where_the_slow_rule_saw_them(name: str, data_directory: Path) -> None:
    files = sorted((data_directory / name).glob("*.*"))[:12]
    if not files:
        pytest.skip(f"{name} is not among the data sets here")
    for file in files:
        if file.suffix != ".gz":
            text = file.read_text(encoding="utf-8")[:300_000]
            assert sentence_starts(text) == _old_starts(text)


RUNS = """["." * n, '."' * n, "." + '"' * n, ". " + '"' * n, "。" * n, "." * n + '"' * n + " " * n, "." + " " * n + "-",
        "\\n" * n, ". (" * n, " " * n, "。" * n + "." * n, "." * n + "…" * n + " x"]"""
PROGRAM = """
import sys
from glassformer.data.readers.paragraphs import sentence_starts
n = 1_000_000
for text in eval(sys.argv[1]):
    sentence_starts(text)
"""


@pytest.mark.long
def test_runs_of_signs_take_no_square_of_time() -> None:
    """About 2 s; 40,000 dots alone took 14 s."""
    subprocess.run([sys.executable, "-c", PROGRAM, RUNS], check=True, env=SOURCES, timeout=600)


@pytest.mark.parametrize("text", [" " * 50_000, "\n" * 50_000, " \n" * 25_000, "x" * 50_000, "x " * 25_000,
                                  "x" + " " * 20_000 + "y" + " " * 20_000, "a" + "\u3000" * 20_000])  # fmt: skip
def test_chunks_of_blanks_are_whole_chunks(text: str) -> None:
    """A chunk of one character each made 100 MB of blanks a hundred million chunks."""
    ends = list(stores._cuts(text))
    assert ends[-1] == len(text)
    sizes = [end - begin for begin, end in itertools.pairwise([0, *ends])]
    assert all(0 < size <= stores._CHUNK for size in sizes)
    assert len(sizes) <= 4 * (len(text) // stores._CHUNK + 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5000), st.sampled_from([" ", "\n", "  ", " \n", "\t", " \t "])), max_size=8))
def test_chunks_end_before_the_last_of_some_blanks(words: list[tuple[int, str]]) -> None:
    text = "".join("x" * length + blank for length, blank in words)
    for begin, end in itertools.pairwise([0, *stores._cuts(text)]):
        places = [at for at in range(begin + 1, begin + stores._CHUNK) if text[at : at + 1] in (" ", "\n")]
        wanted = [at for at in places if not text[at + 1 : at + 2].isspace()]
        if end != len(text):
            assert end == (wanted[-1] if wanted else begin + stores._CHUNK)


def test_documents_without_tokens_leave_no_trace(make_store: MakeStore) -> None:
    store = make_store(["\u200b", "the fox", "\x01", "a dog", "\ufffd"])
    assert store.documents == 2
    assert store.hashes.tolist() == [text_hash("the fox"), text_hash("a dog")]
    assert store.sentences.tolist() == store.offsets[:-1].tolist()


def test_a_continued_document_is_one(tokenizer: Tokenizer, tmp_path: Path) -> None:
    parts = [Document("The fox", "a"), Document(" sees the dog.", "a", continued=True), Document("Summer", "b")]
    store = build_store(parts, tokenizer, tmp_path / "store")
    assert store.documents == 2
    assert store.document(0).tolist() == tokenizer.encode("The fox sees the dog.", special=False).ids


def test_it_is_built_once_and_opened_again(store: TokenStore, tokenizer: Tokenizer, texts: list[str]) -> None:
    def unread() -> Iterator[Document]:
        yield from pytest.fail("an open store must not read its files again")

    again = build_store(unread(), tokenizer, store.directory)
    for name in ("ids", "offsets", "word_bits", "sentences", "hashes"):
        assert np.array_equal(getattr(again, name), getattr(store, name))
    assert (again.fingerprint, again.vocabulary_size) == ("made", tokenizer.vocabulary_size)
    other = build_store([Document(texts[0], "")], tokenizer, store.directory, fingerprint="another")
    assert other.documents == 1
    assert not list(store.directory.parent.glob(".*"))


def test_a_stopped_build_leaves_nothing(tokenizer: Tokenizer, tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield Document("the fox " * 200_000, "")
        raise DataError("notes.txt, line 2 must be UTF-8 text")

    with refused(DataError, wanted="notes.txt, line 2"):
        build_store(broken(), tokenizer, tmp_path / "store")
    assert not list(tmp_path.iterdir())


def test_a_store_that_cannot_be_written_is_said(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    with refused(DataError, wanted=str(tmp_path / "taken"), got="File exists", do="data.cache"):
        build_store([Document("the fox", "")], tokenizer, tmp_path / "taken" / "store")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_full_disk_leaves_the_old_store(
    store: TokenStore, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with refused(DataError, wanted=str(store.directory.parent), got="No space left on device", do="data.cache"):
        build_store([Document("the fox", "")], tokenizer, store.directory, fingerprint="another")
    assert TokenStore.open(store.directory).documents == store.documents
    assert [path.name for path in store.directory.parent.iterdir()] == ["store"]


def test_progress_adds_up_to_the_text(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    seen: list[int] = []
    places = (Document(text * 30, "") for text in texts)
    build_store(places, tokenizer, tmp_path / "store", advance=seen.append)
    assert sum(seen) == 30 * sum(map(len, texts))


def test_large_vocabularies_get_wide_numbers(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(66_000)]
    tokenizer = train_tokenizer("words", [" ".join(words)], vocabulary=70_000)
    store = build_store([Document(" ".join(words), "")], tokenizer, tmp_path / "store")
    assert store.ids.dtype == np.uint32
    assert store.document(0).tolist() == tokenizer.encode(" ".join(words), special=False).ids


def test_what_is_no_store_is_refused(store: TokenStore, tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(DataError) as none:
        TokenStore.open(tmp_path)
    assert "store.json" in none.value.got
    path = store.directory / "store.json"
    written = path.read_text()
    path.write_text(sealed_json({**read_sealed_json(path), "format": 99}))
    with pytest.raises(DataError) as newer:
        TokenStore.open(store.directory)
    assert newer.value.got == "99"
    path.write_text(written)
    (store.directory / "ids.bin").write_bytes(b"12")
    with pytest.raises(DataError) as short:
        TokenStore.open(store.directory)
    assert "ids.bin of 2 bytes" in short.value.got


@pytest.mark.parametrize("name", ["ids.bin", "offsets.bin", "word_bits.bin", "sentences.bin", "hashes.bin"])
def test_a_flipped_bit_of_a_store_is_noticed_when_it_is_opened(store: TokenStore, name: str) -> None:
    for place in flipped_bits(store.directory / name, count=40):  # a checksum notices any
        with pytest.raises(DataError) as caught:
            TokenStore.open(store.directory)
        assert name in caught.value.got, place
        assert str(store.directory) in caught.value.do
    assert len(TokenStore.open(store.directory)) == len(store)


def test_a_flipped_bit_of_what_a_store_says_of_itself_is_noticed_or_changes_nothing(store: TokenStore) -> None:
    path, noticed = store.directory / "store.json", 0
    known = read_sealed_json(path)
    for place in flipped_bits(path):
        try:
            assert read_sealed_json(path) == known, place
            TokenStore.open(store.directory)
        except (ValueError, DataError):
            with refused(DataError, got="store.json"):
                TokenStore.open(store.directory)
            noticed += 1
    assert noticed > 190


def test_a_damaged_store_is_made_again_when_its_folder_is_deleted_as_advised(
    store: TokenStore, tokenizer: Tokenizer, texts: list[str]
) -> None:
    def build() -> TokenStore:
        return build_store((Document(text, "") for text in texts), tokenizer, store.directory)

    path = store.directory / "word_bits.bin"
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(DataError) as caught:
        build()
    (named,) = [word.strip(":") for word in caught.value.do.split() if word.startswith("/")]
    shutil.rmtree(named)
    build()
    assert path.read_bytes() == whole


def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(store: TokenStore) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    for name in ("ids.bin", "store.json"):
        (store.directory / name).unlink()
        os.mkfifo(store.directory / name)
        with pytest.raises(DataError) as caught:
            TokenStore.open(store.directory)
        assert name in caught.value.got


def test_what_reading_runs_into_is_not_reported_as_a_full_disk(tokenizer: Tokenizer, tmp_path: Path) -> None:
    def failing() -> Iterator[Document]:
        yield Document("the fox " * 200_000, "")
        raise OSError(errno.EIO, os.strerror(errno.EIO), "notes.txt")

    with refused(DataError, wanted="notes.txt", got="Input/output error"):
        build_store(failing(), tokenizer, tmp_path / "store")
    assert not list(tmp_path.iterdir())
