"""A model that is there as the start of another one: what fits is taken over, and what is fresh is told."""

from __future__ import annotations

import torch

from glassformer.config import ModelConfig
from glassformer.models.transformer import Transformer, build


def adapt(start: Transformer, config: ModelConfig, *, seed: int) -> tuple[Transformer, str]:
    """A model of `config` with each parameter of `start` that has an equal name and shape; the others are drawn by the
    seed. Tells in a sentence what was taken, what is fresh and what was left behind.
    """
    if config == start.config:
        return start, ""
    module = build(config, seed=seed)
    mine, theirs = dict(module.named_parameters()), dict(start.named_parameters())
    taken = [name for name, parameter in mine.items() if name in theirs and theirs[name].shape == parameter.shape]
    with torch.no_grad():
        for name in taken:
            mine[name].copy_(theirs[name])
    fresh, left = sorted(mine.keys() - set(taken)), sorted(theirs.keys() - set(taken))
    told = f"{len(taken)} parameters taken from the start model, {len(fresh)} fresh"
    if fresh:
        told += f": {_short(fresh)}"
    return module, f"{told}; left behind: {_short(left)}" if left else told


def _short(names: list[str]) -> str:
    """Names with what they share in front: `sentence_head.output.{bias,weight}`."""
    by_module: dict[str, list[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        by_module.setdefault(module, []).append(last)
    return ", ".join(
        f"{module}.{{{','.join(lasts)}}}" if len(lasts) > 1 else f"{module}.{lasts[0]}"
        for module, lasts in by_module.items()
    )
