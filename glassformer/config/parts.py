"""Settings of the parts of a layer, as the modules of `parts/` have them."""

import math
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from glassformer.base.settings import Settings


class LinearStretch(Settings):
    """All rates are divided by `factor` (Chen et al. 2023, position interpolation)."""

    kind: Literal["linear"] = "linear"
    factor: float = Field(gt=0)


class DynamicStretch(Settings):
    """The base grows with a text that is longer than `original_length` (dynamic NTK-aware scaling, 2023). Each text is
    stretched by its own length, independently of its batch.
    """

    kind: Literal["dynamic"] = "dynamic"
    factor: float = Field(gt=0)
    original_length: int = Field(ge=1)


class Llama3Stretch(Settings):
    """Long waves are stretched by `factor`, short ones are kept, those between are blended (Llama 3.1, 2024). A wave is
    short when it turns more than `high_frequency_factor` times in `original_length` tokens, long when it turns less
    than `low_frequency_factor` times.
    """

    kind: Literal["llama3"] = "llama3"
    factor: float = Field(gt=0)
    low_frequency_factor: float = Field(gt=0)
    high_frequency_factor: float = Field(gt=0)
    original_length: int = Field(ge=1)

    @model_validator(mode="after")
    def _high_above_low(self) -> Self:
        if self.high_frequency_factor <= self.low_frequency_factor:
            raise ValueError(
                "high_frequency_factor must be greater than low_frequency_factor, "
                f"got {self.high_frequency_factor:g} and {self.low_frequency_factor:g}"
            )
        return self


class YarnStretch(Settings):
    """Pairs that turn less than `beta_slow` times in `original_length` tokens are stretched by `factor`, those that
    turn more than `beta_fast` times are kept, and all cosines and sines are multiplied by `attention_factor`
    (Peng et al. 2023, §3.2 and §3.4). With `truncate` the bounds are whole pairs.
    """

    kind: Literal["yarn"] = "yarn"
    factor: float = Field(gt=0)
    original_length: int = Field(ge=1)
    attention_factor: float = Field(gt=0)
    beta_fast: float = Field(default=32.0, gt=0)
    beta_slow: float = Field(default=1.0, gt=0)
    truncate: bool = True


Stretch = Annotated[LinearStretch | DynamicStretch | Llama3Stretch | YarnStretch, Field(discriminator="kind")]

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
    """What is added to the word vectors to encode their order. `layout` of sinusoids: `paper` interleaves sines and
    cosines (Vaswani et al. 2017, §3.5), `tensor2tensor` puts all sines before all cosines and spaces wave lengths by
    i/(n-1), `halves` puts sines first with the paper's wave lengths (Marian). `offset` is the number of rows of a
    learned table before position 0 (RoBERTa and BART: 2).
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

    @field_validator("value")
    @classmethod
    def _as_written(cls, value: float | str) -> float | str:
        """Minus infinity as JSON can hold it."""
        return "-inf" if value == -math.inf else value

    @model_validator(mode="after")
    def _negative(self) -> Self:
        if isinstance(self.value, float) and not self.value < 0:
            raise ValueError(f"a mask fill must be a negative number, '-inf' or 'lowest', got {self.value}")
        return self


class AttentionConfig(Settings):
    """One multi-head attention (Vaswani et al. 2017, §3.2). Sizes are per head and independent of the width. Scores are
    divided by √query_size where they are `scaled`, and by `divided_by` (GPT-2's option: the layer's number). With a
    `window` a token attends at most that many tokens away, to either side; with 0 only to itself.
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
    """Word, position and segment vectors, summed. `masked_words`: `token` gives masked words their own token, [MASK]
    (BERT); `zero_word` zeroes the word vector before the position is added (the slides); `zero_sum` zeroes after it
    (C-2 describes the fault of this).
    """

    vocabulary: int = Field(ge=1)
    position: PositionConfig = PositionConfig()
    segments: int = Field(default=0, ge=0)
    scaled: bool = False
    norm: NormConfig | None = None
    dropout: float = Field(default=0.0, ge=0, lt=1)
    masked_words: Literal["token", "zero_word", "zero_sum"] = "token"
