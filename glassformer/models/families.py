"""The published families, each a function that returns a config. Nothing here is ever asked about in a forward."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from glassformer.config import (
    Activation,
    AttentionConfig,
    AttentionSublayerConfig,
    BlockConfig,
    EmbedConfig,
    FeedForwardConfig,
    FeedForwardSublayerConfig,
    FillConfig,
    InitialConfig,
    ModelConfig,
    NormConfig,
    PositionConfig,
    RelativeBiasConfig,
    RotaryConfig,
    SentenceHeadConfig,
    StackConfig,
    VocabularyHeadConfig,
)
from glassformer.errors import ConfigError, did_you_mean

NormAt = Literal["after", "before", "branch", "none"]


def head_size(width: int, heads: int) -> int:
    """Width shared evenly among the heads; raises ConfigError when it does not divide or there is none."""
    for name, number in (("width", width), ("heads", heads)):
        if number < 1:
            raise ConfigError(f"{name} must be greater than or equal to 1, got {number}")
    if width % heads:
        raise ConfigError(f"width must be a multiple of heads, or give query_size and value_size; {width} / {heads}")
    return width // heads


def _chosen(given: int | None, known: int) -> int:
    """What was given, be it 0 and refused later, else what is known."""
    return known if given is None else given


def _attention(
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


def _block(
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


# --------------------------------------------------------------------------- the slides

SLIDES_DO_NOT_DRAW = {
    "loss": "cross-entropy at the hidden words",
    "optimizer": "AdamW",
    "scaled": "scores divided by the root of the query size",
    "norm": "LayerNorm after each sublayer",
    "feed_forward_residual": "a residual round the feed-forward network",
    "biases": "biases in the linear layers",
    "layers": "more than one block",
    "padding": "sentences of unequal length",
    "dropout": "dropout",
}


def slides(
    *,
    vocabulary: int = 15,
    width: int = 6,
    heads: int = 2,
    query_size: int = 4,
    value_size: int = 4,
    feed_forward: int = 12,
    layers: int = 1,
    activation: Activation = "relu",
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal",
    max_length: int = 512,
    fill: float = -1000.0,
    zero: Literal["word", "sum"] = "word",
    hide: bool = True,
    scaled: bool = False,
    norm: bool = False,
    feed_forward_residual: bool = False,
    biases: bool = False,
    dropout: float = 0.0,
) -> ModelConfig:
    """The encoder that the slides draw: 2 heads of 4 on a width of 6, no scaling, -1000, no norm, one residual.

    `zero` is where hidden words lose their vector: the word's own before the position is added, or the sum.
    `hide=False` leaves hidden words visible as keys and keeps their vectors (the leak that the slides warn of).
    What the slides do not draw (`SLIDES_DO_NOT_DRAW`) is off and can be switched on.
    """
    normed = NormConfig(epsilon=1e-5) if norm else None
    attention = _attention(
        width,
        heads,
        query_size=query_size,
        value_size=value_size,
        bias=biases,
        scaled=scaled,
        fill=FillConfig(rule="set", value=fill),
        dropout=dropout,
    )
    block = _block(
        attention,
        FeedForwardConfig(width=feed_forward, activation=activation, bias=biases, dropout=dropout),
        norm=normed,
        norm_at="after" if norm else "none",
        dropout=dropout,
        feed_forward_residual=feed_forward_residual,
    )
    return ModelConfig(
        family="slides",
        encoder=StackConfig(
            width=width,
            embed=EmbedConfig(
                vocabulary=vocabulary,
                position=PositionConfig(kind=positions, max_length=max_length),
                dropout=dropout,
                hidden_words=("zero_word" if zero == "word" else "zero_sum") if hide else "token",
            ),
            blocks=(block,) * layers,
            hide_masked=hide,
        ),
        head=VocabularyHeadConfig(tied=False, bias=biases),
        initial=InitialConfig(kind="xavier_uniform"),
    )


# --------------------------------------------------------------------------- encoders

BERT_WIDTHS = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "medium": (8, 512), "base": (12, 768)}
BERT_SIZES: dict[str, tuple[int, int]] = {
    **BERT_WIDTHS,
    **{f"{layers}x{width}": (layers, width) for layers in (2, 4, 6, 8, 10, 12) for width in (128, 256, 512, 768)},
    "large": (24, 1024),
}


def bert(
    *,
    size: str = "base",
    vocabulary: int = 30522,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: Activation = "gelu",
    max_length: int = 512,
    segments: int = 2,
    epsilon: float = 1e-12,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    fill: float = -10000.0,
    sentence_labels: int | None = None,
    pooler: bool = True,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """BERT (Devlin et al. 2019): learned positions, segments, norm after, a tied head with its own transform.

    `size` is one of the published sizes (`tiny` … `large`, or layers x width such as `6x256`); other keywords
    override it. `sentence_labels` adds the pooler's head (2 = next sentence, 0 = the pooler alone).
    """
    known_layers, known_width = _size(size, BERT_SIZES)
    layers, width = _chosen(layers, known_layers), _chosen(width, known_width)
    norm = NormConfig(epsilon=epsilon)
    attention = _attention(
        width,
        _chosen(heads, max(1, width // 64)),
        fill=FillConfig(rule="add", value=fill),
        dropout=dropout if attention_dropout is None else attention_dropout,
    )
    block = _block(
        attention,
        FeedForwardConfig(width=_chosen(feed_forward, 4 * width), activation=activation),
        norm=norm,
        norm_at="after",
        dropout=dropout,
    )
    return ModelConfig(
        family="bert",
        encoder=StackConfig(
            width=width,
            embed=EmbedConfig(
                vocabulary=vocabulary,
                position=PositionConfig(kind="learned", max_length=max_length),
                segments=segments,
                norm=norm,
                dropout=dropout,
            ),
            blocks=(block,) * layers,
        ),
        head=VocabularyHeadConfig(transform=True, activation=activation, norm=norm, tied=tied, bias=True)
        if vocabulary_head
        else None,
        sentence_head=None
        if sentence_labels is None
        else SentenceHeadConfig(labels=sentence_labels, pooler=pooler, dropout=0.0),
    )


def distilbert(
    *,
    vocabulary: int = 30522,
    layers: int = 6,
    width: int = 768,
    heads: int = 12,
    feed_forward: int = 3072,
    activation: Activation = "gelu",
    max_length: int = 512,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """DistilBERT (Sanh et al. 2019): BERT with half the layers, no segments, no pooler, no dropout after attention."""
    model = bert(
        vocabulary=vocabulary,
        layers=layers,
        width=width,
        heads=heads,
        feed_forward=feed_forward,
        activation=activation,
        max_length=max_length,
        segments=0,
        dropout=dropout,
        attention_dropout=attention_dropout,
        vocabulary_head=vocabulary_head,
        tied=tied,
    )
    assert model.encoder is not None
    block = model.encoder.blocks[0]
    attention = block.self_attention.model_copy(update={"dropout": 0.0})
    blocks = (block.model_copy(update={"self_attention": attention}),) * layers
    return model.model_copy(
        update={"family": "distilbert", "encoder": model.encoder.model_copy(update={"blocks": blocks})}
    )


def roberta(
    *,
    vocabulary: int = 50265,
    layers: int = 12,
    width: int = 768,
    heads: int = 12,
    feed_forward: int = 3072,
    activation: Activation = "gelu",
    max_length: int = 512,
    segments: int = 1,
    epsilon: float = 1e-5,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    position_offset: int = 2,
    sentence_labels: int | None = None,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """RoBERTa (Liu et al. 2019): BERT's body; two unused rows stand before position 0. Its head always uses GELU."""
    model = bert(
        vocabulary=vocabulary,
        layers=layers,
        width=width,
        heads=heads,
        feed_forward=feed_forward,
        activation=activation,
        max_length=max_length,
        segments=segments,
        epsilon=epsilon,
        dropout=dropout,
        attention_dropout=attention_dropout,
        sentence_labels=sentence_labels,
        vocabulary_head=vocabulary_head,
        tied=tied,
    )
    assert model.encoder is not None
    position = PositionConfig(kind="learned", max_length=max_length, offset=position_offset)
    embed = model.encoder.embed.model_copy(update={"position": position})
    head = None if model.head is None else model.head.model_copy(update={"activation": "gelu"})
    return model.model_copy(
        update={"family": "roberta", "encoder": model.encoder.model_copy(update={"embed": embed}), "head": head}
    )


