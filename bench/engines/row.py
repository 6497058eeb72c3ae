"""What the rows of engines have in common: a process for each system, which are asked in turn, and what is reported."""

from __future__ import annotations

import importlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional as F

from bench.turns import RUNS, Given, forget_peak, in_turn, medians, peak_megabytes, times
from glassformer.base.machine import VNNI, features
from glassformer.runtime.device import has_fast_bfloat16

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Array = np.ndarray[Any, Any]
# A case to its answers: numbers, one row for each text, or texts and labels, one for each text.
Answer = Callable[[str], Array]
WORK = RUNS / "bench-engines"
# Rows, columns and depth of the product that is timed; numbers of the array that is summed: 1 GiB of float32.
LARGE, SUMMED = 2048, 1 << 28
BFLOAT16, INT8 = "bf16", "int8"


@dataclass(frozen=True)
class Case:
    """`count` texts, or tokens (`unit`), that take at least so many operations, or bytes of weights, of a machine."""

    count: int
    unit: str
    operations: float = 0.0
    bytes_read: float = 0.0


@dataclass(frozen=True)
class Row:
    """A row of the table. `count`: texts, in a run that counts and in a short one. `sides` open a system, given the
    folder and the count; `compared` are our systems with the peers that they are compared with, a peer by the beginning
    of its name: of several ways to use it the fastest counts. The answers of `judge` are those that others must give.
    `cases` are known after the run, because they may depend on the answers of the judge.
    """

    title: str
    count: tuple[int, int]
    names: tuple[str, ...]
    sides: Mapping[str, Callable[[Path, int], Answer]]
    compared: Mapping[str, tuple[str, ...]]
    judge: str
    prepare: Callable[[Path], None]
    cases: Callable[[Path, int], dict[str, Case]]
    turns: int = 3


def place(folder: Path, system: str, case: str) -> Path:
    """The file with a system's answers."""
    return folder / f"{system} {case}.npy".replace(", ", "-").replace(" ", "-")


def row_of(name: str) -> Row:
    """The row of a module, or the one of several that follows its name: `lengths-512`."""
    module, _, which = name.partition("-")
    of = importlib.import_module(f"bench.engines.{module}")
    found: Row = of.ROWS[which] if which else of.ROW
    return found


def work(system: str, name: str, folder: Path, count: int, pipe: Connection) -> None:
    """A worker: each turn it answers with the seconds and the most memory of each case, and leaves answers in files."""
    row = row_of(name)
    answer = row.sides[system](folder, count)
    while pipe.recv():
        seconds, megabytes = {}, {}
        for case in row.names:
            forget_peak()
            started = time.perf_counter()
            found = answer(case)
            seconds[case] = time.perf_counter() - started
            megabytes[case] = peak_megabytes()  # before the array that is summed
            np.save(place(folder, system, case), found)
        given: Given = {"seconds": seconds, "megabytes": megabytes}
        if system == next(iter(row.sides)):
            given["limits"] = limits()
        pipe.send(given)


def limits() -> dict[str, float]:
    """What the machine does at most: operations a second by type, by the fastest product that is found, and bytes."""
    one, two = torch.randn(LARGE, LARGE), torch.randn(LARGE, LARGE)
    found = {"float32": 2 * LARGE**3 / min(map(_seconds, _products(one, two)))}
    if has_fast_bfloat16(torch.device("cpu")):
        found[BFLOAT16] = 2 * LARGE**3 / min(map(_seconds, _products(one.bfloat16(), two.bfloat16())))
    summed = torch.ones(SUMMED)
    found["memory"] = summed.nbytes / _seconds(summed.sum)
    return found


def _products(one: torch.Tensor, two: torch.Tensor) -> list[Callable[[], object]]:
    """The products of two matrices that torch has here: MKL's or oneDNN's, and oneDNN's laid out before."""
    ways: list[Callable[[], object]] = [lambda: F.linear(one, two)]
    if torch.backends.mkldnn.is_available():
        laid_out = torch.ops.mkldnn._reorder_linear_weight(two, LARGE)
        ways.append(lambda: torch.ops.mkldnn._linear_pointwise(one, laid_out, None, "none", [], ""))
    return ways


def _seconds(done: Callable[[], object]) -> float:
    """The quickest of five."""
    found = []
    for _ in range(5):
        started = time.perf_counter()
        done()
        found.append(time.perf_counter() - started)
    return min(found)


