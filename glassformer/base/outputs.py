"""The check of every path that is to be written: nothing in use and no file of a user is overwritten.

In a folder that holds a model, an index or a run, only pages are written. An existing file is replaced where its
beginning shows that glassformer wrote it, else only with `overwrite`. The errors where a command cannot go on with
what a stopped one left.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from glassformer.base.errors import DataError, GlassformerError
from glassformer.base.paths import check_path, follow_links

# A folder with all patterns of a line holds what its name says. `.saved`: files that are being put in place.
_HOLDS = (
    ("a model", "glassformer.json"),
    ("a model", ".saved"),
    ("a model", "config.json", "*model*.safetensors"),
    ("a model", "config.json", "*model*.bin"),
    ("a model", "export.json", "model.onnx"),
    ("an index", "index.json", "vectors.npy"),
    ("a run", "recipe.toml", "checkpoints"),
    ("a run", "recipe.toml", "tokens"),
    ("a run", "recipe.toml", "seed-0"),
)
# How a page, a trace, rejects, and a mix or a probe begin.
_OURS = re.compile(
    rb"<!doctype html>\r?\n[^\0]{0,8000}glassformer</title>"
    rb'|.{7}\0\{"__metadata__":\{"glassformer":'
    rb'|\{"file": [^\n]*"reason": '
    rb'|\{\s*"made_for": "glassformer ',
    re.DOTALL,
)
_HEAD = 1 << 16


def output_file(
    path: str | Path,
    error: type[GlassformerError],
    *,
    inputs: Iterable[str | Path] = (),
    overwrite: bool | None = False,
    devices: bool = False,
) -> Path:
    """The file that a path to write names, links followed. Raises `error` for a folder, for one of the `inputs`, for a
    file among those of a model, an index or a run, without `overwrite` for an existing file that glassformer did not
    write (None: also refused, and not offered), and without `devices` for a device or a pipe.
    """
    check_path(path, error)
    file = Path(path)
    if file.is_dir():
        raise error("a file to write is needed", got=f"{path}, a folder", do="add the name of a file")
    if file.exists() and not file.is_file():  # what a link like /dev/fd/63 leads to has no name
        if devices:
            return file
        raise error("a file to write is needed", got=f"{path}, a device or pipe", do="choose another path")
    file = follow_links(file, error)
    if file.is_file() and any(Path(each).is_file() and file.samefile(each) for each in inputs):
        raise error("results need their own file", got=f"{path}, which is read", do="choose another path")
    ours = not file.is_file() or _is_ours(file)
    for folder in file.absolute().parents:
        if (what := held(folder)) and not (ours and file.suffix == ".html"):
            raise error(
                f"results are written outside models, indexes and runs: {path}",
                got=f"a path inside {what}, {folder}",
                do="choose another path",
            )
    if not ours and not overwrite:
        raise error(
            "results need a new file",
            got=f"{path}, which exists",
            do="choose another path" + ("" if overwrite is None else ", or add --overwrite (in Python overwrite=True)"),
        )
    return file


def held(folder: Path) -> str:
    """What a folder holds: "a model", "an index", "a run", or "" for anything else."""
    for what, *patterns in _HOLDS:
        try:
            if all(any(folder.glob(pattern)) for pattern in patterns):
                return what
        except OSError:  # a folder that cannot be listed
            continue
    return ""


def _is_ours(file: Path) -> bool:
    """Whether glassformer wrote a file, or it is empty."""
    try:
        with file.open("rb") as handle:
            head = handle.read(_HEAD)
    except OSError:
        return False
    return not head or _OURS.match(head) is not None


def refuse_another_request(was: Mapping[str, Any], now: Mapping[str, Any], kept: Path) -> None:
    """Raise DataError where a resumed command asks for something else; both values of a group are named."""
    for name, value in json.loads(json.dumps(now)).items():
        before, got = was.get(name), f"another {name}"
        if before == value:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            changed = [key for key in {**before, **value} if before.get(key) != value.get(key)]
            got = ", ".join(f"{key} {value.get(key)!r} instead of {before.get(key)!r}" for key in changed)
        do = f"repeat the earlier command, delete {kept} to start over, or choose another --out"
        raise DataError(f"a resumed command needs the same {name}", got=got, do=do)


def not_left_here(path: Path) -> DataError:
    return DataError(
        f"{path} must hold what a stopped command left there",
        got="something else: it has changed since, is damaged, or is another one",
        do="move or delete it, or choose another --out",
    )


def written_by_another(out: Path, what: str) -> DataError:
    return DataError(
        f"{what} are written to {out} by one command at a time",
        got="another one, which is writing there",
        do="wait for it, or choose another --out",
    )
