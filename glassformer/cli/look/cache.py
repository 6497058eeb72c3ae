import sys
from typing import Annotated

import typer

from glassformer.base.wrapping import in_one_line
from glassformer.cli.terminal.options import Json
from glassformer.cli.terminal.screen import record

_FOLDERS = "Folders to search for training runs.  [default: runs]"


def cache(
    folders: Annotated[list[str] | None, typer.Argument(metavar="FOLDERS", help=_FOLDERS, show_default=False)] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the caches that can be rebuilt.")] = False,
    json: Json = False,
) -> None:
    """Show the caches on this machine with their paths and sizes: the tokenized text of training runs, compiled
    kernels, models converted for engines, downloaded models, and the list of models that explore opened last. --clear
    deletes all but the downloaded models and the tokenized text of unfinished runs, never a model of yours or a result.
    """
    from glassformer.run.caches import caches

    found = caches(folders or ("runs",))
    for each in found:
        why = each.clear() if clear else each.why
        deleted = clear and not why
        if json:
            facts = {"what": each.what, "path": str(each.path), "bytes": each.size}
            record({**facts, "deleted": deleted, "kept_because": why or None}, sys.stdout)
            continue
        print(in_one_line(f"{'deleted' if deleted else 'kept':<8}{_bytes(each.size):>10}  {each.path}"))
        print(f"{'':<20}{each.what}" + (f"\n{'':<20}{why}" if why else ""))
    if not json:
        print(f"{len(found)} in all, {_bytes(sum(each.size for each in found))}")


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} bytes"
