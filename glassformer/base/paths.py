"""Paths as users give them, checked before anything is opened, and where files are kept that can be made again."""

import os
import sys
import tempfile
from pathlib import Path

from glassformer.base.errors import GlassformerError

# The beginning of a path that the shell substitutes for <(command).
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def refuse_no_path(path: object, error: type[GlassformerError]) -> None:
    if not isinstance(path, str | os.PathLike):
        raise error("a path is needed", got=repr(path)[:60])


def check_path(path: str | Path, error: type[GlassformerError], *, utf8: bool = False) -> None:
    """Raise `error` for what is not a path, for a path that no system can look up, and for a `~` that the shell did not
    expand: we never expand it. A path that does not exist is not an error. `utf8` requires a name in UTF-8: the path is
    written into files, and the safetensors library opens no others.
    """
    refuse_no_path(path, error)
    text = os.fspath(path)
    if "\0" in text:
        raise error("a path without a zero byte is needed", got=repr(text))
    if text.startswith("~") and not os.path.lexists(Path(text).parts[0]):
        raise error(
            "~ means your home folder only where the shell expands it",
            got=f"{text}, which names a folder inside the current folder",
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
    except UnicodeEncodeError:  # a lone surrogate, from a file or from Python: no file name has one
        raise error("a path without lone surrogates is needed", got=ascii(text)) from None
    except OSError as why:
        raise error("a path that can be looked up is needed", got=f"{why.strerror}: {text}") from None


def follow_links(path: Path, error: type[GlassformerError]) -> Path:
    """The file that a path names, links followed; raises `error` for a link that leads back to itself."""
    if not path.is_symlink():
        return path
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise error(f"{path} must lead to a file", got="a link that leads back to itself", do="choose another path")
    return found


def refuse_endless(path: str | Path, error: type[GlassformerError], *, do: str = "") -> None:
    """Raise `error` for a named pipe or a device where a regular file is needed: reading it may never end."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise error(f"a file is needed at {path}", got="a pipe or device", do=do)


def is_stream(path: str | Path) -> bool:
    """Whether the shell made this path, for something readable only once, for <(command) or for standard input."""
    return os.fspath(path).startswith(_STREAMS) and os.path.exists(path) and not os.path.isdir(path)


ENGINES, MEASURED, RECENT = "engines", "measured", "recent.json"
"""What is in this folder: converted models, which ways to compute are faster here, and the places of the models that
`explore` opened last.
"""


def cache_folder() -> Path:
    """GLASSFORMER_CACHE, else the system's folder for such files; it may not exist. Raises OSError without a home."""
    if own := os.environ.get("GLASSFORMER_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        usual = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        usual = "~/Library/Caches"
    else:
        usual = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(usual or "~/.cache").expanduser() / "glassformer"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def not_kept(error: OSError) -> str:
    """What commands say when a converted model cannot be written to the cache folder."""
    return f"the converted model cannot be kept ({error.strerror or error})"


def check_writable(folder: Path) -> None:
    """Raise the OSError that making or filling a folder would raise; nothing is left there."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass
