"""Tensors whose axes have names, and how a formula reads one tensor as another's operand.

A formula states that `scores[sentence head query key]` is the dot product of `query[sentence head query channel]`
and `key[sentence head key channel]` over `channel`. What an operand's axes mean is written in one line:

    channel          an axis of that name
    head/2           each step of this axis serves two heads (shared key-value heads)
    (head:2 channel) one axis that holds 2 heads of some channels each
    <place>          two axes, sentence and token, read at the chosen places
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from torch import Tensor

from glassformer.base.errors import GlassformerError, UnknownNameError

CELL_STEP = re.compile(
    r"\s*(?P<axis>[a-z_]+)\s*=\s*(?:\"(?P<quoted>.*?)\"(?P<at>@\d+)?|(?P<plain>[^,\"]+?))\s*(?:,\s*(?=[a-z_]+\s*=|$)|$)",
    re.DOTALL,
)


def split_name(text: str) -> tuple[str, str]:
    """`name[cell]` to its name and the text between the brackets."""
    name, bracket, rest = text.partition("[")
    if bracket and not rest.endswith("]"):
        raise UnknownNameError("a cell is written in brackets", got=text, do="write name[head=1,query=likes,key=She]")
    return name.strip(), rest.removesuffix("]")


def read_cell(text: str) -> dict[str, str]:
    """`head=1,query=likes`, in brackets or without, as the value given for each axis; raises UnknownNameError."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    asked: dict[str, str] = {}
    end = 0
    while text[end:].strip():
        step = CELL_STEP.match(text, end)
        if step is None:
            raise UnknownNameError("a cell is written axis=word or axis=index, separated by commas", got=text)
        # A quoted word keeps its quotes, which mean "never an index", until it is looked up.
        asked[step["axis"]] = step["plain"] if step["quoted"] is None else f'"{step["quoted"]}"{step["at"] or ""}'
        end = step.end()
    return asked


Cell = Mapping[str, int]


class FormulaError(GlassformerError):
    """A formula does not fit the tensors it reads."""


@dataclass(frozen=True)
class Operand:
    name: str
    axes: str

    @property
    def names(self) -> tuple[str, ...]:
        return axis_names(self.axes)


@dataclass(frozen=True)
class Source:
    """Named tensors on the CPU, as float64 needs: `held`, or fetched once. `scored_at` [N]: flat scored places."""

    scored_at: Tensor | None
    fetch: Callable[[str], Tensor]
    held: dict[str, Tensor]

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name; raises UnknownNameError."""
        if name not in self.held:
            self.held[name] = self.fetch(name).detach()
        return self.held[name].cpu()


@dataclass(frozen=True)
class Step:
    """One axis of a tensor as a formula reads it."""

    kind: str
    names: tuple[str, ...] = ()
    count: int = 1


STEP = re.compile(
    r"\((?P<outer>\w+):(?P<parts>\d+) (?P<inner>\w+)\)"
    r"|<(?P<place>\w+)>"
    r"|(?P<name>[a-z_]+)(/(?P<serves>\d+))?"
)


@lru_cache(maxsize=4096)
def read_axes(axes: str) -> tuple[Step, ...]:
    """The steps of an axes line; see the head of this file."""
    steps = []
    for found in STEP.finditer(axes):
        if found["outer"]:
            steps.append(Step("group", (found["outer"], found["inner"]), int(found["parts"])))
        elif found["place"]:
            steps.append(Step("place", (found["place"],)))
        else:
            steps.append(Step("axis", (found["name"],), int(found["serves"] or 1)))
    return tuple(steps)


def axis_names(axes: str) -> tuple[str, ...]:
    return tuple(name for step in read_axes(axes) for name in step.names)


def view(operand: Operand, tensor: Tensor, scored_at: Tensor | None) -> Tensor:
    """The tensor with one dimension for each name in the operand's axes."""
    if tensor.dim() != sum(2 if step.kind == "place" else 1 for step in read_axes(operand.axes)):
        raise FormulaError(f"{operand.name} must have the axes {operand.axes}", got=f"shape {list(tensor.shape)}")
    dim = 0
    for step in read_axes(operand.axes):
        if step.kind == "group":
            if tensor.shape[dim] % step.count:
                got = str(tensor.shape[dim])
                raise FormulaError(f"{operand.name} must hold {step.count} {step.names[0]}s", got=got)
            tensor = tensor.unflatten(dim, (step.count, -1))
        elif step.kind == "place":
            if scored_at is None:
                raise FormulaError(f"{operand.name} is read at places", got="no places")
            tensor = tensor.flatten(dim, dim + 1).index_select(dim, scored_at)
        elif step.count > 1 and tensor.shape[dim] > 1:
            tensor = tensor.repeat_interleave(step.count, dim)
        dim += len(step.names)
    return tensor


def align(tensor: Tensor, names: Sequence[str], wanted: Sequence[str], what: str) -> Tensor:
    """Order the named dimensions as `wanted`, with a dimension of size 1 where a name is missing."""
    if len(set(names)) != len(names) or not set(names) <= set(wanted):
        raise FormulaError(f"{what} must have axes among {' '.join(wanted)}", got=" ".join(names))
    tensor = tensor.permute([names.index(name) for name in wanted if name in names])
    for dim, name in enumerate(wanted):
        if name not in names:
            tensor = tensor.unsqueeze(dim)
    return tensor


def index_of(operand: Operand, shape: Sequence[int], cell: Cell, scored_at: Tensor | None) -> tuple[int, ...]:
    """The index of the operand's element that this cell of the formula reads. A size of 1 is shared by all."""
    index: list[int] = []
    for step in read_axes(operand.axes):
        size = shape[len(index)]
        if step.kind == "group":
            outer, inner = step.names
            index.append(cell[outer] * (size // step.count) + cell[inner])
        elif step.kind == "place":
            assert scored_at is not None
            index.extend(divmod(int(scored_at[cell[step.names[0]]]), shape[len(index) + 1]))
        else:
            index.append(0 if size == 1 else cell[step.names[0]] // step.count)
    return tuple(index)


def sizes_of(operand: Operand, shape: Sequence[int], scored_at: Tensor | None) -> dict[str, int]:
    """The length of each named axis of an operand, for a tensor of this shape."""
    sizes: dict[str, int] = {}
    dim = 0
    for step in read_axes(operand.axes):
        if step.kind == "group":
            sizes |= {step.names[0]: step.count, step.names[1]: shape[dim] // step.count}
        elif step.kind == "place":
            sizes[step.names[0]] = 0 if scored_at is None else len(scored_at)
        else:
            sizes[step.names[0]] = shape[dim] * step.count if shape[dim] > 1 else 1
        dim += 2 if step.kind == "place" else 1
    return sizes


def step_along(operand: Operand, shape: Sequence[int], over: str) -> tuple[int, int] | None:
    """The dimension of the tensor that a step along an axis moves in, and by how much; None where steps differ."""
    dim = 0
    for step in read_axes(operand.axes):
        if over in step.names:
            if step.kind == "group":
                return dim, shape[dim] // step.count if over == step.names[0] else 1
            regular = step.kind == "axis" and (step.count == 1 or shape[dim] == 1)
            return (dim, 0 if shape[dim] == 1 else 1) if regular else None
        dim += 2 if step.kind == "place" else 1
    return None
