"""An existing model as the start of another one: parameters that fit are copied, the others are initialized and
named.
"""

from __future__ import annotations

import torch

from glassformer.config import ModelConfig
from glassformer.models.transformer import Transformer, build

# Parameters with a row for each label.
LABEL_ROWS = ("sentence_head.output.", "token_head.output.", "token_head.crf.")


def adapt(start: Transformer, config: ModelConfig, *, seed: int, same_labels: bool) -> tuple[Transformer, str]:
    """A model of `config` with each parameter of `start` that has an equal name and shape; the others are drawn from
    the seed, and so are the rows of labels unless these are the `same_labels`. The second value says in a sentence
    which parameters were taken, which are fresh and which were left behind.
    """
    if config == start.config and same_labels:
        return start, ""
    module = build(config, seed=seed)
    mine, theirs = dict(module.named_parameters()), dict(start.named_parameters())
    taken = [
        name
        for name, parameter in mine.items()
        if name in theirs and theirs[name].shape == parameter.shape and (same_labels or not name.startswith(LABEL_ROWS))
    ]
    with torch.no_grad():
        for name in taken:
            mine[name].copy_(theirs[name])
    fresh, left = sorted(mine.keys() - set(taken)), sorted(theirs.keys() - set(taken))
    summary = f"{len(taken)} tensors taken from the start model, {len(fresh)} fresh"
    if fresh:
        summary += f": {_short(fresh)}"
    return module, f"{summary}; left behind: {_short(left)}" if left else summary


def _short(names: list[str]) -> str:
    """Names grouped by their common module: `sentence_head.output.{bias,weight}`."""
    by_module: dict[str, list[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        by_module.setdefault(module, []).append(last)
    return ", ".join(
        f"{module}.{{{','.join(lasts)}}}" if len(lasts) > 1 else f"{module}.{lasts[0]}"
        for module, lasts in by_module.items()
    )
