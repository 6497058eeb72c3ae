"""The smallest watcher: records every tensor a model taps, by its public name."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from glassformer.models.names import tensor_name
from glassformer.parts.tap import watcher


class TapRecorder:
    """Records every tap, changes nothing."""

    def __init__(self, model: nn.Module) -> None:
        self.paths = {module: path for path, module in model.named_modules()}
        self.tensors: dict[str, Tensor] = {}

    def wants(self, owner: nn.Module, name: str) -> bool:
        return True

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        self.tensors[tensor_name(self.paths[owner], name)] = tensor
        return tensor


@contextmanager
def record_taps(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Inside this block each forward of the model fills the dictionary that is given."""
    watching = TapRecorder(model)
    token = watcher.set(watching)
    try:
        yield watching.tensors
    finally:
        watcher.reset(token)
