"""The texts of a run: what is known of them before the model computes anything (ids, positions, padding, masked words,
documents), and at which of their tokens the vocabulary is scored.

B sentences · S tokens · N positions where the vocabulary is scored
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, ShapeError
from glassformer.config import TEXTS, ModelConfig, StackConfig
from glassformer.models.heads import texts_of
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.models.words import neighbours, shares

GIVEN = ("ids", "vectors", "real", "masked_words", "documents", "may_look", "labelled")

PER_TOKEN = ("ids", "real", "masked_words", "documents", "positions", "segments", "labelled", "first", "mean", *TEXTS)
OF_WORDS = ("neighbours", "share")
FACT_AXES = dict.fromkeys((*PER_TOKEN, *OF_WORDS), "sentence token") | {
    "vectors": "sentence token channel",
    "may_look": "sentence query key",
}


def facts(config: ModelConfig, inputs: Inputs, decoder_inputs: Inputs | None) -> dict[str, Tensor]:
    """The facts by name (`inputs.ids`, `decoder_inputs.real` …), with positions and segments written out."""
    first = config.encoder or config.decoder
    assert first is not None
    found = side_facts("inputs", inputs, first)
    side, answering = "inputs", inputs
    if decoder_inputs is not None and config.decoder is not None:
        found |= side_facts("decoder_inputs", decoder_inputs, config.decoder)
        if config.encoder is not None:
            side, answering = "decoder_inputs", decoder_inputs
    vector = None if config.sentence_head is None else config.sentence_head.vector
    if vector in ("first", "mean"):
        found[f"{side}.{vector}"] = (each_real if vector == "mean" else first_real)(answering)
    elif vector == "pair":
        both = texts_of(answering.shape, answering.real, answering.segments, answering.device)
        for text, real in zip(TEXTS, both, strict=True):
            found[f"{side}.{text}"] = each_real(replace(answering, real=real))
    if config.sentence_head is not None and config.sentence_head.words and answering.ids is not None:
        found[f"{side}.neighbours"] = neighbours(answering.ids, answering.real, config.sentence_head.words)
        found[f"{side}.share"] = shares(answering.ids, answering.real)
    tags = config.token_head
    if tags is not None and (tags.crf or tags.spans) and answering.labelled is None:
        every = torch.ones(answering.shape, dtype=torch.bool, device=answering.device)
        found[f"{side}.labelled"] = every if answering.real is None else answering.real
    return found


def side_facts(side: str, inputs: Inputs, stack: StackConfig) -> dict[str, Tensor]:
    found = {f"{side}.{name}": value for name in GIVEN if isinstance(value := getattr(inputs, name), Tensor)}
    found[f"{side}.positions"] = count(inputs) if inputs.positions is None else inputs.positions
    if stack.embed.segments:
        zeros = torch.zeros(inputs.shape, dtype=torch.int64, device=inputs.device)
        found[f"{side}.segments"] = zeros if inputs.segments is None else inputs.segments
    return found


def count(inputs: Inputs) -> Tensor:
    """The position of a token is the number of real tokens before it; padding shares the last one's. [B or 1, S]."""
    if inputs.real is None:
        return torch.arange(inputs.shape[1], device=inputs.device)[None]  # [1, S]
    before = [[max(sum(row[: place + 1]) - 1, 0) for place in range(len(row))] for row in inputs.real.int().tolist()]
    return torch.tensor(before, device=inputs.device)  # [B, S]


def first_real(inputs: Inputs) -> Tensor:
    """Which token represents its sentence: the first that is no padding. [B, S] bool."""
    batch, tokens = inputs.shape
    rows = [[True] * tokens] * batch if inputs.real is None else inputs.real.tolist()
    scored_at = [row.index(True) if any(row) else 0 for row in rows]
    flags = [[token == one for token in range(tokens)] for one in scored_at]
    return torch.tensor(flags, device=inputs.device)  # [B, S]