# The published ones are base and large. The small ones are ours: BERT's small sizes with as many weights a layer.
MODERNBERT_SIZES = {
    "tiny": (2, 128, 344),
    "mini": (4, 256, 680),
    "small": (4, 512, 1368),
    "medium": (8, 512, 1368),
    "base": (22, 768, 1152),
    "large": (28, 1024, 2624),
}


def modernbert(
    *,
    size: str = "base",
    vocabulary: int = 50368,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: Activation = "gelu",
    reach: int = 64,
    global_every: int = 3,
    global_base: float = 160000.0,
    local_base: float = 10000.0,
    epsilon: float = 1e-5,
    dropout: float = 0.0,
    embed_dropout: float | None = None,
    attention_dropout: float | None = None,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """ModernBERT (Warner et al. 2024): rotary, norm before, gated GELU, windows except in every third layer.

    `dropout` falls inside the feed-forward network; `attention_dropout` on the weights and on what attention adds.
    """
    known_layers, known_width, known_feed_forward = _size(size, MODERNBERT_SIZES)
    layers, width = _chosen(layers, known_layers), _chosen(width, known_width)
    heads, feed_forward = _chosen(heads, max(1, width // 64)), _chosen(feed_forward, known_feed_forward)
    attention_dropout = dropout if attention_dropout is None else attention_dropout
    norm = NormConfig(epsilon=epsilon, bias=False)

    def block(layer: int) -> BlockConfig:
        everywhere = layer % global_every == 0
        return _block(
            _attention(
                width,
                heads,
                bias=False,
                rotary=RotaryConfig(base=global_base if everywhere else local_base),
                window=None if everywhere else reach,
                dropout=attention_dropout,
            ),
            FeedForwardConfig(width=feed_forward, activation=activation, gated=True, bias=False, dropout=dropout),
            norm=norm,
            norm_at="before",
            dropout=0.0,
            attention_update_dropout=attention_dropout,
            first_norm=layer > 0,
        )

    return ModelConfig(
        family="modernbert",
        encoder=StackConfig(
            width=width,
            embed=EmbedConfig(
                vocabulary=vocabulary,
                position=PositionConfig(kind="none"),
                norm=norm,
                dropout=dropout if embed_dropout is None else embed_dropout,
            ),
            blocks=tuple(block(layer) for layer in range(layers)),
            norm=norm,
        ),
        head=VocabularyHeadConfig(
            transform=True, transform_bias=False, activation=activation, norm=norm, tied=tied, bias=True
        )
        if vocabulary_head
        else None,
    )


# --------------------------------------------------------------------------- decoders

GPT2_SIZES = {"small": (12, 768), "medium": (24, 1024), "large": (36, 1280), "xl": (48, 1600)}


def gpt2(
    *,
    size: str = "small",
    vocabulary: int = 50257,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: Activation = "gelu_tanh",
    max_length: int = 1024,
    epsilon: float = 1e-5,
    dropout: float = 0.1,
    embed_dropout: float | None = None,
    attention_dropout: float | None = None,
    vocabulary_head: bool = True,
    tied: bool = True,
) -> ModelConfig:
    """GPT-2 (Radford et al. 2019): a causal stack, learned positions, norm before, a last norm."""
    known_layers, known_width = _size(size, GPT2_SIZES)
    layers, width = _chosen(layers, known_layers), _chosen(width, known_width)
    norm = NormConfig(epsilon=epsilon)
    block = _block(
        _attention(
            width,
            _chosen(heads, max(1, width // 64)),
            dropout=dropout if attention_dropout is None else attention_dropout,
        ),
        FeedForwardConfig(width=_chosen(feed_forward, 4 * width), activation=activation),
        norm=norm,
        norm_at="before",
        dropout=dropout,
    )
    return ModelConfig(
        family="gpt2",
        decoder=StackConfig(
            width=width,
            embed=EmbedConfig(
                vocabulary=vocabulary,
                position=PositionConfig(kind="learned", max_length=max_length),
                dropout=dropout if embed_dropout is None else embed_dropout,
            ),
            blocks=(block,) * layers,
            norm=norm,
            causal=True,
        ),
        head=VocabularyHeadConfig(tied=tied) if vocabulary_head else None,
        initial=InitialConfig(kind="normal"),
    )


def llama(
    *,
    vocabulary: int = 32000,
    layers: int = 16,
    width: int = 2048,
    heads: int = 32,
    key_value_heads: int | None = 8,
    query_size: int | None = None,
    feed_forward: int = 8192,
    activation: Activation = "silu",
    rotary_base: float = 10000.0,
    epsilon: float = 1e-5,
    attention_bias: bool = False,
    feed_forward_bias: bool = False,
    dropout: float = 0.0,
    vocabulary_head: bool = True,
    tied: bool = False,
) -> ModelConfig:
    """Llama (Touvron et al. 2023): a causal stack, rotary, RMSNorm before, gated SiLU, fewer key-value heads."""
    norm = NormConfig(kind="rms", epsilon=epsilon, bias=False)
    block = _block(
        _attention(
            width,
            heads,
            key_value_heads=key_value_heads,
            query_size=query_size,
            value_size=query_size,
            bias=attention_bias,
            rotary=RotaryConfig(base=rotary_base),
            dropout=dropout,
        ),
        FeedForwardConfig(width=feed_forward, activation=activation, gated=True, bias=feed_forward_bias),
        norm=norm,
        norm_at="before",
        dropout=0.0,
    )
    return ModelConfig(
        family="llama",
        decoder=StackConfig(
            width=width,
            embed=EmbedConfig(vocabulary=vocabulary, position=PositionConfig(kind="none")),
            blocks=(block,) * layers,
            norm=norm,
            causal=True,
        ),
        head=VocabularyHeadConfig(tied=tied) if vocabulary_head else None,
        initial=InitialConfig(kind="normal"),
    )


# --------------------------------------------------------------------------- encoder–decoders

VASWANI_SIZES = {"base": (512, 8, 2048, 0.1), "big": (1024, 16, 4096, 0.3)}


def _vaswani(
    size: str, width: int | None, heads: int | None, feed_forward: int | None, dropout: float | None
) -> tuple[int, int, int, float]:
    """The paper's width, heads, feed-forward width and dropout, where they are not given."""
    known_width, known_heads, known_feed_forward, known_dropout = _size(size, VASWANI_SIZES)
    return (
        _chosen(width, known_width),
        _chosen(heads, known_heads),
        _chosen(feed_forward, known_feed_forward),
        known_dropout if dropout is None else dropout,
    )


def vaswani2017(
    *,
    size: str = "base",
    vocabulary: int = 37000,
    layers: int = 6,
    decoder_layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: Activation = "relu",
    dropout: float | None = None,
    max_length: int = 512,
    bias: bool = False,
) -> ModelConfig:
    """*Attention Is All You Need*: sinusoids in the paper's layout, norm after, one vocabulary table for three uses."""
    width, heads, feed_forward, dropout = _vaswani(size, width, heads, feed_forward, dropout)
    return _encoder_decoder(
        "vaswani2017",
        vocabulary=vocabulary,
        width=width,
        heads=heads,
        feed_forward=feed_forward,
        layers=(layers, _chosen(decoder_layers, layers)),
        activation=activation,
        norm_at="after",
        dropout=dropout,
        attention_bias=bias,
        position=PositionConfig(kind="sinusoidal", layout="paper", max_length=max_length),
        embed_scaled=True,
        epsilon=1e-6,
    )


def tensor2tensor(
    *,
    size: str = "base",
    vocabulary: int = 37000,
    layers: int = 6,
    decoder_layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    activation: Activation = "relu",
    dropout: float | None = None,
    max_length: int = 512,
    bias: bool = False,
) -> ModelConfig:
    """The paper's authors' released code: norm before each sublayer and after each stack, and its own sinusoids."""
    width, heads, feed_forward, dropout = _vaswani(size, width, heads, feed_forward, dropout)
    return _encoder_decoder(
        "tensor2tensor",
        vocabulary=vocabulary,
        width=width,
        heads=heads,
        feed_forward=feed_forward,
        layers=(layers, _chosen(decoder_layers, layers)),
        activation=activation,
        norm_at="before",
        dropout=dropout,
        attention_bias=bias,
        position=PositionConfig(kind="sinusoidal", layout="tensor2tensor", max_length=max_length),
        embed_scaled=True,
        last_norm=True,
        epsilon=1e-6,
    )


def marian(
    *,
    vocabulary: int = 32000,
    layers: int = 6,
    decoder_layers: int | None = None,
    width: int = 512,
    heads: int = 8,
    decoder_heads: int | None = None,
    feed_forward: int = 2048,
    decoder_feed_forward: int | None = None,
    activation: Activation = "silu",
    max_length: int = 512,
    embed_scaled: bool = True,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    activation_dropout: float = 0.0,
) -> ModelConfig:
    """Marian's translation models (Junczys-Dowmunt et al. 2018): sines before cosines, norm after, an output bias."""
    return _encoder_decoder(
        "marian",
        vocabulary=vocabulary,
        width=width,
        heads=heads,
        decoder_heads=decoder_heads,
        feed_forward=feed_forward,
        decoder_feed_forward=decoder_feed_forward,
        layers=(layers, _chosen(decoder_layers, layers)),
        activation=activation,
        norm_at="after",
        dropout=dropout,
        attention_dropout=attention_dropout,
        activation_dropout=activation_dropout,
        position=PositionConfig(kind="sinusoidal", layout="halves", max_length=max_length),
        embed_scaled=embed_scaled,
        head=VocabularyHeadConfig(tied=True, bias=True),
    )


def bart(
    *,
    vocabulary: int = 50265,
    layers: int = 6,
    decoder_layers: int | None = None,
    width: int = 768,
    heads: int = 12,
    decoder_heads: int | None = None,
    feed_forward: int = 3072,
    decoder_feed_forward: int | None = None,
    activation: Activation = "gelu",
    max_length: int = 1024,
    embed_scaled: bool = False,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    activation_dropout: float = 0.0,
    vocabulary_head: bool = True,
) -> ModelConfig:
    """BART (Lewis et al. 2020): learned positions with two rows before 0, a norm on the embedding, norm after."""
    return _encoder_decoder(
        "bart",
        vocabulary=vocabulary,
        width=width,
        heads=heads,
        decoder_heads=decoder_heads,
        feed_forward=feed_forward,
        decoder_feed_forward=decoder_feed_forward,
        layers=(layers, _chosen(decoder_layers, layers)),
        activation=activation,
        norm_at="after",
        dropout=dropout,
        attention_dropout=attention_dropout,
        activation_dropout=activation_dropout,
        position=PositionConfig(kind="learned", max_length=max_length, offset=2),
        embed_scaled=embed_scaled,
        embed_norm=True,
        head=VocabularyHeadConfig(tied=True, bias=True) if vocabulary_head else None,
    )


T5_SIZES = {"small": (512, 6, 8, 2048), "base": (768, 12, 12, 3072), "large": (1024, 24, 16, 4096)}


def t5(
    *,
    size: str = "small",
    vocabulary: int = 32128,
    layers: int | None = None,
    decoder_layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    query_size: int = 64,
    feed_forward: int | None = None,
    activation: Activation = "relu",
    gated: bool = False,
    buckets: int = 32,
    max_distance: int = 128,
    epsilon: float = 1e-6,
    dropout: float = 0.1,
    vocabulary_head: bool = True,
    tied: bool = True,
    scaled_head: bool | None = None,
) -> ModelConfig:
    """T5 (Raffel et al. 2020): relative bias, unscaled scores, RMSNorm before. `gated`, untied: version 1.1.

    `scaled_head` divides the last states by the root of the width, as version 1.0 does (default: where it is tied).
    """
    known_width, known_layers, known_heads, known_feed_forward = _size(size, T5_SIZES)
    width, heads, layers = _chosen(width, known_width), _chosen(heads, known_heads), _chosen(layers, known_layers)
    norm = NormConfig(kind="rms", epsilon=epsilon, bias=False)
    attention = _attention(
        width, heads, query_size=query_size, value_size=query_size, bias=False, scaled=False, dropout=dropout
    )
    biased = attention.model_copy(update={"relative_bias": True})
    thinking = FeedForwardConfig(
        width=_chosen(feed_forward, known_feed_forward), activation=activation, gated=gated, bias=False, dropout=dropout
    )

    def stack(count: int, cross: AttentionConfig | None) -> StackConfig:
        block = _block(biased, thinking, norm=norm, norm_at="before", dropout=dropout, cross=cross)
        return StackConfig(
            width=width,
            embed=EmbedConfig(vocabulary=vocabulary, position=PositionConfig(kind="none"), dropout=dropout),
            blocks=(block,) * count,
            norm=norm,
            dropout=dropout,
            causal=cross is not None,
            relative_bias=RelativeBiasConfig(buckets=buckets, max_distance=max_distance),
        )

    return ModelConfig(
        family="t5",
        encoder=stack(layers, None),
        decoder=stack(_chosen(decoder_layers, layers), attention),
        share_embeddings=True,
        head=VocabularyHeadConfig(tied=tied, scaled=tied if scaled_head is None else scaled_head)
        if vocabulary_head
        else None,
        initial=InitialConfig(kind="normal"),
    )


def _encoder_decoder(
    family: str,
    *,
    vocabulary: int,
    width: int,
    heads: int,
    feed_forward: int,
    layers: tuple[int, int],
    activation: Activation,
    norm_at: NormAt,
    dropout: float,
    position: PositionConfig,
    embed_scaled: bool,
    decoder_heads: int | None = None,
    decoder_feed_forward: int | None = None,
    attention_dropout: float | None = None,
    activation_dropout: float = 0.0,
    attention_bias: bool = True,
    embed_norm: bool = False,
    last_norm: bool = False,
    epsilon: float = 1e-5,
    head: VocabularyHeadConfig | None = VocabularyHeadConfig(tied=True),  # noqa: B008 - frozen
) -> ModelConfig:
    """Two stacks of one width that share their word vectors with each other and with the output."""
    norm = NormConfig(epsilon=epsilon)
    weights_dropout = dropout if attention_dropout is None else attention_dropout

    def stack(count: int, heads: int, inner: int, *, decoder: bool) -> StackConfig:
        attention = _attention(width, heads, bias=attention_bias, dropout=weights_dropout)
        block = _block(
            attention,
            FeedForwardConfig(width=inner, activation=activation, dropout=activation_dropout),
            norm=norm,
            norm_at=norm_at,
            dropout=dropout,
            cross=attention if decoder else None,
        )
        return StackConfig(
            width=width,
            embed=EmbedConfig(
                vocabulary=vocabulary,
                position=position,
                scaled=embed_scaled,
                norm=norm if embed_norm else None,
                dropout=dropout,
            ),
            blocks=(block,) * count,
            norm=norm if last_norm else None,
            causal=decoder,
        )

    return ModelConfig(
        family=family,
        encoder=stack(layers[0], heads, feed_forward, decoder=False),
        decoder=stack(
            layers[1], _chosen(decoder_heads, heads), _chosen(decoder_feed_forward, feed_forward), decoder=True
        ),
        share_embeddings=True,
        head=head,
        initial=InitialConfig(kind="xavier_uniform"),
    )


# --------------------------------------------------------------------------- by name

FAMILIES: dict[str, Callable[..., ModelConfig]] = {
    function.__name__: function
    for function in (
        slides,
        vaswani2017,
        tensor2tensor,
        bert,
        distilbert,
        roberta,
        modernbert,
        gpt2,
        llama,
        marian,
        bart,
        t5,
    )
}


def family_config(name: str, settings: Mapping[str, Any]) -> ModelConfig:
    """The config of a family by name, with its keywords; raises ConfigError for what is unknown or impossible."""
    if name not in FAMILIES:
        raise ConfigError(f"there is no family {name!r}", do=did_you_mean(name, FAMILIES))
    function = FAMILIES[name]
    known = inspect.signature(function).parameters
    for key in settings:
        if key not in known:
            raise ConfigError(f"the family {name} has no setting {key!r}", do=did_you_mean(key, known))
    try:
        return function(**settings)
    except ValidationError as error:
        reason = error.errors()[0]
        place = "".join(f"{step}: " for step in reason["loc"])
        raise ConfigError(f"{name}: {place}{reason['msg'].removeprefix('Value error, ')}") from None


SizeOf = TypeVar("SizeOf")


def _size(name: str, sizes: Mapping[str, SizeOf]) -> SizeOf:
    if name not in sizes:
        raise ConfigError(f"there is no size {name!r}", do=did_you_mean(name, sizes))
    return sizes[name]
