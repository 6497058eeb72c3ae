"""Two stacks with one table of word vectors, or one each: what the paper, Marian and BART have in common."""

import glassformer.config as config
from glassformer.models.families.blocks import NormAt, attention_of, block_of, chosen, feasible


def encoder_decoder(
    family: str,
    *,
    vocabulary: int,
    target_vocabulary: int | None = None,
    width: int,
    heads: int,
    feed_forward: int,
    layers: tuple[int, int],
    activation: config.Activation,
    norm_at: NormAt,
    dropout: float,
    position: config.PositionConfig,
    embed_scaled: bool,
    decoder_heads: int | None = None,
    decoder_feed_forward: int | None = None,
    attention_dropout: float | None = None,
    activation_dropout: float = 0.0,
    attention_bias: bool = True,
    embed_norm: bool = False,
    last_norm: bool = False,
    epsilon: float = 1e-5,
    head: config.VocabularyHeadConfig | None = config.VocabularyHeadConfig(tied=True),  # noqa: B008 - frozen
) -> config.ModelConfig:
    """Two stacks of one width that share their word vectors with each other and with the output. With a
    `target_vocabulary` the decoder and the output have their own.
    """
    norm = config.NormConfig(epsilon=epsilon)
    weights_dropout = dropout if attention_dropout is None else attention_dropout

    def stack(vocabulary: int, count: int, heads: int, inner: int, *, decoder: bool) -> config.StackConfig:
        attention = attention_of(width, heads, bias=attention_bias, dropout=weights_dropout)
        block = block_of(
            attention,
            config.FeedForwardConfig(width=inner, activation=activation, dropout=activation_dropout),
            norm=norm,
            norm_at=norm_at,
            dropout=dropout,
            cross=attention if decoder else None,
        )
        return config.StackConfig(
            width=width,
            embed=config.EmbedConfig(
                vocabulary=vocabulary,
                position=position,
                scaled=embed_scaled,
                norm=norm if embed_norm else None,
                dropout=dropout,
            ),
            blocks=(block,) * feasible(count),
            norm=norm if last_norm else None,
            causal=decoder,
        )

    return config.ModelConfig(
        family=family,
        encoder=stack(vocabulary, layers[0], heads, feed_forward, decoder=False),
        decoder=stack(
            chosen(target_vocabulary, vocabulary),
            layers[1],
            chosen(decoder_heads, heads),
            chosen(decoder_feed_forward, feed_forward),
            decoder=True,
        ),
        share_embeddings=target_vocabulary is None,
        head=head,
        initial=config.InitialConfig(kind="normal", deviation=0.02),
    )
