"""The `[data]` table of a recipe: which files, how they are split, how long a row is."""

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.base.settings import MOST_TOKENS, Seed, Settings

Reads = Literal["text", "tables", "pairs", "dialogues", "words"]
"""What a task reads of a folder: running text and tables, tables alone, tables of two columns, dialogues in text or
tables, words in columns.
"""


class DataSection(Settings):
    """Settings that all tasks share. `validation` and `test` are shares of the documents or records, chosen by a hash
    of their text. `licence` is a text of yours for the model card. `text` is the column of a table that holds the text.
    """

    reads: ClassVar[Reads] = "text"
    files: tuple[str, ...] = ()
    validation_files: tuple[str, ...] = ()
    licence: str = ""
    text: str = "text"
    validation: float = Field(default=0.05, ge=0, lt=1)
    test: float = Field(default=0.0, ge=0, lt=1)
    seed: Seed = 0
    length: int = Field(default=128, ge=2, le=MOST_TOKENS)
    on_bad_row: Literal["stop", "skip"] = "stop"

    @property
    def shares(self) -> dict[str, float]:
        return {"validation": self.validation, "test": self.test}

    @property
    def holds_out(self) -> bool:
        """Whether a training is measured on held-out data."""
        return bool(self.validation_files or self.shares["validation"] or self.shares.get("end"))


class CorpusSection(DataSection):
    """Running text. `pack`: documents are joined to full rows, else each has its own row; `document_mask`: the
    documents of a row do not attend to each other. `end` is the share of the text that is held out at its end, instead
    of whole documents for validation: this is used where one of few documents would be a large part of the text.
    """

    documents: Literal["blank-line", "line", "file"] = "blank-line"
    pack: bool = True
    document_mask: bool | None = None
    end: float = Field(default=0.0, ge=0, lt=1)
    cache: str | None = None

    @property
    def shares(self) -> dict[str, float]:
        """With that of the end, where it is held out."""
        return {**super().shares, **({"end": self.end} if self.end else {})}


class RecordSection(DataSection):
    """Records of a table. `header`: whether the first row names the columns; detected by default. `rejects`: a file for
    the rows that cannot be used, which are left out then.
    """

    reads: ClassVar[Reads] = "tables"
    validation: float = Field(default=0.1, ge=0, lt=1)
    header: Literal["auto", "yes", "no"] = "auto"
    rejects: str | None = None

    @property
    def has_header(self) -> bool | None:
        """None where it is detected."""
        return None if self.header == "auto" else self.header == "yes"

    def kept(self, row: object) -> object:
        """A row as its file has it, where rows that cannot be used are set aside in a file."""
        return None if self.rejects is None else row
