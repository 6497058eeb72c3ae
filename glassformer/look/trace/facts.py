"""What was known before the model computed anything: ids, positions, padding, masked words, documents.

B sentences · S tokens
"""

import torch
from torch import Tensor

from glassformer.config import ModelConfig, StackConfig
from glassformer.models.inputs import Inputs

GIVEN = ("ids", "vectors", "real", "masked_words", "documents", "may_look", "labelled")

FACT_AXES = {
    "ids": "sentence token",
    "vectors": "sentence token channel",
    "real": "sentence token",
    "masked_words": "sentence token",
    "documents": "sentence token",
    "positions": "sentence token",
    "segments": "sentence token",
    "may_look": "sentence query key",
    "labelled": "sentence token",
    "first": "sentence token",
    "mean": "sentence token",
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
    if config.sentence_head is not None and config.sentence_head.pooling != "max":
        averages = config.sentence_head.pooling in ("mean", "mean_pooler")
        found[f"{side}.{'mean' if averages else 'first'}"] = (each_real if averages else first_real)(answering)
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
    return torch.tensor(
        [[token == one for token in range(tokens)] for one in scored_at], device=inputs.device
    )  # [B, S]


def each_real(inputs: Inputs) -> Tensor:
    """How much each token counts in the mean of its sentence: 1 / how many are no padding, 0 for padding. [B, S]."""
    batch, tokens = inputs.shape
    rows = [[True] * tokens] * batch if inputs.real is None else inputs.real.tolist()
    shares = [[float(one) / max(sum(row), 1) for one in row] for row in rows]
    return torch.tensor(shares, dtype=torch.float64, device=inputs.device)  # [B, S]
