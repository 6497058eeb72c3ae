"""Progress of a training as it is shown: notes, and a bar for every long stage. All on standard error."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from glassformer.base.counting import Counting, clock, now_and_then
from glassformer.base.wrapping import printable, table_width, wrapped
from glassformer.training.record import SHOWN_STEPS, Step

Advance = Callable[[int], None]

# Columns of a terminal from which on a bar is drawn next to the facts of a step.
_ROOM_FOR_A_BAR = 80
# The ends of the names of scores that are shown, as percentages, next to the losses and the score that keeps a model.
_SHARES = ("accuracy", "f1", "exact_match")
# The least columns that a bar and the space before it take.
_BAR = 12


class Progress(Protocol):
    """Receives the progress of a training."""

    def note(self, message: str) -> None:
        """Show one sentence."""

    def reading(self, title: str, characters: int) -> AbstractContextManager[Advance]:
        """A stage that reads about this many characters; inside, call the function with how many were just read."""

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Yields the same steps, and shows each of them."""


class NoProgress:
    """A progress that shows nothing."""

    def note(self, message: str) -> None:
        """Nothing."""

    @contextmanager
    def reading(self, title: str, characters: int) -> Iterator[Advance]:
        """Nothing."""
        yield lambda done: None

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        return steps


class NotesOnce:
    """Another progress, without notes that it has shown before."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self._noted = progress, set[str]()
        self.reading, self.training = progress.reading, progress.training

    def note(self, message: str) -> None:
        if message not in self._noted:
            self._noted.add(message)
            self.progress.note(message)


def standard_error() -> Console:
    """A console on standard error that draws only on a terminal, not in a notebook or a program started by one."""
    console = Console(stderr=True, highlight=False, force_jupyter=False)
    # Whether this process, or the one that has started it, is a Jupyter kernel: it gives this variable to both.
    drawn = console.file.isatty() and "JPY_PARENT_PID" not in os.environ
    return console if drawn else Console(stderr=True, highlight=False, force_jupyter=False, force_terminal=False)


class ConsoleProgress:
    """Shows bars on a terminal; in a notebook or a log file, one line per tenth of the run."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or standard_error()

    def note(self, message: str) -> None:
        width = self._console.width if self._console.is_terminal else table_width(self._console.file)
        shown = wrapped(printable(message), width)
        self._console.print(shown, markup=False, style="dim", soft_wrap=True)

    @contextmanager
    def reading(self, title: str, characters: int) -> Iterator[Advance]:
        if not self._console.is_terminal:
            self.note(title)
            yield lambda done: None
            return
        with Bars(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        ) as bars:
            bar = bars.add_task(title, total=characters or None)
            yield lambda done: bars.advance(bar, done)

    @contextmanager
    def counting(self, what: str, done: int = 0, *, total: int | None = None) -> Iterator[Counting]:
        """How many there are, how many a second and, of a known `total`, the time left; else a line now and then."""
        if not self._console.is_terminal:
            yield Counting(what, done, total, now_and_then(self.note))
            return
        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Bars(*columns, console=self._console, transient=True) as bars:
            bar = bars.add_task("", total=None)
            count = Counting(what, done, total, lambda count: bars.update(bar, description=escape(str(count))))
            bars.update(bar, description=str(count))
            yield count

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        if self._console.is_terminal:
            yield from self._with_bar(steps)
        else:
            yield from self._with_lines(steps)

    def _with_bar(self, steps: Iterator[Step]) -> Iterator[Step]:
        with_bar = self._console.width >= _ROOM_FOR_A_BAR
        room = self._console.width - (_BAR if with_bar else 1)
        with Bars(
            TextColumn("{task.description}"),
            *([BarColumn(bar_width=None)] if with_bar else []),
            console=self._console,
            expand=True,
            transient=True,
        ) as bars:
            bar: TaskID | None = None
            pace = _Pace()
            for step in steps:
                if bar is None:
                    bar = bars.add_task("training", total=1000)
                pace.see(step)
                total = step.steps or round(step.step / max(step.fraction, 1e-9))
                # One text cut to the width here: columns that do not fit would be shortened, the step count with them.
                line = _fitting([f"step {step.step:,}/{total:,}", *pace.facts(step)], room)
                bars.update(bar, completed=step.step, total=total, description=escape(line))
                self._scores(step)
                yield step

    def _with_lines(self, steps: Iterator[Step]) -> Iterator[Step]:
        pace, tenths = _Pace(), -1
        for step in steps:
            pace.see(step)
            if int(step.fraction * 10) > tenths:
                tenths = int(step.fraction * 10)
                self.note(f"step {step.step:,}: {', '.join(pace.facts(step))}")
            self._scores(step)
            yield step

    def _scores(self, step: Step) -> None:
        if step.scores is not None:
            own = [name for name in step.scores if not name.startswith(step.baseline_names)]
            best, losses = step.best.removeprefix("-"), [name for name in own if name.endswith("loss")]
            others = [name for name in own if name.endswith(_SHARES) or (name == best and name not in losses)]
            shown = [f"{name.replace('_', ' ')} {step.scores[name]:.3f}" for name in losses]
            shown += [_with_baseline(name, step.scores, step.baseline_names) for name in others]
            self.note(f"step {step.step:,}: held-out {', '.join(shown)}")


def _with_baseline(name: str, scores: Mapping[str, float], baselines: Sequence[str]) -> str:
    """A score, and that of the first baseline that has it."""
    form = ".1%" if name.endswith(_SHARES) else ".3f"
    of = next((f" ({each.replace('_', ' ')} {scores[f'{each}_{name}']:{form}})" for each in baselines
               if f"{each}_{name}" in scores), "")  # fmt: skip
    return f"{name.replace('_', ' ')} {scores[name]:{form}}{of}"


class _Pace:
    """The speed, smoothed over the last steps of this process, and the facts of a step that are shown."""

    def __init__(self) -> None:
        self._rate: float | None = None

    def see(self, step: Step) -> None:
        rate = step.tokens / max(step.seconds, 1e-9)
        self._rate = rate if self._rate is None else 0.95 * self._rate + 0.05 * rate

    def facts(self, step: Step) -> list[str]:
        """The most important first, as a narrow terminal has no room for the last."""
        left = step.seconds_left
        time = [f"{clock(left)} left"] if left < 1e9 else []
        parts = [f"{name.replace('_', ' ')} {loss:.3f}" for name, loss in step.means.items() if name != "loss"]
        over = [f"loss over {min(SHOWN_STEPS, step.step)} steps"] if step.step > 1 else []
        return [f"loss {step.means['loss']:.3f}", *time, f"{self._rate:,.0f} tokens/s", *parts, *over]


def _fitting(facts: list[str], width: int) -> str:
    line = facts[0]
    for fact in facts[1:]:
        if len(line) + 2 + len(fact) > width:
            break
        line += f", {fact}"
    return line
