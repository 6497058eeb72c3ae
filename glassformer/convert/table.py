"""A checkpoint map is data: rows that pair their tensor names with ours, read in both directions.

In a name `{}` stands for the number of a layer and a last `*` for `weight` or `bias`. A row that meets no
parameter of a model says nothing about it, so one table serves a family with and without its heads.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.config import ModelConfig
from glassformer.convert.files import FLOATS

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Same:
    """Their tensor is ours. `copies` are further names under which they may store it again. `idle` is a
    second name that their class stores and computes nothing with: it is written, and read only where `theirs` is
    missing. The row holds only where the parameter of ours that it `needs` is there, and one `without` is not.
    `or_zeros`: it is all zeros where they leave it out.
    """

    ours: str
    theirs: str
    copies: tuple[str, ...] = ()
    idle: str = ""
    needs: str = ""
    without: str = ""
    or_zeros: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.ours,)

    def holds(self, shapes: Shapes) -> bool:
        """Whether this model has what the row asks for besides its own parameter."""
        return (not self.needs or self.needs in shapes) and (not self.without or self.without not in shapes)

    def read(self, tensor: Tensor, shapes: Shapes) -> dict[str, Tensor]:
        return {self.ours: tensor}

    def write(self, state: Mapping[str, Tensor]) -> Tensor:
        return state[self.ours]


def attention(ours: str, theirs: str, names: Sequence[str] = ("q_proj", "k_proj", "v_proj", "out_proj")) -> list[Same]:
    """The four layers of an attention, which are called so there."""
    own = ("query", "key", "value", "output")
    return [Same(f"{ours}.body.{mine}.*", f"{theirs}.{its}.*") for mine, its in zip(own, names, strict=True)]


@dataclass(frozen=True)
class Transpose(Same):
    """They store the matrix the other way round (GPT-2)."""

    def read(self, tensor: Tensor, shapes: Shapes) -> dict[str, Tensor]:
        """[In, Out] to [Out, In]; a bias stays what it is."""
        return {self.ours: tensor.T if tensor.dim() > 1 else tensor}

    def write(self, state: Mapping[str, Tensor]) -> Tensor:
        """[Out, In] to [In, Out]."""
        tensor = state[self.ours]
        return tensor.T if tensor.dim() > 1 else tensor


@dataclass(frozen=True)
class Row(Same):
    """They store the vector as a matrix of one row; some leave it out when it is all zeros."""

    or_zeros: bool = True

    def read(self, tensor: Tensor, shapes: Shapes) -> dict[str, Tensor]:
        """[1, N] to [N]."""
        return {self.ours: tensor.flatten()}

    def write(self, state: Mapping[str, Tensor]) -> Tensor:
        """[N] to [1, N]."""
        return state[self.ours][None]


@dataclass(frozen=True)
class Split(Same):
    """They store several of our tensors one below the other, as one; `and_then` names those after the first."""

    and_then: tuple[str, ...] = ()
    transposed: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """Our names in the order in which they are joined."""
        return (self.ours, *self.and_then)

    def read(self, tensor: Tensor, shapes: Shapes) -> dict[str, Tensor]:
        """[3·Out, In] to three times [Out, In]."""
        tensor = tensor.T if self.transposed and tensor.dim() > 1 else tensor
        # Cloned, so that no two of our tensors live in one piece of memory.
        pieces = [piece.clone() for piece in tensor.split([shapes[part][0] for part in self.parts])]
        return dict(zip(self.parts, pieces, strict=True))

    def write(self, state: Mapping[str, Tensor]) -> Tensor:
        """Three times [Out, In] to [3·Out, In]."""
        tensor = torch.cat([state[part] for part in self.parts])
        return tensor.T if self.transposed and tensor.dim() > 1 else tensor


@dataclass(frozen=True)
class Ignore:
    """A tensor of theirs without information for us; `reason` goes into the report."""

    theirs: str
    reason: str


@dataclass(frozen=True)
class Derived:
    """A tensor of theirs that our side computes: it is compared with `value` and then let go."""

    theirs: str
    value: Callable[[ModelConfig], Tensor]
    reason: str


TensorRow = Same | Ignore | Derived

# How the tensors of heads begin, and what each head gives.
HEADS = {
    "classifier.": "the head of a classifier or tagger",
    "pre_classifier.": "the head of a classifier",
    "score.": "the head of a classifier",
    "classification_head.": "the head of a classifier",
    "qa_outputs.": "a head for question answering",
    "multiple_choice_head.": "a head for a choice among texts",
    "cls.": "the heads of BERT's pretraining",
    "lm_head.": "a vocabulary head",
}

# Derived tables, of numbers up to 1, were computed in float32 at best, in another order than ours.
DERIVED_TOLERANCE = 1e-5


def expand(rows: Sequence[TensorRow], shapes: Shapes) -> list[Same]:
    """A row for each parameter of this model, with layer numbers; ConfigError for one that no row names."""
    found: list[Same] = []
    for row in rows:
        if isinstance(row, Same):
            filled = (_fill(row, blanks) for name in shapes if (blanks := _match(row.ours, name)) is not None)
            found += [row for row in filled if row.holds(shapes)]
    met = [part for row in found for part in row.parts]
    assert len(met) == len(set(met)), "two rows of a table fill the same parameter"
    unmapped = sorted(shapes.keys() - set(met))
    if unmapped:
        raise ConfigError("Hugging Face must have a tensor for each parameter", got=f"none for {unmapped[0]}")
    return found


def read_tensors(
    rows: Sequence[TensorRow], shapes: Shapes, source: Mapping[str, Tensor], config: ModelConfig, *, where: str
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Their tensors as ours, and the reason for each one that was left aside. Of tensors without numbers (on the device
    `meta`) only names, shapes and types are compared. Raises CheckpointError for a tensor that is missing, left over,
    of another shape or type, or a copy that differs.
    """
    state: dict[str, Tensor] = {}
    used: set[str] = set()
    alone = {row.theirs for row in rows if isinstance(row, Same)}
    aside: dict[str, str] = {}
    for row in expand(rows, shapes):
        tensor = _one(row, source, used, shapes, where)
        state.update({name: part.contiguous() for name, part in row.read(tensor, shapes).items()})
        used |= {row.theirs, row.idle}
        for copy in row.copies:
            if copy in source and copy not in used:
                _same_bits(copy, row.theirs, source[copy], tensor, where, may_be_untied=copy in alone)
                aside[copy] = f"the same as {row.theirs}"
        idle = source.get(row.idle)
        if idle is not None and row.theirs in source and (tensor.is_meta or not torch.equal(idle, tensor)):
            aside[row.idle] = f"{row.theirs} is computed with, not this"
    for name in source:
        if name not in used and name not in aside:
            aside[name] = _reason(rows, name, source[name], config, where)
    return state, aside


