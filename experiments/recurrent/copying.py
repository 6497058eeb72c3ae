"""The row `copy`: five symbols stand in the middle of a source, so many blanks before and behind them; they are to be
written. The nearest end of the source, where a recurrent encoder ends in either direction, is as far as the distance.

B rows · S tokens of the source · K symbols
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.plain_loop import Recipe, Time, facts_of, train_plainly
from experiments.recurrent.models import made

DISTANCES = (10, 20, 50, 100, 200, 500)
# As in the copying problem of Arjovsky et al. (2016): symbols among blanks, which are all alike.
KEPT, SYMBOLS = 5, 8
BLANK = 1 + SYMBOLS
WIDTH, LAYERS = 64, 2
# Tokens of a step, and its rows at most.
TOKENS, MOST = 4096, 64
MEASURED = 64


def batch(distance: int, rows: int, draw: list[int]) -> tuple[Tensor, Tensor]:
    """Sources and their symbols; token 0 begins, then come the symbols and the blank. [B, S], [B, K]"""
    generator = np.random.default_rng(draw)
    symbols = generator.integers(1, 1 + SYMBOLS, size=(rows, KEPT))
    blanks = np.full((rows, distance), BLANK)
    source = np.concatenate([blanks, symbols, blanks], axis=1)
    return torch.from_numpy(source), torch.from_numpy(symbols)


def run(arm: str, distance: int, length: Time, folder: Path) -> dict[str, Any]:
    """Train an architecture for one distance, and measure what it writes for other sources."""
    source = 2 * distance + KEPT
    rows = max(4, min(MOST, TOKENS // source))
    module: Any = made(arm, BLANK + 1, WIDTH, LAYERS, longest=source, seed=length.seed)
    recipe = Recipe(decay=0.01)

    def loss_of(step: int) -> tuple[Tensor, int]:
        read, wanted = batch(distance, rows, [length.seed, distance, step])
        logits = module.logits(module.words(read), wanted)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten()), read.numel()

    progress = train_plainly(module, loss_of, length, folder, recipe)
    right = []
    with torch.inference_mode():
        for number in range(-(-MEASURED // rows)):
            read, wanted = batch(distance, rows, [length.seed + 1, distance, number])
            right.append(module.write(read, KEPT) == wanted)
    found = torch.cat(right).double()
    return {
        "symbols": float(found.mean()),
        "whole": float(found.all(dim=1).double().mean()),
        "sources": len(found),
        "facts": facts_of(module, progress, recipe),
    }
