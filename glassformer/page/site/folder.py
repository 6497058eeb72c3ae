"""The folder of a site: what may be written there, and writing all of it at once.

A site lists its own files in `site.json`: these are replaced or deleted by the next one, and no others.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from glassformer.base.atomic import current, replace_files
from glassformer.base.errors import DataError, from_system
from glassformer.base.json_text import read_json
from glassformer.base.outputs import held
from glassformer.base.paths import check_path, follow_links

LIST = "site.json"
MADE_FOR = "glassformer site"


@dataclass(frozen=True)
class Site:
    """A folder that may be written, and the files that it has of a site before."""

    folder: Path
    before: tuple[str, ...] = ()

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write these files, all or none; those of the site before are deleted. Raises DataError."""
        listed = (json.dumps({"made_for": MADE_FOR, "files": list(files)}, indent=2) + "\n").encode()
        with (
            from_system(DataError, f"cannot write the site to {self.folder}", do="choose another folder"),
            replace_files(self.folder, (LIST, *dict.fromkeys((*self.before, *files)))) as draft,
        ):
            for name, data in {LIST: listed, **files}.items():
                (draft / name).write_bytes(data)


def site_folder(path: str | Path, names: Iterable[str], *, inputs: Iterable[str | Path], overwrite: bool) -> Site:
    """The folder of a site with these files. Raises DataError for what is no folder, for a folder of a model, an index
    or a run or inside one, for one of the `inputs` or inside it, and without `overwrite` for a folder with files, or
    for a file of these names, that glassformer did not write.
    """
    check_path(path, DataError)
    folder = follow_links(Path(path), DataError)
    if folder.exists() and not folder.is_dir():
        raise DataError("a folder for the site is needed", got=f"{path}, a file", do="choose another folder")
    before = files_of(folder)
    inside = (folder.absolute(), *folder.absolute().parents)
    for each in inside[before is not None :]:
        if what := held(each):
            raise DataError(
                f"a site is written outside models, indexes and runs: {path}",
                got=f"{what}, {each}",
                do="choose another folder",
            )
    resolved = folder.resolve()
    for each in map(Path, inputs):
        if each.exists() and each.resolve() in (resolved, *resolved.parents):
            raise DataError("a site needs its own folder", got=f"{path}, in {each}, which is read", do="choose another")
    if overwrite or not folder.exists():
        return Site(folder, before or ())
    do = "choose another folder, or add --overwrite"
    if before is None and any(folder.iterdir()):
        raise DataError(f"a folder with other files is not written into by default: {path}", got="files", do=do)
    own = {name.casefold() for name in before or ()}
    there = {each.name.casefold() for each in folder.iterdir()}
    if taken := sorted(name for name in names if name.casefold() in there - own):
        raise DataError("results need new files", got=f"{folder / taken[0]}, which exists", do=do)
    return Site(folder, before or ())


def files_of(folder: Path) -> tuple[str, ...] | None:
    """The files of the site in a folder, its list among them; None where there is no site."""
    try:
        known = dict(read_json(current(folder) / LIST))
    except (OSError, ValueError, TypeError):
        return None
    files = known.get("files")
    if known.get("made_for") != MADE_FOR or not isinstance(files, list):
        return None
    # A list that was changed by hand names nothing outside its folder.
    return (LIST, *(name for name in files if isinstance(name, str) and name and Path(name).name == name))
