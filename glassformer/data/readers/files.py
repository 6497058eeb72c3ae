"""Which files the user's paths and patterns name, and which of them are skipped, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from glassformer.base.errors import DataError
from glassformer.data.readers.lines import failing, not_text, open_bytes, plain_suffix, special_file
from glassformer.data.readers.named_rows import NAME_IT
from glassformer.data.readers.rows import lacks_column, read_table
from glassformer.data.readers.table_format import table_kind
from glassformer.data.settings import DataSection, Reads

_TEXT_SUFFIXES = {"", ".txt", ".text", ".md", ".rst"}
_PATTERN_SIGNS = frozenset("*?[")
_HEAD = 8192
_NO_COLUMN = "no column"
_TABLES = "tables (.jsonl, .csv, .tsv, .parquet)"
# What a folder or a pattern must hold, by what is read.
_WANTED: dict[Reads, str] = {
    "text": f"text files (.txt, .md) or {_TABLES}",
    "tables": _TABLES,
    "pairs": _TABLES,
    "dialogues": f"dialogues: text files (.txt, .md) or {_TABLES}",
    "words": "words in columns (.conll, .conllu, .tsv) or tables (.jsonl, .parquet)",
}
# The most reasons that a note names, and the most files for each of them.
_SHOWN = 4


@dataclass(frozen=True)
class LeftAside:
    """A file or folder that is not read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class FoundFiles:
    """The files to read, in order, and those that are skipped; `str` is one line of bounded length."""

    used: tuple[Path, ...]
    left_aside: tuple[LeftAside, ...]

    def paired_with(self, targets: FoundFiles) -> str:
        """One line of bounded length for files whose lines are paired with those of other files."""
        aside = [*self.left_aside, *targets.left_aside]
        line = f"line by line: {_names(list(self.used))} and {_names(list(targets.used))}"
        return f"{line}; skipped: {_reasons(aside)}" if aside else line

    def __str__(self) -> str:
        tables = sum(table_kind(path) is not None for path in self.used)
        texts = len(self.used) - tables
        kinds = [f"{texts:,} text"] * bool(texts) + [_count(tables, "table")] * bool(tables)
        read = f"{_count(len(self.used), 'file')}: {', '.join(kinds)}"
        return f"{read}; skipped: {_reasons(self.left_aside)}" if self.left_aside else read


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _reasons(left_aside: Sequence[LeftAside]) -> str:
    by_reason: dict[str, list[Path]] = {}
    for each in left_aside:
        by_reason.setdefault(each.reason, []).append(each.path)
    groups = [f"{_names(paths)} ({reason})" for reason, paths in list(by_reason.items())[:_SHOWN]]
    if rest := sum(len(paths) for paths in list(by_reason.values())[_SHOWN:]):
        groups.append(f"{rest:,} more")
    return ", ".join(groups)


