"""What if: changes made by hand to a run. A list of frozen values that can be undone and printed as Python.

B sentences · S pieces · Q query pieces · K key pieces · H heads · E value size · W width · C either of these
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from glassformer.config import StackConfig
from glassformer.errors import ConfigError, ShapeError, UnknownNameError, did_you_mean
from glassformer.look.watch import Change
from glassformer.models.inputs import Inputs


@dataclass(frozen=True)
class Around:
    """What a change may ask about a tensor: its `shape` when nothing is shared, and which pieces are `real`.

    `real` [B, Q] are those of its own text, None when all are.
    """

    shape: tuple[int, ...]
    real: Tensor | None = None


class Intervention(Protocol):
    """One change, to the inputs or to the tensors it touches."""

    @property
    def where(self) -> str:
        """What is changed: a tensor's name, the path of a part, or a side of the inputs."""
        ...

    def touches(self, name: str) -> bool:
        """Whether this tensor is set by hand."""
        ...

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """The tensor that takes the place of one that is touched; raises ShapeError for a cell it has not."""
        ...

    def inputs(self, side: str, inputs: Inputs) -> Inputs:
        """The inputs of a side (`inputs` or `target`), changed where this is asked."""
        ...


class OnInputs:
    """Interventions that change words and touch no tensor."""

    where: str

    def touches(self, name: str) -> bool:
        """None."""
        return False

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """As it was."""
        return tensor

    def check(self, inputs: Inputs, stack: StackConfig) -> None:
        """Refuse what cannot be done to this text, or would change nothing; raises ShapeError or ConfigError."""


class Somewhere(Protocol):
    """What names a tensor."""

    @property
    def where(self) -> str:
        """The tensor's name."""
        ...


class OnTensors:
    """Interventions that change tensors and leave the words alone."""

    def inputs(self, side: str, inputs: Inputs) -> Inputs:
        """As they were."""
        return inputs

    def touches(self: Somewhere, name: str) -> bool:
        """The one tensor it names."""
        return name == self.where


# --------------------------------------------------------------------------- words


@dataclass(frozen=True)
class ChangeWord(OnInputs):
    """Put the piece `id` at a place."""

    piece: int
    id: int
    sentence: int = 0
    where: str = "inputs"

    def inputs(self, side: str, inputs: Inputs) -> Inputs:
        """Other ids."""
        if side != self.where or inputs.ids is None:
            return inputs
        check_cell(self, (self.sentence, self.piece), inputs.shape)
        ids = inputs.ids.clone()
        ids[self.sentence, self.piece] = self.id
        return replace(inputs, ids=ids)

    def check(self, inputs: Inputs, stack: StackConfig) -> None:
        """Refuse a text of vectors: it has no ids."""
        if inputs.ids is None:
            raise ConfigError(f"{self!r} needs a text of ids", got="vectors")


@dataclass(frozen=True)
class HideWord(OnInputs):
    """Hide the word at a place: mark it hidden and, where the model has such a piece, write `mask_id` over it."""

    piece: int
    mask_id: int | None = None
    sentence: int = 0
    where: str = "inputs"

    def inputs(self, side: str, inputs: Inputs) -> Inputs:
        """One more hidden word."""
        if side != self.where:
            return inputs
        if self.mask_id is not None:
            inputs = ChangeWord(self.piece, self.mask_id, self.sentence, self.where).inputs(side, inputs)
        check_cell(self, (self.sentence, self.piece), inputs.shape)
        hidden = inputs.hidden
        marks = torch.zeros(inputs.shape, dtype=torch.bool, device=inputs.device) if hidden is None else hidden.clone()
        marks[self.sentence, self.piece] = True
        return replace(inputs, hidden=marks)

    def check(self, inputs: Inputs, stack: StackConfig) -> None:
        """Refuse a mark that this model does not read."""
        marks_count = stack.hide_masked or stack.embed.hidden_words != "token"
        if self.mask_id is None and not marks_count:
            raise ConfigError(f"{self!r} changes nothing: this model hides a word by another piece", do="give mask_id")
        if self.mask_id is not None and inputs.ids is None:
            raise ConfigError(f"{self!r} needs a text of ids", got="vectors")


# --------------------------------------------------------------------------- who may look at whom


@dataclass(frozen=True)
class Forbid(OnTensors):
    """Forbid one query to look at one key in an attention, in one head or in all (`head=None`)."""

    attention: str
    query: int
    key: int
    head: int | None = None
    sentence: int = 0

    @property
    def where(self) -> str:
        """The mask of that attention."""
        return f"{self.attention}.may_look"

    @property
    def allows(self) -> bool:
        """What the cell becomes."""
        return False

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """[B or 1, 1, Q or 1, K] to [B, H, Q, K]."""
        check_cell(self, (self.sentence, self.head or 0, self.query, self.key), around.shape)
        changed = tensor.expand(*around.shape).clone()  # [B, H, Q, K]
        changed[self.sentence, slice(None) if self.head is None else self.head, self.query, self.key] = self.allows
        return changed


@dataclass(frozen=True)
class Allow(Forbid):
    """Allow one query to look at one key, whatever forbids it."""

    @property
    def allows(self) -> bool:
        """What the cell becomes."""
        return True


# --------------------------------------------------------------------------- heads and layers