def measured(name: str, *, tried: bool) -> dict[str, Any]:
    """All systems of a row in turn: how much a second, ratios within each turn, equal answers, shares of the limit."""
    row = row_of(name)
    count, turns = row.count[tried], 1 if tried else row.turns
    folder = WORK / (f"{name}-tried" if tried else name)
    folder.mkdir(parents=True, exist_ok=True)
    row.prepare(folder)
    left = {}
    if not has_fast_bfloat16(torch.device("cpu")):
        left = {system: "no bfloat16 instructions here" for system in row.sides if BFLOAT16 in system}
    systems = [system for system in row.sides if system not in left]

    def reported(given: Given) -> str:
        return ", ".join(f"{case} {seconds:.2f} s" for case, seconds in given["seconds"].items())

    kept = None if tried else folder / "turns.json"
    asked = (name, folder, count)
    done, ready = in_turn(work, systems, asked, ask=1, turns=turns, kept=kept, reported=reported)
    most = {kind: max(turn[systems[0]]["limits"][kind] for turn in done) for kind in done[0][systems[0]]["limits"]}
    cases = {}
    for case, of in row.cases(folder, count).items():
        seconds = {each: [turn[each]["seconds"][case] for turn in done] for each in systems}
        peaks = {each: max(turn[each]["megabytes"][case] for turn in done) for each in systems}
        cases[case] = {**case_of(row, case, of, folder, seconds, most), "peak_megabytes": peaks}
    return {
        "title": row.title,
        "cases": cases,
        "limits": most,
        "left_out": left,
        "vnni": bool((features() or frozenset()) & VNNI),
        "threads": torch.get_num_threads(),
        "peak_megabytes": {system: max(of["peak_megabytes"][system] for of in cases.values()) for system in systems},
        "ready_after_seconds": ready,
        "turns": turns,
    }


def case_of(
    row: Row, case: str, of: Case, folder: Path, seconds: Mapping[str, Sequence[float]], most: Mapping[str, float]
) -> dict[str, Any]:
    """What is reported of a case, given each system's seconds in each turn and the limits."""
    speeds = {system: [of.count / each for each in its] for system, its in seconds.items()}
    middle, judge = medians(speeds), np.load(place(folder, row.judge, case))
    return {
        "count": of.count,
        "unit": of.unit,
        "per_second": middle,
        "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
        "times": {
            ours: {peer: ratio for peer in peers if (ratio := _ratio(speeds, ours, peer)) is not None}
            for ours, peers in row.compared.items()
            if ours in speeds
        },
        "as_the_judge": {system: agreement(np.load(place(folder, system, case)), judge) for system in speeds},
        "share_of_limit": {
            system: share
            for system, speed in middle.items()
            if (share := _share(system, of, of.count / speed, most)) is not None
        },
    }


def _ratio(speeds: Mapping[str, Sequence[float]], ours: str, peer: str) -> list[float] | None:
    """The median of the ratios within each turn, the least and the largest: to the fastest way to use a peer."""
    ways = [speeds[system] for system in speeds if system.startswith(peer)]
    if not ways:
        return None
    best = min(ways, key=lambda way: times(speeds[ours], way))
    each = [one / two for one, two in zip(speeds[ours], best, strict=True)]
    return [times(speeds[ours], best), min(each), max(each)]


def _share(system: str, of: Case, seconds: float, most: Mapping[str, float]) -> float | None:
    """How much of what the machine does at most a system reaches, of operations or of bytes, whichever is the nearer
    limit; None where none is known.
    """
    if INT8 in system:
        return None
    rate = most[BFLOAT16 if BFLOAT16 in system else "float32"]
    return max(of.bytes_read / most["memory"], of.operations / rate) / seconds or None


def agreement(found: Array, judge: Array) -> dict[str, float]:
    """The least cosine of two rows of numbers, else the share of texts, labels or tokens that are equal."""
    if found.dtype.kind != "f":
        return {"equal": float((found == judge).mean())}
    one, two = (each.astype(np.float64) for each in (found, judge))
    cosines = (one * two).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
    return {"least_cosine": float(cosines.min())}


def forget(name: str) -> None:
    """Delete the turns of a row that is written, and what its systems answered."""
    shutil.rmtree(WORK / name, ignore_errors=True)
