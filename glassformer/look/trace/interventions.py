"""What if: changes made by hand to a run. A list of frozen values that can be undone and printed as Python.

Places, tokens and cells may be indices or words; a run reads them with its own words (`steps.py`) and keeps indices.

B sentences · S tokens · Q query tokens · K key tokens · H heads
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Literal

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, ShapeError, UnknownNameError, did_you_mean
from glassformer.base.plain import LARGEST, SMALLEST
from glassformer.config import StackConfig
from glassformer.look.trace.asked import full_name
from glassformer.look.trace.watch import Change
from glassformer.models.inputs import Inputs

Place = int | str  # An index, or a word: of the text for a place in it, of the vocabulary for a token

Cell = tuple[int | None, ...]  # An index along each of the first axes; None = all of that axis

Part = Cell | str | Mapping[str, Place]
"""A cell, or the same in words: `head=1,query=likes`; an axis that is left out is taken whole."""


@dataclass(frozen=True)
class TensorFacts:
    """A tensor's axes, its `shape` with nothing shared, and which tokens are real: those that token and query count,
    and those that key counts, each [B, S].
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    real: Tensor | None = None
    real_keys: Tensor | None = None


@dataclass(frozen=True)
class ChangeWord:
    """Put the token `id` at a place of the side `where`."""

    token: Place
    id: Place
    sentence: int = 0
    where: str = "inputs"

    def changed(self, inputs: Inputs, stack: StackConfig) -> Inputs:
        """Other ids; raises ConfigError for a text of vectors, ShapeError for a place outside the text."""
        if inputs.ids is None:
            raise ConfigError(f"{self!r} needs a text of ids", got="vectors")
        place = part_of(self, (self.sentence, self.token), inputs.shape)
        ids, marks = inputs.ids.clone(), inputs.masked_words
        ids[place] = index_of(self, self.id)
        if marks is not None:  # the word that is put in is not masked
            marks = marks.clone()
            marks[place] = False
        return replace(inputs, ids=ids, masked_words=marks)


@dataclass(frozen=True)
class MaskWord:
    """Mask the word at a place: mark it as masked and, where the model has a mask token, write `mask_id` over it."""

    token: Place
    mask_id: Place | None = None
    sentence: int = 0
    where: str = "inputs"

    def changed(self, inputs: Inputs, stack: StackConfig) -> Inputs:
        """One more masked word; raises ConfigError for a mark that this model does not read, else as ChangeWord."""
        if self.mask_id is None and not stack.hide_masked and stack.embed.masked_words == "token":
            do = "give mask_id, as in '[MASK]'"
            raise ConfigError(f"{self!r} changes nothing: this model masks a word by another token", do=do)
        if self.mask_id is not None and inputs.ids is None:
            raise ConfigError(f"{self!r} needs a text of ids", got="vectors")
        place = part_of(self, (self.sentence, self.token), inputs.shape)
        if self.mask_id is not None:
            inputs = ChangeWord(self.token, self.mask_id, self.sentence, self.where).changed(inputs, stack)
        unmasked = torch.zeros(inputs.shape, dtype=torch.bool, device=inputs.device)
        marks = unmasked if inputs.masked_words is None else inputs.masked_words.clone()
        marks[place] = True
        return replace(inputs, masked_words=marks)


@dataclass(frozen=True)
class Visibility:
    """Allow or forbid one query to look at one key in an attention, in one head or in all (`head=None`)."""

    attention: str
    query: Place
    key: Place
    allowed: bool
    head: int | None = None
    sentence: int = 0

    def __repr__(self) -> str:
        more = f", head={self.head!r}" if self.head is not None else ""
        more += f", sentence={self.sentence!r}" if self.sentence else ""
        return f"{'allow' if self.allowed else 'forbid'}({self.attention!r}, {self.query!r}, {self.key!r}{more})"

    @property
    def where(self) -> str:
        return f"{self.attention}.may_look"

    def touches(self, name: str) -> bool:
        return name == self.where

    def change(self, tensor: Tensor, facts: TensorFacts) -> Tensor:
        """[B or 1, 1, Q or 1, K] to [B, H, Q, K]; raises ShapeError for a cell it has not."""
        changed = tensor.expand(*facts.shape).clone()  # [B, H, Q, K]
        changed[part_of(self, (self.sentence, self.head, self.query, self.key), facts.shape)] = self.allowed
        return changed


def allow(attention: str, query: Place, key: Place, head: int | None = None, sentence: int = 0) -> Visibility:
    """Allow one query to look at one key, whatever forbids it."""
    return Visibility(attention, query, key, True, head, sentence)


def forbid(attention: str, query: Place, key: Place, head: int | None = None, sentence: int = 0) -> Visibility:
    """Forbid one query to look at one key."""
    return Visibility(attention, query, key, False, head, sentence)


