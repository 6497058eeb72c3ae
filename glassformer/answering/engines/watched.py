"""Whether the weights of a model are still those that an engine was made from: asked before each answer."""

from itertools import chain
from operator import attrgetter, is_
from typing import Any

from torch import Tensor, nn

_version = attrgetter("_version")

State = tuple[list[int], list[int]]
"""Where the numbers of each weight are, and how often they were changed there."""


class Watched:
    """A model's parts and weights as first seen; comparing them is ten times as fast as walking over all parts."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._look()

    def state(self) -> State:
        """Another one where a weight was changed or replaced."""
        now = self._parts()
        if len(now) != len(self._seen) or not all(map(is_, now, self._seen)):
            self._look()
        return list(map(Tensor.data_ptr, self._weights)), list(map(_version, self._counted))

    def _look(self) -> None:
        self._slots: list[dict[str, Any]] = [
            slots for part in self.module.modules() for slots in (part._modules, part._parameters) if slots
        ]
        self._seen = self._parts()
        self._weights = [each for each in self._seen if isinstance(each, Tensor)]
        # One that was made for inference alone counts no changes.
        self._counted = [each for each in self._weights if not each.is_inference()]

    def _parts(self) -> list[Any]:
        return list(chain.from_iterable(map(dict.values, self._slots)))
