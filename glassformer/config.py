"""The tree of a model's settings: frozen, strict, and nested like the modules that are built from it.

A parent does not repeat its child's settings. All rules are checked before any tensor is created. The tree is saved as
JSON beside the weights and is enough to rebuild the model.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from glassformer.settings import Settings
from glassformer.stretch import DynamicStretch, Stretch, YarnStretch

# --------------------------------------------------------------------------- parts

# gelu_tanh is the tanh form of GELU, quick_gelu is x · sigmoid(1.702 x), gelu_10 is GELU cut off at ±10.
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "tanh", "relu2", "quick_gelu", "gelu_10", "mish"]


class NormConfig(Settings):
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang & Sennrich 2019)."""

    kind: Literal["layer", "rms"] = "layer"
    epsilon: float = Field(default=1e-12, gt=0)
    bias: bool = True

    @model_validator(mode="after")
    def _bias_of_a_layer_norm(self) -> Self:
        if self.kind == "rms" and self.bias:
            raise ValueError("RMSNorm scales and does not shift: set bias = false")
        return self


class PositionConfig(Settings):
    """What is added to the word vectors to encode their order.

    `layout` of sinusoids: `paper` interleaves sines and cosines (Vaswani et al. 2017, §3.5),
    `tensor2tensor` puts all sines before all cosines and spaces wave lengths by i/(n-1),
    `halves` puts sines first with the paper's wave lengths (Marian).
    `offset` is the number of rows of a learned table before position 0 (RoBERTa and BART: 2).
    """

    kind: Literal["none", "learned", "sinusoidal"] = "learned"
    layout: Literal["paper", "tensor2tensor", "halves"] = "paper"
    max_length: int = Field(default=512, ge=1)
    offset: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.offset and self.kind != "learned":
            raise ValueError(f"offset counts rows of a learned table: with {self.kind} positions it must be 0")
        if self.layout != "paper" and self.kind != "sinusoidal":
            raise ValueError(f"layout is that of sinusoids: with {self.kind} positions leave it at 'paper'")
        return self


class RotaryConfig(Settings):
    """Rotary positions (Su et al. 2021): queries and keys are turned by an angle that grows with the position."""

    base: float = Field(default=10000.0, gt=0)
    stretch: Stretch | None = None

    @model_validator(mode="after")
    def _waves_that_lengthen(self) -> Self:
        if isinstance(self.stretch, YarnStretch) and self.base <= 1:
            raise ValueError(f"the stretch yarn needs a base greater than 1, got {self.base:g}")
        return self


class RelativeBiasConfig(Settings):
    """A learned number per head and distance, added to the scores (Raffel et al. 2020)."""

    buckets: int = Field(default=32, ge=4)
    max_distance: int = Field(default=128, ge=2)

    @model_validator(mode="after")
    def _distance_beyond_single_buckets(self) -> Self:
        if self.max_distance <= self.buckets // 2:
            raise ValueError(
                f"half of the {self.buckets} buckets are single distances: max_distance must be greater than "
                f"{self.buckets // 2}, got {self.max_distance}"
            )
        return self


class FillConfig(Settings):
    """What a forbidden score becomes: `set` replaces it (the slides: -1000), `add` adds to it (BERT: -10000)."""

    model_config = ConfigDict(allow_inf_nan=True)

    rule: Literal["set", "add"] = "set"
    value: float | Literal["-inf", "lowest"] = "-inf"

    @model_validator(mode="after")
    def _negative(self) -> Self:
        if isinstance(self.value, float) and not self.value < 0:
            raise ValueError(f"a mask fill must be a negative number, '-inf' or 'lowest', got {self.value}")
        return self


class AttentionConfig(Settings):
    """One multi-head attention (Vaswani et al. 2017, §3.2). Sizes are per head and independent of the width.

    Scores are divided by √query_size where they are `scaled`, and by `divided_by` (GPT-2's option: the layer's number).
    With a `window` a token looks at most so many tokens away, to either side; with 0 at itself alone.
    """

    heads: int = Field(ge=1)
    key_value_heads: int = Field(ge=1)
    query_size: int = Field(ge=1)
    value_size: int = Field(ge=1)
    bias: bool = True
    output_bias: bool = True
    scaled: bool = True
    divided_by: int = Field(default=1, ge=1)
    fill: FillConfig = FillConfig()
    rotary: RotaryConfig | None = None
    window: int | None = Field(default=None, ge=0)
    relative_bias: bool = False
    dropout: float = Field(default=0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.heads % self.key_value_heads:
            raise ValueError(
                f"heads must be a multiple of key_value_heads, got {self.heads} and {self.key_value_heads}"
            )
        if self.rotary is not None and self.query_size % 2:
            raise ValueError(f"rotary positions turn pairs of numbers: query_size must be even, got {self.query_size}")
        if self.rotary is not None and isinstance(self.rotary.stretch, DynamicStretch) and self.query_size < 4:
            raise ValueError(f"the stretch dynamic needs a query_size of at least 4, got {self.query_size}")
        return self


class FeedForwardConfig(Settings):
    """The position-wise network; `gated` multiplies by a second, activated projection (Shazeer 2020)."""

    width: int = Field(ge=1)
    activation: Activation = "gelu"
    gated: bool = False
    bias: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1)


