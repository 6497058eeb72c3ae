"""The records for a verb: from the command, standard input and files, in this order, each as soon as it is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from glassformer.base.counting import number_of
from glassformer.base.errors import DataError, from_system
from glassformer.base.paths import check_path, is_stream, refuse_endless
from glassformer.cli.terminal.readers import Reader, TableReader, Text, read_lines_as
from glassformer.cli.terminal.screen import note
from glassformer.data.readers.lines import UTF8_MARK, OnBad, decoded, of_each, stop

if TYPE_CHECKING:
    from io import BufferedReader

    from glassformer.data.readers.files import FoundFiles
    from glassformer.text.tokenizer import Tokenizer

# Texts of which unknown tokens are counted, characters of each, and the share of these tokens that is noted.
_READ, _OF_A_TEXT, _MANY = 100, 2_000, 0.25
# What belongs to every text of a command, by role.
Same = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Source:
    """What one --file names: the files that were found there, or a stream, which can be read only once."""

    name: str
    found: FoundFiles | None = None


@dataclass(frozen=True)
class Inputs:
    """The texts of the command, the sources after them, how these are read, and what belongs to every text."""

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

    if name == "-" or is_stream(name):
        return Source(name)
    check_path(name, DataError)
    refuse_endless(name, DataError, do="- reads standard input")
    return Source(name, find_files([name], text=column))


TYPED = "standard input"
"""What the place of a line of standard input begins with."""
# Records given to the model together: few at first, so that the first predictions come soon, then enough to be sorted
# by length, but not more than a command that was stopped can compute again.
_FIRST, _TOGETHER = 64, 2048
# The most characters of these records, so that they fit into memory whatever their length.
_CHARACTERS = 1 << 20


def records(inputs: Inputs, *, bad: OnBad = stop, tell: Callable[[str], None] = note) -> Iterator[Text]:
    """All records for a verb, with what is the `same` for every text (a second text only for those of the command). A
    bad row goes to `bad`; skipped files are reported. Raises DataError.
    """
    if not inputs.texts and not inputs.sources:
        raise DataError("a text is needed", got="none", do="write one in quotes, - for standard input, or --file FILE")
    more: dict[str, object] = {
        role: _without_surrogates(value) if isinstance(value, str) else list(map(_without_surrogates, value))
        for role, value in inputs.same.items()
    }
    same = {role: value for role, value in more.items() if role != "pair"}
    count = len(inputs.texts)
    for number, text in enumerate(inputs.texts, 1):
        if text == "-":
            typed = _lines_of(_standard_input(), TYPED, bad, blank=inputs.reader.blank)
            yield from (each._replace(values={**each.values, **more}) for each in typed)
        else:
            where = f"text {number} of {count:,}" if count > 1 else ""
            yield Text({"text": _without_surrogates(text), **more}, where)
    for source in inputs.sources:
        for each in _of_one(source, inputs.reader, bad, tell):
            yield each._replace(values={**each.values, **same})


def noting_unknown(tokenizer: Tokenizer, texts: Iterable[Text]) -> Iterator[Text]:
    """The same texts; notes how many tokens of the first ones the vocabulary does not have, where these are many."""
    read = some = unknown = 0

    def tell() -> None:
        if some and unknown >= _MANY * some:
            token = tokenizer.token(int(tokenizer.unknown_id or 0))
            note(
                f"{unknown / some:.0%} of the tokens of {'the first ' * (read == _READ)}{number_of(read, 'text')} are "
                f"{token}: the vocabulary of the model does not have them, and the model cannot tell them apart"
            )

    for each in texts:
        text = each.values.get("text")
        if tokenizer.unknown_id is not None and read < _READ and isinstance(text, str):
            ids = tokenizer.ids(text[:_OF_A_TEXT])
            read, some, unknown = read + 1, some + len(ids), unknown + ids.count(tokenizer.unknown_id)
            if read == _READ:
                tell()
        yield each
    if read < _READ:
        tell()


def _standard_input() -> BufferedReader:
    return cast("BufferedReader", sys.stdin.buffer)


def _of_one(source: Source, reader: Reader, bad: OnBad, tell: Callable[[str], None]) -> Iterator[Text]:
    """The records of a source, for - those of standard input; what can be read only once is opened once."""
    if source.found is not None:
        if source.found.left_aside:
            tell(f"{source.name}: {source.found}")
        yield from of_each(source.found.used, lambda path: reader.of_file(path, bad, tell), bad)
    elif source.name == "-":
        yield from read_lines_as(reader, _lines_of(_standard_input(), TYPED, bad, blank=reader.blank), bad)
    else:
        with _opened(source.name) as stream:
            yield from read_lines_as(reader, _lines_of(stream, source.name, bad, blank=reader.blank), bad)


def _opened(file: str) -> BufferedReader:
    with from_system(DataError, f"cannot read {file}"):
        return open(file, "rb")


def texts_to_explain(texts: Sequence[str]) -> Iterator[str]:
    """The texts to explain one by one; `-` reads standard input. Raises DataError where there is none."""
    found = False
    for asked in records(find_inputs(texts, (), TableReader({"text": "text"}))):
        found = True
        yield str(asked.values["text"])
    if not found:
        raise DataError("a text is needed", got="nothing on standard input")


def batches(asked: Iterable[Text]) -> Iterator[list[Text]]:
    """Full batches, and smaller ones when reading on would wait for input: a typed line is answered at once."""
    batch: list[Text] = []
    characters, most = 0, _FIRST
    for each in asked:
        batch.append(each)
        characters += max(map(_size, (each.values, each.own)))
        if each.last or len(batch) == most or characters >= _CHARACTERS:
            yield batch
            batch, characters, most = [], 0, _TOGETHER
    if batch:
        yield batch


def _size(values: object) -> int:
    held = values.values() if isinstance(values, Mapping) else (values,)
    return sum(len(value) for value in held if isinstance(value, str))


def _without_surrogates(text: str) -> str:
    """The text of a command, with bytes that Python holds as lone surrogates decoded; raises DataError for no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode()  # a locale that only knows ASCII
        except UnicodeDecodeError as error:
            raise DataError("a text must be UTF-8", got=f"the byte 0x{error.object[error.start]:02x}") from None
        except UnicodeEncodeError as error:
            raise DataError("a text must be UTF-8", got=repr(error.object[error.start])) from None
    return text


