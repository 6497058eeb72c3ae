"""What is kept on this machine to save time, and can be deleted: it is made again when needed.

docs/reference/stable.md names every place that is written to outside the folders that a user gives; a test compares it
with what a training really writes.
"""

import getpass
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from glassformer.base.atomic import remove
from glassformer.base.errors import DataError, GlassformerError
from glassformer.base.paths import ENGINES, MEASURED, RECENT, cache_folder, check_path
from glassformer.data.stores.store import FACTS
from glassformer.saved import store
from glassformer.saved.recipe import RECIPE, read_saved_recipe
from glassformer.training.stopping import exclusive

# A store of tokens is a folder named after the first 16 digits of its text's digest.
_STORE = re.compile(r"[0-9a-f]{16}")
# Where a user names the folder of torch's kernels: what torch makes there, by what it is called.
_KERNELS = "TORCHINDUCTOR_CACHE_DIR"
_OF_TORCH = re.compile(
    r"[0-9a-z]{2}|tmp.*|fxgraph|aotautograd|locks|precompiled_headers|triton|gcc|cache|autoheuristic|aoti_eager|"
    r"unhashed_kernel_inputs|torch_cutlass|memoizer_cache\..*|.*cutlass.*"
)
OWN = {
    ENGINES: "models converted for engines",
    MEASURED: "which of two ways to compute is faster on this machine",
    RECENT: "places of the models that explore opened last",
}
"""What is in the package's own cache folder."""


@dataclass(frozen=True)
class Cache:
    """What is kept to save time. `run`: the run it belongs to; `why` it is not deleted, "" where it is."""

    what: str
    path: Path
    size: int
    run: Path | None = None
    why: str = ""

    def clear(self) -> str:
        """Delete it; returns why it was not deleted, "" where it was."""
        if self.why:
            return self.why
        try:
            if self.run is None:
                if self.path.is_dir():
                    shutil.rmtree(self.path)
                else:
                    self.path.unlink()
                return ""
            with exclusive(self.run):
                remove(self.path)
                with suppress(OSError):  # other stores of this run are in it
                    self.path.parent.rmdir()
        except FileNotFoundError:
            return ""
        except OSError as error:
            return error.strerror or str(error)
        except GlassformerError:
            return "a training that uses it is running"
        return ""


def caches(folders: Sequence[str | Path] = ("runs",)) -> list[Cache]:
    """What is kept for this user, and the tokens of all runs below these folders; raises DataError."""
    found = []
    if (path := kernels()).is_dir():
        what = "compiled kernels, shared with other programs that use torch.compile"
        found.append(Cache(what, path, _size(path), why=_foreign(path)))
    if (path := hub_models()).is_dir():
        why = "huggingface_hub's own command clears it"
        found.append(Cache("models of the hub, shared", path, _size(path), why=why))
    with suppress(OSError):  # no home
        own = cache_folder()
        for name, what in OWN.items():
            if (own / name).exists():
                found.append(Cache(what, own / name, _size(own / name)))
    for folder in folders:
        check_path(folder, DataError)
    in_use = {cache: run for folder in folders for cache, run in _caches_in_use(Path(folder)).items()}
    for folder in map(Path, folders):
        if not folder.is_dir() and tuple(folders) != ("runs",):
            raise DataError(f"a folder is needed at {folder}", got="a file" if folder.exists() else "no such folder")
        found += list(_stores(folder, in_use))
    return found


def kernels() -> Path:
    """Where torch keeps what it has compiled, as `torch._inductor.runtime.cache_dir_utils` says."""
    try:
        user = getpass.getuser()
    except (KeyError, ModuleNotFoundError, OSError):
        user = f"uid_{os.getuid()}" if hasattr(os, "getuid") else "unknown_user"
    usual = os.path.join(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user))
    return Path(os.environ.get(_KERNELS, usual))


def _foreign(folder: Path) -> str:
    """Why a folder that a user has named for kernels is not deleted: what others have put there would be lost."""
    if _KERNELS not in os.environ:
        return ""
    others = sorted(name for name in os.listdir(folder) if not _OF_TORCH.fullmatch(name))
    return f"{_KERNELS} names it, and it holds more than kernels: {others[0]}" if others else ""


def hub_models() -> Path:
    """Where huggingface_hub keeps what `hub:owner/name` has downloaded."""
    shared = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.environ.get("HF_HOME", os.path.join(shared, "huggingface"))
    return Path(os.path.expanduser(os.environ.get("HF_HUB_CACHE", os.path.join(home, "hub"))))


def _stores(folder: Path, in_use: Mapping[str, Path]) -> Iterator[Cache]:
    """The stores of tokens below a folder, links not followed; `in_use` are folders that runs still need."""
    for place, names, _ in os.walk(folder):
        for name in sorted(names):
            path = Path(place) / name
            if not (_STORE.fullmatch(name) and (path / "train" / FACTS).is_file()):
                continue
            run = path.parent.parent
            if path.parent.name != "tokens" or not (run / RECIPE).is_file():
                user = in_use.get(os.path.realpath(path.parent))
                why = "" if user is None else f"the run in {user} is unfinished, and continues with these tokens"
                yield Cache("tokens of a text", path, _size(path), why=why)
            else:
                open_run = "" if store.is_ours(run) else "its run is unfinished, and continues with these tokens"
                yield Cache("tokens of a run's text", path, _size(path), run, open_run)
        names[:] = sorted(name for name in names if not _STORE.fullmatch(name))


def _caches_in_use(folder: Path) -> dict[str, Path]:
    """The folders of `data.cache` that runs below a folder need which have not ended, each with its run."""
    found: dict[str, Path] = {}
    for place, _, names in os.walk(folder):
        run = Path(place)
        if RECIPE in names and not store.is_ours(run):
            with suppress(GlassformerError):  # a damaged recipe, or none of ours
                recipe = read_saved_recipe(run)
                cache = None if recipe is None else getattr(recipe.data, "cache", None)
                if cache is not None:
                    found[os.path.realpath(cache)] = run
    return found


def _size(folder: Path) -> int:
    if folder.is_file():
        return folder.stat().st_size
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total
