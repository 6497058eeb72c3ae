"""The log of a run: `metrics.jsonl`, whose lines go to trackers too."""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol, Self

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import GlassformerError, TrainingError
from glassformer.base.json_text import check_regular_file, parse_json, read_sealed_line, sealed_line
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log
from glassformer.training.budget import RunProgress, Window
from glassformer.training.trackers import Tracker

# The losses that are shown are means of so many steps.
SHOWN_STEPS = 10


@dataclass(frozen=True, kw_only=True)
class Step:
    """One finished step. `tokens` and `seconds` are of this step alone, `elapsed` is the time of the run so far,
    evaluation and saving included, `fraction` is how much of the run is done.

    `loss` is the weighted sum of `losses`, each divided by its number of labels in `counts`. `norm` is the norm of the
    gradient before clipping, `scores` are those of the evaluation after this step. `means` are those of the loss in the
    last 10 steps, and of each loss where there are several: kept with the checkpoints, so that a resumed run shows the
    same.
    `best` is the score that keeps the best model, with a minus where less is better; `baseline_names`: see `Task`.
    """

    step: int
    steps: int | None
    fraction: float
    epoch: float
    loss: float
    losses: Mapping[str, float]
    learning_rate: float
    norm: float
    counts: Mapping[str, float]
    tokens: int
    seconds: float
    elapsed: float
    means: Mapping[str, float]
    scores: Mapping[str, float] | None = None
    best: str = "-loss"
    baseline_names: tuple[str, ...] = ()

    @property
    def seconds_left(self) -> float:
        """Time to the end at the speed so far; infinite before the first progress."""
        return self.elapsed * (1 - self.fraction) / self.fraction if self.fraction else float("inf")


def running_means(recent: dict[str, list[float]], loss: float, losses: Mapping[str, float]) -> dict[str, float]:
    """The means of the last losses, after those of a step have been added to them."""
    for name, value in {"loss": loss, **(losses if len(losses) > 1 else {})}.items():
        recent[name] = [*recent.get(name, []), value][-SHOWN_STEPS:]
    return {name: sum(values) / len(values) for name, values in recent.items()}


class Record:
    """Lines of `metrics.jsonl`: the mean of every ten steps, and each evaluation. A resumed run appends the same lines
    as if it had never stopped: the sums for the next line are in `progress`, and so in each checkpoint.
    """

    every = 10

    def __init__(self, folder: Path, progress: RunProgress, *, trackers: Sequence[Tracker] = ()) -> None:
        self._path, self._progress, self._finished = folder / "metrics.jsonl", progress, False
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            self._drop_lines_after(progress.step)
        self._trackers = trackers

    def see(self, step: Step) -> None:
        window = self._progress.window
        window.steps += 1
        window.loss += step.loss
        for name, loss in step.losses.items():
            window.losses[name] = window.losses.get(name, 0.0) + loss
        window.tokens += step.tokens
        window.seconds += step.seconds
        if step.step % self.every and step.scores is None and step.fraction < 1:
            return
        line: dict[str, Any] = {
            "step": step.step,
            "epoch": round(step.epoch, 4),
            "seconds": round(step.elapsed, 3),
            "loss": window.loss / window.steps,
            # Each loss separately, where there are several.
            **{f"{name}_loss": total / window.steps for name, total in window.losses.items() if len(window.losses) > 1},
            "learning_rate": step.learning_rate,
            "norm": step.norm,
            "tokens_per_second": round(window.tokens / max(window.seconds, 1e-9), 1),
        }
        line |= {f"held_out_{name}": value for name, value in (step.scores or {}).items()}
        self._progress.window = Window()
        with self._writing(), self._path.open("a", encoding="utf-8") as file:
            known = {name: value if math.isfinite(value) else None for name, value in line.items()}  # JSON has no NaN
            file.write(json.dumps(known, allow_nan=False) + "\n")
        del known["step"]
        for tracker in self._trackers:
            tracker.see(known, step.step)
        self._finished = step.fraction >= 1

    def close(self) -> None:
        for tracker in self._trackers:
            tracker.close(finished=self._finished)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            refuse_removed_folder(self._path.parent, self._progress.step, error)
            raise TrainingError(
                f"the record of the run could not be written to {self._path}",
                got=error.strerror or str(error),
                do="free disk space and continue with --resume",
            ) from None

    def _drop_lines_after(self, step: int) -> None:
        """Drop the lines of steps that will be done again, and one that was cut short."""
        check_regular_file(self._path)
        if not self._path.exists():
            return
        text = self._path.read_text(encoding="utf-8", errors="replace")
        kept = [line for line in text.splitlines() if _step_of(line) <= step]
        with atomic_write(self._path) as draft:
            draft.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


class Unseen:
    """What stands for the record of a process that writes none, and for watched sentences where there are none."""

    def see(self, *seen: object) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """There is nothing to close."""


def refuse_removed_folder(folder: Path, step: int, error: Exception) -> None:
    """Raise TrainingError when the error is that the folder of a run was removed during the run."""
    if step and isinstance(error, FileNotFoundError) and not folder.exists():
        raise TrainingError(
            "a run needs its folder to the end",
            got=f"no {folder}: it was removed during the run, and with it the result of {step:,} steps",
            do="start again without --resume: nothing is left to resume",
        )


