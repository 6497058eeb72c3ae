"""The smallest watcher: every tensor a model taps, by its public name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from glassformer.models.names import tensor_name
from glassformer.parts.tap import watcher


class Witness:
    """Wants everything, changes nothing."""

    def __init__(self, model: nn.Module) -> None:
        self.paths = {module: path for path, module in model.named_modules()}
        self.tensors: dict[str, Tensor] = {}

    def wants(self, owner: nn.Module, name: str) -> bool:
        return True

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        self.tensors[tensor_name(self.paths[owner], name)] = tensor
        return tensor


@contextmanager
def witness(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Inside this block each forward of the model fills the dictionary that is given."""
    watching = Witness(model)
    token = watcher.set(watching)
    try:
        yield watching.tensors
    finally:
        watcher.reset(token)
