"""A lock that allows one training at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glassformer.base.errors import TrainingError
from glassformer.base.locking import lock, locks_folders

# The file that is locked where a folder cannot be: on Windows.
_FILE = ".lock"


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Inside, no other process trains in this folder: two runs would delete each other's checkpoints.

    The system's lock on the folder: it leaves no file and ends with the process, however the process ends. On Windows
    the lock is on a file in the folder, which is removed at the end. Some network disks have no locks; there this does
    nothing. Raises TrainingError when another training holds the lock.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError("a run needs a folder to write to", got=f"{folder}: {error.strerror}") from None
    inside = None if locks_folders() else folder / _FILE
    try:
        holder = os.open(folder, os.O_RDONLY) if inside is None else os.open(inside, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise TrainingError("a run needs a folder to write to", got=f"{folder}: {error.strerror}") from None
    try:
        if not lock(holder):
            raise TrainingError(
                "a folder takes one training at a time",
                got=f"{folder}, where another is running",
                do="wait for it, or choose another --out",
            )
        yield
    finally:
        os.close(holder)
        if inside is not None:
            with suppress(OSError):  # another process has it open
                inside.unlink()
