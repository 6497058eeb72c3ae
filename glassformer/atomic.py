"""Atomic writes: files and folders are written under a temporary name, flushed, and then renamed.

A draft carries the number of its process: what a killed one has left is cleared by the next that writes the same
thing, and what another process is still writing stays.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# The new files of a folder, all of them, while they are put in their places.
_READY = ".saved"
_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<who>(?P<process>\d+)-\d+)\.(draft|removed)", re.DOTALL)


@contextmanager
def atomic_write(target: Path) -> Iterator[Path]:
    """Inside, write a file or a folder to the path given; at the end it is renamed to `target`.

    A file replaces an older one; a folder that is not empty is not replaced. After an exception everything is as
    it was. Raises OSError when the disk does not take it.
    """
    clear_drafts(target.parent, target.name.removeprefix("."))
    draft = _beside(target, "draft")
    try:
        yield draft
        flush(draft)
        os.replace(draft, target)
        flush_one(target.parent)
    finally:
        _discard(draft)


@contextmanager
def replace_files(directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Inside, write the new files to the folder given; at the end they are those of `directory`.

    Of `names`, what was not written is gone afterwards; other files of the directory stay. `current` finds the old
    files or the new ones at any moment. Readers that do not use it find no `names[0]`, the file by which a folder of
    this kind is known, while some are old and some new. After an exception everything is as it was.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    if not directory.exists():
        with atomic_write(directory) as draft:
            draft.mkdir()
            yield draft
        return
    _put_in_place(directory, names)
    with atomic_write(directory / _READY) as draft:
        draft.mkdir()
        yield draft
    _put_in_place(directory, names)


def current(directory: Path) -> Path:
    """Where the files are that `replace_files` wrote: the folder itself, or one in it after an interruption."""
    ready = directory / _READY
    return ready if os.path.isdir(ready) else directory  # not ready.is_dir(), which raises for a name that is too long


def remove(directory: Path) -> None:
    """Remove a folder atomically: it is renamed first."""
    aside = _beside(directory, "removed")
    os.rename(directory, aside)
    _discard(aside)


def flush(path: Path) -> None:
    """Wait until a file, or a folder with all that is in it, is on the disk."""
    for inside in path.rglob("*") if path.is_dir() else ():
        flush_one(inside)
    flush_one(path)


def _put_in_place(directory: Path, names: Sequence[str]) -> None:
    """From the folder that holds them all, which goes last: stopped anywhere, this can be done again."""
    ready = directory / _READY
    if not ready.is_dir():
        return
    (directory / names[0]).unlink(missing_ok=True)
    for name in names:
        if not (ready / name).exists():
            (directory / name).unlink(missing_ok=True)
    for path in sorted(ready.iterdir(), key=lambda path: path.name == names[0]):
        with atomic_write(directory / path.name) as draft:
            try:
                os.link(path, draft)
            except OSError:  # a disk that has no second names
                shutil.copyfile(path, draft)
    remove(ready)


# --------------------------------------------------------------------------- drafts


def _beside(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name.removeprefix('.')}.{_who()}.{kind}")


def _who() -> str:
    return f"{os.getpid()}-{threading.get_native_id()}"


def clear_drafts(folder: Path, name: str | None = None) -> None:
    """Discard what killed processes have left in a folder of ours, or one before us that had our number.

    With `name`, only what was to be the file or folder of that name.
    """
    for path in folder.iterdir() if folder.is_dir() else ():
        found = _DRAFT.fullmatch(path.name)
        if found and name in (None, found["name"]) and (found["who"] == _who() or not _alive(int(found["process"]))):
            _discard(path)


def _alive(process: int) -> bool:
    if os.name == "nt":  # there, asking in this way would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's
        return True
    return True


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def flush_one(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows has no handle for a folder
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
