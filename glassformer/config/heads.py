"""Settings of the heads, as the modules of `models/heads.py` have them."""

from typing import Literal, Self

from pydantic import Field, model_validator

from glassformer.base.settings import Settings
from glassformer.config.parts import Activation, NormConfig

# What a head for labels answers: one label or several for a text, a number for a text, which of several texts, a label
# for each token, the first and the last token of an answer.
HeadUse = Literal["sentence labels", "number", "candidates", "token labels", "span"]


class TransformConfig(Settings):
    """`transform`: a head's own dense layer, activation and norm before its scores."""

    transform: bool = False
    transform_bias: bool = True
    activation: Activation = "gelu"
    norm: NormConfig | None = None

    @model_validator(mode="after")
    def _norm_needs_transform(self) -> Self:
        if self.norm is not None and not self.transform:
            raise ValueError("the head's norm belongs to its transform: set transform = true, or leave the norm out")
        return self


class VocabularyHeadConfig(TransformConfig):
    """From states to a score for each token; `transform` is that of BERT."""

    tied: bool = True
    bias: bool = False
    scaled: bool = False


class SentenceHeadConfig(Settings):
    """From one vector for the sentence to `labels` scores; without labels the vector itself is the output. `pooling`:
    `first` takes the state of the first token, `mean` the mean of the states, `max` the largest number of each channel;
    `pooler` and `mean_pooler` apply a dense layer, an activation and, where there is one, a norm to the first or the
    mean (BERT: tanh, no norm).
    """

    labels: int = Field(default=2, ge=0)
    pooling: Literal["first", "pooler", "mean", "mean_pooler", "max"] = "pooler"
    activation: Activation = "tanh"
    pooler_bias: bool = True
    norm: NormConfig | None = None
    dropout: float = Field(default=0.0, ge=0, lt=1)
    several: bool = False  # each label has a probability of its own, by the sigmoid of its score

    @property
    def probabilities(self) -> Literal["softmax", "sigmoid"] | None:
        """How scores become probabilities: none where a single score is a number, or is compared with those of other
        rows.
        """
        return "sigmoid" if self.several else "softmax" if self.labels > 1 else None

    @property
    def has_pooler(self) -> bool:
        return self.pooling in ("pooler", "mean_pooler")

    @model_validator(mode="after")
    def _belongs_to_the_pooler(self) -> Self:
        if not self.has_pooler and (self.activation != "tanh" or self.norm is not None or not self.pooler_bias):
            raise ValueError(f"activation, norm and pooler_bias belong to a pooler: leave them out with {self.pooling}")
        return self


class TokenHeadConfig(TransformConfig):
    """From the state of each token to `labels` scores; `transform` is that of ModernBERT. `crf`: the labels of a text
    are scored together, each with the one before it (Lafferty et al. 2001). `spans`: the labels are the first and the
    last token of a span, and each has one softmax over the tokens.
    """

    labels: int = Field(ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    crf: bool = False
    spans: bool = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.spans and (self.crf or self.labels != 2):
            raise ValueError("a span has a first and a last token: labels must be 2, without a CRF")
        return self
