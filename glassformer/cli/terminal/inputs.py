"""What a verb is asked about: the texts of the command and the files of --file, which are found once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.base.paths import check_path, is_stream, refuse_endless

if TYPE_CHECKING:
    from glassformer.cli.terminal.readers import Reader
    from glassformer.data.readers.files import FoundFiles

# What belongs to every text of a command, by role.
Same = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Source:
    """What one --file names: the files that were found there, or a stream, which can be read only once."""

    name: str
    found: FoundFiles | None = None


@dataclass(frozen=True)
class Inputs:
    """The texts of the command, the sources behind them, how these are read, and what belongs to every text."""

    texts: tuple[str, ...]
    sources: tuple[Source, ...]
    reader: Reader
    same: Same = field(default_factory=dict)

    @property
    def once(self) -> bool:
        return "-" in self.texts or any(source.found is None for source in self.sources)

    @property
    def files(self) -> list[Path]:
        return [path for source in self.sources if source.found for path in source.found.used]

    @property
    def order(self) -> list[str | Path]:
        return [each for source in self.sources for each in (source.found.used if source.found else [source.name])]


def find_inputs(
    texts: Sequence[str] | None, files: Sequence[str] | None, reader: Reader, same: Same | None = None
) -> Inputs:
    """What is asked about. Raises DataError where a file is missing, or never ends."""
    sources = tuple(_source(name, reader.column) for name in files or ())
    return Inputs(tuple(texts or ()), sources, reader, same or {})


def _source(name: str, column: str) -> Source:
    from glassformer.data.readers.files import find_files

    if _is_stream(name):
        return Source(name)
    check_path(name, DataError)
    refuse_endless(name, DataError, do="- reads standard input")
    return Source(name, find_files([name], text=column))


def _is_stream(name: str) -> bool:
    return name == "-" or is_stream(name)
