"""A lock that allows one training at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glassformer.errors import TrainingError


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Inside, no other process trains in this folder: two runs would delete each other's checkpoints.

    The system's lock on the folder: it leaves no file and ends with the process, however the process ends. Windows and
    some network disks have no such lock; there this does nothing. Raises TrainingError when another training holds the
    lock.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError("a run needs a folder to write to", got=f"{folder}: {error.strerror}") from None
    try:
        import fcntl
    except ImportError:
        yield
        return
    holder = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainingError(
                "a folder takes one training at a time",
                got=f"{folder}, where another is running",
                do="wait for it, or choose another --out",
            ) from None
        except OSError:
            pass
        yield
    finally:
        os.close(holder)
