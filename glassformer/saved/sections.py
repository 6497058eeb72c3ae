"""Tables of a recipe, without what needs torch: --help shows their defaults."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from glassformer.base.settings import MOST_WORDS, Settings


class TokenizerSection(Settings):
    """The tokenizer: an existing `file` or folder, else one trained on the training text. Without `special` a
    vocabulary of whole words has only its words as tokens (the slides). Pairs that are not `shared` have a vocabulary
    of this size for each side, and each stack has a table of word vectors.
    """

    kind: Literal["wordpiece", "bpe", "unigram", "words"] = "wordpiece"
    """How words are cut: WordPiece (BERT), byte-pair encoding (GPT-2), a unigram model (T5), or whole words."""
    vocabulary: int = Field(default=8000, ge=1, le=MOST_WORDS)
    """The number of tokens of a vocabulary that is learned."""
    lowercase: bool = True
    """Whether letters are made small before words are cut. Accents stay."""
    leading_blank: bool = False
    """For byte pairs of sources and targets: whether a blank is written before each text."""
    special: bool = True
    """Whether the vocabulary has tokens such as [MASK] and [PAD]; only whole words can do without."""
    shared: bool = True
    """For pairs: one vocabulary for both sides, or one for each."""
    file: str | None = None
    """A tokenizer to use as it is: a file or a folder. None is learned then."""


# Infinities and NaN become words: JSON, in which recipes are saved, has no numbers for them.
_InJson = AfterValidator(lambda value: str(value) if isinstance(value, float) and not math.isfinite(value) else value)


class ModelSection(Settings):
    """Family and size; `settings` are the family function's own keywords, `changes` what is changed in the config that
    it makes (`glassformer.config.changed`): `changes.encoder.causal = true`, `changes.encoder.blocks.feed_forward =
    "none"`. `start` is the folder of a model to start from, or the name of a bundled one.
    """

    family: str = "bert"
    """The family of the model."""
    size: str | None = None
    """The size of the model."""
    settings: dict[str, Annotated[Any, _InJson]] = Field(default_factory=dict)
    """Arguments of the family, such as `settings.layers = 6`."""
    changes: dict[str, Any] = Field(default_factory=dict)
    """Changes of the config that the family makes, such as `changes.encoder.causal = true`."""
    start: str | None = None
    """The model to start from: a folder, or the name of a bundled model."""
    vectors: str | None = None
    """A file of word vectors, with which the embeddings begin."""
    freeze_vectors: bool = False
    """Whether these vectors stay as they are."""


class DistilSection(Settings):
    """A student learns from its labels and from a teacher's answers, as DistilBERT did (Sanh et al. 2019): `soft`
    weighs the divergence from the teacher's probabilities at `temperature`, `hard` the task's own loss, `cosine` the
    distance of the last states. Without a model to start from it starts with `layers` of the teacher's layers, half of
    them by default. `fingerprint` is found by the run: the teacher must not change during the run.

    `vectors` weighs 1 − the cosine between a linear map of the student's mean state and the teacher's mean state, for
    `sentences` sentences of the text in each step (Reimers & Gurevych 2020). The teacher may then be any encoder, with
    another tokenizer and width: `soft` and `cosine` are 0.
    """

    teacher: str | None = None
    """The model to learn from."""
    layers: int | None = Field(default=None, ge=1)
    """How many of the teacher's layers the student starts with; by default half of them."""
    temperature: float = Field(default=2.0, gt=0)
    """The teacher's and the student's logits are divided by this before they are compared."""
    soft: float = Field(default=5.0, ge=0)
    """Weight of the divergence from the teacher's probabilities."""
    hard: float = Field(default=2.0, ge=0)
    """Weight of the task's own loss."""
    cosine: float = Field(default=1.0, ge=0)
    """Weight of the distance between the last states of both."""
    vectors: float = Field(default=0.0, ge=0)
    """Weight of the distance between the vectors of both; above 0 the teacher may be any encoder."""
    sentences: int = Field(default=128, ge=1)
    """With `vectors`: sentences compared in each step."""
    joined: float = Field(default=0.0, ge=0, lt=1)
    """With `vectors`: share of the sentences that are read with the one before, as passages of up to 128 tokens."""
    fingerprint: str = ""
    """Set by the run: the checksum of the teacher."""

    @model_validator(mode="before")
    @classmethod
    def _of_vectors(cls, values: Any) -> Any:
        return {"soft": 0.0, "cosine": 0.0} | values if isinstance(values, dict) and values.get("vectors") else values

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.soft + self.hard + self.cosine + self.vectors > 0:
            raise ValueError("at least one of soft, hard, cosine and vectors must be above 0")
        if self.vectors and (self.soft or self.cosine or self.layers):
            raise ValueError(
                "with vectors the student has tokens and layers of its own: leave out soft, cosine and layers"
            )
        return self


class WatchSection(Settings):
    """Sentences whose predictions and heads are recorded at some steps of the training, in `watched.jsonl`, for a page
    that shows how the model learned. A sentence is one text; a tab separates it from what the task needs: the
    translation, the second text of a pair, the passage of a question, the candidates. For tasks that predict masked
    words it holds at least one [MASK].
    """

    sentences: tuple[str, ...] = ()
    """The sentences that are recorded."""
