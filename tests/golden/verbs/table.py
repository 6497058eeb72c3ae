"""What a case is, and which cases another one needs."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Case:
    """One command. It runs in a folder with `data/`, `models/` and `out/`, and names all files relative to it.

    `line`: the words after `glassformer`. `reads`: patterns of the files that are read afterwards; standard output is
    read as JSON lines where the words have `--json`, and kept as text where `said`. `code`: the exit code. `makes`:
    what it writes, where that is not given by --out, -o or another option that names a file in `out/`. `fast`: it is in
    the copy that is committed, and its numbers agree between processors.
    """

    name: str
    line: str
    reads: tuple[str, ...] = ()
    stdin: str = ""
    said: bool = False
    code: int = 0
    makes: str = ""
    fast: bool = False
    server: bool = False
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(shlex.split(self.line)))

    @property
    def made(self) -> set[str]:
        """Paths that it writes."""
        found = {self.makes} if self.makes else set()
        for option, value in zip(self.words, self.words[1:], strict=False):
            if option in ("--out", "-o", "--html", "--mix-out", "--probe-out", "--save", "--rejects"):
                found.add(value)
        return found

    @property
    def read(self) -> set[str]:
        """Paths in `models/` and `out/` that stand in its words."""
        return {
            part for word in self.words for part in re.split(r"[=:,]", word) if part.startswith(("models/", "out/"))
        }


def _within(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(folder)


def needed(chosen: Iterable[Case], cases: Sequence[Case]) -> list[Case]:
    """The chosen cases and those that make what they read, in the table's order."""
    wanted = {case.name for case in chosen}
    # From the last one: what a case needs stands before it.
    for place in range(len(cases) - 1, -1, -1):
        case = cases[place]
        if case.name not in wanted:
            continue
        for path in case.read:
            makers = [other for other in cases[:place] if any(_within(path, made) for made in other.made)]
            wanted.update(other.name for other in makers)
    return [case for case in cases if case.name in wanted]
