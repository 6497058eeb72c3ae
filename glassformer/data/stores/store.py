"""Tokenized text on disk, read through a memory map; documents stream through the tokenizer into files that are written
atomically.

D documents, N tokens, S sentences.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from glassformer.base.atomic import atomic_write, flush, remove
from glassformer.base.errors import DataError
from glassformer.base.json_text import check_regular_file, file_checksum, read_sealed_json, sealed_json
from glassformer.data.readers.paragraphs import sentence_starts
from glassformer.data.readers.read import Document
from glassformer.text.tokenizer import Tokenizer

FORMAT = 3
FACTS = "store.json"


@dataclass(frozen=True)
class TokenStore:
    """Documents as tokens, without special tokens. All arrays are memory maps. `ids` [N]; `offsets` [D+1]: document d
    holds the tokens offsets[d] … offsets[d+1]; `word_bits` [N/8]: one bit per token, 1 where a word begins; `sentences`
    [S]: tokens where a sentence begins, each document's first token among them; `hashes` [D]: the documents'
    `text_hash`. `fingerprint` names the text, the tokenizer and the settings.
    """

    directory: Path
    fingerprint: str
    vocabulary_size: int
    ids: npt.NDArray[np.unsignedinteger[Any]]
    offsets: npt.NDArray[np.int64]
    word_bits: npt.NDArray[np.uint8]
    sentences: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint64]

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """Open a store after a check of its files; raises DataError for a missing, damaged or old one."""
        directory = Path(directory)
        facts = read_facts(directory)
        arrays = {
            name: _mapped(directory, name, np.dtype(kind), count, checksum)
            for name, (kind, count, checksum) in facts["arrays"].items()
        }
        return cls(directory, facts["fingerprint"], facts["vocabulary"], **arrays)

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1

    def __len__(self) -> int:
        return len(self.ids)

    def words_begin(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether a word begins at each of these tokens; same shape as `places`."""
        bits = self.word_bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)
        return (bits & 1).astype(np.bool_)

    def document(self, number: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]


def read_facts(directory: Path) -> dict[str, Any]:
    """The content of `store.json`; raises DataError when it is missing, damaged or of another version."""
    path = directory / FACTS
    try:
        facts = read_sealed_json(path)
    except FileNotFoundError:
        raise DataError(f"{directory} must be a store of tokenized text", got=f"no {FACTS} there") from None
    except (OSError, ValueError) as error:
        raise damaged(directory, f"{FACTS}, damaged ({error})") from None
    if facts.get("format") != FORMAT:
        raise DataError(
            f"{directory} must be a store of version {FORMAT}",
            got=str(facts.get("format")),
            do=f"delete the folder {directory}: it is rebuilt from the text",
        )
    return facts


def _mapped(directory: Path, name: str, kind: np.dtype[Any], count: int, checksum: str) -> npt.NDArray[Any]:
    path = directory / f"{name}.bin"
    try:
        check_regular_file(path)
        size = path.stat().st_size
        if size != count * kind.itemsize:
            raise damaged(directory, f"{path.name} of {size:,} bytes instead of {count * kind.itemsize:,}")
        if file_checksum(path) != checksum:
            raise damaged(directory, f"{path.name}, whose content has changed since it was written")
    except OSError as error:
        raise damaged(directory, f"no readable {path.name} ({error.strerror or error})") from None
    if count == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="r", shape=(count,))


def damaged(directory: Path, got: str) -> DataError:
    return DataError(
        f"{directory} must be a whole store of tokenized text",
        got=got,
        do=f"delete the folder {directory}: it is rebuilt from the text",
    )


# Characters per text given to the tokenizer and per call: enough to keep all cores busy, few enough for memory.
_CHUNK = 8192
_CALL = 1 << 20

Name = TypeVar("Name", bound=str)


class Placed(NamedTuple):
    """A document, its `text_hash`, and the name of the store it goes to."""

    name: str
    hashed: int
    document: Document


class _Chunk(NamedTuple):
    """A part of a document: the store it goes to, and the characters where sentences begin in it."""

    name: str
    text: str
    sentences: npt.NDArray[np.int64]
    opens: int | None  # the document's hash when it begins here


def write_stores(
    documents: Iterable[Placed],
    tokenizer: Tokenizer,
    directory: Path,
    *,
    names: Sequence[Name],
    fingerprint: str,
    advance: Callable[[int], None] | None = None,
    at_end: Callable[[Path], None] | None = None,
) -> dict[Name, TokenStore]:
    """Tokenize documents into one store per name; a directory with this fingerprint is used. `at_end` adds files."""
    if not _holds(directory, names, fingerprint):
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(directory) as folder:
                with ExitStack() as stack:
                    writers = {name: stack.enter_context(_Writer(folder / name, tokenizer)) for name in names}
                    for chunks in _calls(_chunks(_readable(documents))):
                        _write(chunks, tokenizer, writers)
                        if advance is not None:
                            advance(sum(len(chunk.text) for chunk in chunks))
                    for writer in writers.values():
                        writer.finish(fingerprint)
                if at_end is not None:
                    at_end(folder)
                flush(folder)
                if directory.exists() and not _holds(directory, names, fingerprint):  # the store of another text
                    remove(directory)
        except OSError as error:
            if not _holds(directory, names, fingerprint):  # otherwise another process has written the same store
                raise DataError(
                    f"cannot write the tokenized text to {directory.parent}",
                    got=str(error.strerror or error),
                    do="free disk space there, or choose another data.cache",
                ) from None
    return {name: TokenStore.open(directory / name) for name in names}


