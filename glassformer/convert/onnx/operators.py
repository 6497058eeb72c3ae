"""Operators that go number by number, that move and repeat numbers, and that make them from nothing."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from glassformer.convert.onnx.graph import Graph, Operand, Operator, Table, Value, same

operator = Table()


def _alike(operand: Operand) -> Any:
    """An operand without its numbers, for torch's rules of types in common."""
    if isinstance(operand, Value | Tensor):
        return torch.empty([1] * len(operand.shape), dtype=operand.dtype, device="meta")
    return 0 if isinstance(operand, torch.SymInt) else operand


def _one(kind: str) -> Operator:
    return lambda graph, out, self, **_: graph.node(kind, graph.of(self, out.dtype))


operator.update(
    {
        "relu": _one("Relu"),
        "tanh": _one("Tanh"),
        "sigmoid": _one("Sigmoid"),
        "exp": _one("Exp"),
        "log": _one("Log"),
        "abs": _one("Abs"),
        "neg": _one("Neg"),
        "sin": _one("Sin"),
        "sqrt": _one("Sqrt"),
        "bitwise_not": _one("Not"),
        "logical_not": _one("Not"),
    }
)


@operator("contiguous", "clone", "alias", "detach", "detach_", "lift_fresh_copy", "dropout")
def unchanged(graph: Graph, out: Any, self: Any = None, input: Any = None, **_: Any) -> str:
    return graph.of(input if self is None else self)


@operator("to", "_to_copy", "type_as")
def converted(graph: Graph, out: Any, self: Value, **_: Any) -> str:
    return graph.of(self, out.dtype)


@operator("cos")
def cosine(graph: Graph, out: Any, self: Value) -> str:
    """The sine a quarter turn further, in double precision, in which not every runtime has cosines."""
    if out.dtype != torch.float64:
        return graph.node("Cos", graph.of(self, out.dtype))
    return graph.node("Sin", graph.node("Add", graph.of(self), graph.of(math.pi / 2, out.dtype)))


@operator("silu")
def silu(graph: Graph, out: Any, self: Value) -> str:
    """x · sigmoid(x)."""
    return graph.node("Mul", graph.of(self), graph.node("Sigmoid", graph.of(self)))


@operator("mish")
def mish(graph: Graph, out: Any, self: Value) -> str:
    """x · tanh(log(1 + exp(x)))."""
    return graph.node("Mul", graph.of(self), graph.node("Tanh", graph.node("Softplus", graph.of(self))))


@operator("square")
def square(graph: Graph, out: Any, self: Value) -> str:
    return graph.node("Mul", graph.of(self), graph.of(self))


@operator("gelu")
def gelu(graph: Graph, out: Any, self: Value, approximate: str = "none") -> str:
    """The exact GELU or its tanh form, in the steps that onnxruntime joins to one kernel."""
    x = graph.of(self)
    if approximate == "none":
        turned = graph.node("Erf", graph.node("Div", x, graph.of(math.sqrt(2.0), out.dtype)))
        more = graph.node("Add", turned, graph.of(1.0, out.dtype))
        return graph.node("Mul", graph.node("Mul", x, more), graph.of(0.5, out.dtype))
    cube = graph.node("Pow", x, graph.of(3.0, out.dtype))
    inner = graph.node("Add", x, graph.node("Mul", cube, graph.of(0.044715, out.dtype)))
    turned = graph.node("Tanh", graph.node("Mul", inner, graph.of(math.sqrt(2.0 / math.pi), out.dtype)))
    more = graph.node("Add", turned, graph.of(1.0, out.dtype))
    return graph.node("Mul", graph.node("Mul", x, more), graph.of(0.5, out.dtype))


def _two(kind: str) -> Operator:
    def both(graph: Graph, out: Any, self: Operand, other: Operand, **_: Any) -> str:
        return graph.node(kind, graph.of(self, out.dtype), graph.of(other, out.dtype))

    return both


operator.update({"mul": _two("Mul"), "div": _two("Div"), "maximum": _two("Max"), "minimum": _two("Min")})
operator["remainder"] = _two("Mod")  # of whole numbers, by a positive one
operator.update({name: _two("And") for name in ("bitwise_and", "__and__", "logical_and")})
operator.update({name: _two("Or") for name in ("bitwise_or", "__or__", "logical_or")})


def _scaled_two(kind: str) -> Operator:
    def both(graph: Graph, out: Any, self: Operand, other: Operand, alpha: float = 1) -> str:
        more = graph.of(other, out.dtype)
        if alpha != 1:
            more = graph.node("Mul", more, graph.of(alpha, out.dtype))
        return graph.node(kind, graph.of(self, out.dtype), more)

    return both


operator.update({"add": _scaled_two("Add"), "sub": _scaled_two("Sub")})


@operator("rsub")
def reversed_difference(graph: Graph, out: Any, self: Operand, other: Operand, alpha: float = 1) -> str:
    return str(operator["sub"](graph, out, self=other, other=self))


@operator("pow")
def power(graph: Graph, out: Any, self: Operand, exponent: Operand) -> str:
    return graph.node("Pow", graph.of(self, out.dtype), graph.of(exponent, out.dtype))


def _compared(kind: str, *, negated: bool = False) -> Operator:
    def both(graph: Graph, out: Any, self: Operand, other: Operand) -> str:
        dtype = torch.result_type(_alike(self), _alike(other))
        found = graph.node(kind, graph.of(self, dtype), graph.of(other, dtype))
        return graph.node("Not", found) if negated else found

    return both


operator.update(
    {
        "eq": _compared("Equal"),
        "ne": _compared("Equal", negated=True),
        "lt": _compared("Less"),
        "le": _compared("LessOrEqual"),
        "gt": _compared("Greater"),
        "ge": _compared("GreaterOrEqual"),
    }
)


@operator("where")
def where(graph: Graph, out: Any, condition: Value, self: Operand, other: Operand) -> str:
    return graph.node("Where", graph.of(condition), graph.of(self, out.dtype), graph.of(other, out.dtype))


@operator("masked_fill")
def masked_fill(graph: Graph, out: Any, self: Operand, mask: Value, value: Operand) -> str:
    return graph.node("Where", graph.of(mask), graph.of(value, out.dtype), graph.of(self))


@operator("clamp", "clamp_min", "clamp_max")
def clamp(graph: Graph, out: Any, self: Value, min: Operand | None = None, max: Operand | None = None) -> str:
    found = graph.of(self, out.dtype)
    if min is not None:
        found = graph.node("Max", found, graph.of(min, out.dtype))
    return found if max is None else graph.node("Min", found, graph.of(max, out.dtype))


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


# What is made from nothing.


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
