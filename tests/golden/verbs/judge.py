"""Running cases and comparing what they give with what was recorded."""

from __future__ import annotations

import contextlib
import json
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
from tests.golden.verbs.reduce import reduced
from tests.golden.verbs.run import run, warm
from tests.golden.verbs.table import Case, needed

# Differences that are shown of a case.
SHOWN = 8


def outcomes(chosen: Sequence[Case], keep: Path | None = None) -> Iterator[tuple[Case, dict[str, Any], str]]:
    """Each chosen case with what it gave and its standard error; what it needs is run before it."""
    warm()
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
    return reduced(found, root), ended.err


def chosen_of(patterns: Sequence[str]) -> list[Case]:
    """The cases whose names fit one of the patterns."""
    return [case for case in cases() if any(fnmatch(case.name, pattern) for pattern in patterns)]


def record(folder: Path, patterns: Sequence[str], *, keep: Path | None = None) -> int:
    """Write one file for each case; returns the exit code."""
    failed, began = 0, time.monotonic()
    count = 0
    for case, found, said in outcomes(chosen_of(patterns), keep):
        count += 1
        path = path_of(folder, case)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        failed += _unexpected(case, found, said)
    print(
        f"{count} cases in {time.monotonic() - began:.0f} s; {failed} ended with another exit code than the table says"
    )
    return int(failed > 0)


def compare(folder: Path, patterns: Sequence[str], *, tolerance: float | None = None, keep: Path | None = None) -> int:
    """Run the cases again and print each difference; returns the exit code."""
    changed, count, began = [], 0, time.monotonic()
    for case, found, said in outcomes(chosen_of(patterns), keep):
        count += 1
        path = path_of(folder, case)
        if not path.exists():
            print(f"{case.name}: not recorded")
            changed.append(case.name)
            continue
        before = json.loads(path.read_text(encoding="utf-8"))
        apart = list(differences(before, json.loads(json.dumps(found)), tolerance))
        if apart:
            changed.append(case.name)
            print(f"{case.name}: {len(apart)} differences")
            print("".join(f"  {each}\n" for each in apart[:SHOWN]), end="")
            _unexpected(case, found, said)
    print(f"{count} cases in {time.monotonic() - began:.0f} s; {len(changed)} differ")
    return int(bool(changed) or not count)


def path_of(folder: Path, case: Case) -> Path:
    """Where a case is recorded."""
    return folder / f"{case.name}.json"


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
