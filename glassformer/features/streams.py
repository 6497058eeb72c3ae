"""Vectors while they are made: raw numbers that are only appended to, and a state that says what is whole."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from glassformer.base.atomic import atomic_write
from glassformer.base.json_text import sealed_json
from glassformer.features.vectors import Vectors

# Numbers of a row group of Parquet, which are in memory together.
_GROUP = 1 << 22


MADE_FOR = "glassformer embed --resume, format 1"
STATE = "state.json"
# The files next to those of the features: ids of the texts, or texts with their ids; the words, and of which text and
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
        """Whether the file holds what was written, and perhaps more after it; reads it, in bounded memory."""
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

    write: Callable[[Path, VectorsFile], None]
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
        of_texts = TEXTS if self.format.with_texts else IDS
        for name in (*names, of_texts, *((WORDS, PLACES) if self.words else ())):
            self.streams.setdefault(name, _Stream(self.folder / name))

    def add(self, found: Sequence[Vectors], ids: Sequence[object]) -> None:
        """Append the vectors of texts, with the id of each, None where it has none; all of them or none are whole."""
        for each, own in zip(found, ids, strict=True):
            self.put(each, own)
        self.commit()

    def put(self, each: Vectors, own: object, kept: Mapping[str, Any] | None = None) -> None:
        """Append the vectors of a text, or of words of it that more will follow, its id, None where it has none, and
        what is kept with a text, by column. They are whole with the next `commit`.
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
            said: object = {
                "text": each.text,
                **({} if own is None else {"id": own}),
                **({"kept": kept} if kept else {}),
            }
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

    @property
    def numbers(self) -> dict[str, tuple[Path, int]]:
        """For each feature its file of N·F float32 numbers, and F."""
        paths = (self.folder / f"{number}.f32" for number in range(len(self.features)))
        return dict(zip(self.features, zip(paths, self.widths, strict=True), strict=True))

    @property
    def facts(self) -> dict[str, str]:
        """What a file says of its vectors."""
        return {"strategies and poolings": ", ".join(self.features), **(self.request or {}).get("facts", {})}


def write_npy(path: Path, vectors: VectorsFile) -> None:
    """One array [N, F] of float32."""
    ((numbers, width),) = vectors.numbers.values()
    with path.open("wb") as file, numbers.open("rb") as raw:
        write_header(file, "<f4", (vectors.rows, width))
        shutil.copyfileobj(raw, file, 1 << 22)


def write_header(file: BinaryIO, kind: str, shape: tuple[int, int]) -> None:
    """The beginning of a .npy file, whose numbers of this kind follow."""
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})


def write_safetensors(path: Path, vectors: VectorsFile) -> None:
    """A tensor [N, F] for each feature by its name; of words also `text`, `start` and `end`, [N] int64 each."""
    header: dict[str, Any] = {"__metadata__": dict(vectors.facts)}
    at = 0
    for name, (_, width) in vectors.numbers.items():
        size = vectors.rows * width * 4
        header[name] = {"dtype": "F32", "shape": [vectors.rows, width], "data_offsets": [at, at + size]}
        at += size
    columns = ("text", "start", "end") if vectors.words else ()
    for name in columns:
        header[name] = {"dtype": "I64", "shape": [vectors.rows], "data_offsets": [at, at + vectors.rows * 8]}
        at += vectors.rows * 8
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for numbers, _ in vectors.numbers.values():
            with numbers.open("rb") as raw:
                shutil.copyfileobj(raw, file, 1 << 22)
        for column in range(len(columns)):
            with (vectors.folder / PLACES).open("rb") as raw:
                while (places := np.fromfile(raw, "<i8", 3 * (1 << 16))).size:
                    file.write(places.reshape(-1, 3)[:, column].tobytes())


def write_parquet(path: Path, vectors: VectorsFile) -> None:
    """A row for each text, or for each word: the number of its `text`, its `id` where texts have one, of a word also
    `word`, `start` and `end`; and a column of lists for each feature.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field("text", pa.int64())]
    fields += [pa.field("id", pa.string())] if vectors.with_ids else []
    if vectors.words:
        fields += [pa.field("word", pa.string()), pa.field("start", pa.int64()), pa.field("end", pa.int64())]
    fields += [pa.field(name, pa.list_(pa.float32(), width)) for name, (_, width) in vectors.numbers.items()]
    schema = pa.schema(fields, metadata=dict(vectors.facts))
    step = max(1, _GROUP // sum(width for _, width in vectors.numbers.values()))
    with ExitStack() as stack, pq.ParquetWriter(path, schema) as writer:
        numbers = {name: stack.enter_context(of.open("rb")) for name, (of, _) in vectors.numbers.items()}
        words, places, ids = (
            stack.enter_context((vectors.folder / name).open("rb")) if there else None
            for name, there in ((WORDS, vectors.words), (PLACES, vectors.words), (IDS, vectors.with_ids))
        )
        own_ids = None if ids is None else _Ids(ids)
        for start in range(0, vectors.rows, step):
            count = min(step, vectors.rows - start)
            columns: list[Any] = []
            if places is None:
                texts = np.arange(start, start + count)
                own: list[Any] = []
            else:
                found = np.fromfile(places, "<i8", 3 * count).reshape(-1, 3)
                texts = found[:, 0]
                said = [json.loads(line) for line in islice(words or (), count)]
                own = [pa.array(said, pa.string()), pa.array(found[:, 1].copy()), pa.array(found[:, 2].copy())]
            columns += [pa.array(texts.copy())]
            columns += [] if own_ids is None else [pa.array([own_ids[text] for text in texts.tolist()], pa.string())]
            columns += own
            for name, (_, width) in vectors.numbers.items():
                flat = np.fromfile(numbers[name], "<f4", count * width)
                columns.append(pa.FixedSizeListArray.from_arrays(pa.array(flat), width))
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


class _Ids:
    """The ids of texts, read on as they are asked for in order."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines, self._at = lines, -1
        self._last: str | None = None

    def __getitem__(self, text: int) -> str | None:
        while self._at < text:
            value = json.loads(next(self._lines))
            self._last = value if value is None or isinstance(value, str) else json.dumps(value)
            self._at += 1
        return self._last


WRITERS: dict[str, Callable[[Path, VectorsFile], None]] = {
    "npy": write_npy,
    "parquet": write_parquet,
    "safetensors": write_safetensors,
}