def _step_of(line: str) -> float:
    try:
        return float(parse_json(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


FILE = "watched.jsonl"
FORMAT = 1
# The records of a run: at most so many, and the last one.
MOST = 100
# The distance of two records, as a part of the steps so far: one tenth.
_APART = 10


class WatchedSentences(Protocol):
    """The sentences and how the task looks at them. Returned values are plain JSON without infinities."""

    @property
    def header(self) -> Mapping[str, Any]:
        """What is the same in all records: texts, tokens, names and sizes of the attentions."""

    def look(self, model: Transformer) -> Sequence[Mapping[str, Any]]:
        """For each sentence the model's current answer and its heads; the model is unchanged."""


def due_steps() -> Iterator[int]:
    """The steps after which a record is made: 0, 1, 2 … 20, 22, 24 …"""
    step = 0
    while True:
        yield step
        step += max(1, step // _APART)


def next_due(step: int) -> int:
    """The first step after this one that is due."""
    return next(each for each in due_steps() if each > step)


def kept_steps(step: int) -> list[int]:
    """The records that a run has after this many steps: those that were due, or every second, fourth … of them."""
    due = list(takewhile(lambda each: each <= step, due_steps()))
    every = 1
    while len(due[::every]) > MOST:
        every *= 2
    return due[::every]


@dataclass(frozen=True)
class Watched:
    """What a file of records holds: its first line, the records by step, and how many lines could not be read."""

    header: Mapping[str, Any] | None
    records: Mapping[int, Mapping[str, Any]]
    damaged: int = 0


def read_watched(path: Path) -> Watched:
    """The records of a run; lines that are damaged or cut short are counted and left out. Raises OSError."""
    check_regular_file(path)
    if not path.exists():
        return Watched(None, {})
    header, records, damaged = None, {}, 0
    for number, line in enumerate(path.read_bytes().splitlines()):
        try:
            values = read_sealed_line(line)
            if number == 0:
                header = values if values.get("format") == FORMAT else None
            else:
                records[int(values["step"])] = values
        except (ValueError, KeyError, TypeError):
            damaged += 1
    return Watched(header, dict(sorted(records.items())), damaged)


@dataclass
class Watching:
    """Makes the records of a run. `lines` are those that the file has, by step; `next` is the step that is due next,
    `cost` the seconds that the records of this part of the run took, and `elapsed` those of the whole run.
    """

    path: Path
    sentences: WatchedSentences
    log: Log
    lines: dict[int, str]
    next: int
    made: int = 0
    cost: float = 0.0
    elapsed: float = 0.0
    stopped: bool = False

    @classmethod
    def begin(
        cls, folder: Path, sentences: WatchedSentences, model: AbstractContextManager[Transformer], step: int, log: Log
    ) -> Self:
        """Go on with earlier records, without those of steps that will be done again; a new run makes the first."""
        path, header = folder / FILE, {"format": FORMAT, **sentences.header}
        watching = cls(path, sentences, log, {}, next_due(step))
        try:
            found = read_watched(path)
            if found.damaged and step:
                log(f"{path}: {counted(found.damaged)} damaged and skipped; the others are kept")
            same = found.header == header
            if found.records and step and not same:
                log(f"{path}: the watched sentences have changed, so their records begin after step {step:,}")
            kept = {*kept_steps(step), step} if same and step else set()
            watching.lines = {each: sealed_line(line) for each, line in found.records.items() if each in kept}
            folder.mkdir(parents=True, exist_ok=True)
            watching.write()
        except OSError as error:
            watching.give_up(error)
        if step == 0:
            watching.record(model, {"step": 0, "epoch": 0.0, "loss": None, "mean": None, "learning_rate": None})
        return watching

    def see(self, model: AbstractContextManager[Transformer], step: Step) -> None:
        """Make a record where one is due, and at the end of the run; `model` gives the model as it is evaluated."""
        self.elapsed = step.elapsed
        due = step.step >= self.next
        if due:
            self.next = next_due(step.step)
        if step.fraction >= 1 or (due and step.step in kept_steps(step.step)):
            facts = {"step": step.step, "epoch": round(step.epoch, 4), "loss": step.loss, "mean": step.means["loss"]}
            self.record(model, facts | {"learning_rate": step.learning_rate})

    def record(self, model: AbstractContextManager[Transformer], facts: Mapping[str, Any]) -> None:
        if self.stopped:
            return
        began = time.monotonic()
        try:
            with model as evaluated:
                found: dict[str, Any] = {"sentences": self.sentences.look(evaluated)}
        except GlassformerError as error:  # such as numbers that are not finite: training itself says what to do
            found = {"wrong": str(error)}
        self.lines[facts["step"]] = sealed_line({**facts, **found})
        kept = {*kept_steps(facts["step"]), facts["step"]}
        try:
            if self.lines.keys() <= kept:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(self.lines[facts["step"]])
            else:
                self.lines = {each: line for each, line in self.lines.items() if each in kept}
                self.write()
        except OSError as error:
            self.give_up(error)
        self.made += 1
        self.cost += time.monotonic() - began

    def write(self) -> None:
        with atomic_write(self.path) as draft:
            first = sealed_line({"format": FORMAT, **self.sentences.header})
            draft.write_text("".join((first, *self.lines.values())), encoding="utf-8")

    def give_up(self, error: OSError) -> None:
        """The run continues without its records."""
        self.stopped = True
        self.log(f"{self.path} cannot be written ({error.strerror or error}): the sentences are no longer watched")

    def close(self) -> None:
        if self.made and self.elapsed:
            size = sum(map(len, self.lines.values())) / 1e6
            kept = f"{len(self.lines)} records of the watched sentences, {size:.2f} MB"
            self.log(f"{kept}: they took {self.cost:.1f} s, {self.cost / self.elapsed:.1%} of the time")


def counted(lines: int) -> str:
    return "1 line is" if lines == 1 else f"{lines} lines are"
