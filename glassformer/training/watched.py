"""What a run keeps of the sentences that are watched while it trains: `watched.jsonl` in its folder.

Its first line says what is watched, each further line is one record, made after a step; every line has its own
checksum. The records lie close at the beginning, where a model changes fastest, and then a tenth of the steps apart. Of
a long run every second is dropped as often as there are too many, so that the file stays small. Which records there are
follows from the steps alone: a run that was stopped and resumed keeps the same ones, to the bit.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol, Self

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import GlassformerError
from glassformer.base.json_text import check_regular_file, read_sealed_line, sealed_line
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log
from glassformer.training.record import Step

FILE = "watched.jsonl"
FORMAT = 1
# The records of a run: at most so many, and the last one.
MOST = 100
# The distance of two records, as a part of the steps so far: one tenth.
_APART = 10


class WatchedSentences(Protocol):
    """The sentences, as whoever knows the task looks at them. What is returned is plain: JSON without infinities."""

    @property
    def header(self) -> Mapping[str, Any]:
        """What is the same in all records: texts, tokens, names and sizes of the attentions."""
        ...

    def look(self, model: Transformer) -> Sequence[Mapping[str, Any]]:
        """For each sentence what the model answers now, and what its heads do; the model is left as it was."""
        ...


def due_steps() -> Iterator[int]:
    """The steps after which a record is made: 0, 1, 2 … 20, 22, 24 …"""
    step = 0
    while True:
        yield step
        step += max(1, step // _APART)


def next_due(step: int) -> int:
    """The first step after this one that is due."""
    return next(each for each in due_steps() if each > step)


def kept_steps(step: int, most: int = MOST) -> list[int]:
    """The records that a run has after so many steps: those that were due, or every second, fourth … of them."""
    due = list(takewhile(lambda each: each <= step, due_steps()))
    every = 1
    while len(due[::every]) > most:
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


class Unwatched:
    """A run without watched sentences."""

    def see(self, model: AbstractContextManager[Transformer], step: Step) -> None:
        """Nothing is looked at."""

    def close(self) -> None:
        """There is nothing to tell."""


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
                log(f"{path}: {counted(found.damaged)} not whole and left out; the others are kept")
            same = found.header == header
            if found.records and step and not same:
                log(f"{path}: other sentences are watched than before, so their records begin after step {step:,}")
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
        except GlassformerError as error:  # such as numbers that are not finite: training itself tells what to do
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
        """No picture is worth a run: it goes on without."""
        self.stopped = True
        self.log(f"{self.path} cannot be written ({error.strerror or error}): the sentences are not watched any more")

    def close(self) -> None:
        if self.made and self.elapsed:
            size = sum(map(len, self.lines.values())) / 1e6
            kept = f"{len(self.lines)} records of the watched sentences, {size:.2f} MB"
            self.log(f"{kept}: they took {self.cost:.1f} s, {self.cost / self.elapsed:.1%} of the time")


def counted(lines: int) -> str:
    return "1 line is" if lines == 1 else f"{lines} lines are"
