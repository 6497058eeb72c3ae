"""The `[data]` table of a recipe: which files, how they are split, how long a row is."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from glassformer.base.settings import MOST_TOKENS, Seed, Settings

Reads = Literal["text", "tables", "pairs", "dialogues", "words"]
"""What a task reads of a folder: running text and tables, tables alone, tables of two columns, dialogues in text or
tables, words in columns.
"""


class DataSection(Settings):
    """Settings that all tasks share. What is held out is chosen by a hash of its text."""

    reads: ClassVar[Reads] = "text"
    files: tuple[str, ...] = ()
    """What to train on: files, folders and patterns."""
    validation_files: tuple[str, ...] = ()
    """Your own held-out files, instead of a share of `files`."""
    licence: str = ""
    """The licence of the data, for the model card."""
    text: str = "text"
    """The column of the text."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The share of the documents or records that is held out for validation."""
    test: float = Field(default=0.0, ge=0, lt=1)
    """The share that is held out for a test."""
    seed: Seed = 0
    """Another seed holds out other documents."""
    length: int = Field(default=128, ge=2, le=MOST_TOKENS)
    """The most tokens of a row."""
    on_bad_row: Literal["stop", "skip"] = "stop"
    """What happens at a row that cannot be read: stop, or leave it out and say so."""

    @property
    def shares(self) -> dict[str, float]:
        return {"validation": self.validation, "test": self.test}

    @property
    def holds_out(self) -> bool:
        """Whether a training is measured on held-out data."""
        return bool(self.validation_files or self.shares["validation"] or self.shares.get("end"))


class CorpusSection(DataSection):
    """Running text. Its end is held out where one of few documents would be a large part of the text."""

    documents: Literal["blank-line", "line", "file"] = "blank-line"
    """What separates two documents."""
    pack: bool = True
    """Whether documents are joined to full rows."""
    passages: bool = False
    """Whether masked words are predicted in passages: single sentences, or some of one document. A row holds several,
    kept apart as documents are."""
    joined: float = Field(default=0.3, ge=0, lt=1)
    """With `passages`: the share of the sentences that are in one passage with the sentence before."""
    document_mask: bool | None = None
    """Whether the documents of a row are kept apart; by default for masked words, not for language models."""
    end: float = Field(default=0.0, ge=0, lt=1)
    """The share of the text that is held out at its end, instead of whole documents."""
    cache: str | None = None
    """A folder that keeps the tokens of the text for later runs."""

    @property
    def shares(self) -> dict[str, float]:
        """With that of the end, where it is held out."""
        return {**super().shares, **({"end": self.end} if self.end else {})}

    @model_validator(mode="after")
    def _rows_of_one_kind(self) -> Self:
        if self.passages and (not self.pack or self.document_mask is False):
            raise ValueError("passages are packed and kept apart: leave out pack and document_mask")
        return self


class RecordSection(DataSection):
    """Records of a table. With `rejects` the rows that cannot be used are left out."""

    reads: ClassVar[Reads] = "tables"
    validation: float = Field(default=0.1, ge=0, lt=1)
    """The share of the records that is held out for validation."""
    header: Literal["auto", "yes", "no"] = "auto"
    """Whether the first row names the columns; auto finds out."""
    rejects: str | None = None
    """A file for the rows that cannot be used."""

    @property
    def has_header(self) -> bool | None:
        """None where it is detected."""
        return None if self.header == "auto" else self.header == "yes"

    def kept(self, row: object) -> object:
        """A row as its file has it, where rows that cannot be used are set aside in a file."""
        return None if self.rejects is None else row
