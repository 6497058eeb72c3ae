"""Tasks that learn from the records of tables: which columns they read, how records are split."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.files import files_for
from glassformer.data.readers.lines import OnBad, of_each
from glassformer.data.readers.rejects import bad_rows
from glassformer.data.readers.rows import Columns, by_role, names_of, read_table
from glassformer.data.readers.table_format import TableFormat, find_format
from glassformer.data.settings import DataSection, RecordSection
from glassformer.data.stores.corpus import TooFewError, on_bad, shares_for
from glassformer.data.stores.split import Split, hash_fraction, split_of, text_hash
from glassformer.tasks.rows import check_columns
from glassformer.tasks.task import Preparation, Source, Task


class Record(NamedTuple):
    """The values of a row by role, its file and line, and the row itself where such rows are set aside."""

    values: Mapping[str, object]
    where: str
    own: object = None

    @property
    def text(self) -> str:
        """All its texts, by which records are split: an example and its repeat are in the same split."""
        return "\n".join(str(self.values[role]) for role in sorted(self.values) if role.startswith(("text", "pair")))


class TableTask(Task):
    """Learns from tables. The roles `text…` and `pair…` feed the tokenizer and decide the split."""

    Data: ClassVar[type[RecordSection]] = RecordSection
    reads_tables = True
    # Of fewer different texts none is held out, where the share asked for is less than one of them.
    held_out_from: ClassVar[int] = 0

    # The roles of its columns; the settings of the data that name these are called as they are.
    roles: ClassVar[tuple[str, ...]] = ("text",)

    @classmethod
    def columns(cls, data: Any) -> Mapping[str, Columns]:
        """The column of each role, by name or by number from 0; several for a role whose value is a list."""
        return check_columns({role: getattr(data, role) for role in cls.roles})

    @classmethod
    def columns_in(cls, data: Any, path: Path) -> Mapping[str, Columns]:
        """The same for one table."""
        return cls.columns(data)

    @abstractmethod
    def known_by(self, example: Any) -> str | None:
        """The text by which an example is known again in another file; None without a label."""

    @classmethod
    def split_text(cls, record: Record) -> str:
        """The text by whose hash a record is split: those of equal text are never in two splits."""
        return record.text

    @classmethod
    def records(cls, data: Any, files: Sequence[str], bad: OnBad) -> Iterator[Record]:
        yield from of_each(files_for(data, files), lambda path: cls.records_of(data, path, bad), bad)

    @classmethod
    def records_of(cls, data: Any, path: Path, bad: OnBad) -> Iterator[Record]:
        columns = cls.columns_in(data, path)
        found = cls.format_of(data, path)
        for row in read_table(path, names_of(columns), format=found, bad=bad):
            yield Record(by_role(row.values, columns), row.where, data.kept(row.own))

    @classmethod
    def format_of(cls, data: Any, path: Any) -> TableFormat:
        """How a table is written: detected, but with the header as in the settings."""
        return find_format(path, columns=names_of(cls.columns_in(data, path)), header=data.has_header)

    @classmethod
    def resolve_shares(cls, data: DataSection) -> dict[str, float]:
        shares = {"validation": 0.0 if data.validation_files else data.validation, "test": data.test}
        texts = map(cls.split_text, cls.records(data, data.files, on_bad(data)))
        first = dict.fromkeys(islice(texts, 100 * cls.held_out_from))
        if len(first) < min(cls.held_out_from, 1 / (shares["validation"] or 1)):
            return {**shares, "validation": 0.0}
        try:
            return shares_for(chain(first, texts), shares, seed=data.seed)
        except TooFewError as error:
            named = ", ".join(data.files)[:200]
            if error.got == "0":
                raise DataError(f"{named} must hold records", got="none", do="write them below the header") from None
            raise DataError(
                error.wanted,
                got=f"{error.got} in {named}",
                do="check that each record has its own line; with so few records, hold out nothing with --validation 0",
            ) from None

    @classmethod
    def training_texts(cls, data: DataSection, shares: Mapping[str, float]) -> Iterable[str]:
        for split, record in cls._split(data, shares, on_bad(data)):
            if split == "train":
                yield from cls.texts_of(record)

    @classmethod
    def texts_in(cls, split: Split, data: DataSection, shares: Mapping[str, float]) -> Iterator[str]:
        """The texts by which the records of a split are known to it; bad rows are left out."""
        for each, record in cls._split(data, shares, lambda error: None):
            if each == split:
                yield cls.split_text(record)

    @classmethod
    def texts_of(cls, record: Record) -> tuple[str, ...]:
        return tuple(str(value) for role, value in record.values.items() if role.startswith(("text", "pair")))

    @classmethod
    def _split(cls, data: DataSection, shares: Mapping[str, float], bad: OnBad) -> Iterator[tuple[Split, Record]]:
        for record in cls.records(data, data.files, bad):
            yield split_of(hash_fraction(text_hash(cls.split_text(record)), data.seed), shares), record
        try:
            for record in cls.records(data, data.validation_files, bad) if data.validation_files else ():
                yield "validation", record
        except MissingColumnError as error:  # the advice to name another column would be for all files
            do = "files to hold out need the columns of the files to learn from"
            raise MissingColumnError(error.wanted, got=error.got, do=do) from None

    @classmethod
    def prepared(cls, section: Any, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        with bad_rows(preparation.data, preparation.log) as bad:
            return cls._prepared(section, preparation, bad)

    @classmethod
    @abstractmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        """`prepared`, whose rows that cannot be used go to `bad`."""
