"""Vectors of any number of texts in a file: in bounded memory, each text exactly once, the file whole or absent.

While they are made they are in the folder OUT.partial, one file of raw numbers for each feature, and `state.json` says
how many texts are whole, how long each file is at this point, and what its checksum is. What a killed command has
written behind this point is cut off by the next one. At the end OUT is written from these files and the folder removed.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from glassformer.atomic import atomic_write, flush_one
from glassformer.checksum import read_sealed_json, sealed_json
from glassformer.errors import DataError
from glassformer.features.formats import WRITERS, Content
from glassformer.features.vectors import Vectors
from glassformer.locking import lock
from glassformer.paths import behind_links, check_path

_MADE_FOR = "glassformer embed --resume, format 1"
_STATE, _LOCK = "state.json", "lock"
# The files beside those of the features: ids of the texts, or texts with their ids; the words, and which text and
# characters each is.
IDS, TEXTS, WORDS, PLACES = "ids.jsonl", "texts.jsonl", "words.jsonl", "places.i64"
_AT_ONCE = 1 << 22


@dataclass
class _Stream:
    """A file that is only appended to, with its size and the CRC-32 of its content."""

    path: Path
    size: int = 0
    checksum: int = 0
    file: BinaryIO | None = None

    def open(self) -> None:
        self.path.touch()
        self.file = self.path.open("r+b")
        self.file.truncate(self.size)
        self.file.seek(self.size)

    def write(self, data: bytes) -> None:
        assert self.file is not None
        self.file.write(data)
        self.size += len(data)
        self.checksum = zlib.crc32(data, self.checksum)

    def flush(self) -> None:
        assert self.file is not None
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def is_whole(self) -> bool:
        """Whether the file holds what was written, and perhaps more behind it; reads it, in bounded memory."""
        total, left = 0, self.size
        with suppress(OSError), self.path.open("rb") as file:
            while left and (chunk := file.read(min(_AT_ONCE, left))):
                total, left = zlib.crc32(chunk, total), left - len(chunk)
        return not left and total == self.checksum


@dataclass(frozen=True)
class Format:
    """How vectors are kept: `write` makes the file, or the folder where `is_folder`; `what` it is called; `prepared`
    are those of a text as they are kept; `with_texts`: the text is kept beside them.
    """

    write: Callable[[Path, Content], None]
    what: str = "vectors"
    is_folder: bool = False
    with_texts: bool = False
    prepared: Callable[[Vectors], Vectors] = lambda each: each


@dataclass
class VectorsFile:
    """Where vectors are written to. `texts`: how many are there, those of before included, of which `kept` outlive a
    command that is stopped; `rows` of vectors.
    """

    folder: Path
    features: tuple[str, ...]
    widths: tuple[int, ...]
    words: bool
    request: Mapping[str, Any] | None
    format: Format
    texts: int = 0
    rows: int = 0
    with_ids: bool = False
    kept: int = 0
    streams: dict[str, _Stream] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [f"{number}.f32" for number in range(len(self.features))]
        beside = TEXTS if self.format.with_texts else IDS
        for name in (*names, beside, *((WORDS, PLACES) if self.words else ())):
            self.streams.setdefault(name, _Stream(self.folder / name))

    def add(self, found: Sequence[Vectors], ids: Sequence[object]) -> None:
        """Append the vectors of texts, with the id of each, None where it has none; all of them or none are whole."""
        for each, own in zip(found, ids, strict=True):
            self.put(each, own)
        self.commit()

    def put(self, each: Vectors, own: object) -> None:
        """Append the vectors of a text, or of words of it that more will follow, and its id, None where it has none.
        They are whole with the next `commit`.
        """
        each = self.format.prepared(each)
        for number, feature in enumerate(self.features):
            self.streams[f"{number}.f32"].write(np.asarray(each.vectors[feature], "<f4").tobytes())
        if self.words:
            offsets = each.offsets or ()
            self.rows += len(offsets)
            self.streams[PLACES].write(np.array([(self.texts, *word) for word in offsets], "<i8").tobytes())
            self.streams[WORDS].write("".join(f"{json.dumps(word)}\n" for word in each.words or ()).encode())
        else:
            self.rows += 1
        if each.more:
            return
        self.with_ids = self.with_ids or own is not None
        if self.format.with_texts:
            said: object = {"text": each.text, **({} if own is None else {"id": own})}
        else:
            said = own
        self.streams[TEXTS if self.format.with_texts else IDS].write(f"{json.dumps(said)}\n".encode())
        self.texts += 1

    def commit(self) -> None:
        """Make whole what was put."""
        self._commit()
        self.kept = self.texts

    def _commit(self) -> None:
        for stream in self.streams.values():
            stream.flush()
        state = {
            "made_for": _MADE_FOR,
            "request": self.request,
            "texts": self.texts,
            "rows": self.rows,
            "with_ids": self.with_ids,
            "files": {name: [stream.size, stream.checksum] for name, stream in self.streams.items()},
        }
        with atomic_write(self.folder / _STATE) as draft:
            draft.write_text(sealed_json(state), encoding="utf-8")

    def content(self) -> Content:
        """What the file is written from."""
        return Content(
            texts=self.texts,
            rows=self.rows,
            features={
                name: (self.folder / f"{number}.f32", width)
                for number, (name, width) in enumerate(zip(self.features, self.widths, strict=True))
            },
            ids=self.folder / IDS if self.with_ids and not self.format.with_texts else None,
            said=self.folder / TEXTS if self.format.with_texts else None,
            words=(self.folder / WORDS, self.folder / PLACES) if self.words else None,
            facts={"strategies and poolings": ", ".join(self.features), **(self.request or {}).get("facts", {})},
        )


def kind_of(out: Path, features: Sequence[str], *, words: bool) -> str:
    """The format of a file by its name; raises DataError for one that cannot hold what is asked for."""
    kind = out.suffix.lower().removeprefix(".")
    if kind not in WRITERS:
        raise DataError(
            "vectors are written to a .npy, .parquet or .safetensors file, with --json to any file as JSON lines",
            got=str(out),
        )
    if kind == "npy" and words:
        raise DataError(
            "a .npy file holds an array alone, which does not say what word each vector is of",
            got=str(out),
            do="write to .parquet or .safetensors",
        )
    if kind == "npy" and len(features) > 1:
        raise DataError(
            "a .npy file holds one kind of vector",
            got=f"{len(features)}: {', '.join(features)}",
            do="write to .parquet or .safetensors, or choose one strategy and one pooling",
        )
    return kind


@contextmanager
def vectors_file(
    out: Path,
    features: Sequence[str],
    widths: Sequence[int],
    request: Mapping[str, Any] | None,
    *,
    words: bool,
    resume: bool,
    format: Format | None = None,
) -> Iterator[VectorsFile]:
    """Inside, add the vectors; at the end they are in `out`, whatever was there before.

    Vectors of a command that was stopped or killed stay, and with `resume` the same request goes on after them.
    `request` is what the vectors depend on, as JSON: what has changed is named; None where nothing can go on, so that
    nothing stays. `format` is by default that of the name of `out`. Raises DataError where the vectors cannot be
    written, are of another request or damaged, and without `resume` when there are some.
    """
    check_path(out, DataError)
    out = behind_links(out, DataError)
    format = Format(WRITERS[kind_of(out, features, words=words)]) if format is None else format
    folder = out.with_name(f"{out.name}.partial")
    try:
        writing = _begun(out, folder, tuple(features), tuple(widths), request, format, words=words, resume=resume)
        with _locked(folder, out):
            try:
                yield from _written(writing, out)
            except KeyboardInterrupt as stopped:
                if _clean(folder, keep=request is not None):
                    stopped.add_note(f"{writing.kept:,} texts are kept in {folder}")
                raise
            except BaseException:
                _clean(folder, keep=request is not None)
                raise
        shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        kept = "what is written is kept: free disk space, then add --resume" if (folder / _STATE).is_file() else ""
        raise DataError(
            f"{format.what} must be written to {out}",
            got=error.strerror or str(error),
            do=kept or "choose another path",
        ) from None


def _written(writing: VectorsFile, out: Path) -> Iterator[VectorsFile]:
    """The file to put vectors into, and then what is written from them."""
    for stream in writing.streams.values():
        stream.open()
    try:
        yield writing
    finally:
        for stream in writing.streams.values():
            stream.close()
    if not writing.texts:
        raise DataError("at least one text is needed", got="none")
    with atomic_write(out) as draft:
        writing.format.write(draft, writing.content())
    flush_one(out.parent)


def _clean(folder: Path, *, keep: bool) -> bool:
    """Remove the folder where no text in it is whole, or is to be kept; whether there are some."""
    if keep and (folder / _STATE).is_file():
        return True
    if (folder / _LOCK).is_file():
        shutil.rmtree(folder, ignore_errors=True)
    return False


@contextmanager
def _locked(folder: Path, out: Path) -> Iterator[None]:
    with (folder / _LOCK).open("wb") as handle:
        if not lock(handle.fileno()):
            raise DataError(
                f"vectors are written to {out} by one command at a time",
                got="another one that is writing there",
                do="wait for it, or choose another --out",
            )
        yield


def _begun(
    out: Path,
    folder: Path,
    features: tuple[str, ...],
    widths: tuple[int, ...],
    request: Mapping[str, Any] | None,
    format: Format,
    *,
    words: bool,
    resume: bool,
) -> VectorsFile:
    """From where to go on; raises DataError where that is not possible, or was not asked for."""
    if out.exists() and not (format.is_folder or out.is_file()):
        raise DataError("vectors need a file", got=f"{out}, which is something else", do="choose another --out")
    new = VectorsFile(folder, features, widths, words, json.loads(json.dumps(request)), format)
    if not (folder / _STATE).exists():
        if folder.exists() and not (folder / _LOCK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise _not_ours(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return new
    try:
        known = read_sealed_json(folder / _STATE)
        if known.get("made_for") != _MADE_FOR:
            raise ValueError("another file")
        texts, rows, files = int(known["texts"]), int(known["rows"]), dict(known["files"])
        was = dict(known["request"] or {})
    except (OSError, ValueError, KeyError, TypeError):
        raise _not_ours(folder) from None
    if known["request"] is None:  # of a command that was killed and cannot go on
        return new
    if not resume:
        raise DataError(
            f"vectors for {out} must not replace those of another command",
            got=f"{texts:,} texts of a command that was stopped, in {folder}",
            do="add --resume to go on with them, delete that folder to begin anew, or choose another --out",
        )
    for name, value in (new.request or {}).items():
        if was.get(name) != value:
            raise DataError(
                f"vectors go on as they began, with the same {name}",
                got=_difference(was.get(name), value)[:200],
                do=f"ask as before, delete {folder} to begin anew, or choose another --out",
            )
    if files.keys() != new.streams.keys():
        raise _not_ours(folder)
    for name, stream in new.streams.items():
        stream.size, stream.checksum = files[name]
        if not stream.is_whole():
            raise _not_ours(folder)
    new.texts, new.rows, new.kept, new.with_ids = texts, rows, texts, bool(known["with_ids"])
    return new


def _difference(was: object, now: object) -> str:
    """Both values, of a group those that differ."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return f"{now!r} instead of {was!r}"
    changed = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    return ", ".join(f"{key} {now.get(key)!r} instead of {was.get(key)!r}" for key in changed)


def _not_ours(folder: Path) -> DataError:
    return DataError(
        f"{folder} must hold what a command that was stopped has left there",
        got="something else: it has changed since, is damaged, or is another folder",
        do="move or delete it, or choose another --out",
    )
