"""The one word by which a tensor can be looked at: `tap(self, "scores", scores)`.

Without a watcher a tap gives back the tensor it was given; inside a compiled graph it leaves no trace.
A watcher sees the tensor under the module that computed it and may give back another one, which is how
ablation and patching work. Modules never know who watches.
"""

from contextvars import ContextVar
from typing import Protocol

import torch
from torch import Tensor, nn


class Watcher(Protocol):
    """An observer of taps. `wants` decides whether a tensor that is not on the fast path is computed."""

    def wants(self, owner: nn.Module, name: str) -> bool:
        """Whether this tensor is asked for."""

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        """Look at a tensor; what is returned takes its place."""


watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def tap(owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
    """Show `tensor` to the watcher, if there is one, and give back what the model should go on with."""
    if torch.compiler.is_compiling():
        return tensor
    watching = watcher.get()
    return tensor if watching is None else watching.see(owner, name, tensor)


def wanted(owner: nn.Module, *names: str) -> bool:
    """Whether somebody asks for one of these tensors: only then is the explicit path worth its price."""
    if torch.compiler.is_compiling():
        return False
    watching = watcher.get()
    return watching is not None and any(watching.wants(owner, name) for name in names)
