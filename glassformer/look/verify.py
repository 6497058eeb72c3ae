"""Compare the model's numbers with the formulas: the largest error of every tensor.

error = |difference| / (1 + sum of the absolute terms of the formula). A sum of large terms that nearly cancel
may round by as much as its terms do, so they are the measure. Equal infinities agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.errors import UnknownNameError
from glassformer.look.named import FormulaError, Source, axis_names
from glassformer.look.rules.evaluator import Evaluator, Formula

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5}


@dataclass(frozen=True)
class Check:
    """How well one tensor agrees with its formula. `worst` is the cell of the largest error."""

    name: str
    error: float
    worst: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Verification:
    """The checks of all tensors, and the limit they are held to. Tensors set by hand are listed, not judged."""

    checks: tuple[Check, ...]
    limit: float
    by_hand: tuple[str, ...] = ()

    @property
    def worst(self) -> Check:
        """The check with the largest error."""
        return max(self.checks, key=lambda check: check.error)

    @property
    def holds(self) -> bool:
        """Whether every tensor agrees with its formula."""
        return all(check.error <= self.limit for check in self.checks)

    def __str__(self) -> str:
        verdict = "agree with their formulas" if self.holds else "DO NOT all agree with their formulas"
        text = f"{len(self.checks)} tensors {verdict}: largest error {self.worst.error:.1e} in {self.worst.name}"
        text += f" (limit {self.limit:.0e})"
        return text + (f"; set by hand and not judged: {', '.join(self.by_hand)}" if self.by_hand else "")


def check(formula: Formula, source: Source) -> Check:
    """Recompute one tensor from its operands; a formula that does not fit is an infinite error with a note."""
    try:
        stored = source.tensor(formula.name)
        check_sizes(formula, stored, source)
        value, size = formula.rule.whole(Evaluator(formula, source))
        return compare(formula.name, stored.double(), value, size)
    except (FormulaError, UnknownNameError) as error:
        return Check(formula.name, float("inf"), (), str(error))
    except (RuntimeError, IndexError) as error:
        # torch's own message for operands whose sizes do not go together.
        return Check(formula.name, float("inf"), (), f"the operands of {formula.name} do not fit: {error}")


def check_sizes(formula: Formula, stored: Tensor, source: Source) -> None:
    """The axes that count words must be as long as the text they count."""
    names = axis_names(formula.axes)
    if stored.dim() != len(names):
        raise FormulaError(f"{formula.name} must have the axes {formula.axes}", got=f"shape {list(stored.shape)}")
    tokens = source.tensor(f"{formula.tokens}.positions").shape[1]
    keys = source.tensor(f"{formula.keys}.positions").shape[1]
    for name, size in zip(names, stored.shape, strict=True):
        length = {"token": tokens, "query": tokens, "key": keys}.get(name, size)
        if size not in (length, 1):
            raise FormulaError(f"{formula.name} must count {length} words along {name}", got=str(size))


def compare(name: str, stored: Tensor, value: Tensor, size: Tensor) -> Check:
    """The largest error and where it is."""
    if not fits(stored, value):
        raise FormulaError(f"{name} should have shape {list(value.shape)}", got=str(list(stored.shape)))
    if stored.numel() == 0:
        return Check(name, 0.0)
    error = (stored - value).abs() / (1 + size.abs())
    error = torch.where(stored == value, torch.zeros((), dtype=error.dtype), error)
    error = error.nan_to_num(nan=float("inf"), posinf=float("inf"))
    flat = int(error.argmax())
    worst = tuple(int(step) for step in torch.unravel_index(torch.tensor(flat), error.shape))
    return Check(name, float(error.flatten()[flat]), worst)


def fits(stored: Tensor, value: Tensor) -> bool:
    """Equal shapes, but for axes of size 1 along which a number is shared by all."""
    if stored.dim() != value.dim():
        return False
    return all(one == two or 1 in (one, two) for one, two in zip(stored.shape, value.shape, strict=True))