def _names(paths: list[Path]) -> str:
    shown = [path.name if path.name.isprintable() else ascii(path.name) for path in paths[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else "")


def find_files(paths: Iterable[str | Path], *, text: str = "text", reads: Reads = "text") -> FoundFiles:
    """The files named by files, folders and patterns such as `data/*.txt` or `data/**/*.jsonl`.

    A folder gives what `reads` says, at any depth, sorted by name. What cannot be used there is skipped: hidden, of a
    kind that is not read, binary, empty, or a table without the column `text`. A pattern does the same, but takes plain
    text of any suffix. A file that is named directly is always used. Raises DataError for a missing path, a pattern
    that nothing matches, and where nothing is left to read.
    """
    search = _Search(text, reads)
    for named in map(Path, paths):
        if os.path.lexists(named):
            search.add_named(named)
        elif _PATTERN_SIGNS & set(str(named)):
            search.add_pattern(named)
        else:
            raise DataError(f"a file or folder is needed at {named}", got="no such file")
    if not search.used:
        raise DataError("at least one file is needed", got="none", do="name files or folders in data.files")
    return FoundFiles(tuple(search.used.values()), tuple(search.left_aside))


def files_of(paths: Iterable[str | Path], *, text: str = "text", reads: Reads = "text") -> tuple[Path, ...]:
    return find_files(paths, text=text, reads=reads).used


def files_for(data: DataSection, paths: Iterable[str | Path]) -> tuple[Path, ...]:
    """The files that `find_files` uses for a task with these settings."""
    return files_of(paths, text=data.text, reads=data.reads)


@dataclass
class _Search:
    """What has been found so far; `used` is keyed by the resolved path, so that no file is read twice."""

    text: str
    reads: Reads
    used: dict[Path, Path] = field(default_factory=dict)
    left_aside: list[LeftAside] = field(default_factory=list)

    def add_named(self, path: Path) -> None:
        if path.is_dir():
            self._add_found(sorted(_below(path, self._leave)), str(path), any_suffix=False)
            return
        if not path.exists():
            raise DataError(f"a file or folder is needed at {path}", got="a broken link")
        if kind := special_file(path):
            raise DataError(f"{path} must be a file or a folder", got=kind)
        self._use(path)

    def add_pattern(self, pattern: Path) -> None:
        parts = pattern.parts
        fixed = next(place for place, part in enumerate(parts) if _PATTERN_SIGNS & set(part))
        start = Path(*parts[:fixed])
        try:
            matches = sorted(start.glob(str(Path(*parts[fixed:]))))
        except (ValueError, NotImplementedError) as error:
            raise DataError(f"the pattern {pattern} must be a valid pattern", got=str(error)) from None
        found: dict[Path, None] = {}
        for match in matches:
            if any(part.startswith(".") for part in match.relative_to(start).parts):
                continue  # as in a shell, a pattern does not match hidden files
            found.update(dict.fromkeys(sorted(_below(match, self._leave)) if match.is_dir() else [match]))
        if not found:
            raise DataError(f"files are needed that match {pattern}", got="no match")
        self._add_found(list(found), str(pattern), any_suffix=True)

    def _add_found(self, paths: list[Path], where: str, *, any_suffix: bool) -> None:
        some, aside = False, len(self.left_aside)
        for path in paths:
            if reason := self._unusable(path, any_suffix=any_suffix):
                self._leave(path, reason)
            else:
                self._use(path)
                some = True
        if not some:
            raise DataError(
                f"{where} must hold {_WANTED[self.reads]}",
                got=_reasons(self.left_aside[aside:]) or "an empty folder",
                do=NAME_IT if any(each.reason.startswith(_NO_COLUMN) for each in self.left_aside[aside:]) else "",
            )

    def _use(self, path: Path) -> None:
        known = self.used.setdefault(path.resolve(), path)
        if known is not path:
            self._leave(path, "named twice")

    def _leave(self, path: Path, reason: str) -> None:
        self.left_aside.append(LeftAside(path, reason))

    def _unusable(self, path: Path, *, any_suffix: bool) -> str:
        """Why a file that was found is not read; "" for one that is. Damage is reported when the file is read."""
        if not path.exists():
            return "a broken link"
        if kind := special_file(path):
            return kind
        suffix = plain_suffix(path)
        if suffix == ".json" and not (self.reads == "tables" and _is_squad(path, self.text)):
            return "JSON, not JSON Lines"
        kind_of_table = table_kind(path)
        head = _head(path)
        if kind_of_table is None and head is not None and (reason := not_text(head)):
            return reason
        if kind_of_table is None and not any_suffix and suffix not in _TEXT_SUFFIXES:
            return f"unknown suffix {suffix[:20]}"
        if head is not None and len(head) < _HEAD and not head.strip():
            return "only blanks" if head else "empty"
        return self._unread(path, named=any_suffix)

    def _unread(self, path: Path, *, named: bool) -> str:
        """Why a file is not of what is read; "" for one that is. `named`: its suffix was asked for."""
        kind = table_kind(path)
        if kind is None:
            plain = self.reads in ("text", "dialogues") or (self.reads == "words" and named)
            return "" if plain else "not a table"
        columns = {"dialogues": (self.text, "messages"), "words": (self.text, "words")}.get(self.reads, (self.text,))
        match self.reads, kind:
            case (("pairs" | "dialogues"), ("csv" | "tsv")):
                return ""  # two columns, whatever they are called
            case "dialogues", "conll":
                return "no dialogues"
            case "words", "csv":
                return "no words in columns"
            case "words", ("tsv" | "conll"):
                return ""
        return f"{_NO_COLUMN} {self.text!r}" if all(lacks_column(path, each) for each in columns) else ""


def _is_squad(path: Path, column: str) -> bool:
    try:
        return next(read_table(path, [column]), None) is not None
    except DataError:
        return False


def _head(path: Path) -> bytes | None:
    try:
        with open_bytes(path) as handle, failing(path):
            return handle.read(_HEAD)
    except DataError:
        return None


def _below(folder: Path, leave: Callable[[Path, str], None]) -> Iterator[Path]:
    """All that is no folder below a folder, links followed; hidden files and what cannot be opened are left aside."""
    waiting, seen = [folder], set()
    while waiting:
        at = waiting.pop()
        try:
            status = at.stat()
            if (status.st_dev, status.st_ino) in seen:  # a link to a folder above
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError as error:
            if at == folder:
                raise DataError(f"cannot read {at}", got=error.strerror or str(error)) from None
            leave(at, error.strerror or str(error))
            continue
        for entry in entries:
            path = at / entry.name
            if entry.name.startswith("."):
                leave(path, "hidden")
            elif path.is_dir():  # not entry.is_dir(), which raises for a link to itself
                waiting.append(path)
            else:
                yield path
