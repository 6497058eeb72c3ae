"""Rows that cannot be used, set aside in a file: JSON lines with file, line, reason and the row."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from glassformer.atomic import atomic_write
from glassformer.data.corpus import on_bad
from glassformer.data.lines import OnBad, Skipped, left_out
from glassformer.errors import DataError
from glassformer.paths import check_path

# File and number of a row, in what an error says of its place.
_PLACE = re.compile(r"(?P<file>.*), (?:line|row|question) (?P<number>[\d,]+)", re.DOTALL)


class RejectsFile(Skipped):
    """Writes each bad row to a file; counts them, and keeps the first message."""

    def __init__(self, path: Path, handle: TextIO) -> None:
        super().__init__()
        self.path, self._handle = path, handle

    def __call__(self, error: DataError) -> None:
        """Set the row of an error aside."""
        super().__call__(error)
        found_at = _PLACE.match(error.where)
        file, number = (found_at["file"], int(found_at["number"].replace(",", ""))) if found_at else (None, None)
        found = {"file": file, "line": number, "reason": str(error), "row": error.row}
        self._handle.write(json.dumps(found, ensure_ascii=False, default=str) + "\n")

    @property
    def sentence(self) -> str:
        """What was set aside, for a note."""
        return f"{left_out(self.count, self.first[0])}; set aside in {self.path}"


@contextmanager
def rejecting(path: str | Path, inputs: Iterable[str | Path] = ()) -> Iterator[RejectsFile]:
    """Inside, bad rows are written to the file at `path`, which replaces an older one at the end, also after an error
    or Ctrl-C. Raises DataError when it cannot be written, or is one of the inputs.
    """
    check_path(path, DataError)
    path = Path(path)
    if path.exists() and any(os.path.exists(each) and path.samefile(each) for each in inputs):
        raise DataError("rejects need a file of their own", got=f"{path}, which is read", do="choose another --rejects")
    stopped: BaseException | None = None
    try:
        with atomic_write(path) as draft, draft.open("w", encoding="utf-8", errors="backslashreplace") as handle:
            try:
                yield RejectsFile(path, handle)
            except BaseException as error:  # what was set aside until then is told all the same
                stopped = error
    except OSError as error:
        raise DataError(
            f"rejects must be written to {path}", got=error.strerror or str(error), do="choose another --rejects"
        ) from None
    if stopped is not None:
        raise stopped


@contextmanager
def bad_rows(data: Any, log: Callable[[str], None]) -> Iterator[OnBad]:
    """Inside, the handler of rows that cannot be used, as a RecordSection says; at the end what was left out is
    logged.
    """
    inputs = (*data.files, *data.validation_files)
    with nullcontext(on_bad(data)) if data.rejects is None else rejecting(data.rejects, inputs) as bad:
        yield bad
        if isinstance(bad, RejectsFile) and bad.count:
            log(bad.sentence)
        elif isinstance(bad, Skipped) and bad.count:
            log(left_out(bad.count, bad.first[0]))
