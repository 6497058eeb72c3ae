"""Atomic writes: files and folders are written under a temporary name, flushed, and then renamed.

The temporary name (of a "draft") contains the id of the writing process and where it runs. The drafts of a killed
process are deleted by the next write to the same path; those of running processes are kept, and those of another
machine or container, whose processes are not known here, for a day.
"""

import errno
import importlib
import os
import platform
import re
import shutil
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType

# The subfolder that holds all new files of a folder until they are moved into it.
_READY = ".saved"
_DRAFT = re.compile(
    r"\.(?P<name>.+)\.(?P<owner>(?P<process>\d+)-\d+(-(?P<place>[0-9a-f]{8}))?)\.(draft|removed)", re.DOTALL
)
_DAY = 86_400.0  # seconds
# Seconds between attempts to rename, one in all.
_WAITS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.25, 0.35)


@contextmanager
def atomic_write(target: Path) -> Iterator[Path]:
    """Inside, write to the path given, which becomes `target` at the end, but not after an error. Raises OSError."""
    clear_drafts(target.parent, _begin_of(target))
    draft = _sibling(target, "draft")
    try:
        yield draft
        flush(draft)
        replace(draft, target)
        flush_one(target.parent)
    finally:
        _discard(draft)


@contextmanager
def replace_files(directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Inside, write the new files to the folder given; at the end they are those of `directory`.

    A file in `names` that was not written is deleted; other files of the directory are kept. At any moment `current`
    finds either all old files or all new ones. `names[0]` is the file that identifies a folder of this kind: it is
    missing while old and new files are mixed, so that other readers do not take the folder for a complete one. After
    an exception nothing has changed.
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
    """The folder with the files of `replace_files`: `directory`, or its subfolder after an interruption."""
    ready = directory / _READY
    return ready if os.path.isdir(ready) else directory  # not ready.is_dir(), which raises for a name that is too long


def replace(draft: Path, target: Path) -> None:
    """Rename `draft` to `target`; on Windows, where a scanner may have it open, retried for a second."""
    waits = _WAITS if os.name == "nt" else ()
    for wait in waits:
        try:
            os.replace(draft, target)
            return
        except PermissionError:
            time.sleep(wait)
    os.replace(draft, target)


def remove(directory: Path) -> None:
    """Remove a folder atomically: it is renamed first."""
    aside = _sibling(directory, "removed")
    replace(directory, aside)
    _discard(aside)


def flush(path: Path) -> None:
    """Wait until a file, or a folder with all its content, is on the disk."""
    for inside in path.rglob("*") if path.is_dir() else ():
        flush_one(inside)
    flush_one(path)


def _put_in_place(directory: Path, names: Sequence[str]) -> None:
    """Move the new files out of the `_READY` folder, and remove it last: after an interruption this can be repeated."""
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
            except OSError:  # a file system without hard links
                shutil.copyfile(path, draft)
    remove(ready)


def _sibling(target: Path, kind: str) -> Path:
    if not target.name:
        raise OSError(errno.EBUSY, "this folder cannot be replaced: name another one")
    return target.with_name(f".{_begin_of(target)}.{_owner()}.{kind}")


def _begin_of(target: Path) -> str:
    """What its drafts are called by: so much of its name that theirs, which are longer, are possible too."""
    return os.fsencode(target.name.removeprefix("."))[:180].decode(errors="ignore")


def _owner() -> str:
    return f"{os.getpid()}-{threading.get_native_id()}-{_place()}"


@cache
def _place() -> str:
    """The machine and the container, in which the ids of processes are those of this one."""
    try:
        container = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        container = 0
    return f"{zlib.crc32(f'{platform.node()} {container}'.encode()):08x}"


def clear_drafts(folder: Path, name: str | None = None) -> None:
    """Delete the drafts in a folder that killed processes left; with `name`, those of this file or folder."""
    for path in folder.iterdir() if folder.is_dir() else ():
        found = _DRAFT.fullmatch(path.name)
        if found and name in (None, found["name"]) and _is_left(path, found):
            _discard(path)


def _is_left(path: Path, found: re.Match[str]) -> bool:
    """Whether nobody writes a draft any more, as far as can be known."""
    if found["place"] not in (None, _place()):
        with suppress(OSError):
            return time.time() - path.stat().st_mtime > _DAY
        return False
    return found["owner"] == _owner() or not _alive(int(found["process"]))


def _alive(process: int) -> bool:
    if os.name == "nt":  # on Windows os.kill would end the process
        return _alive_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # it belongs to another user, or is no possible id
        return True
    return True


def _alive_on_windows(process: int) -> bool:
    """Whether a process runs, by its exit code: 259 (STILL_ACTIVE) until it ends."""
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
    handle = kernel.OpenProcess(0x1000, False, process)  # PROCESS_QUERY_LIMITED_INFORMATION
    if not handle:
        return bool(kernel.GetLastError() != 87)  # ERROR_INVALID_PARAMETER: there is no such process
    code = ctypes.c_ulong()
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return not known or code.value == 259


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
