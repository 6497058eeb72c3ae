"""Systems that are measured in turn, each in a process of its own, so that what the machine does meanwhile hits all.

A run that was stopped goes on: what finished turns gave is in a file until the row is written.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch._dynamo.utils

from glassformer.base.atomic import atomic_write

if TYPE_CHECKING:
    from glassformer.training.record import Step

# What a system gives in one turn.
Given = dict[str, Any]
# Turns that are not over, which git ignores.
RUNS = Path(__file__).parent.parent / "runs"


class Gate:
    """Called after each training step; between two turns it waits until this system is asked again, and answers with
    seconds, tokens and the most memory of the turn.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._steps = pipe, 0
        self._new = self._tokens = self._graphs = 0
        self._seconds = self._began = 0.0

    def open(self) -> None:
        """Wait for the number of steps of the next turn; 0 ends the process."""
        self._steps = self._pipe.recv()
        if not self._steps:
            os._exit(0)
        forget_peak()
        self._tokens, self._seconds, self._began = 0, 0.0, time.perf_counter()

    def tokens(self, count: int) -> None:
        """Count tokens of this step that are no padding."""
        self._new += count

    def step(self) -> None:
        """A step is done. One in which a graph was compiled does not count."""
        now, graphs = time.perf_counter(), torch._dynamo.utils.counters["stats"]["unique_graphs"]
        if graphs == self._graphs:
            self._tokens += self._new
            self._seconds += now - self._began
            self._steps -= 1
        self._new, self._graphs, self._began = 0, graphs, now
        if not self._steps:
            self._pipe.send({"seconds": self._seconds, "tokens": self._tokens, "megabytes": peak_megabytes()})
            self.open()


class Gated:
    """A progress that stops at the gate after each step."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def note(self, message: str) -> None:
        """Shown on standard error."""
        _say(message)

    def reading(self, title: str, characters: int) -> Any:
        """Shows nothing."""
        from glassformer.training.progress import NoProgress

        return NoProgress().reading(title, characters)

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The steps, each of them counted."""
        self.gate.open()
        for step in steps:
            self.gate.tokens(step.tokens)
            self.gate.step()
            yield step


# Arguments of transformers' trainers that only measure.
QUIET = {"use_cpu": True, "report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no"}


def stopping_at(gate: Gate, tokens: int = 0) -> Any:
    """The same for a trainer of transformers: its callback, which counts so many tokens in each step."""
    import transformers

    class Stopping(transformers.TrainerCallback):  # type: ignore[misc]  # it bears no types
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            gate.open()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            gate.tokens(tokens)
            gate.step()

    return Stopping()


class Workers:
    """A process for each system; at the end none is left."""

    def __init__(self, work: Callable[..., None], arguments: Sequence[Any]) -> None:
        self._work, self._arguments = work, arguments
        self._spawn = multiprocessing.get_context("spawn")
        self._begun: list[SpawnProcess] = []
        self.pipes: dict[str, Connection] = {}

    def begin(self, system: str) -> None:
        """Start the process of a system."""
        here, there = self._spawn.Pipe()
        process = self._spawn.Process(target=self._work, args=(system, *self._arguments, there), daemon=True)
        process.start()
        there.close()  # so that a worker that fails ends the run instead of leaving it to wait
        self._begun.append(process)
        self.pipes[system] = here

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._begun:
            process.kill()  # a training that is asked to stop saves first


def in_turn(
    work: Callable[..., None],
    systems: Sequence[str],
    arguments: Sequence[Any],
    *,
    ask: int,
    turns: int,
    kept: Path | None,
    reported: Callable[[Given], str],
) -> tuple[list[dict[str, Given]], dict[str, float]]:
    """What each system gave in each turn, and the seconds until it was ready: one turn that does not count.

    `work(system, *arguments, pipe)` runs in a process of its own, is sent `ask` for each turn, answers with what it
    gave, and ends at 0. `kept` holds the finished turns of a run that was stopped, where it is named.
    """
    before: dict[str, Any] = (
        json.loads(kept.read_text()) if kept is not None and kept.exists() else {"turns": [], "ready": {}}
    )
    done: list[dict[str, Given]] = before["turns"]
    ready: dict[str, float] = before["ready"]
    if len(done) >= turns:
        return done, ready
    with Workers(work, arguments) as workers:
        for system in systems:
            started = time.perf_counter()
            workers.begin(system)
            workers.pipes[system].send(ask)  # the allocator, and every shape that is compiled
            workers.pipes[system].recv()
            ready.setdefault(system, time.perf_counter() - started)
            _say(f"{system}: ready after {time.perf_counter() - started:.0f} s")
        for turn in range(len(done), turns):
            given: dict[str, Given] = {}
            for system, pipe in workers.pipes.items():
                pipe.send(ask)
                given[system] = pipe.recv()
                _say(f"turn {turn + 1} of {turns}: {system}: {reported(given[system])}")
            done.append(given)
            if kept is not None:
                with atomic_write(kept) as path:
                    path.write_text(json.dumps({"turns": done, "ready": ready}), encoding="utf-8")
        for pipe in workers.pipes.values():
            pipe.send(0)
    return done, ready


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def medians(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each system's turns."""
    return {system: statistics.median(each) for system, each in values.items()}


def times(one: Sequence[float], two: Sequence[float]) -> float:
    """How many times the second's the first's speed is: the median of the ratios within each turn."""
    return statistics.median(a / b for a, b in zip(one, two, strict=True))


def peak_megabytes() -> float:
    """The most memory that this process held since `forget_peak`."""
    return _status("VmHWM")


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return float("nan")


def forget_peak() -> None:
    """Begin a new measurement of the most memory that this process held."""
    Path("/proc/self/clear_refs").write_text("5")
