"""Vectors while they are made: raw numbers that are only appended to, and a state that says what is whole."""

import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from glassformer.base.atomic import atomic_write
from glassformer.base.json_text import sealed_json
from glassformer.features.formats import Content
from glassformer.features.vectors import Vectors

MADE_FOR = "glassformer embed --resume, format 1"
STATE = "state.json"
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
    are those of a text as they are kept; `with_texts`: the text is kept with them.
    """

    write: Callable[[Path, Content], None]
    what: str = "vectors"
    is_folder: bool = False
    with_texts: bool = False
    prepared: Callable[[Vectors], Vectors] = lambda each: each


@dataclass
class VectorsFile:
    """Where vectors are written to. `texts`: how many there are, earlier ones included, of which `kept` survive a
    stopped command; `rows` of vectors.
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
        for stream in self.streams.values():
            stream.flush()
        state = {
            "made_for": MADE_FOR,
            "request": self.request,
            "texts": self.texts,
            "rows": self.rows,
            "with_ids": self.with_ids,
            "files": {name: [stream.size, stream.checksum] for name, stream in self.streams.items()},
        }
        with atomic_write(self.folder / STATE) as draft:
            draft.write_text(sealed_json(state), encoding="utf-8")
        self.kept = self.texts

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
