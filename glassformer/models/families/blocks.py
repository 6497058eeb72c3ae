"""What the families are put together from: an attention, a block, a size by name."""

from collections.abc import Mapping
from typing import Literal

import glassformer.config as config
from glassformer.base.errors import ConfigError, did_you_mean

NormAt = Literal["after", "before", "branch", "none"]

# About ten times the deepest published Transformer.
MOST_LAYERS = 10_000


def head_size(width: int, heads: int) -> int:
    """Width shared evenly among the heads; raises ConfigError when it does not divide or there is none."""
    for name, number in (("width", width), ("heads", heads)):
        if number < 1:
            raise ConfigError(f"{name} must be greater than or equal to 1, got {number}")
    if width % heads:
        wanted = f"width / heads must be a whole number; {width} / {heads} is not"
        raise ConfigError(wanted, do="change one of them, or set query_size and value_size")
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
    scaled: bool = True,
    fill: config.FillConfig = config.FillConfig(),  # noqa: B008 - frozen
    rotary: config.RotaryConfig | None = None,
    window: int | None = None,
    dropout: float = 0.0,
) -> config.AttentionConfig:
    """An attention whose heads share the width evenly where no sizes are given."""
    return config.AttentionConfig(
        heads=heads,
        key_value_heads=heads if key_value_heads is None else key_value_heads,
        query_size=head_size(width, heads) if query_size is None else query_size,
        value_size=head_size(width, heads) if value_size is None else value_size,
        bias=bias,
        output_bias=bias,
        scaled=scaled,
        fill=fill,
        rotary=rotary,
        window=window,
        dropout=dropout,
    )


def block_of(
    attention: config.AttentionConfig,
    feed_forward: config.FeedForwardConfig,
    *,
    norm: config.NormConfig | None,
    norm_at: NormAt,
    dropout: float,
    cross: config.AttentionConfig | None = None,
    first_norm: bool = True,
    feed_forward_residual: bool = True,
    attention_update_dropout: float | None = None,
) -> config.BlockConfig:
    """One block whose sublayers treat norm and dropout alike, as nearly all published families do."""
    return config.BlockConfig(
        self_attention=config.AttentionSublayerConfig(
            body=attention,
            norm=norm if first_norm else None,
            norm_at=norm_at,
            dropout=dropout if attention_update_dropout is None else attention_update_dropout,
        ),
        cross_attention=None
        if cross is None
        else config.AttentionSublayerConfig(body=cross, norm=norm, norm_at=norm_at, dropout=dropout),
        feed_forward=config.FeedForwardSublayerConfig(
            body=feed_forward, norm=norm, norm_at=norm_at, dropout=dropout, residual=feed_forward_residual
        ),
    )


def of_size(name: str, sizes: Mapping[str, tuple[int, ...]], *given: int | None) -> tuple[int, ...]:
    """The numbers of a published size, each replaced by the given one; raises ConfigError for a name without a size."""
    if name not in sizes:
        raise ConfigError(f"there is no size {name!r}", do=did_you_mean(name, sizes))
    return tuple(known if each is None else each for each, known in zip(given, sizes[name], strict=True))