@dataclass(frozen=True)
class ZeroHead(OnTensors):
    """Let a head give nothing: its mixed values are 0."""

    attention: str
    head: int

    @property
    def where(self) -> str:
        """What the heads give, before they are merged."""
        return f"{self.attention}.mixed"

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """[B, H, Q, E] to the same."""
        check_cell(self, (0, self.head), tensor.shape)
        changed = tensor.clone()
        changed[:, self.head] = self.instead(tensor[:, self.head], around.real)
        return changed

    def instead(self, mixed: Tensor, real: Tensor | None) -> Tensor:
        """What the head gives now, [B, Q, E] or what broadcasts to it."""
        return torch.zeros_like(mixed)


@dataclass(frozen=True)
class AverageHead(ZeroHead):
    """Let a head give every piece the same: the mean of what it gives over this run's pieces, padding left out."""

    def instead(self, mixed: Tensor, real: Tensor | None) -> Tensor:
        """[E]."""
        return mean(mixed, real)


@dataclass(frozen=True)
class ZeroLayer(OnTensors):
    """Let the sublayers of a block (or one sublayer) give nothing: only what runs past them is left."""

    where: str

    def touches(self, name: str) -> bool:
        """The outputs of its sublayers."""
        within = name == f"{self.where}.output" or name.startswith(f"{self.where}.")
        return within and name.endswith(("attention.output", "feed_forward.output"))

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """[B, S, W] to the same."""
        return torch.zeros_like(tensor)


@dataclass(frozen=True)
class AverageLayer(ZeroLayer):
    """Let the sublayers of a block give every piece the same: their mean over this run's pieces, padding left out."""

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """[B, S, W] to the same."""
        return mean(tensor, around.real).expand_as(tensor).clone()


# --------------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class SetNumber(OnTensors):
    """Set one number of a tensor; `cell` is its index along each axis."""

    where: str
    cell: tuple[int, ...]
    value: float

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """The same shape."""
        check_cell(self, self.cell, tensor.shape)
        changed = tensor.clone()
        changed[self.cell] = self.value
        return changed


@dataclass(frozen=True)
class Patch(OnTensors):
    """Put a tensor of another trace in this one's place, whole or at an index along its first axes.

    `source` names that trace where the list is printed as Python.
    """

    where: str
    tensor: Tensor = field(repr=False, compare=False)
    cell: tuple[int, ...] = ()
    source: str = "other"

    @staticmethod
    def of(other: Mapping[str, Tensor], where: str, cell: tuple[int, ...] = (), *, source: str = "other") -> Patch:
        """The patch that brings `where` from another trace."""
        return Patch(where, other[where].detach().clone(), cell, source)

    def change(self, tensor: Tensor, around: Around) -> Tensor:
        """The same shape; raises ShapeError when the other tensor has another."""
        if self.tensor.shape != tensor.shape:
            raise ShapeError(f"a patch of {self.where} must be {list(tensor.shape)}", got=str(list(self.tensor.shape)))
        check_cell(self, self.cell, tensor.shape)
        changed = tensor.clone()
        changed[self.cell] = self.tensor.to(tensor)[self.cell]
        return changed

    def __repr__(self) -> str:
        return f"Patch.of({self.source}, {self.where!r}, {self.cell!r}, source={self.source!r})"


# --------------------------------------------------------------------------- what they share


def check_cell(step: object, cell: Sequence[int], shape: Sequence[int]) -> None:
    """Refuse a cell, or a part of one, that lies outside; it may count from the end. Raises ShapeError."""
    outside = len(cell) > len(shape) or any(not -size <= at < size for at, size in zip(cell, shape, strict=False))
    if outside:
        raise ShapeError(f"{step!r} must stay inside {list(shape)}", got=str(list(cell)))


def mean(x: Tensor, real: Tensor | None) -> Tensor:
    """The mean over the sentences and their real pieces: [B, S, C] to [C]."""
    return (x.flatten(0, 1) if real is None else x[real]).mean(dim=0)  # [C]


# --------------------------------------------------------------------------- the list


def as_change(
    steps: Sequence[Intervention], known: Sequence[str], around: Callable[[str, Tensor], Around]
) -> Change | None:
    """The interventions in their order as one change for a watcher; None when none touches a tensor.

    Raises UnknownNameError for one that would change nothing.
    """
    for step in steps:
        if not isinstance(step, OnInputs) and not any(step.touches(name) for name in known):
            raise UnknownNameError(f"{step!r} touches no tensor of this model", do=did_you_mean(step.where, known))
    touching = [step for step in steps if not isinstance(step, OnInputs)]
    if not touching:
        return None

    def change(name: str, tensor: Tensor) -> Tensor:
        for step in touching:
            if step.touches(name):
                tensor = step.change(tensor, around(name, tensor))
        return tensor

    return change


def changed_inputs(side: str, inputs: Inputs, steps: Sequence[Intervention], stack: StackConfig) -> Inputs:
    """The inputs of a stack after all interventions on words.

    Raises ConfigError for one that would change nothing, ShapeError for one outside the text or the vocabulary.
    """
    for step in steps:
        if isinstance(step, OnInputs) and step.where == side:
            step.check(inputs, stack)
        inputs = step.inputs(side, inputs)
    inputs.check_numbers(vocabulary=stack.embed.vocabulary, segments=stack.embed.segments)
    return inputs


def as_python(steps: Sequence[Intervention]) -> str:
    """Python that makes the same run again from a trace named `trace`."""
    if not steps:
        return "trace"
    lines = "".join(f"    {step!r},\n" for step in steps)
    return f"trace.intervene(\n{lines})"
