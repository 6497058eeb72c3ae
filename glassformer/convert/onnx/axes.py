"""Operators over an axis, and products of matrices.

B sentences · Q query tokens · K key tokens · H heads · G key-value heads · D query size · E value size
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from glassformer.convert.onnx.graph import Graph, Operator, Table, Value, lowest, type_of

operator = Table()


def _reduced(kind: str, *, as_input: bool = False) -> Operator:
    def over(graph: Graph, out: Any, self: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> str:
        given = dim if isinstance(dim, Sequence) else [] if dim is None else [dim]
        axes = [int(axis) for axis in given] or list(range(len(self.shape)))
        x = graph.of(self, out.dtype)
        if as_input:
            return graph.node(kind, x, graph.integers(axes), keepdims=int(keepdim))
        return graph.node(kind, x, axes=axes, keepdims=int(keepdim))

    return over


operator.update({"sum": _reduced("ReduceSum", as_input=True), "mean": _reduced("ReduceMean")})
operator.update({"amax": _reduced("ReduceMax"), "amin": _reduced("ReduceMin")})


@operator("any")
def any_of(graph: Graph, out: Any, self: Value, dim: int, keepdim: bool = False) -> str:
    found = graph.node("ReduceMax", graph.of(self, torch.int32), axes=[dim], keepdims=int(keepdim))
    return graph.node("Cast", found, to=type_of(torch.bool))


@operator("argmax")
def argmax(graph: Graph, out: Any, self: Value, dim: int, keepdim: bool = False) -> str:
    return graph.node("ArgMax", graph.of(self), axis=dim, keepdims=int(keepdim))


@operator("cumsum")
def cumulative_sum(graph: Graph, out: Any, self: Value, dim: int, dtype: Any = None) -> str:
    return graph.node("CumSum", graph.of(self, out.dtype), graph.of(dim, torch.int64))


@operator("softmax", "_softmax")
def softmax(graph: Graph, out: Any, self: Value, dim: int, **_: Any) -> str:
    """exp(x) / Σ exp(x) over an axis."""
    return graph.node("Softmax", graph.of(self, out.dtype), axis=dim)


@operator("log_softmax")
def log_softmax(graph: Graph, out: Any, self: Value, dim: int, **_: Any) -> str:
    return graph.node("LogSoftmax", graph.of(self, out.dtype), axis=dim)


@operator("layer_norm")
def layer_norm(
    graph: Graph, out: Any, input: Value, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float, **_: Any
) -> str:
    scale = torch.ones(*normalized_shape, dtype=out.dtype) if weight is None else weight
    # A shift of zeros rather than none: onnxruntime joins a residual sum only with a norm that has one.
    shift = torch.zeros(*normalized_shape, dtype=out.dtype) if bias is None else bias
    given = [graph.of(input), graph.of(scale), graph.of(shift)]
    return graph.node("LayerNormalization", *given, axis=-len(normalized_shape), epsilon=eps)


@operator("rms_norm")
def rms_norm(
    graph: Graph, out: Any, input: Value, normalized_shape: Sequence[int], weight: Any = None, eps: Any = None
) -> str:
    x, axes = graph.of(input), list(range(-len(normalized_shape), 0))
    mean = graph.node("ReduceMean", graph.node("Mul", x, x), axes=axes, keepdims=1)
    least = torch.finfo(out.dtype).eps if eps is None else eps
    root = graph.node("Sqrt", graph.node("Add", mean, graph.of(least, out.dtype)))
    found = graph.node("Div", x, root)
    return found if weight is None else graph.node("Mul", found, graph.of(weight))


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
    return graph.node("MatMul", graph.of(self), graph.of(mat2 if other is None else other))


@operator("embedding")
def embedding(graph: Graph, out: Any, weight: Any, indices: Value, **_: Any) -> str:
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
    """softmax(Q Kᵀ · scale + mask) V, [B, H, Q, E]; 0 for a query that may look at nothing. A boolean mask is added as
    0 or the lowest finite number, which no score changes: minus infinity would make NaN of a row without a key.
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
