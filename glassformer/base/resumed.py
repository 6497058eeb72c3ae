"""What commands share that continue after one that was stopped: the errors where they cannot."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.base.errors import DataError


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
