"""An encoder and its heads in numpy, one row at a time: it answers a text sooner than torch is imported.

S tokens of a row · A scored tokens · W width · L answers of a head
H heads · G key-value heads · D query and key size · E value size
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import file_checksum
from glassformer.config import (
    NEIGHBOURS,
    AttentionConfig,
    BlockConfig,
    EmbedConfig,
    FeedForwardConfig,
    ModelConfig,
    NormConfig,
    RotaryConfig,
    SentenceHeadConfig,
    StackConfig,
    SublayerConfig,
    TokenHeadConfig,
    TransformConfig,
    VocabularyHeadConfig,
)
from glassformer.tasks.rows import Row

Reals = npt.NDArray[np.float32]
Step = Callable[[Reals], Reals]

_erf = np.frompyfunc(math.erf, 1, 1)

ACTIVATIONS: dict[str, Step] = {
    "gelu": lambda x: 0.5 * x * (1 + _erf(x * np.float32(0.5**0.5)).astype(np.float32)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}
"""Those that the encoders of most families have; torch computes the others."""


def _softmax(scores: Reals) -> Reals:
    found = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


class Weights:
    """The weights of a file by name, in float32, each given out once. Raises CheckpointError for a damaged file."""

    def __init__(self, path: Path, checksum: str | None) -> None:
        if checksum is None or file_checksum(path) != checksum:
            raise CheckpointError(f"{path} must be the weights that were saved with the model")
        try:
            found: list[tuple[str, Any]] = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            raise CheckpointError(f"{path} must be a whole safetensors file", got=str(error)) from None
        self.left = dict(found)

    def __call__(self, name: str, *shape: int) -> Reals:
        found = self.left.pop(name, None)
        if found is None or tuple(found["shape"]) != shape or found["dtype"] not in _READ:
            raise CheckpointError(f"{name} must have shape {list(shape)}")
        return _READ[found["dtype"]](found["data"]).reshape(shape)


_READ: Mapping[str, Callable[[bytearray], Reals]] = {
    "BF16": lambda data: (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32),
    "F16": lambda data: np.frombuffer(data, "<f2").astype(np.float32),
    "F32": lambda data: np.frombuffer(data, "<f4"),
}


class ArrayModel:
    """A saved encoder with its heads. Raises ConfigError for settings that only our own stack computes, CheckpointError
    for weights that are not those of the settings.
    """

    def __init__(self, config: ModelConfig, path: Path, checksum: str | None) -> None:
        stack = config.encoder
        if stack is None or config.decoder is not None:
            raise ConfigError("an encoder alone is computed in numpy", got=config.family)
        take, width = Weights(path, checksum), stack.width
        self.config = config
        self.word = take("encoder.embed.word.weight", stack.embed.vocabulary, width)
        self.stack = _stack(take, stack, self.word)
        self.heads: dict[str, Callable[[Reals, Row], Reals]] = {}
        if config.head is not None:
            self.heads["head"] = _vocabulary(take, config.head, width, self.word)
        if config.sentence_head is not None:
            self.heads["sentence_head"] = _sentence(take, config.sentence_head, width, stack.embed.vocabulary)
        if config.token_head is not None:
            self.heads["token_head"] = _tokens(take, config.token_head, width)
        if take.left:
            raise CheckpointError(f"{path} must hold the weights of the model alone", got=min(take.left))

    def answers(self, row: Row, head: str) -> Reals:
        """What a head gives for a row: [A, V] at its scored tokens, [L] for a sentence, [S, L] for the tokens."""
        return self.heads[head](self.stack(row), row)


def _need(possible: bool, what: str) -> None:
    if not possible:
        raise ConfigError("only our own stack computes these settings", got=what)


def _activation(name: str) -> Step:
    _need(name in ACTIVATIONS, name)
    return ACTIVATIONS[name]


def _bias(take: Weights, name: str, width: int, there: bool) -> Reals:
    return take(f"{name}.bias", width) if there else np.zeros(1, np.float32)


def _dense(take: Weights, name: str, inputs: int, outputs: int, *, bias: bool) -> Step:
    weight = take(f"{name}.weight", outputs, inputs).T
    added = _bias(take, name, outputs, bias)
    return lambda x: x @ weight + added


def _norm(take: Weights, name: str, config: NormConfig | None, width: int) -> Step:
    if config is None:
        return lambda x: x
    weight, epsilon = take(f"{name}.weight", width), np.float32(config.epsilon)
    bias = _bias(take, name, width, config.bias)
    centred = config.kind == "layer"

    def norm(x: Reals) -> Reals:
        if centred:
            x = x - x.mean(axis=-1, keepdims=True)
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon) * weight + bias

    return norm


def _stack(take: Weights, config: StackConfig, word: Reals) -> Callable[[Row], Reals]:
    _need(
        not (config.causal or config.hide_masked or config.relative_bias), "the masks of a decoder, of t5, the slides"
    )
    embed = _embed(take, config.embed, config.width, word)
    blocks = [_block(take, f"encoder.blocks.{at}", each, config.width) for at, each in enumerate(config.blocks)]
    last = _norm(take, "encoder.norm", config.norm, config.width)

    def run(row: Row) -> Reals:
        x = embed(row)  # [S, W]
        for block in blocks:
            x = block(x)
        return last(x)

    return run


def _embed(take: Weights, config: EmbedConfig, width: int, word: Reals) -> Callable[[Row], Reals]:
    _need(
        config.position.kind != "sinusoidal" and config.masked_words == "token", "sinusoids, or words without vectors"
    )
    name, first = "encoder.embed", config.position.offset
    learned = config.position.kind == "learned"
    position = take(f"{name}.position.weight", config.position.max_length + first, width) if learned else None
    segment = take(f"{name}.segment.weight", config.segments, width) if config.segments else None
    norm = _norm(take, f"{name}.norm", config.norm, width)
    scale = np.float32(math.sqrt(width) if config.scaled else 1.0)

    def embed(row: Row) -> Reals:
        x = word[list(row.ids)] * scale  # [S, W]
        if position is not None:
            x = x + position[first : first + len(x)]
        if segment is not None:
            x = x + segment[list(row.segments or [0] * len(x))]
        return norm(x)

    return embed


def _block(take: Weights, name: str, config: BlockConfig, width: int) -> Step:
    attention = config.self_attention
    body = _attention(take, f"{name}.self_attention.body", attention.body, width)
    first = _sublayer(take, f"{name}.self_attention", attention, width, body)
    if config.feed_forward is None:
        return first
    network = _feed_forward(take, f"{name}.feed_forward.body", config.feed_forward.body, width)
    second = _sublayer(take, f"{name}.feed_forward", config.feed_forward, width, network)
    return lambda x: second(first(x))


def _sublayer(take: Weights, name: str, config: SublayerConfig, width: int, body: Step) -> Step:
    norm = _norm(take, f"{name}.norm", config.norm, width)
    join: Callable[[Reals, Reals], Reals] = np.add if config.residual else lambda x, update: update
    arranged: dict[str, Step] = {
        "after": lambda x: norm(join(x, body(x))),
        "before": lambda x: join(x, body(norm(x))),
        "branch": lambda x: join(x, norm(body(x))),
        "none": lambda x: join(x, body(x)),
    }
    return arranged[config.norm_at]


def _feed_forward(take: Weights, name: str, config: FeedForwardConfig, width: int) -> Step:
    hidden = _dense(take, f"{name}.hidden", width, config.width, bias=config.bias)
    output = _dense(take, f"{name}.output", config.width, width, bias=config.bias)
    activation = _activation(config.activation)
    if not config.gated:
        return lambda x: output(activation(hidden(x)))
    gate = _dense(take, f"{name}.gate", width, config.width, bias=config.bias)
    return lambda x: output(activation(gate(x)) * hidden(x))


def _attention(take: Weights, name: str, config: AttentionConfig, width: int) -> Step:
    _need(not config.relative_bias, "a bias by distance")
    _need(config.window is None or config.fill.value == "-inf", "a window whose mask is no minus infinity")
    heads, shared, size = config.heads, config.key_value_heads, config.query_size
    query = _dense(take, f"{name}.query", width, heads * size, bias=config.bias)
    key = _dense(take, f"{name}.key", width, shared * size, bias=config.bias)
    value = _dense(take, f"{name}.value", width, shared * config.value_size, bias=config.bias)
    output = _dense(take, f"{name}.output", heads * config.value_size, width, bias=config.output_bias)
    scale = np.float32((1.0 / math.sqrt(size) if config.scaled else 1.0) / config.divided_by)
    turned = _rotary(config.rotary, size)

    def split(x: Reals, count: int) -> Reals:
        each = x.reshape(len(x), count, -1).swapaxes(0, 1)  # [H or G, S, D or E]
        return np.repeat(each, heads // count, axis=0)

    def attend(x: Reals) -> Reals:
        asked, offered = turned(split(query(x), heads)), turned(split(key(x), shared))
        scores = asked @ offered.swapaxes(1, 2) * scale  # [H, S, S]
        if config.window is not None:
            at = np.arange(len(x))
            scores = np.where(np.abs(at[:, None] - at) <= config.window, scores, -np.inf).astype(np.float32)
        mixed = _softmax(scores) @ split(value(x), shared)  # [H, S, E]
        return output(mixed.swapaxes(0, 1).reshape(len(x), -1))

    return attend


def _rotary(config: RotaryConfig | None, size: int) -> Step:
    if config is None:
        return lambda x: x
    _need(config.stretch is None, "stretched rotary positions")
    rates = config.base ** (-np.arange(0, size, 2) / size)  # [D/2]

    def turned(x: Reals) -> Reals:
        angles = np.tile(np.arange(x.shape[1])[:, None] * rates, 2)  # [S, D]
        first, second = np.split(x, 2, axis=-1)
        other = np.concatenate([-second, first], axis=-1)
        return x * np.cos(angles).astype(np.float32) + other * np.sin(angles).astype(np.float32)  # [H or G, S, D]

    return turned


def _transform(take: Weights, name: str, config: TransformConfig, width: int) -> Step:
    if not config.transform:
        return lambda x: x
    dense = _dense(take, f"{name}.dense", width, width, bias=config.transform_bias)
    norm, activation = _norm(take, f"{name}.norm", config.norm, width), _activation(config.activation)
    return lambda x: norm(activation(dense(x)))


def _vocabulary(take: Weights, config: VocabularyHeadConfig, width: int, word: Reals) -> Callable[[Reals, Row], Reals]:
    compared = _transform(take, "head", config, width)
    table = word if config.tied else take("head.weight", *word.shape)
    bias = _bias(take, "head", len(word), config.bias)
    scale = 1.0 / math.sqrt(width) if config.scaled else 1.0

    def logits(states: Reals, row: Row) -> Reals:
        states = compared(states[list(row.scored_at)]) * np.float32(scale)
        return states @ table.T + bias  # [A, V]

    return logits


_POOLED: dict[str, Step] = {
    "first": lambda states: states[0],
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
}


def _sentence(take: Weights, config: SentenceHeadConfig, width: int, vocabulary: int) -> Callable[[Reals, Row], Reals]:
    pooled = _POOLED.get(config.vector)
    dense: Step = lambda x: x  # noqa: E731 - a step like the others
    if config.has_pooler:
        linear = _dense(take, "sentence_head.pooler", width, width, bias=config.pooler_bias)
        norm, activation = _norm(take, "sentence_head.norm", config.norm, width), _activation(config.activation)
        dense = lambda x: norm(activation(linear(x)))  # noqa: E731
    _need(config.labels > 0, "a head without labels")
    output = _dense(take, "sentence_head.output", config.vectors * width, config.labels, bias=True)
    words = _words(take, config, vocabulary)
    if pooled is None:
        return lambda states, row: output(_pair(states, np.array(row.segments or [0] * len(states)))) + words(row)
    return lambda states, row: output(dense(pooled(states))) + words(row)


def _words(take: Weights, config: SentenceHeadConfig, vocabulary: int) -> Callable[[Row], Reals]:
    """What tokens and pairs of neighbours add to the scores: as `glassformer.models.words`."""
    if not config.words:
        return lambda row: np.zeros(1, np.float32)
    token = take("sentence_head.words.token.weight", vocabulary, config.labels)
    neighbours = take("sentence_head.words.neighbours.weight", config.words, config.labels)
    bias = take("sentence_head.words.bias", config.labels)

    def scores(row: Row) -> Reals:
        ids = np.array(row.ids, np.int64)
        before = np.concatenate([ids[:1], ids[:-1]])
        pairs = (before * NEIGHBOURS[0] + ids * NEIGHBOURS[1]) % config.words
        return ((token[ids] + neighbours[pairs]).sum(axis=0) / np.sqrt(2 * len(ids)) + bias).astype(np.float32)  # [L]

    return scores


def _pair(states: Reals, segments: npt.NDArray[np.integer]) -> Reals:
    """The means of the states of both texts, their absolute difference and their product: [S, W] to [4·W]."""
    first, second = (states[segments == each].sum(axis=0) / max((segments == each).sum(), 1) for each in (0, 1))  # [W]
    return np.concatenate([first, second, abs(first - second), first * second]).astype(np.float32)  # [4·W]


def _tokens(take: Weights, config: TokenHeadConfig, width: int) -> Callable[[Reals, Row], Reals]:
    _need(not config.crf, "a CRF")
    transform = _transform(take, "token_head", config, width)
    output = _dense(take, "token_head.output", width, config.labels, bias=True)
    return lambda states, row: output(transform(states))
