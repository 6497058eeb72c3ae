from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from glassformer.data.settings import Reads, RecordSection
from glassformer.tasks.settings import CardWords, HeadOutputs, TaskSection

_CASE = (
    "the case of words is read from token_type_ids, which other programs must fill: 0 for a token of a word without "
    "capitals, 1 with a capital first, 2 of capitals alone, 3 of another mixture"
)


class TagSection(TaskSection):
    """`labels` are found in the training records unless they are given. `crf`: the labels of a text are scored
    together, each with the one before it (Lafferty et al. 2001). `direct`: no layer of the family's own between states
    and labels; by default so after a linear probe. `case`: the segment of a token is the case of its word.
    """

    found: ClassVar[tuple[str, ...]] = ("labels", "case")
    probed: ClassVar[tuple[str, ...]] = ("direct",)
    kept_by: ClassVar[str] = "f1"  # of spans; where each word has a tag of its own, it is the accuracy
    card: ClassVar[CardWords] = CardWords("spans")
    name: Literal["tag"] = "tag"
    labels: tuple[str, ...] = ()
    """The labels; by default those of the training records."""
    crf: bool = False
    """Whether the labels of a text are scored together."""
    direct: bool | None = None
    """Whether scores are read from the states without a layer between; by default after a linear probe."""
    case: bool | None = None
    """Whether the model reads the case of each word as its segment; by default if the tokenizer drops it."""
    begun: bool = True
    """Whether a span begins with B- where labels have it; imported models may have learned to begin with I- (IOB1)."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the scores."""
    word_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Probability that a word is replaced by [MASK] in training, so that its tag is learned from the words around."""

    @property
    def spans_begin(self) -> bool:
        return self.begun

    @property
    def head_outputs(self) -> HeadOutputs:
        return HeadOutputs(self.labels)

    @property
    def not_exported(self) -> tuple[str, ...]:
        return (_CASE,) if self.case else ()

    @property
    def beyond_transformers(self) -> str:
        return "the case of words (--set task.case=false leaves it out)" if self.case else ""

    def as_saved(self) -> Self:
        return self.model_copy(update={"case": bool(self.case)})

    def with_fixed_embedding(self) -> Self:
        return self.as_saved()

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("labels", "crf", "case")

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        if len(set(self.labels)) < len(self.labels) or not all(label.strip() for label in self.labels):
            raise ValueError("labels must be different words, none of them empty")
        return self


class TagData(RecordSection):
    """`words` and `tags` are columns of CoNLL files, by number from 0 or, in CoNLL-U, by name: by default the first and
    the last, in CoNLL-U FORM and UPOS. In JSON lines they are lists, `words` and `tags` by default; or `text` is a text
    and `spans` a list of {"start", "end", "label"} with character offsets in it.
    """

    reads: ClassVar[Reads] = "words"
    words: str | None = None
    """The column of the words."""
    tags: str | None = None
    """The column of the tags."""
    spans: str = "spans"
    """The column of the spans."""
