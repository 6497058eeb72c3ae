"""Pickles are refused: opening one runs any code that it contains."""

import copy
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from glassformer.base.errors import CheckpointError, PickleRefusedError, from_system

_SUFFIXES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}
# A pickle of protocol 2 and later begins with 0x80; torch.save wraps one into a zip archive.
_BEGINNINGS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")


class NeverPickled:
    """What is copied, but never pickled. `written_by` says what to do instead."""

    written_by: ClassVar[str]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = copy.copy(self)
        memo[id(self)] = new
        new.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return new

    def __copy__(self) -> Self:
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        kind = type(self).__name__
        raise PickleRefusedError(f"a {kind} is never written by pickle, joblib or another process", do=self.written_by)


def refuse_pickles(path: Path) -> None:
    """Raise CheckpointError when `path` is a pickle, or a folder whose only weights are pickles."""
    found = _pickles_in(path) if path.is_dir() else [path] if path.is_file() and _is_pickle(path) else []
    if found:
        raise CheckpointError(
            "weights must be a safetensors file",
            got=f"{found[0]}, a pickle, which can run any code when it is opened",
            do="ask its author for safetensors, or convert it if you trust it",
        )


def _pickles_in(folder: Path) -> list[Path]:
    if any(folder.glob("*.safetensors")):
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix.lower() in _SUFFIXES]


def _is_pickle(path: Path) -> bool:
    with from_system(CheckpointError, f"cannot read {path}"), path.open("rb") as handle:
        head = handle.read(9)
    # A safetensors file begins with the length of its JSON header, eight bytes that may look like a pickle's first two.
    is_safetensors = head[4:] == b"\0\0\0\0{"
    return path.suffix.lower() in _SUFFIXES or (head.startswith(_BEGINNINGS) and not is_safetensors)
