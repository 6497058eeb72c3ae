"""Paths as people give them, looked at before anything is opened."""

from __future__ import annotations

import os
from pathlib import Path

from glassformer.errors import GlassformerError

# What the shell puts in the place of a command whose output is read: <(command).
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def check_path(path: str | Path, error: type[GlassformerError], *, utf8: bool = False) -> None:
    """Raise `error` for a path that no system can look up, and for a `~` that the shell has left: nothing here puts
    the home folder in its place unasked. That nothing is there yet is no error. `utf8` asks for a name in UTF-8, which
    is written into files, and without which the library of safetensors opens none.
    """
    text = os.fspath(path)
    if "\0" in text:
        raise error("a path without a zero byte is needed", got=repr(text))
    if text.startswith("~") and not os.path.lexists(Path(text).parts[0]):
        raise error(
            "~ stands for your home folder only where the shell sees it",
            got=f"{text}, which is looked for in the current folder",
            do=f"write it without quotes and after a space, or write {os.path.expanduser(text)}",
        )
    if utf8:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise error("a name in UTF-8 is needed", got=ascii(text)) from None
    try:
        os.lstat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except UnicodeEncodeError:  # half a letter, from a file or from Python: no name has one
        raise error("a path of whole letters is needed", got=ascii(text)) from None
    except OSError as why:
        raise error("a path that can be looked up is needed", got=f"{why.strerror}: {text}") from None


def refuse_endless(path: str | Path, error: type[GlassformerError], *, do: str = "") -> None:
    """Raise `error` for a named pipe or a device, where a file is read: it may have no end."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise error(f"a file is needed at {path}", got="a pipe or device", do=do)


def is_stream(path: str | Path) -> bool:
    """Whether the shell has put this path, of a pipe that can be read once, in the place of a command or of `-`."""
    return os.fspath(path).startswith(_STREAMS) and os.path.exists(path) and not os.path.isfile(path)
