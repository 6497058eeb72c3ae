"""What the families are put together from: an attention, a block, a size by name."""

from collections.abc import Mapping
from typing import Literal, TypeVar

from glassformer.base.errors import ConfigError, did_you_mean
from glassformer.config import (
    AttentionConfig,
    AttentionSublayerConfig,
    BlockConfig,
    FeedForwardConfig,
    FeedForwardSublayerConfig,
    FillConfig,
    NormConfig,
    RotaryConfig,
)

NormAt = Literal["after", "before", "branch", "none"]
SizeOf = TypeVar("SizeOf")

# About ten times the deepest published Transformer.
MOST_LAYERS = 10_000


def head_size(width: int, heads: int) -> int:
    """Width shared evenly among the heads; raises ConfigError when it does not divide or there is none."""
    for name, number in (("width", width), ("heads", heads)):
        if number < 1:
            raise ConfigError(f"{name} must be greater than or equal to 1, got {number}")
    if width % heads:
        raise ConfigError(f"width must be a multiple of heads, or give query_size and value_size; {width} / {heads}")
    return width // heads


def chosen(given: int | None, known: int) -> int:
    """The given value, also 0, which is refused later; else the known one."""
    return known if given is None else given


def feasible(layers: int) -> int:
    """The same number of layers; raises ConfigError for one that would fill the memory before it could be refused."""
    if layers > MOST_LAYERS:
        raise ConfigError(f"layers must be at most {MOST_LAYERS:,}", got=f"{layers:,}")
    return layers


def attention_of(
    width: int,
    heads: int,
    *,
    key_value_heads: int | None = None,
    query_size: int | None = None,
    value_size: int | None = None,
    bias: bool = True,
    output_bias: bool | None = None,
    scaled: bool = True,
    fill: FillConfig = FillConfig(),  # noqa: B008 - frozen
    rotary: RotaryConfig | None = None,
    window: int | None = None,
    relative_bias: bool = False,
    dropout: float = 0.0,
) -> AttentionConfig:
    """An attention whose heads share the width evenly where no sizes are given."""
    return AttentionConfig(
        heads=heads,
        key_value_heads=heads if key_value_heads is None else key_value_heads,
        query_size=head_size(width, heads) if query_size is None else query_size,
        value_size=head_size(width, heads) if value_size is None else value_size,
        bias=bias,
        output_bias=bias if output_bias is None else output_bias,
        scaled=scaled,
        fill=fill,
        rotary=rotary,
        window=window,
        relative_bias=relative_bias,
        dropout=dropout,
    )


def block_of(
    attention: AttentionConfig,
    feed_forward: FeedForwardConfig,
    *,
    norm: NormConfig | None,
    norm_at: NormAt,
    dropout: float,
    cross: AttentionConfig | None = None,
    first_norm: bool = True,
    feed_forward_residual: bool = True,
    attention_update_dropout: float | None = None,
) -> BlockConfig:
    """One block whose sublayers treat norm and dropout alike, as nearly all published families do."""
    return BlockConfig(
        self_attention=AttentionSublayerConfig(
            body=attention,
            norm=norm if first_norm else None,
            norm_at=norm_at,
            dropout=dropout if attention_update_dropout is None else attention_update_dropout,
        ),
        cross_attention=None
        if cross is None
        else AttentionSublayerConfig(body=cross, norm=norm, norm_at=norm_at, dropout=dropout),
        feed_forward=FeedForwardSublayerConfig(
            body=feed_forward, norm=norm, norm_at=norm_at, dropout=dropout, residual=feed_forward_residual
        ),
    )


def known_size(name: str, sizes: Mapping[str, SizeOf]) -> SizeOf:
    """What a published size is made of; raises ConfigError where there is none of that name."""
    if name not in sizes:
        raise ConfigError(f"there is no size {name!r}", do=did_you_mean(name, sizes))
    return sizes[name]
