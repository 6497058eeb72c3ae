"""Operators that go number by number."""

import math
from typing import Any

import torch
from torch import Tensor

from glassformer.convert.onnx.graph import Graph, Operand, Value
from glassformer.convert.onnx.table import Operator, Table

operator = Table()


def sizes_of(operand: Operand) -> tuple[Any, ...]:
    """The sizes of an operand, () of a number."""
    return tuple(operand.shape) if isinstance(operand, Value | Tensor) else ()


def type_in_common(*operands: Operand) -> torch.dtype:
    """The type in which torch computes with both: that of the one with axes, where the other is a number."""
    with_axes = [each for each in operands if isinstance(each, Value | Tensor) and len(sizes_of(each))]
    tensors = with_axes or [each for each in operands if isinstance(each, Value | Tensor)]
    found = tensors[0].dtype
    for each in tensors[1:]:
        found = torch.promote_types(found, each.dtype)
    numbers = [each for each in operands if isinstance(each, float)]
    return torch.promote_types(found, torch.float32) if numbers and not found.is_floating_point else found


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
        dtype = type_in_common(self, other)
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