def each_real(inputs: Inputs) -> Tensor:
    """How much each token counts in the mean of its sentence: 1 / how many are no padding, 0 for padding. [B, S]."""
    batch, tokens = inputs.shape
    rows = [[True] * tokens] * batch if inputs.real is None else inputs.real.tolist()
    shares = [[float(one) / max(sum(row), 1) for one in row] for row in rows]
    return torch.tensor(shares, dtype=torch.float64, device=inputs.device)  # [B, S]


Places = Tensor | Sequence[int] | None
NONE = -100  # The label of a token that has none


def check_sides(model: Transformer, inputs: Inputs, decoder_inputs: Inputs | None, *, candidates: bool = False) -> None:
    """Raise ConfigError for texts that are not what the model reads, and candidates without a single score."""
    do = "write Inputs(ids=...), or model.trace(text) with a loaded model"
    for given in (inputs, decoder_inputs):
        if given is not None and not isinstance(given, Inputs):
            raise ConfigError("glassformer.trace takes ids", got=type(given).__name__, do=do)
    if decoder_inputs is None and model.encoder is not None and model.decoder is not None:
        wanted = f"{model.config.family} is an encoder–decoder: it needs inputs and decoder_inputs"
        raise ConfigError(wanted, got="one text", do="trace(model, source, target), each as Inputs(ids=...)")
    if decoder_inputs is not None and (model.encoder is None or model.decoder is None):
        do = "leave decoder_inputs out"
        raise ConfigError(f"{model.config.family} has one stack and reads one text", got="two", do=do)
    head = model.config.sentence_head
    if candidates and (head is None or head.labels != 1):
        scores = "no sentence head" if head is None else f"a sentence head with {head.labels} scores"
        raise ConfigError("candidates are compared by one score each", got=f"a model with {scores}")


def choose_scored_at(
    model: Transformer, inputs: Inputs, decoder_inputs: Inputs | None, scored_at: Places, labels: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Where the vocabulary is scored, [N], and the right tokens there, [N] or None."""
    side = inputs if decoder_inputs is None else decoder_inputs
    for given in (inputs, side):
        given.check()
        if 0 in given.shape:
            raise ShapeError("a trace needs at least one token", got=f"a text of shape {list(given.shape)}")
    count = side.shape[0] * side.shape[1]
    if scored_at is not None:
        scored_at = whole_numbers("scored_at", scored_at, side.device)
    if labels is not None:
        labels = whole_numbers("labels", labels, side.device)
        vocabulary = model.config.output_stack.embed.vocabulary
        if bool(((labels != NONE) & ((labels < 0) | (labels >= vocabulary))).any()):
            raise ShapeError(f"labels are tokens from 0 to {vocabulary - 1}, or {NONE} for none", got="another number")
        if bool((labels == NONE).all()):
            raise ShapeError("a loss needs at least one label", got=f"{NONE} alone", do="leave labels out")
    if scored_at is not None and (scored_at.dim() != 1 or bool(((scored_at < 0) | (scored_at >= count)).any())):
        got = str(scored_at.tolist())
        raise ShapeError(f"scored_at [N] must be from 0 to {count - 1}, counted through all tokens", got=got)
    if labels is not None and labels.shape == side.shape:
        flat = labels.flatten()
        scored_at = (flat != NONE).nonzero()[:, 0] if scored_at is None else scored_at
        labels = flat[scored_at]
    if labels is not None and (scored_at is None or labels.shape != scored_at.shape):
        raise ShapeError("labels must be [B, S], or [N] with scored_at [N]", got=str(list(labels.shape)))
    if model.head is None or scored_at is not None:
        return scored_at, labels
    if side.masked_words is not None and bool(side.masked_words.any()):
        return side.masked_words.flatten().nonzero()[:, 0], None
    return torch.arange(count, device=side.device), None


def whole_numbers(name: str, given: Tensor | Sequence[int], device: torch.device) -> Tensor:
    """Whole numbers as a tensor; raises ShapeError for anything else."""
    try:
        found = torch.as_tensor(given, device=device)
    except (TypeError, ValueError, RuntimeError):
        found = torch.empty(0)
    if found.is_floating_point() or found.dtype == torch.bool:
        raise ShapeError(f"{name} must be whole numbers", got=repr(given)[:80])
    return found.long()
