"""Converted models on disk: each in a folder that is whole or absent, named by what it was made from."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from glassformer.base.atomic import atomic_write, remove
from glassformer.base.paths import ENGINES, cache_folder

FORMAT = "1"
"""Another one where the same weights are converted in another way."""

_MADE, _OF, _COMPARED = "made.json", "of.json", "compared.json"


def place_of(engine: str, version: str, weights: str, depends: str) -> Path:
    """The folder of a converted model, which may not exist. Raises OSError."""
    digest = hashlib.sha256("\0".join((FORMAT, weights, depends)).encode()).hexdigest()
    return cache_folder() / ENGINES / f"{engine}-{version}-{digest[:32]}"


def is_whole(folder: Path) -> bool:
    """Whether a folder has each file as it was written; reads all of them."""
    try:
        made: dict[str, str] = json.loads((folder / _MADE).read_text(encoding="utf-8"))
        return bool(made) and all(_checksum(folder / name) == of for name, of in made.items())
    except (OSError, ValueError, AttributeError):
        return False


def kept(folder: Path, convert: Callable[[Path], None], *, model: str = "", weights: str = "") -> None:
    """Make a folder whole: by `convert`, which writes files into a folder, unless it is already. Several processes may
    do so at once: the first one that is ready is kept. The conversions that this engine, in any version, has of the
    same `model` with other `weights` are deleted. Raises OSError.
    """
    if is_whole(folder):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        remove(folder)
    try:
        with atomic_write(folder) as draft:
            draft.mkdir()
            convert(draft)
            (draft / _OF).write_text(json.dumps([model, weights]), encoding="utf-8")
            made = {path.name: _checksum(path) for path in sorted(draft.iterdir())}
            (draft / _MADE).write_text(json.dumps(made), encoding="utf-8")
    except OSError:
        if not is_whole(folder):  # else another process was first
            raise
    _forget_older(folder, model, weights)


def comparisons(folder: Path) -> dict[str, list[float]]:
    """What comparisons with torch have found of a converted model, by what was compared."""
    try:
        found: dict[str, list[float]] = json.loads((folder / _COMPARED).read_text(encoding="utf-8"))
        return {str(what): [float(rows), float(faster)] for what, (rows, faster) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def keep_comparison(folder: Path, what: str, found: tuple[int, float]) -> None:
    """Add one; where it cannot be kept, it is made again in another process."""
    with contextlib.suppress(OSError), atomic_write(folder / _COMPARED) as draft:
        draft.write_text(json.dumps({**comparisons(folder), what: found}), encoding="utf-8")


def _forget_older(folder: Path, model: str, weights: str) -> None:
    """Delete a model's other conversions; a process that has one open has read all of it."""
    engine = folder.name.rpartition("-")[0]
    for other in folder.parent.glob(f"{engine.rpartition('-')[0]}-*-*"):
        with contextlib.suppress(OSError, ValueError):
            of = json.loads((other / _OF).read_text(encoding="utf-8"))
            same = of == [model, weights] and other.name.rpartition("-")[0] == engine
            if of[:1] == [model] and not same:
                remove(other)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
