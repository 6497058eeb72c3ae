"""What was known before the model computed anything: ids, positions, padding, masked words, documents.

B sentences · S pieces
"""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.config import ModelConfig, StackConfig
from glassformer.models.inputs import Inputs

GIVEN = ("ids", "vectors", "real", "hidden", "documents", "may_look")

FACT_AXES = {
    "ids": "sentence piece",
    "vectors": "sentence piece channel",
    "real": "sentence piece",
    "hidden": "sentence piece",
    "documents": "sentence piece",
    "positions": "sentence piece",
    "segments": "sentence piece",
    "may_look": "sentence query key",
    "first": "sentence piece",
}


def facts(config: ModelConfig, inputs: Inputs, target: Inputs | None) -> dict[str, Tensor]:
    """The facts by name (`inputs.ids`, `target.real` …), with positions and segments written out."""
    first = config.encoder or config.decoder
    assert first is not None
    found = side_facts("inputs", inputs, first)
    side, answering = "inputs", inputs
    if target is not None and config.decoder is not None:
        found |= side_facts("target", target, config.decoder)
        if config.encoder is not None:
            side, answering = "target", target
    if config.sentence_head is not None:
        found[f"{side}.first"] = first_real(answering)
    return found


def side_facts(side: str, inputs: Inputs, stack: StackConfig) -> dict[str, Tensor]:
    """The facts of one text."""
    found = {f"{side}.{name}": value for name in GIVEN if isinstance(value := getattr(inputs, name), Tensor)}
    found[f"{side}.positions"] = count(inputs) if inputs.positions is None else inputs.positions
    if stack.embed.segments:
        zeros = torch.zeros(inputs.shape, dtype=torch.int64, device=inputs.device)
        found[f"{side}.segments"] = zeros if inputs.segments is None else inputs.segments
    return found


def count(inputs: Inputs) -> Tensor:
    """The position of a piece is the number of real pieces before it; padding shares the last one's. [B or 1, S]."""
    if inputs.real is None:
        return torch.arange(inputs.shape[1], device=inputs.device)[None]  # [1, S]
    before = [[max(sum(row[: place + 1]) - 1, 0) for place in range(len(row))] for row in inputs.real.int().tolist()]
    return torch.tensor(before, device=inputs.device)  # [B, S]


def first_real(inputs: Inputs) -> Tensor:
    """Which piece represents its sentence: the first that is no padding. [B, S] bool."""
    batch, pieces = inputs.shape
    rows = [[True] * pieces] * batch if inputs.real is None else inputs.real.tolist()
    places = [row.index(True) if any(row) else 0 for row in rows]
    return torch.tensor([[piece == one for piece in range(pieces)] for one in places], device=inputs.device)  # [B, S]