def write_tensors(rows: Sequence[TensorRow], state: Mapping[str, Tensor], shapes: Shapes) -> dict[str, Tensor]:
    """Our tensors under their names; raises CheckpointError for one of ours that is missing or of another shape."""
    for name, shape in shapes.items():
        if name not in state:
            raise CheckpointError(f"a tensor {name} {list(shape)} is needed", got="none of that name")
        if tuple(state[name].shape) != shape:
            raise CheckpointError(f"{name} must be {list(shape)}", got=str(list(state[name].shape)))
    found = expand(rows, shapes)
    tensors = {row.theirs: row.write(state).contiguous() for row in found}
    # Cloned: safetensors wants each tensor on its own.
    return tensors | {row.idle: tensors[row.theirs].clone() for row in found if row.idle}


def _one(row: Same, source: Mapping[str, Tensor], used: set[str], shapes: Shapes, where: str) -> Tensor:
    """The one tensor that a row reads, under its name or that of a copy, in the shape it must have."""
    name = next((name for name in (row.theirs, *row.copies, row.idle) if name in source and name not in used), None)
    if name is None:
        if row.or_zeros:
            return row.write({row.ours: torch.zeros(shapes[row.ours])})
        raise CheckpointError(f"{where} must hold a tensor {row.theirs}", got="none of that name")
    wanted = tuple(row.write({part: torch.empty(shapes[part], device="meta") for part in row.parts}).shape)
    if tuple(source[name].shape) != wanted:
        raise CheckpointError(
            f"{where}: {name} must be {list(wanted)} by the settings", got=str(list(source[name].shape))
        )
    if source[name].dtype not in FLOATS:
        raise CheckpointError(
            f"{where}: {name} must be of floating-point numbers",
            got=str(source[name].dtype).removeprefix("torch."),
            do="import the model from before it was quantised",
        )
    return source[name]