@dataclass(frozen=True)
class Replace:
    """Put a number, a mean or another trace's numbers in the place of a tensor or of a part of it. `where` is a
    tensor's name or a pattern of names, `cell` the part. `by` is a number, `"mean"` (over the sentences and tokens of
    this run, padding left out), or `"other"`: `tensor`, from the trace that Python calls `source`.
    """

    where: str
    by: float | Literal["mean", "other"]
    cell: Part = ()
    tensor: Tensor | None = field(default=None, repr=False, compare=False)
    source: str = "other"

    def __post_init__(self) -> None:
        known = self.by == "mean" or (self.by == "other" and isinstance(self.tensor, Tensor))
        if not known and (isinstance(self.by, str | bool) or not isinstance(self.by, int | float)):
            do = "patch(other, where) puts another trace's numbers"
            raise ConfigError(f"{self.where} is replaced by a number or by 'mean'", got=repr(self.by)[:80], do=do)
        try:
            float("nan" if known else self.by)
        except OverflowError:
            got = "a whole number of hundreds of digits"
            raise ConfigError(f"{self.where} is replaced by a number that a float can hold", got=got) from None

    def touches(self, name: str) -> bool:
        return fnmatchcase(name, self.where)

    def change(self, tensor: Tensor, facts: TensorFacts) -> Tensor:
        """The same shape; raises ShapeError where the cell, the mean or the other tensor does not fit it."""
        if self.tensor is not None and self.tensor.shape != tensor.shape:
            raise ShapeError(f"a patch of {self.where} must be {list(tensor.shape)}", got=str(list(self.tensor.shape)))
        cell = indices_of(self, self.cell)
        part = part_of(self, cell, tensor.shape)
        changed = tensor.clone()
        if self.tensor is not None:
            changed[part] = self.tensor.to(tensor)[part]
        elif self.by == "mean":
            changed[part] = self.mean(tensor[part], cell, facts)
        else:
            number = float(self.by)
            if tensor.is_floating_point() and math.inf > abs(number) > torch.finfo(tensor.dtype).max:
                raise ConfigError(f"{self.where} needs a number that {tensor.dtype} can hold", got=str(number))
            changed[part] = number
        return changed

    def mean(self, part: Tensor, cell: Cell, facts: TensorFacts) -> Tensor:
        """The mean over sentences and their real tokens, [B, S, ...] to [...]."""
        if not part.is_floating_point():
            raise ConfigError(f"{self!r} is a mean of numbers", got="true and false", do="use allow and forbid")
        axes = [axis for axis, at in zip_longest(facts.axes, cell) if at is None]
        if axes[:1] != ["sentence"] or axes[1:2] not in (["token"], ["query"], ["key"]):
            raise ShapeError(f"{self!r} is a mean over sentences and tokens", got=f"a part with the axes {axes}")
        real = facts.real_keys if axes[1] == "key" else facts.real
        if real is not None and len(part) == 1:  # what all sentences share
            part = part.expand(len(real), *part.shape[1:])
        return (part.flatten(0, 1) if real is None else part[real]).mean(dim=0)

    def __repr__(self) -> str:
        """The call that makes it, by the most telling name: a message repeats what the user has written."""
        if self.tensor is not None:
            return f"patch({self.source}, {self.where!r}, {self.cell!r}, source={self.source!r})"
        if isinstance(self.where, str) and self.by in (0.0, "mean"):
            verb, layer = "average" if self.by else "zero", self.where.removesuffix(".output").removesuffix(".*")
            if self.where.endswith(".mixed") and isinstance(self.cell, tuple) and self.cell[:-1] == (None,):
                return f"{verb}_head({self.where.removesuffix('.mixed')!r}, {self.cell[1]!r})"
            if self.cell == () and self.where == outputs(layer):
                return f"{verb}_layer({layer!r})"
        by = repr(self.by) if isinstance(self.by, str) or math.isfinite(self.by) else f"float({str(self.by)!r})"
        if isinstance(self.by, str) or self.cell == ():
            return f"Replace({self.where!r}, {by}, {self.cell!r})"
        return f"set_number({self.where!r}, {self.cell!r}, {by})"


def zero_head(attention: str, head: int) -> Replace:
    """Let a head give nothing: its mixed values are 0."""
    return Replace(f"{attention}.mixed", 0.0, (None, head))


def average_head(attention: str, head: int) -> Replace:
    """Let a head give every token the same: the mean of what it gives."""
    return Replace(f"{attention}.mixed", "mean", (None, head))


def zero_layer(path: str) -> Replace:
    """Let the sublayers of a block, or one sublayer, give nothing: only the residual stream is left."""
    return Replace(outputs(path), 0.0)


