"""Whether one step has moved exactly the parameters that are trained: a freezing that freezes nothing is found at once.

Each tensor is compared by the CRC-32 of its bytes before and after the step, which differ whenever one number does.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glassformer.base.errors import TrainingError


@dataclass(frozen=True)
class BeforeStep:
    """The parameters before a step, by name, and which of them it has a gradient for: any number but 0."""

    checksums: Mapping[str, int]
    with_gradient: Collection[str]

    @classmethod
    def of(cls, model: nn.Module) -> BeforeStep:
        """After the backward pass, before the step."""
        named = dict(model.named_parameters())
        has = {name for name, each in named.items() if each.grad is not None and bool(each.grad.any())}
        return cls({name: _checksum(each) for name, each in named.items()}, has)

    def check(self, model: nn.Module, trained: Collection[str], *, step: int) -> str:
        """What the step has moved, as a sentence. Raises TrainingError where a frozen parameter has changed."""
        moved = {name for name, each in model.named_parameters() if _checksum(each) != self.checksums[name]}
        frozen = self.checksums.keys() - set(trained)
        if wrong := sorted(moved & frozen):
            raise TrainingError(
                f"what is frozen must stay as it is: step {step} has changed it",
                got=_listed(wrong),
                do="train it too (tune.freeze), or report how this came about",
            )
        still = sorted(set(trained) - moved)
        same = f"the other {len(frozen):,} are the same to the bit" if frozen else "and there are no others"
        if not still:
            return f"checked after step {step:,}: all {len(moved):,} trained tensors have moved, {same}"
        # The first of an adapter's two matrices gets a gradient as soon as the other one is no longer zero.
        waiting = [name for name in still if name.endswith(".adapter.down") and name not in self.with_gradient]
        without = [name for name in still if name not in self.with_gradient and name not in waiting]
        small = [name for name in still if name in self.with_gradient]
        told = f"checked after step {step:,}: {len(moved):,} of {len(trained):,} trained tensors have moved, {same}"
        if waiting:
            told += f"; {len(waiting):,} wait, as `down` of an adapter does while its `up` is zero"
        if without:
            told += f"; no gradient reaches {_listed(without)}: nothing of the loss depends on it"
        if small:
            told += f"; the step is too small to change a digit of {_listed(small)} at this learning rate"
        return told


def _checksum(parameter: Tensor) -> int:
    """The CRC-32 of a tensor's bytes."""
    flat = parameter.detach().cpu().contiguous().flatten()
    return zlib.crc32(flat.view(torch.uint8).numpy().data) if flat.numel() else 0


def _listed(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
