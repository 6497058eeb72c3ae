"""Replacing the files of a folder all at once: whoever looks finds the old ones or the new ones, never some of each.

The new files are written to a folder inside, and flushed. Renaming that folder is the moment at which they count;
whoever is killed while they are moved to their places leaves them where `place` looks first.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# New files wait here, complete, until they are moved up.
_READY = ".saved"


@contextmanager
def replacing(directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Inside, write the new files to the folder given; at the end they are those of `directory`.

    Of `names`, what was not written is gone afterwards; other files of the directory stay. An exception leaves
    everything as it was.
    """
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    _move_up(directory, names)
    temporary = Path(tempfile.mkdtemp(dir=directory, prefix=".saving-"))
    try:
        yield temporary
        for path in (*temporary.iterdir(), temporary):
            _flush(path)
        os.chmod(temporary, 0o755)  # a temporary folder is private
        os.rename(temporary, directory / _READY)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if made and not any(directory.iterdir()):
            directory.rmdir()
    _move_up(directory, names)


def place(directory: Path, name: str) -> Path:
    """Where a file is: among those that wait to be moved up, or in its place."""
    waiting = directory / _READY / name
    return waiting if waiting.exists() else directory / name


def write_whole(path: Path, text: str) -> None:
    """Write one file: whoever looks finds the old one or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        _flush(draft)
        os.replace(draft, path)
        _flush(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _move_up(directory: Path, names: Sequence[str]) -> None:
    ready = directory / _READY
    if not ready.is_dir():
        return
    for name in names:
        if (ready / name).exists():
            os.replace(ready / name, directory / name)
        else:
            (directory / name).unlink(missing_ok=True)
    ready.rmdir()
    _flush(directory)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows has no handle for a folder
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