def _reason(rows: Sequence[TensorRow], name: str, tensor: Tensor, config: ModelConfig, where: str) -> str:
    """Why this tensor may be left aside; raises CheckpointError when no row says so."""
    for row in rows:
        if isinstance(row, Same) or _match(row.theirs, name) is None:
            continue
        if isinstance(row, Derived) and not _as_computed(tensor, row, config):
            raise CheckpointError(f"{where}: {name} must be what we compute ({row.reason})", got="other numbers")
        return row.reason
    raise CheckpointError(
        f"each tensor of {where} must have its place in {config.family}",
        got=f"{name} {list(tensor.shape)}, which has none",
        do=next(
            (f"it belongs to {head}, which a model of this class does not have" for start, head in HEADS.items()
             if f".{start}" in f".{name}"),
            "a head that this model does not have, or another family?",
        ),
    )  # fmt: skip


def _same_bits(copy: str, name: str, one: Tensor, two: Tensor, where: str, *, may_be_untied: bool) -> None:
    """Refuse a copy that differs; where the family has a row for it alone, it may be untied instead."""
    if one.shape != two.shape or not (one.is_meta or torch.equal(one, two)):
        raise CheckpointError(
            f"{where}: {copy} must repeat {name}: the two are one tensor here",
            got="other numbers",
            do='if they are meant to differ, set "tie_word_embeddings": false in config.json' if may_be_untied else "",
        )


def _as_computed(stored: Tensor, row: Derived, config: ModelConfig) -> bool:
    """Whether the numbers are the same but for the arithmetic and the rounding of the type they are stored in."""
    with torch.device("meta"):  # what is asked for may not fit into the memory
        shape = row.value(config).shape
    if stored.shape != shape or not stored.is_floating_point():
        return False
    tolerance = max(DERIVED_TOLERANCE, torch.finfo(stored.dtype).eps)
    return stored.is_meta or torch.allclose(stored.double(), row.value(config).double(), rtol=0, atol=tolerance)


def stored_layers(rows: Sequence[TensorRow], blocks: str, source: Mapping[str, Tensor]) -> int:
    """How many layers of `blocks` (`encoder.blocks`) their tensors are of, by the numbers in their names."""
    wanted = [row for row in rows if isinstance(row, Same) and row.ours.startswith(f"{blocks}.{{}}.")]
    patterns = [_pattern(theirs) for row in wanted for theirs in (row.theirs, *row.copies)]
    return len({int(found[1]) for name in source for pattern in patterns if (found := pattern.fullmatch(name))})


def _match(pattern: str, name: str) -> tuple[str, ...] | None:
    """What the blanks of a pattern stand for in a name, None when it is not of that pattern."""
    found = _pattern(pattern).fullmatch(name)
    return None if found is None else found.groups()


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # No zero stands before a layer's number, and no number is too long to be one.
    return re.compile(
        re.escape(pattern).replace(r"\{\}", r"(0|[1-9]\d{0,8})").replace(r"\*", "(weight|bias)"), re.ASCII
    )


def _fill(row: Same, blanks: tuple[str, ...]) -> Same:

    def filled(patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_write_in(pattern, blanks) for pattern in patterns)

    ours, theirs, needs, without = filled((row.ours, row.theirs, row.needs, row.without))
    row = replace(row, ours=ours, theirs=theirs, needs=needs, without=without, copies=filled(row.copies))
    return replace(row, and_then=filled(row.and_then)) if isinstance(row, Split) else row


def _write_in(pattern: str, blanks: tuple[str, ...]) -> str:
    for blank in blanks:
        pattern = re.sub(r"\{\}|\*", blank, pattern, count=1)
    return pattern
