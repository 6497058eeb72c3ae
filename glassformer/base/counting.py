"""How many things a long command has done, and how far the current one is."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds until a count is shown where there is no terminal, and the most between two of them.
_FIRST, _MOST = 10.0, 600.0


class Counting:
    """Call it with each number of things done; `show` gets a sentence with the count, the speed and the time left."""

    def __init__(self, what: str, done: int, total: int | None, show: Callable[[Counting], None]) -> None:
        self._what, self._before, self._now, self._began = what, done, done, time.monotonic()
        self._total, self._show, self._within = total, show, ""

    def __call__(self, more: int) -> None:
        self._now += more
        self._within = ""
        self._show(self)

    def within(self, said: str) -> None:
        """How far the next one is, in words, as it takes long."""
        self._within = said
        self._show(self)

    @property
    def is_within(self) -> bool:
        return bool(self._within)

    def rows_within(self, done: int, total: int | None) -> None:
        """The same, in rows of the model: of a long text, or of texts that are computed together."""
        self.within(f"{done:,}{'' if total is None else f' of {total:,}'} rows computed")

    def __str__(self) -> str:
        of = "" if self._total is None else f" of {self._total:,}"
        sentence = f"{self._now:,}{of} {self._what}"
        done = self._now - self._before
        if done or not self._within:
            speed = done / max(time.monotonic() - self._began, 1e-9)
            sentence += f", {speed:,.{0 if speed >= 10 else 1}f} a second"
            # Texts that are computed together come at once: the first of them say nothing about the time left.
            if self._total is not None and speed > 0 and 100 * done >= self._total - self._before:
                sentence += f", {clock(max(self._total - self._now, 0) / speed)} left"
        return f"{sentence}; {self._within}" if self._within else sentence


def now_and_then(note: Callable[[str], None]) -> Callable[[Counting], None]:
    """Shows a count as a line: one after 10 seconds, and then after times that double, up to 10 minutes."""
    wait, last = _FIRST, time.monotonic()

    def show(count: Counting) -> None:
        nonlocal wait, last
        if time.monotonic() - last >= wait:
            note(str(count))
            wait, last = min(2 * wait, _MOST), time.monotonic()

    return show


def number_of(count: int, what: str) -> str:
    """A count of things that are named in the singular: 1 text, 1,000 texts."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
