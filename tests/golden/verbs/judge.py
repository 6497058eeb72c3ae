"""Running cases and comparing what they give with what was recorded."""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.golden.verbs.cases import cases
from tests.golden.verbs.data import write_data
from tests.golden.verbs.readers import lines, page, read
from tests.golden.verbs.reduce import reduced, rounded
from tests.golden.verbs.run import run, warm
from tests.golden.verbs.table import Case, needed

# Differences that are shown of a case.
SHOWN = 8
# How far numbers of the committed copy may be from those of another processor, as a share.
NEARLY = 2e-3


def outcomes(chosen: Sequence[Case], keep: Path | None = None) -> Iterator[tuple[Case, dict[str, Any], str]]:
    """Each chosen case with what it gave and its standard error; what it needs is run before it."""
    warm(trains=not all(case.fast for case in chosen))
    names = {case.name for case in chosen}
    with contextlib.ExitStack() as stack:
        root = (keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="verbs-")))).resolve()
        write_data(root / "data")
        for folder in ("models", "out"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for case in needed(chosen, cases()):
            if keep and case.name not in names and all((root / path).exists() for path in case.made):
                continue
            found, said = outcome(case, root)
            if case.name in names:
                yield case, found, said


def outcome(case: Case, root: Path) -> tuple[dict[str, Any], str]:
    """What a case gives, reduced; and its standard error."""
    ended = run(case, root)
    found: dict[str, Any] = {"code": ended.code}
    if ended.code == 0 and "--json" in case.words and not case.server:
        found["out"] = lines(ended.out)
    elif ended.code == 0 and case.said:
        found["out"] = ended.out.splitlines()
    if case.server:
        found["page"] = page(ended.page)
    for pattern in case.reads:
        there = sorted(root.glob(pattern))
        found.setdefault("files", {})[pattern] = {
            str(path.relative_to(root)): read(path) for path in there if path.is_file() and path.name != "README.md"
        }
    # Each record of standard output on its own, so that a difference shows in which it is.
    records = [reduced(each, root) for each in found.pop("out", ())]
    return {**reduced(found, root), **({"out": records} if records else {})}, ended.err


def chosen_of(patterns: Sequence[str]) -> list[Case]:
    """The cases whose names fit one of the patterns."""
    return [case for case in cases() if any(fnmatch(case.name, pattern) for pattern in patterns)]


def record(place: Path, patterns: Sequence[str], *, keep: Path | None = None) -> int:
    """Write one file for each case to a folder, or the fast cases, rounded, to one file; returns the exit code."""
    failed, began = 0, _clocks()
    together: dict[str, Any] = {}
    chosen = _in(place, chosen_of(patterns))
    for case, found, said in outcomes(chosen, keep):
        failed += _unexpected(case, found, said)
        if _is_file(place):
            together[case.name] = rounded(found)
        else:
            _write(place / f"{case.name}.json", found, indent=1)
    if _is_file(place):
        _write(place, together)
    print(f"{len(chosen)} cases, {_since(began)}; {failed} ended with another exit code than the table says")
    return int(failed > 0)


def compare(place: Path, patterns: Sequence[str], *, tolerance: float | None = None, keep: Path | None = None) -> int:
    """Run the cases again and print each difference; returns the exit code."""
    changed, began = 0, _clocks()
    together = json.loads(place.read_text(encoding="utf-8")) if _is_file(place) else None
    tolerance = NEARLY if together is not None and tolerance is None else tolerance
    chosen = _in(place, chosen_of(patterns))
    for case, found, said in outcomes(chosen, keep):
        now = json.loads(json.dumps(rounded(found) if together is not None else found))
        before = together.get(case.name) if together is not None else _read(place / f"{case.name}.json")
        apart = ["not recorded"] if before is None else list(differences(before, now, tolerance))
        if apart:
            changed += 1
            print(f"{case.name}: {len(apart)} differences")
            print("".join(f"  {each}\n" for each in apart[:SHOWN]), end="")
            _unexpected(case, found, said)
    print(f"{len(chosen)} cases, {_since(began)}; {changed} differ")
    return int(changed > 0 or not chosen)


def _is_file(place: Path) -> bool:
    return place.suffix == ".json"


def _in(place: Path, chosen: list[Case]) -> list[Case]:
    return [case for case in chosen if case.fast] if _is_file(place) else chosen


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _write(path: Path, value: Any, indent: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if indent is None:  # a line for each case, so that a change shows which
        rows = (
            f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False, sort_keys=True)}"
            for name, each in value.items()
        )
        text = "{\n" + ",\n".join(rows) + "\n}\n"
    else:
        text = json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")


def _clocks() -> tuple[float, float]:
    used = os.times()
    return time.monotonic(), used.user + used.system + used.children_user + used.children_system


def _since(began: tuple[float, float]) -> str:
    clock, processor = (now - then for now, then in zip(_clocks(), began, strict=True))
    return f"{clock:.0f} s by the clock, {processor:.0f} s of the processor"


def _unexpected(case: Case, found: dict[str, Any], said: str) -> int:
    if found["code"] == case.code:
        return 0
    print(f"{case.name}: exit code {found['code']}, not {case.code}: {said.strip()[-600:]}", file=sys.stderr)
    return 1


def differences(before: Any, after: Any, tolerance: float | None = None, place: str = "") -> Iterator[str]:
    """Each place at which two values differ; with a tolerance, numbers may differ by a share, and checksums may."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if tolerance is not None and key == "bits":
                continue
            if key not in before or key not in after:
                yield f"{place}.{key}: {'new' if key not in before else 'missing'}"
            else:
                yield from differences(before[key], after[key], tolerance, f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{place}: {len(before)} entries, now {len(after)}"
        for number, (one, two) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, two, tolerance, f"{place}[{number}]")
    elif not _equal(before, after, tolerance):
        yield f"{place}: {before!r:.100}, now {after!r:.100}"


def _equal(before: Any, after: Any, tolerance: float | None) -> bool:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (before, after))
    if tolerance is None or not numbers or (isinstance(before, int) and isinstance(after, int)):
        return type(before) is type(after) and before == after
    # Numbers near 0 are the rounding of larger ones.
    return bool(abs(before - after) <= tolerance * max(abs(before), abs(after), 0.01))
