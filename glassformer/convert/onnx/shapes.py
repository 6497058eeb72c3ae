"""Operators that take, move and repeat numbers, and such that make them from nothing."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from glassformer.convert.onnx.graph import Graph, Operand, Value, same
from glassformer.convert.onnx.table import Operator, Table

operator = Table()
# The end of an axis for `Slice`.
_END = (1 << 63) - 1


@operator("view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "view_as", "reshape_as")
def reshaped(graph: Graph, out: Any, self: Value, **_: Any) -> str:
    return graph.node("Reshape", graph.of(self), graph.shape(out.shape, self))


@operator("unsqueeze")
def unsqueeze(graph: Graph, out: Any, self: Value, dim: int) -> str:
    return graph.node("Unsqueeze", graph.of(self), graph.integers([dim]))


@operator("transpose")
def transpose(graph: Graph, out: Any, self: Value, dim0: int, dim1: int) -> str:
    axes = list(range(len(self.shape)))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return graph.node("Transpose", graph.of(self), perm=axes)


@operator("permute")
def permute(graph: Graph, out: Any, self: Value, dims: Sequence[int]) -> str:
    return graph.node("Transpose", graph.of(self), perm=[axis % len(dims) for axis in dims])


@operator("expand", "expand_as")
def expand(graph: Graph, out: Any, self: Value, **_: Any) -> str:
    ahead = len(out.shape) - len(self.shape)
    kept = [1 if place >= ahead and same(size, self.shape[place - ahead]) else size
            for place, size in enumerate(out.shape)]  # fmt: skip
    return graph.of(self) if kept == [1] * len(self.shape) else graph.node("Expand", graph.of(self), graph.shape(kept))


@operator("repeat")
def repeat(graph: Graph, out: Any, self: Value, repeats: Sequence[Any]) -> str:
    ahead = len(repeats) - len(self.shape)
    name = graph.of(self)
    if ahead:
        name = graph.node("Unsqueeze", name, graph.integers(range(ahead)))
    return graph.node("Tile", name, graph.shape(list(repeats)))


@operator("slice")
def cut(graph: Graph, out: Any, self: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> str:
    first = 0 if start is None else start
    last = _END if end is None or (isinstance(end, int) and end >= _END) else end
    if isinstance(first, int) and first == 0 and step == 1 and (last == _END or same(out.shape[dim], self.shape[dim])):
        return graph.of(self)
    return graph.node("Slice", graph.of(self), graph.size(first), graph.size(last), graph.integers([dim]),
                      graph.integers([step]))  # fmt: skip


@operator("select")
def select(graph: Graph, out: Any, self: Value, dim: int, index: Any) -> str:
    return graph.node("Gather", graph.of(self), graph.of(index, torch.int64), axis=dim)


@operator("index_select")
def index_select(graph: Graph, out: Any, self: Operand, dim: int, index: Value) -> str:
    return graph.node("Gather", graph.of(self), graph.of(index), axis=dim)


@operator("gather")
def gather(graph: Graph, out: Any, self: Value, dim: int, index: Value, **_: Any) -> str:
    return graph.node("GatherElements", graph.of(self), graph.of(index), axis=dim)


@operator("index")
def index(graph: Graph, out: Any, self: Value, indices: Sequence[Any]) -> str:
    rows = [graph.node("Unsqueeze", graph.of(each), graph.integers([-1])) for each in indices]
    return graph.node("GatherND", graph.of(self), graph.node("Concat", *rows, axis=-1))


@operator("cat", "concat")
def concatenated(graph: Graph, out: Any, tensors: Sequence[Operand], dim: int = 0) -> str:
    return graph.node("Concat", *(graph.of(each, out.dtype) for each in tensors), axis=dim)


@operator("stack")
def stacked(graph: Graph, out: Any, tensors: Sequence[Operand], dim: int = 0) -> str:
    parts = [graph.node("Unsqueeze", graph.of(each, out.dtype), graph.integers([dim])) for each in tensors]
    return graph.node("Concat", *parts, axis=dim)


@operator("chunk", "split", "split_with_sizes", "unbind")
def parted(graph: Graph, out: Any, self: Value, dim: int = 0, **_: Any) -> list[str]:
    names, start = [], 0
    for part in out:
        size = part.shape[dim] if len(part.shape) == len(self.shape) else 1
        ends = graph.integers([start]), graph.integers([start + int(size)])
        name = graph.node("Slice", graph.of(self), *ends, graph.integers([dim % len(self.shape)]))
        if len(part.shape) < len(self.shape):
            name = graph.node("Squeeze", name, graph.integers([dim]))
        names.append(name)
        start += int(size)
    return names


# ------------------------------------------------------------------ made from nothing


@operator("arange")
def arange(graph: Graph, out: Any, end: Any, start: Any = 0, step: Any = 1, **_: Any) -> str:
    return graph.node("Range", *(graph.of(each, out.dtype) for each in (start, end, step)))


def _filled(number: Callable[..., Operand]) -> Operator:
    def made(graph: Graph, out: Any, **given: Any) -> str:
        return graph.node("Expand", graph.of(number(**given), out.dtype), graph.shape(list(out.shape)))

    return made


operator.update({name: _filled(lambda **_: 0) for name in ("zeros", "zeros_like", "new_zeros")})
operator.update({name: _filled(lambda **_: 1) for name in ("ones", "ones_like", "new_ones")})
operator.update({name: _filled(lambda fill_value, **_: fill_value) for name in ("full", "full_like", "new_full")})
