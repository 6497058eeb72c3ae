"""Rows that cannot be used, written to a file: JSON lines with file, line, reason and the row."""

import json
import re
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import DataError, from_system
from glassformer.base.json_text import in_json
from glassformer.base.outputs import output_file
from glassformer.data.readers.files import files_for
from glassformer.data.readers.lines import OnBad, Skipped
from glassformer.data.stores.corpus import on_bad

# File and number of a row in `DataError.where`, or its place in SQuAD's JSON.
_PLACE = re.compile(
    r"(?P<file>.*?), (?:(?:line|row) (?P<number>\d+)|(?P<place>data\[\d+\][^ ]*)(?: \(id .*\))?)", re.DOTALL
)
# Bits of a place's last two numbers, where it has three: a row is then ordered by one number.
_BITS = 20


class RejectsFile(Skipped):
    """Writes each bad row to a file as it comes; at the end sorted by the order of `files`, and their lines."""

    def __init__(self, path: Path, handle: BinaryIO, files: Iterable[str | Path]) -> None:
        super().__init__()
        self.path, self._handle = path, handle
        self._files = {str(file): number for number, file in enumerate(files)}
        # Of each row, in the order they came: its file, its place there, and where it begins in the file of rejects.
        self._order = (array("q"), array("q"), array("q"))

    def __call__(self, error: DataError) -> None:
        super().__call__(error)
        found_at = _PLACE.fullmatch(error.where)
        file, number, place = found_at.group("file", "number", "place") if found_at else (None, None, None)
        if found_at is None and error.where in self._files:  # a file that cannot be read at all
            file = error.where
        found = {"file": file, "line": None if number is None else int(number), "reason": str(error), "row": error.row}
        if place is not None:
            found["place"] = place
        begins = self._handle.tell()
        line = json.dumps(in_json(found), ensure_ascii=False) + "\n"
        self._handle.write(line.encode("utf-8", errors="backslashreplace"))
        key = int(number or 0)
        if place is not None:
            article, paragraph, question = [*map(int, re.findall(r"\d+", place)), 0, 0][:3]
            key = (((article << _BITS) + paragraph) << _BITS) + question
        order = self._files.setdefault(file or "", len(self._files))
        for column, value in zip(self._order, (order, key, begins), strict=True):
            column.append(value)

    def sort(self) -> None:
        """Put the rows that were written in the order of the files and lines they came from."""
        files, keys, begins = (np.array(column, np.int64) for column in self._order)
        order = np.lexsort((keys, files))  # rows of the same place stay in their order
        if (order[1:] >= order[:-1]).all():
            return
        with tempfile.TemporaryFile() as written:
            self._handle.seek(0)
            shutil.copyfileobj(self._handle, written)
            self._handle.seek(0)
            for begin in begins[order].tolist():
                written.seek(begin)
                self._handle.write(written.readline())

    @property
    def sentence(self) -> str:
        return f"{super().sentence}; written to {self.path}"


@contextmanager
def rejecting(path: str | Path, inputs: Iterable[str | Path] = ()) -> Iterator[RejectsFile]:
    """Inside, bad rows are written to `path`, also before an error; `inputs` are the files read. Raises DataError."""
    inputs = list(inputs)
    path = output_file(path, DataError, inputs=inputs, overwrite=None)
    stopped: BaseException | None = None
    failing = from_system(DataError, f"cannot write rejects to {path}", do="choose another --rejects")
    with failing, atomic_write(path) as draft, draft.open("w+b") as handle:
        rejects = RejectsFile(path, handle, inputs)
        try:
            yield rejects
        except BaseException as error:  # what was set aside until then is reported all the same
            stopped = error
        rejects.sort()
    if stopped is not None:
        raise stopped


@contextmanager
def bad_rows(data: Any, log: Callable[[str], None]) -> Iterator[OnBad]:
    """Inside, the handler of rows that cannot be used; at the end what was left out is logged."""
    inputs = files_for(data, [*data.files, *data.validation_files]) if data.rejects is not None else ()
    with nullcontext(on_bad(data)) if data.rejects is None else rejecting(data.rejects, inputs) as bad:
        yield bad
        if isinstance(bad, Skipped) and bad.count:
            log(bad.sentence)
