"""Weights in a pickle are refused: opening a pickle runs any code that it contains."""

from pathlib import Path

from glassformer.base.errors import CheckpointError

_SUFFIXES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}
# A pickle of protocol 2 and later begins with 0x80; torch.save wraps one into a zip archive.
_BEGINNINGS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")


def refuse_pickles(path: Path) -> None:
    """Raise CheckpointError when `path` is a pickle, or a folder whose only weights are pickles."""
    found = _pickles_in(path) if path.is_dir() else [path] if path.is_file() and _is_pickle(path) else []
    if found:
        raise CheckpointError(
            "weights must be a safetensors file",
            got=f"{found[0]}, a pickle, which can run any code when it is opened",
            do="ask its author for safetensors, or convert it where you trust it",
        )


def _pickles_in(folder: Path) -> list[Path]:
    if any(folder.glob("*.safetensors")):
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix.lower() in _SUFFIXES]


def _is_pickle(path: Path) -> bool:
    with path.open("rb") as handle:
        head = handle.read(9)
    # A safetensors file begins with the length of its JSON header, eight bytes that may look like a pickle's first two.
    is_safetensors = head[4:] == b"\0\0\0\0{"
    return path.suffix.lower() in _SUFFIXES or (head.startswith(_BEGINNINGS) and not is_safetensors)
