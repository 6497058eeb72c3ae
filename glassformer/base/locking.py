"""The system's lock on an open file or folder: it ends with the process, however the process ends, and leaves nothing.

Linux and macOS lock with `fcntl.flock`, Windows with `msvcrt.locking` (a byte of a file; Windows opens no folders).
"""

from __future__ import annotations

import importlib
from types import ModuleType


def lock(handle: int) -> bool:
    """Lock an open file without waiting; False when another process holds the lock, True where disks have none."""
    posix = _module("fcntl")
    if posix is not None:
        try:
            posix.flock(handle, posix.LOCK_EX | posix.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True
    windows = _module("msvcrt")
    if windows is not None:
        try:
            windows.locking(handle, windows.LK_NBLCK, 1)
        except PermissionError:  # Windows' answer where another process holds the lock
            return False
        except OSError:
            pass
    return True


def locks_folders() -> bool:
    """Whether a folder itself can be locked: else a file inside it is."""
    return _module("fcntl") is not None


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
