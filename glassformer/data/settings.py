"""The `[data]` table of a recipe: which files, how they are split, how long a row is."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from glassformer.base.settings import MOST_TOKENS, Seed, Settings

Reads = Literal["text", "tables", "pairs", "dialogues", "words"]
"""What a task reads of a folder: running text and tables, tables alone, tables of two columns, dialogues in text or
tables, words in columns.
"""


class DataSection(Settings):
    """Settings that all tasks share. `validation` and `test` are shares of the documents or records, chosen by a hash
    of their text.

    `licence` is a text of yours for the model card. `text` is the column of a table that holds the text.
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
        """The parts of the text or the records that are not learned from."""
        return {"validation": self.validation, "test": self.test}

    @property
    def holds_out(self) -> bool:
        """Whether a training is measured on what it does not learn from."""
        return bool(self.validation_files or self.shares["validation"] or self.shares.get("end"))


class CorpusSection(DataSection):
    """Running text. `pack`: documents are joined to full rows, else each has a row of its own; `document_mask`:
    the documents of a row do not see each other. `end` is the share of the text that is held out at its end, instead of
    whole documents for validation: so it is chosen where one of few documents would be a large part of the text.
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


class TextPairData(RecordSection):
    """`text`, `pair` and `label` are columns, by name or by number from 0; without a `pair` there are single texts."""

    pair: str | None = None
    label: str = "label"


class ClassifyData(TextPairData):
    """`separator` stands between the labels of one cell where a text may have several."""

    separator: str = Field(default=",", min_length=1)


class ChooseData(RecordSection):
    """`text`, `choices` and `label` are columns: a text, its candidates, and the right one, by its place from 0 or by
    its text. Of `choices` there is one column that holds a list (JSON lines), or one for each candidate.
    """

    choices: tuple[str, ...] = Field(default=("choices",), min_length=1)
    label: str = "label"


class TagData(RecordSection):
    """`words` and `tags` are columns of CoNLL files, by number from 0 or, in CoNLL-U, by name: by default the first and
    the last, in CoNLL-U FORM and UPOS. In JSON lines they are lists, `words` and `tags` by default; or `text` is a text
    and `spans` a list of {"start", "end", "label"} with character offsets in it.
    """

    reads: ClassVar[Reads] = "words"
    words: str | None = None
    tags: str | None = None
    spans: str = "spans"


class AnnotatedMasksData(RecordSection):
    """`text` and `answers` are columns: a text with [MASK], and a word for each mask, as a list or separated by
    spaces.
    """

    validation: float = Field(default=0.0, ge=0, lt=1)
    answers: str = "answers"


class AnswerData(RecordSection):
    """`text` (the question), `pair` (the passage) and `answers` are columns; the defaults are those of SQuAD's JSON."""

    text: str = "question"
    pair: str = "context"
    answers: str = "answers"
    length: int = Field(default=384, ge=8, le=MOST_TOKENS)


class ChatData(RecordSection):
    """Dialogues: `text` is the column with their turns. Of the turns before a reply the last `history` are read: by
    default three by an encoder, and by a decoder alone all that fit into a row.
    """

    reads: ClassVar[Reads] = "dialogues"
    text: str = "turns"
    history: int | None = Field(default=None, ge=1, le=1000)
    validation: float = Field(default=0.05, ge=0, lt=1)


class TranslateData(RecordSection):
    """A source text and its translation: columns of a table, or line n of `files` beside line n of `target_files`.

    `text` and `target` are columns, by name or by number from 0; a table without these names is read as two columns.
    Pairs in which a side has more than `length` tokens are not learned from. `remove` names problems of pairs to learn
    from that are left out (`data/readers/pair_checks.py`).
    """

    reads: ClassVar[Reads] = "pairs"
    text: str = "source"
    target: str = "target"
    target_files: tuple[str, ...] = ()
    validation_target_files: tuple[str, ...] = ()
    remove: tuple[Literal["empty", "length", "copy", "language", "duplicate"], ...] = ()
    validation: float = Field(default=0.05, ge=0, lt=1)
