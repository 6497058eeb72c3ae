"""What each operator of torch is in ONNX: one function each, found by torch's name for it.

The arguments have torch's names; each function adds nodes and returns the name of the result, or the names of several.
`out` is the result as torch has it: its type and sizes.

B sentences · Q query tokens · K key tokens · H heads · G key-value heads · D query size
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from glassformer.convert.onnx.graph import Graph, Operand, Value, lowest, same

Operator = Callable[..., Any]
OPERATORS: dict[str, Operator] = {}
# The end of an axis for `Slice`.
_END = (1 << 63) - 1


def operator(*names: str) -> Callable[[Operator], Operator]:
    """Put a function into the table, under these names of torch."""

    def known(function: Operator) -> Operator:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return known


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


# ------------------------------------------------------------------ number by number


def _one(kind: str) -> Operator:
    return lambda graph, out, self, **_: graph.node(kind, graph.of(self, out.dtype))


OPERATORS.update(
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
    """The same numbers."""
    return graph.of(input if self is None else self)


@operator("to", "_to_copy", "type_as")
def converted(graph: Graph, out: Any, self: Value, **_: Any) -> str:
    """The same numbers in the type of the result."""
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
    """x · x."""
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


OPERATORS.update({"mul": _two("Mul"), "div": _two("Div"), "maximum": _two("Max"), "minimum": _two("Min")})
OPERATORS.update({name: _two("And") for name in ("bitwise_and", "__and__", "logical_and")})
OPERATORS.update({name: _two("Or") for name in ("bitwise_or", "__or__", "logical_or")})


def _scaled_two(kind: str) -> Operator:
    def both(graph: Graph, out: Any, self: Operand, other: Operand, alpha: float = 1) -> str:
        more = graph.of(other, out.dtype)
        if alpha != 1:
            more = graph.node("Mul", more, graph.of(alpha, out.dtype))
        return graph.node(kind, graph.of(self, out.dtype), more)

    return both


OPERATORS.update({"add": _scaled_two("Add"), "sub": _scaled_two("Sub")})


@operator("rsub")
def reversed_difference(graph: Graph, out: Any, self: Operand, other: Operand, alpha: float = 1) -> str:
    """other - self."""
    return str(OPERATORS["sub"](graph, out, self=other, other=self))


@operator("pow")
def power(graph: Graph, out: Any, self: Operand, exponent: Operand) -> str:
    """self to the power of exponent."""
    return graph.node("Pow", graph.of(self, out.dtype), graph.of(exponent, out.dtype))


def _compared(kind: str, *, negated: bool = False) -> Operator:
    def both(graph: Graph, out: Any, self: Operand, other: Operand) -> str:
        dtype = type_in_common(self, other)
        found = graph.node(kind, graph.of(self, dtype), graph.of(other, dtype))
        return graph.node("Not", found) if negated else found

    return both


OPERATORS.update(
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
    """self where the condition holds, else other."""
    return graph.node("Where", graph.of(condition), graph.of(self, out.dtype), graph.of(other, out.dtype))


@operator("masked_fill")
def masked_fill(graph: Graph, out: Any, self: Operand, mask: Value, value: Operand) -> str:
    """The value where the mask holds."""
    return graph.node("Where", graph.of(mask), graph.of(value, out.dtype), graph.of(self))


@operator("clamp", "clamp_min", "clamp_max")
def clamp(graph: Graph, out: Any, self: Value, min: Operand | None = None, max: Operand | None = None) -> str:
    """At least min, at most max."""
    found = graph.of(self, out.dtype)
    if min is not None:
        found = graph.node("Max", found, graph.of(min, out.dtype))
    return found if max is None else graph.node("Min", found, graph.of(max, out.dtype))


# ------------------------------------------------------------------ over an axis


def _reduced(kind: str, *, as_input: bool = False) -> Operator:
    def over(graph: Graph, out: Any, self: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> str:
        given = dim if isinstance(dim, Sequence) else [] if dim is None else [dim]
        axes = [int(axis) for axis in given] or list(range(len(self.shape)))
        x = graph.of(self, out.dtype)
        if as_input:
            return graph.node(kind, x, graph.integers(axes), keepdims=int(keepdim))
        return graph.node(kind, x, axes=axes, keepdims=int(keepdim))

    return over


OPERATORS.update({"sum": _reduced("ReduceSum", as_input=True), "mean": _reduced("ReduceMean")})
OPERATORS.update({"amax": _reduced("ReduceMax"), "amin": _reduced("ReduceMin")})


@operator("any")
def any_of(graph: Graph, out: Any, self: Value, dim: int, keepdim: bool = False) -> str:
    """Whether one of an axis holds."""
    found = graph.node("ReduceMax", graph.of(self, torch.int32), axes=[dim], keepdims=int(keepdim))
    return graph.node("Cast", found, to=9)  # a boolean


@operator("argmax")
def argmax(graph: Graph, out: Any, self: Value, dim: int, keepdim: bool = False) -> str:
    """The first place of the largest number."""
    return graph.node("ArgMax", graph.of(self), axis=dim, keepdims=int(keepdim))


@operator("cumsum")
def cumulative_sum(graph: Graph, out: Any, self: Value, dim: int, dtype: Any = None) -> str:
    """The sum of the numbers up to each place."""
    return graph.node("CumSum", graph.of(self, out.dtype), graph.of(dim, torch.int64))


@operator("softmax", "_softmax")
def softmax(graph: Graph, out: Any, self: Value, dim: int, **_: Any) -> str:
    """exp(x) / Σ exp(x) over an axis."""
    return graph.node("Softmax", graph.of(self, out.dtype), axis=dim)


@operator("log_softmax")
def log_softmax(graph: Graph, out: Any, self: Value, dim: int, **_: Any) -> str:
    """The logarithm of the softmax."""
    return graph.node("LogSoftmax", graph.of(self, out.dtype), axis=dim)


@operator("layer_norm")
def layer_norm(
    graph: Graph, out: Any, input: Value, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float, **_: Any
) -> str:
    """Mean 0 and variance 1 over the last axes, scaled and shifted."""
    scale = torch.ones(*normalized_shape, dtype=out.dtype) if weight is None else weight
    # A shift of zeros rather than none: onnxruntime joins a residual sum only with a norm that has one.
    shift = torch.zeros(*normalized_shape, dtype=out.dtype) if bias is None else bias
    given = [graph.of(input), graph.of(scale), graph.of(shift)]
    return graph.node("LayerNormalization", *given, axis=-len(normalized_shape), epsilon=eps)


@operator("rms_norm")
def rms_norm(
    graph: Graph, out: Any, input: Value, normalized_shape: Sequence[int], weight: Any = None, eps: Any = None
) -> str:
    """Divided by the root of the mean square over the last axes, and scaled."""
    x, axes = graph.of(input), list(range(-len(normalized_shape), 0))
    mean = graph.node("ReduceMean", graph.node("Mul", x, x), axes=axes, keepdims=1)
    least = torch.finfo(out.dtype).eps if eps is None else eps
    root = graph.node("Sqrt", graph.node("Add", mean, graph.of(least, out.dtype)))
    found = graph.node("Div", x, root)
    return found if weight is None else graph.node("Mul", found, graph.of(weight))


# ------------------------------------------------------------------ products


@operator("linear")
def linear(graph: Graph, out: Any, input: Value, weight: Any, bias: Any = None) -> str:
    """x Wᵀ + b. A matrix that is also read elsewhere, as the word vectors are by a tied head, is stored once."""
    if isinstance(weight, Tensor) and not graph.shared(weight):
        found = graph.node("MatMul", graph.of(input), graph.transposed(weight))
    else:
        flat = graph.node("Reshape", graph.of(input), graph.integers([-1, int(weight.shape[1])]))
        more = [] if bias is None else [graph.of(bias)]
        product = graph.node("Gemm", flat, graph.of(weight), *more, transB=1)
        return graph.node("Reshape", product, graph.shape(out.shape))
    return found if bias is None else graph.node("Add", found, graph.of(bias))


@operator("matmul", "bmm")
def matmul(graph: Graph, out: Any, self: Value, other: Any = None, mat2: Any = None) -> str:
    """The product of matrices."""
    return graph.node("MatMul", graph.of(self), graph.of(mat2 if other is None else other))


@operator("embedding")
def embedding(graph: Graph, out: Any, weight: Any, indices: Value, **_: Any) -> str:
    """The rows of a table."""
    return graph.node("Gather", graph.of(weight), graph.of(indices), axis=0)


@operator("scaled_dot_product_attention")
def attention(
    graph: Graph,
    out: Any,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    **_: Any,
) -> str:
    """softmax(Q Kᵀ · scale + mask) V, [B, H, Q, E]; 0 for a query that may look at nothing.

    A boolean mask is added as 0 or the lowest finite number, which no score changes: minus infinity would make NaN of
    a row without a key.
    """
    keys, values = (_shared(graph, each, query) if enable_gqa else each.name for each in (key, value))
    turned = graph.node("Transpose", keys, perm=[0, 1, 3, 2])  # [B, H, D, K]
    scale = 1.0 / math.sqrt(int(query.shape[-1])) if scale is None else scale
    scores = graph.node("MatMul", graph.of(query), turned)  # [B, H, Q, K]
    if scale != 1.0:
        scores = graph.node("Mul", scores, graph.of(scale, out.dtype))
    if attn_mask is None:
        return graph.node("MatMul", graph.node("Softmax", scores, axis=-1), values)
    is_set = attn_mask.dtype == torch.bool
    mask = graph.once(("added", graph.of(attn_mask)), lambda: _added(graph, attn_mask, out.dtype))
    weights = graph.node("Softmax", graph.node("Add", scores, mask), axis=-1)
    mixed = graph.node("MatMul", weights, values)  # [B, H, Q, E]
    if not is_set or attn_mask.shape[-2] == 1:  # where no query differs, one without a key is one of a text without any
        return mixed
    some = graph.once(("some", graph.of(attn_mask)), lambda: _some(graph, attn_mask, out.dtype))
    return graph.node("Mul", mixed, some)


def _added(graph: Graph, mask: Any, dtype: torch.dtype) -> str:
    if mask.dtype != torch.bool:
        return graph.of(mask, dtype)
    return graph.node("Where", graph.of(mask), graph.of(0.0, dtype), graph.of(lowest(dtype), dtype))


def _some(graph: Graph, mask: Any, dtype: torch.dtype) -> str:
    return graph.node("ReduceMax", graph.of(mask, dtype), axes=[-1], keepdims=1)  # [B or 1, 1, Q, 1]


def _shared(graph: Graph, x: Value, query: Value) -> str:
    """Each key-value head for its group of query heads: [B, G, K, D] to [B, H, K, D]."""
    heads, given = int(query.shape[1]), int(x.shape[1])
    if heads == given:
        return x.name
    parted = graph.node("Unsqueeze", x.name, graph.integers([2]))  # [B, G, 1, K, D]
    wide = graph.node("Expand", parted, graph.integers([1, 1, heads // given, 1, 1]))
    return graph.node("Reshape", wide, graph.integers([0, heads, -1, int(x.shape[3])]))


# ------------------------------------------------------------------ shapes


@operator("view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "view_as", "reshape_as")
def reshaped(graph: Graph, out: Any, self: Value, **_: Any) -> str:
    """The same numbers in other axes."""
    return graph.node("Reshape", graph.of(self), graph.shape(out.shape, self))


@operator("unsqueeze")
def unsqueeze(graph: Graph, out: Any, self: Value, dim: int) -> str:
    """One more axis."""
    return graph.node("Unsqueeze", graph.of(self), graph.integers([dim]))


@operator("transpose")
def transpose(graph: Graph, out: Any, self: Value, dim0: int, dim1: int) -> str:
    """Two axes change places."""
    axes = list(range(len(self.shape)))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return graph.node("Transpose", graph.of(self), perm=axes)


@operator("permute")
def permute(graph: Graph, out: Any, self: Value, dims: Sequence[int]) -> str:
    """The axes in another order."""
    return graph.node("Transpose", graph.of(self), perm=[axis % len(dims) for axis in dims])


@operator("expand", "expand_as")
def expand(graph: Graph, out: Any, self: Value, **_: Any) -> str:
    """The same numbers along larger axes."""
    ahead = len(out.shape) - len(self.shape)
    kept = [1 if place >= ahead and same(size, self.shape[place - ahead]) else size
            for place, size in enumerate(out.shape)]  # fmt: skip
    return graph.of(self) if kept == [1] * len(self.shape) else graph.node("Expand", graph.of(self), graph.shape(kept))


@operator("repeat")
def repeat(graph: Graph, out: Any, self: Value, repeats: Sequence[Any]) -> str:
    """The numbers again and again."""
    ahead = len(repeats) - len(self.shape)
    name = graph.of(self)
    if ahead:
        name = graph.node("Unsqueeze", name, graph.integers(range(ahead)))
    return graph.node("Tile", name, graph.shape(list(repeats)))


@operator("slice")
def cut(graph: Graph, out: Any, self: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> str:
    """A part of an axis."""
    first = 0 if start is None else start
    last = _END if end is None or (isinstance(end, int) and end >= _END) else end
    if isinstance(first, int) and first == 0 and step == 1 and (last == _END or same(out.shape[dim], self.shape[dim])):
        return graph.of(self)
    return graph.node("Slice", graph.of(self), graph.size(first), graph.size(last), graph.integers([dim]),
                      graph.integers([step]))  # fmt: skip


@operator("select")
def select(graph: Graph, out: Any, self: Value, dim: int, index: Any) -> str:
    """One place of an axis, which goes."""
    return graph.node("Gather", graph.of(self), graph.of(index, torch.int64), axis=dim)


@operator("index_select")
def index_select(graph: Graph, out: Any, self: Operand, dim: int, index: Value) -> str:
    """Some places of an axis."""
    return graph.node("Gather", graph.of(self), graph.of(index), axis=dim)


@operator("gather")
def gather(graph: Graph, out: Any, self: Value, dim: int, index: Value, **_: Any) -> str:
    """For each place of the index the number that it names on an axis."""
    return graph.node("GatherElements", graph.of(self), graph.of(index), axis=dim)


@operator("index")
def index(graph: Graph, out: Any, self: Value, indices: Sequence[Any]) -> str:
    """The places that rows of numbers name together on the first axes."""
    rows = [graph.node("Unsqueeze", graph.of(each), graph.integers([-1])) for each in indices]
    return graph.node("GatherND", graph.of(self), graph.node("Concat", *rows, axis=-1))


@operator("cat", "concat")
def concatenated(graph: Graph, out: Any, tensors: Sequence[Operand], dim: int = 0) -> str:
    """One behind the other."""
    return graph.node("Concat", *(graph.of(each, out.dtype) for each in tensors), axis=dim)


@operator("stack")
def stacked(graph: Graph, out: Any, tensors: Sequence[Operand], dim: int = 0) -> str:
    """Side by side, on a new axis."""
    parts = [graph.node("Unsqueeze", graph.of(each, out.dtype), graph.integers([dim])) for each in tensors]
    return graph.node("Concat", *parts, axis=dim)


@operator("chunk", "split", "split_with_sizes", "unbind")
def parted(graph: Graph, out: Any, self: Value, dim: int = 0, **_: Any) -> list[str]:
    """The parts of an axis, one after the other."""
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
    """0, 1, 2 … up to a size."""
    return graph.node("Range", *(graph.of(each, out.dtype) for each in (start, end, step)))


def _filled(number: Callable[..., Operand]) -> Operator:
    def made(graph: Graph, out: Any, **given: Any) -> str:
        return graph.node("Expand", graph.of(number(**given), out.dtype), graph.shape(list(out.shape)))

    return made


OPERATORS.update({name: _filled(lambda **_: 0) for name in ("zeros", "zeros_like", "new_zeros")})
OPERATORS.update({name: _filled(lambda **_: 1) for name in ("ones", "ones_like", "new_ones")})
OPERATORS.update({name: _filled(lambda fill_value, **_: fill_value) for name in ("full", "full_like", "new_full")})
