"""An ONNX graph in the making: nodes, constants, and the sizes that are known only when it runs."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError

# The version of the operators: that of LayerNormalization, read by onnxruntime from 1.12 on and by its web build.
OPSET = 17
# The version of the file's layout that goes with it.
IR = 8
# A protobuf message holds less than 2 GiB; larger weights go into a file of their own.
LARGEST_MESSAGE = (1 << 31) - (1 << 24)


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: its name, type and sizes (numbers, or torch's symbols)."""

    name: str
    dtype: torch.dtype
    shape: tuple[Any, ...]


Operand = Value | Tensor | torch.SymInt | float | int | bool
Operator = Callable[..., Any]
"""Writes one of torch's operators in ONNX: the arguments have torch's names, `out` is the result as torch has it, its
type and sizes. Adds nodes and returns the name of the result, or the names of several.
"""


class Table(dict[str, Operator]):
    """Functions by torch's names for the operator."""

    def __call__(self, *names: str) -> Callable[[Operator], Operator]:

        def known(function: Operator) -> Operator:
            self.update(dict.fromkeys(names, function))
            return function

        return known


class Graph:
    """Collects nodes and constants. `scope` is the module whose operators are being written, for the names of nodes."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.scope = ""
        self._constants: dict[str, Tensor] = {}
        self._named: dict[Hashable, str] = {}
        self._counts: dict[str, int] = {}
        self._sizes: dict[Any, str] = {}
        self._parameters: dict[int, tuple[str, int]] = {}

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = self._fresh(f"{self.scope}/{kind}" if self.scope else kind)
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def once(self, key: Hashable, make: Callable[[], str]) -> str:
        """What `make` adds, which is added once for equal keys: a mask that every layer reads."""
        if key not in self._named:
            self._named[key] = make()
        return self._named[key]

    def _fresh(self, name: str) -> str:
        self._counts[name] = self._counts.get(name, -1) + 1
        return f"{name}_{self._counts[name]}" if self._counts[name] else name

    def of(self, operand: Operand, dtype: torch.dtype | None = None) -> str:
        """The name of an operand in the graph; with `dtype`, in this type."""
        if isinstance(operand, Value):
            return operand.name if dtype in (None, operand.dtype) else self.cast(operand.name, dtype)
        if isinstance(operand, torch.SymInt):
            return self.cast(self.node("Squeeze", self.size(operand)), dtype or torch.int64)
        if not isinstance(operand, Tensor):
            operand = torch.tensor(operand, dtype=dtype)
        return self.constant(operand if dtype is None else operand.to(dtype))

    def cast(self, name: str, dtype: torch.dtype | None) -> str:
        return self.once(("cast", name, dtype), lambda: self.node("Cast", name, to=type_of(dtype)))

    def constant(self, tensor: Tensor, name: str = "") -> str:
        """The name of a constant; small equal ones are stored once, a parameter under its own name."""
        tensor = tensor.detach().cpu().contiguous()
        key: Hashable = ("constant", tensor.data_ptr(), tensor.shape, tensor.dtype)
        if tensor.numel() <= 64:
            key = ("constant", tuple(tensor.flatten().tolist()), tensor.shape, tensor.dtype)
        if key not in self._named:
            name = name or self._parameters.get(tensor.data_ptr(), ("", 1))[0]
            fresh = self._fresh(name or f"{self.scope}/constant" if self.scope or name else "constant")
            self._named[key], self._constants[fresh] = fresh, tensor
        return self._named[key]

    def parameter(self, tensor: Tensor, name: str, readers: int) -> Tensor:
        """Tell the name of a parameter, and how many operators read it."""
        tensor = tensor.detach()
        self._parameters[tensor.data_ptr()] = name, readers
        return tensor

    def shared(self, tensor: Tensor) -> bool:
        return self._parameters.get(tensor.data_ptr(), ("", 1))[1] > 1

    def transposed(self, matrix: Tensor) -> str:
        """The constant Wᵀ of a parameter, under the parameter's name."""
        name = self._parameters.get(matrix.data_ptr(), ("", 1))[0]
        return self.once(("transposed", matrix.data_ptr()), lambda: self.constant(matrix.t().contiguous(), name))

    def integers(self, values: Iterable[int]) -> str:
        """A row of whole numbers, as shapes and axes are."""
        return self.constant(torch.tensor(list(values), dtype=torch.int64))

    def know_size(self, size: Any, of: str, axis: int) -> None:
        """Tell that the symbol `size` is this axis of a value."""
        if not isinstance(size, int):
            self._sizes[size.node.expr] = self.node("Shape", of, start=axis, end=axis + 1)

    def size(self, size: Any) -> str:
        """A row with one size: a number, or an expression of symbols."""
        return self.integers([size]) if isinstance(size, int) else self._expression(size.node.expr)

    def _expression(self, expression: Any) -> str:
        if expression in self._sizes:
            return self._sizes[expression]
        if expression.is_Integer:
            return self.integers([int(expression)])
        kind = {"Add": "Add", "Mul": "Mul"}.get(type(expression).__name__)
        if kind is None:
            raise ConfigError(
                "a size is a sum or product of sizes that are open", got=str(expression), do="use --to huggingface"
            )
        first, *rest = (self._expression(part) for part in expression.args)
        for other in rest:
            first = self.node(kind, first, other)
        self._sizes[expression] = first
        return first

    def shape(self, sizes: Sequence[Any], source: Value | None = None) -> str:
        """A row of sizes. For a `Reshape` of `source`: 0 keeps its size at this place, -1 is what is left."""
        if all(isinstance(size, int) for size in sizes):
            return self.integers(sizes)
        if source is not None:
            kept = [
                0 if place < len(source.shape) and same(size, source.shape[place]) else size
                for place, size in enumerate(sizes)
            ]
            left = [place for place, size in enumerate(kept) if not isinstance(size, int)]
            if len(left) <= 1:
                return self.integers(-1 if place in left else size for place, size in enumerate(kept))
        return self.node("Concat", *map(self.size, sizes), axis=0)

    @property
    def constants(self) -> dict[str, Tensor]:
        return self._constants

    @property
    def bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self._constants.values())


def same(one: Any, two: Any) -> bool:
    if isinstance(one, int) or isinstance(two, int):
        return isinstance(one, int) and isinstance(two, int) and one == two
    return bool(one.node.expr == two.node.expr)


def type_of(dtype: torch.dtype | None) -> int:
    from onnx import TensorProto

    return int(
        {
            torch.float32: TensorProto.FLOAT,
            torch.float64: TensorProto.DOUBLE,
            torch.int64: TensorProto.INT64,
            torch.int32: TensorProto.INT32,
            torch.bool: TensorProto.BOOL,
        }[dtype or torch.float32]
    )


def lowest(dtype: torch.dtype) -> float:
    """The lowest finite number of a type: added to a score it leaves no digit of it, and its exponential is 0."""
    return float(torch.finfo(dtype).min) if dtype.is_floating_point else -math.inf
