from typing import ClassVar, Literal

from pydantic import Field

from glassformer.data.readers.parallel import SOURCE, TARGET
from glassformer.data.settings import Reads, RecordSection
from glassformer.tasks.settings import CardWords
from glassformer.tasks.writing.settings import TargetSection


class TranslateSection(TargetSection):
    """`best`: the score on validation pairs by which the best model is kept, and by which `train.patience` stops."""

    compared_by: ClassVar[str] = "bleu"  # losses per token are of different tokens where vocabularies differ
    card: ClassVar[CardWords] = CardWords(
        "translation",
        cut="cut into sentences",
        limit="A sentence is translated without those before it; what it has not learned to translate is made up.",
    )
    name: Literal["translate"] = "translate"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """The share of the probability that all tokens but padding get alike."""
    best: Literal["loss", "bleu"] = "loss"
    """The score by which the best model is kept."""

    @property
    def kept_by(self) -> str:
        return "bleu" if self.best == "bleu" else "-loss"


class TranslateData(RecordSection):
    """A source text and its translation: columns of a table, or line n of `files` and line n of `target_files`. `text`
    and `target` are columns, by name or by number from 0; a table without these names is read as two columns. Pairs in
    which a side has more than `length` tokens are not learned from. `remove` names problems of pairs to learn from that
    are left out (`data/readers/pair_checks.py`).
    """

    reads: ClassVar[Reads] = "pairs"
    text: str = SOURCE
    """The column of the source."""
    target: str = TARGET
    """The column of the translation."""
    target_files: tuple[str, ...] = ()
    """Files whose lines are the translations of the lines of `files`."""
    validation_target_files: tuple[str, ...] = ()
    """The same for `validation_files`."""
    remove: tuple[Literal["empty", "length", "copy", "language", "duplicate"], ...] = ()
    """Problems of pairs: a pair that has one of them is left out."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The share of the pairs that is held out for validation."""
