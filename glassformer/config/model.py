"""Settings of heads, stacks and the whole model, as the modules of `models/` have them."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from glassformer.base.settings import Settings, read_settings
from glassformer.config.parts import (
    Activation,
    AttentionSublayerConfig,
    EmbedConfig,
    FeedForwardSublayerConfig,
    NormConfig,
    RelativeBiasConfig,
)

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


# The texts of a pair that is compared, as their means are named.
TEXTS = ("first_text", "second_text")
# Two neighbouring tokens have the row of a table that these multiples of their ids sum to, modulo its rows.
NEIGHBOURS = (1_000_003, 7)


Pooling = Literal["first", "mean", "max", "last-token"]
"""How the states of a text's tokens become one vector."""


class SentenceHeadConfig(Settings):
    """From one vector for the sentence to `labels` scores; without labels the vector itself is the output. `pooling`:
    `first` takes the state of the first token, `mean` the mean of the states, `max` the largest number of each channel;
    `pooler` and `mean_pooler` apply a dense layer, an activation and, where there is one, a norm to the first or the
    mean (BERT: tanh, no norm). `pair` compares the texts of a pair: their means, the absolute difference and the
    product of these (Conneau et al. 2017). With `words` each token and each pair of neighbours adds to the scores, the
    pairs from a table with so many rows.
    """

    labels: int = Field(default=2, ge=0)
    pooling: Literal["first", "pooler", "mean", "mean_pooler", "max", "pair"] = "pooler"
    activation: Activation = "tanh"
    pooler_bias: bool = True
    norm: NormConfig | None = None
    dropout: float = Field(default=0.0, ge=0, lt=1)
    words: int = Field(default=0, ge=0)
    several: bool = False  # each label has a probability of its own, by the sigmoid of its score

    @property
    def probabilities(self) -> Literal["softmax", "sigmoid"] | None:
        """How scores become probabilities: none where a score is a number, or is compared with those of other rows."""
        return "sigmoid" if self.several else "softmax" if self.labels > 1 else None

    @property
    def has_pooler(self) -> bool:
        return self.pooling in ("pooler", "mean_pooler")

    @property
    def vector(self) -> Literal["first", "mean", "max", "pair"]:
        """What of the states it reads."""
        return "first" if self.pooling == "pooler" else "mean" if self.pooling == "mean_pooler" else self.pooling

    @property
    def vectors(self) -> int:
        """How many vectors of the states' width enter the last layer, one after the other."""
        return 4 if self.pooling == "pair" else 1

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


class BlockConfig(Settings):
    """One layer of a stack: self-attention, cross-attention where there is an encoder, and the feed-forward network."""

    self_attention: AttentionSublayerConfig
    cross_attention: AttentionSublayerConfig | None = None
    feed_forward: FeedForwardSublayerConfig | None = None


class StackConfig(Settings):
    """Embedding, blocks and a last norm. With `hide_masked` no word may attend to a masked word (the slides)."""

    width: int = Field(ge=1)
    embed: EmbedConfig
    blocks: tuple[BlockConfig, ...]
    norm: NormConfig | None = None
    dropout: float = Field(default=0.0, ge=0, lt=1)
    causal: bool = False
    hide_masked: bool = False
    relative_bias: RelativeBiasConfig | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.blocks:
            raise ValueError("a stack needs at least one block: layers must be greater than or equal to 1")
        wants_bias = any(block.self_attention.body.relative_bias for block in self.blocks)
        if wants_bias and self.relative_bias is None:
            raise ValueError("a block asks for a relative bias but the stack has none: set relative_bias")
        if any(block.cross_attention and block.cross_attention.body.relative_bias for block in self.blocks):
            raise ValueError("a relative bias measures distances within one text: cross-attention has none")
        crossing = [block.cross_attention.body for block in self.blocks if block.cross_attention]
        if any(attention.rotary is not None for attention in crossing):
            raise ValueError("rotary positions count tokens of one text: cross-attention has none")
        if any(attention.window is not None for attention in crossing):
            raise ValueError("a window measures distances within one text: cross-attention has none")
        heads = {block.self_attention.body.heads for block in self.blocks}
        if self.relative_bias is not None and len(heads) > 1:
            raise ValueError(f"a shared relative bias needs equal heads in all blocks, got {sorted(heads)}")
        if self.embed.position.kind == "sinusoidal" and self.width % 2:
            raise ValueError(f"sinusoidal positions come in pairs: width must be even, got {self.width}")
        return self

    @property
    def max_length(self) -> int | None:
        """The number of tokens that this stack has positions for, None when there is no limit."""
        return self.embed.position.max_length if self.embed.position.kind == "learned" else None


class InitialConfig(Settings):
    """How weights are drawn before training."""

    kind: Literal["truncated_normal", "normal", "xavier_uniform"] = "truncated_normal"
    deviation: float = Field(default=0.02, gt=0)


class ModelConfig(Settings):
    """An encoder, a decoder, or both, and the heads. `family` is only a label: no computation reads it."""

    family: str
    encoder: StackConfig | None = None
    decoder: StackConfig | None = None
    share_embeddings: bool = False
    head: VocabularyHeadConfig | None = None
    sentence_head: SentenceHeadConfig | None = None
    token_head: TokenHeadConfig | None = None
    initial: InitialConfig = InitialConfig()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.encoder is None and self.decoder is None:
            raise ValueError("a model needs an encoder, a decoder, or both")
        if self.encoder is not None and any(block.cross_attention for block in self.encoder.blocks):
            raise ValueError("cross-attention belongs to a decoder that has an encoder")
        if self.decoder is not None:
            crossing = [block.cross_attention is not None for block in self.decoder.blocks]
            if self.encoder is None and any(crossing):
                raise ValueError("the decoder has cross-attention but there is no encoder")
            if self.encoder is not None and not all(crossing):
                raise ValueError("each decoder block needs cross_attention when there is an encoder")
        if self.share_embeddings:
            if self.encoder is None or self.decoder is None:
                raise ValueError("share_embeddings needs an encoder and a decoder")
            if (self.encoder.width, self.encoder.embed.vocabulary) != (
                self.decoder.width,
                self.decoder.embed.vocabulary,
            ):
                raise ValueError("shared embeddings need the same width and vocabulary in encoder and decoder")
        return self

    @property
    def output_stack(self) -> StackConfig:
        stack = self.decoder or self.encoder
        assert stack is not None
        return stack


def changed(config: ModelConfig, changes: Mapping[str, Any]) -> ModelConfig:
    """The config with single settings changed, `{"encoder": {"blocks": {"self_attention": {"residual": False}}}}`. What
    is changed in a list is changed in each of its entries; a group of settings that is changed to "none" is left out.
    Raises ConfigError.
    """
    return read_settings(ModelConfig, _over(config.model_dump(mode="json"), changes), where="model.changes")


def _over(value: Any, change: Any) -> Any:
    if isinstance(value, list):
        return [_over(each, change) for each in value]
    if isinstance(value, dict) and isinstance(change, Mapping):
        return {**value, **{key: _over(value.get(key), its) for key, its in change.items()}}
    return None if change == "none" and (value is None or isinstance(value, dict)) else change