def _readable(documents: Iterable[Placed]) -> Iterator[Placed]:
    """The same documents; an OSError while reading becomes a DataError, so that it is not mistaken for a full disk."""
    try:
        yield from documents
    except OSError as error:
        raise DataError(f"cannot read {error.filename or 'the text'}", got=error.strerror or str(error)) from None


def _holds(directory: Path, names: Sequence[str], fingerprint: str) -> bool:
    try:
        return all(read_facts(directory / name)["fingerprint"] == fingerprint for name in names)
    except DataError:  # a missing or damaged store is written again
        return False


def _chunks(documents: Iterable[Placed]) -> Iterator[_Chunk]:
    for name, hashed, document in documents:
        text = document.text
        starts = np.array(sentence_starts(text), np.int64)
        opens = None if document.continued else hashed
        begin = 0
        for end in _cuts(text):
            inside = starts[np.searchsorted(starts, begin) : np.searchsorted(starts, end)] - begin
            yield _Chunk(name, text[begin:end], inside, opens)
            begin, opens = end, None


def _cuts(text: str) -> Iterator[int]:
    """Where to cut a text so that its chunks give the tokens of the whole, but for the blank that some tokenizers put
    before a text: before the last of some spaces.
    """
    begin = 0
    while len(text) - begin > _CHUNK:
        low, high = begin + 1, begin + _CHUNK
        cut = _last_blank(text, low, high)
        while cut > 0 and text[cut + 1].isspace():  # not the last of adjacent spaces: look further back
            cut = _last_blank(text, low, low + len(text[low:cut].rstrip()))
        begin = cut if cut > 0 else high
        yield begin
    yield len(text)


def _last_blank(text: str, low: int, high: int) -> int:
    return max(text.rfind(" ", low, high), text.rfind("\n", low, high))


def _calls(chunks: Iterable[_Chunk]) -> Iterator[list[_Chunk]]:
    call: list[_Chunk] = []
    size = 0
    for chunk in chunks:
        call.append(chunk)
        size += len(chunk.text)
        if size >= _CALL:
            yield call
            call, size = [], 0
    if call:
        yield call


def _write(chunks: list[_Chunk], tokenizer: Tokenizer, writers: Mapping[Name, _Writer]) -> None:
    encodings = tokenizer.raw_batch([chunk.text for chunk in chunks])
    for chunk, encoding in zip(chunks, encodings, strict=True):
        writer = writers[cast(Name, chunk.name)]
        if chunk.opens is not None:
            writer.open_document(chunk.opens)
        ids = np.array(tokenizer.unalias(encoding.ids), np.int64)
        if not len(ids):
            continue
        words = np.array([-1 if word is None else word for word in encoding.word_ids])
        begins = np.ones(len(ids), np.bool_)
        begins[1:] = words[1:] != words[:-1]
        ends = np.array(encoding.offsets, np.int64)[:, 1]
        sentences = np.searchsorted(ends, chunk.sentences, side="right")
        writer.add(ids, begins, np.unique(sentences[sentences < len(ids)]))


class _Writer:
    """One store while it grows."""

    def __init__(self, directory: Path, tokenizer: Tokenizer) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.vocabulary = tokenizer.vocabulary_size
        small = tokenizer.vocabulary_size <= 1 << 16
        self._kinds: dict[str, np.dtype[Any]] = {
            "ids": np.dtype(np.uint16 if small else np.uint32),
            "offsets": np.dtype(np.int64),
            "word_bits": np.dtype(np.uint8),
            "sentences": np.dtype(np.int64),
            "hashes": np.dtype(np.uint64),
        }
        self._counts = dict.fromkeys(self._kinds, 0)
        self._checksums = dict.fromkeys(self._kinds, 0)
        self._files: dict[str, BinaryIO] = {}
        self._bits = np.empty(0, np.bool_)  # word starts that do not fill a byte yet
        self._hash: int | None = None  # of a document that has no token yet

    def __enter__(self) -> _Writer:
        for name in self._kinds:
            self._files[name] = (self.directory / f"{name}.bin").open("wb")
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files.values():
            file.close()

    def open_document(self, hashed: int) -> None:
        """The next tokens belong to a new document; a document without tokens is not stored."""
        self._hash = hashed

    def add(self, ids: npt.NDArray[np.int64], begins: npt.NDArray[np.bool_], sentences: npt.NDArray[np.int64]) -> None:
        """Add tokens [n], whether a word begins at each [n], and the indices among them where sentences begin."""
        here = self._counts["ids"]
        if self._hash is not None:
            self._append("offsets", np.array([here]))
            self._append("hashes", np.array([self._hash], np.uint64))
            self._hash = None
            sentences = np.union1d(sentences, [0])
        self._append("ids", ids)
        self._append("sentences", sentences + here)
        bits = np.concatenate([self._bits, begins])
        whole = len(bits) // 8 * 8
        self._append("word_bits", np.packbits(bits[:whole]))
        self._bits = bits[whole:]

    def finish(self, fingerprint: str) -> None:
        self._append("offsets", np.array([self._counts["ids"]]))
        self._append("word_bits", np.packbits(self._bits))
        arrays = {
            name: [kind.str, self._counts[name], f"{self._checksums[name]:08x}"] for name, kind in self._kinds.items()
        }
        facts = {"format": FORMAT, "fingerprint": fingerprint, "vocabulary": self.vocabulary, "arrays": arrays}
        (self.directory / FACTS).write_text(sealed_json(facts), encoding="utf-8")

    def _append(self, name: str, values: npt.NDArray[Any]) -> None:
        written = values.astype(self._kinds[name]).tobytes()
        self._files[name].write(written)
        self._checksums[name] = zlib.crc32(written, self._checksums[name])
        self._counts[name] += len(values)
