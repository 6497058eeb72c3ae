"""The files that vectors are written to: .npy, .parquet, .safetensors, each in bounded memory.

N rows of vectors: texts, or words · F numbers of a vector
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

# Numbers of a row group of Parquet, which are in memory together.
_GROUP = 1 << 22


@dataclass(frozen=True)
class Content:
    """What a file is written from: for each feature a file of N·F float32 numbers, and F; the ids of the texts, one
    JSON value a line; in `said` the texts with their ids, where they are kept; of words these and, for each, the text
    it is in and its characters [start, end), N·3 int64.
    """

    texts: int
    rows: int
    features: Mapping[str, tuple[Path, int]]
    ids: Path | None
    words: tuple[Path, Path] | None
    said: Path | None
    facts: Mapping[str, str]


def write_npy(path: Path, content: Content) -> None:
    """One array [N, F] of float32."""
    ((numbers, width),) = content.features.values()
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (content.rows, width)}
        )
        with numbers.open("rb") as raw:
            shutil.copyfileobj(raw, file, 1 << 22)


def write_safetensors(path: Path, content: Content) -> None:
    """A tensor [N, F] for each feature by its name; of words also `text`, `start` and `end`, [N] int64 each."""
    header: dict[str, Any] = {"__metadata__": dict(content.facts)}
    at = 0
    for name, (_, width) in content.features.items():
        size = content.rows * width * 4
        header[name] = {"dtype": "F32", "shape": [content.rows, width], "data_offsets": [at, at + size]}
        at += size
    columns = ("text", "start", "end") if content.words is not None else ()
    for name in columns:
        header[name] = {"dtype": "I64", "shape": [content.rows], "data_offsets": [at, at + content.rows * 8]}
        at += content.rows * 8
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for numbers, _ in content.features.values():
            with numbers.open("rb") as raw:
                shutil.copyfileobj(raw, file, 1 << 22)
        for column in range(len(columns)):
            assert content.words is not None
            with content.words[1].open("rb") as raw:
                while (places := np.fromfile(raw, "<i8", 3 * (1 << 16))).size:
                    file.write(places.reshape(-1, 3)[:, column].tobytes())


def write_parquet(path: Path, content: Content) -> None:
    """A row for each text, or for each word: the number of its `text`, its `id` where texts have one, of a word also
    `word`, `start` and `end`; and a column of lists for each feature.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field("text", pa.int64())]
    fields += [pa.field("id", pa.string())] if content.ids is not None else []
    if content.words is not None:
        fields += [pa.field("word", pa.string()), pa.field("start", pa.int64()), pa.field("end", pa.int64())]
    fields += [pa.field(name, pa.list_(pa.float32(), width)) for name, (_, width) in content.features.items()]
    schema = pa.schema(fields, metadata=dict(content.facts))
    step = max(1, _GROUP // sum(width for _, width in content.features.values()))
    with ExitStack() as stack, pq.ParquetWriter(path, schema) as writer:
        numbers = {name: stack.enter_context(of.open("rb")) for name, (of, _) in content.features.items()}
        words = None if content.words is None else stack.enter_context(content.words[0].open(encoding="utf-8"))
        places = None if content.words is None else stack.enter_context(content.words[1].open("rb"))
        ids = None if content.ids is None else _Ids(stack.enter_context(content.ids.open(encoding="utf-8")))
        for start in range(0, content.rows, step):
            count = min(step, content.rows - start)
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
            columns += [] if ids is None else [pa.array([ids[text] for text in texts.tolist()], pa.string())]
            columns += own
            for name, (_, width) in content.features.items():
                flat = np.fromfile(numbers[name], "<f4", count * width)
                columns.append(pa.FixedSizeListArray.from_arrays(pa.array(flat), width))
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


class _Ids:
    """The ids of texts, read on as they are asked for in order."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._at = lines, -1
        self._last: str | None = None

    def __getitem__(self, text: int) -> str | None:
        while self._at < text:
            value = json.loads(next(self._lines))
            self._last = value if value is None or isinstance(value, str) else json.dumps(value)
            self._at += 1
        return self._last


WRITERS: dict[str, Callable[[Path, Content], None]] = {
    "npy": write_npy,
    "parquet": write_parquet,
    "safetensors": write_safetensors,
}