def average_layer(path: str) -> Replace:
    """Let the sublayers of a block, or one sublayer, give every token the same: their mean."""
    return Replace(outputs(path), "mean")


def set_number(where: str, cell: Part, number: float) -> Replace:
    """Set one number of a tensor; `cell` is its index along each axis, or the cell in words."""
    return Replace(where, number, cell)


def patch(other: Mapping[str, Tensor], where: str, cell: Part = (), *, source: str = "other") -> Replace:
    """Put a tensor of another trace in this one's place, whole or in part; `source` is that trace's name in Python.
    Raises UnknownNameError for a name that the other trace does not have.
    """
    if not isinstance(other, Mapping):
        raise ConfigError("patch takes a trace, or tensors by name", got=type(other).__name__)
    where = full_name(where, other.keys())
    if not isinstance(other[where], Tensor):
        raise ConfigError(f"a patch of {where} must be a tensor", got=type(other[where]).__name__)
    return Replace(where, "other", cell, other[where].detach().clone(), source)


Intervention = ChangeWord | MaskWord | Visibility | Replace


def outputs(path: str) -> str:
    """The output of a sublayer, or those of all sublayers of a block, as a pattern."""
    return f"{path}.output" if str(path).endswith(("attention", "feed_forward")) else f"{path}.*.output"


def part_of(step: Intervention, cell: tuple[Place | None, ...], shape: Sequence[int]) -> tuple[int | slice, ...]:
    """A cell, or a part of a tensor, as torch indexes it; it may count from the end. Raises ShapeError outside."""
    at = [None if place is None else index_of(step, place) for place in cell]
    inside = all(index is None or -size <= index < size for index, size in zip(at, shape, strict=False))
    if len(at) > len(shape) or not inside:
        raise ShapeError(f"{step!r} must stay inside {list(shape)}", got=str(at))
    return tuple(slice(None) if index is None else index for index in at)


def index_of(step: Intervention, place: object) -> int:
    """An index as a plain int; raises ConfigError for anything else, and for a word that no run has read yet."""
    try:
        if isinstance(place, str | bool):
            raise TypeError
        if not SMALLEST <= (found := operator.index(place)) <= LARGEST:  # type: ignore[arg-type]
            raise TypeError
        return found
    except TypeError:
        do = "give an index, or a word of the text or the vocabulary"
        raise ConfigError(f"{step!r} needs indices or words", got=repr(place)[:80], do=do) from None


def indices_of(step: Intervention, cell: Part) -> Cell:
    """A cell as indices; raises ConfigError for anything else."""
    if isinstance(cell, str | Mapping) or not isinstance(cell, Iterable):
        raise ConfigError(f"{step!r} needs a cell", got=repr(cell)[:80], do="give an index for each axis")
    return tuple(None if at is None else index_of(step, at) for at in cell)


def touched(steps: Sequence[Intervention], name: str) -> bool:
    return any(step.touches(name) for step in steps if isinstance(step, Visibility | Replace))


def as_change(
    steps: Sequence[Intervention], known: Sequence[str], facts: Callable[[str, Tensor], TensorFacts]
) -> Change | None:
    """The interventions in order as one change, if any; raises UnknownNameError for one without effect."""
    touching = [step for step in steps if isinstance(step, Visibility | Replace)]
    for step in touching:
        if not any(step.touches(name) for name in known):
            raise UnknownNameError(f"{step!r} touches no tensor of this model", do=did_you_mean(step.where, known))
    if not touching:
        return None

    def change(name: str, tensor: Tensor) -> Tensor:
        for step in touching:
            if step.touches(name):
                tensor = step.change(tensor, facts(name, tensor))
        return tensor

    return change


def changed_inputs(sides: Mapping[str, tuple[Inputs, StackConfig]], steps: Sequence[Intervention]) -> dict[str, Inputs]:
    """The inputs of each side after changes of words; raises UnknownNameError, ConfigError, ShapeError."""
    changed = {side: inputs for side, (inputs, _) in sides.items()}
    for step in steps:
        if isinstance(step, ChangeWord | MaskWord):
            if step.where not in sides:
                raise UnknownNameError(f"{step!r} touches no text of this run", do=did_you_mean(step.where, sides))
            changed[step.where] = step.changed(changed[step.where], sides[step.where][1])
    for side, (_, stack) in sides.items():
        changed[side].check_numbers(vocabulary=stack.embed.vocabulary, segments=stack.embed.segments)
    return changed


def as_python(steps: Sequence[Intervention]) -> str:
    """Python that makes the same run again from a trace named `trace`."""
    lines = "".join(f"    {step!r},\n" for step in steps)
    return f"trace.intervene(\n{lines})" if steps else "trace"