class SublayerConfig(Settings):
    """A body with its residual and its norm: `after` (the paper), `before`, on the `branch`, or `none`."""

    norm: NormConfig | None = None
    norm_at: Literal["after", "before", "branch", "none"] = "none"
    residual: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _norm_needs_norm_at(self) -> Self:
        if self.norm is not None and self.norm_at == "none":
            raise ValueError("a norm is given but norm_at is 'none': choose after, before or branch")
        return self


class AttentionSublayerConfig(SublayerConfig):
    """An attention with its residual and norm."""

    body: AttentionConfig


class FeedForwardSublayerConfig(SublayerConfig):
    """A feed-forward network with its residual and norm."""

    body: FeedForwardConfig


class EmbedConfig(Settings):
    """Word, position and segment vectors, summed.

    `masked_words`: `token` gives masked words their own token, [MASK] (BERT); `zero_word` zeroes the word
    vector before the position is added (the slides); `zero_sum` zeroes after it (see C-2 for what goes wrong).
    """

    vocabulary: int = Field(ge=1)
    position: PositionConfig = PositionConfig()
    segments: int = Field(default=0, ge=0)
    scaled: bool = False
    norm: NormConfig | None = None
    dropout: float = Field(default=0.0, ge=0, lt=1)
    masked_words: Literal["token", "zero_word", "zero_sum"] = "token"


# --------------------------------------------------------------------------- models


class BlockConfig(Settings):
    """One layer of a stack: self-attention, cross-attention where there is an encoder, and the feed-forward network."""

    self_attention: AttentionSublayerConfig
    cross_attention: AttentionSublayerConfig | None = None
    feed_forward: FeedForwardSublayerConfig | None = None


class StackConfig(Settings):
    """Embedding, blocks and a last norm. With `hide_masked` no word may look at a masked word (the slides)."""

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


class TransformConfig(Settings):
    """`transform`: a head's own dense layer, activation and norm before its scores."""

    transform: bool = False
    transform_bias: bool = True
    activation: Activation = "gelu"
    norm: NormConfig | None = None

    @model_validator(mode="after")
    def _norm_needs_transform(self) -> Self:
        if self.norm is not None and not self.transform:
            raise ValueError("the head's norm belongs to its transform: set transform = true or drop the norm")
        return self


class VocabularyHeadConfig(TransformConfig):
    """From states to a score for each token; `transform` is that of BERT."""

    tied: bool = True
    bias: bool = False
    scaled: bool = False


class SentenceHeadConfig(Settings):
    """From one vector for the sentence to `labels` scores; without labels the vector itself is the answer.

    `pooling`: `first` takes the state of the first token, `mean` the mean of the states, `max` the largest number of
    each channel; `pooler` and `mean_pooler` apply a dense layer, an activation and, where there is one, a norm to the
    first or the mean (BERT: tanh, no norm).
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
        """How scores become probabilities: none where one score is a number, or is compared with that of other rows."""
        return "sigmoid" if self.several else "softmax" if self.labels > 1 else None

    @property
    def has_pooler(self) -> bool:
        """Whether a dense layer follows the pooling."""
        return self.pooling in ("pooler", "mean_pooler")

    @model_validator(mode="after")
    def _belongs_to_the_pooler(self) -> Self:
        if not self.has_pooler and (self.activation != "tanh" or self.norm is not None or not self.pooler_bias):
            raise ValueError(f"activation, norm and pooler_bias belong to a pooler: leave them out with {self.pooling}")
        return self


class TokenHeadConfig(TransformConfig):
    """From the state of each token to `labels` scores; `transform` is that of ModernBERT.

    `crf`: the labels of a text are scored together, each with the one before it (Lafferty et al. 2001). `spans`: the
    labels are the first and the last token of a span, and each has one softmax over the tokens.
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


class InitialConfig(Settings):
    """How weights are drawn before training."""

    kind: Literal["truncated_normal", "normal", "xavier_uniform"] = "truncated_normal"
    deviation: float = Field(default=0.02, gt=0)


class ModelConfig(Settings):
    """The whole model: an encoder, a decoder, or both, and its heads. `family` is only a label: no forward reads it."""

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
                raise ValueError("the decoder has cross-attention but there is no encoder to look at")
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
    def two_segments(self) -> bool:
        """Whether its encoder tells the two texts of a row apart by segments."""
        return self.encoder is not None and self.encoder.embed.segments > 1

    @property
    def output_stack(self) -> StackConfig:
        """The stack whose states the heads read."""
        stack = self.decoder or self.encoder
        assert stack is not None
        return stack