def _lines_of(stream: BufferedReader, name: str, bad: OnBad, *, blank: bool = False) -> Iterator[Text]:
    """The lines of a stream, those of only blanks where `blank`; one that is no text goes to `bad`."""
    number = byte = 0
    for lines in _lines_as_they_come(stream, name):
        there = []
        for raw in lines:
            number += 1
            mark = len(UTF8_MARK) if number == 1 and raw.startswith(UTF8_MARK) else 0
            where = f"{name}, line {number}"
            text = decoded(raw[mark:].rstrip(b"\r\n"), where, byte + mark, bad)
            byte += len(raw) + 1
            if text is not None and (blank or text.strip()):
                there.append(Text({"text": text}, where, own=text))
        if there:
            yield from [*there[:-1], there[-1]._replace(last=True)]


def _lines_as_they_come(stream: BufferedReader, name: str) -> Iterator[list[bytes]]:
    """The complete lines of each read, as soon as there are any; the rest of the input comes last."""
    from glassformer.data.readers.lines import LONGEST_LINE

    begun: list[bytes] = []
    size = 0
    while chunk := _read_some(stream, name):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*begun, lines[0]])
            begun.clear()
            size = 0
        begun.append(rest)
        size += len(rest)
        if size > LONGEST_LINE:
            raise DataError(
                f"a line of {name} must have at most {LONGEST_LINE:,} bytes", got="more without an end of line"
            )
        yield lines
    if begun and (rest := b"".join(begun)):
        yield [rest]


def _read_some(stream: BufferedReader, name: str) -> bytes:
    with from_system(DataError, f"cannot read {name}"):
        return stream.read1(1 << 16)
