"""Compare the model's numbers with the formulas: the largest error of every tensor.

error = |difference| / (1 + sum of the absolute terms of the formula). A sum of large terms that nearly cancel
may round by as much as its terms do, so they are the measure. Equal infinities agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.base.errors import UnknownNameError
from glassformer.look.formulas.named import FormulaError, Source, axis_names
from glassformer.look.formulas.rules.evaluator import Evaluator, Formula

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5}
# A fast kernel may round this many times as much as the formula does. Measured under very large weights: up to 7 times.
# What differs by more between float32 and float64 is no rounding.
KERNEL_ROUNDING = 30

WITHOUT_WEIGHTS = "load the trace with its model, load_trace(path, model), or save it with weights=True"


@dataclass(frozen=True)
class Check:
    """How well a tensor agrees with its formula, worst at a cell; `limit`: its own, of a fast kernel."""

    name: str
    error: float
    worst: tuple[int, ...] = ()
    note: str = ""
    limit: float | None = None


@dataclass(frozen=True)
class Verification:
    """The checks of all tensors; `unchecked` need weights or numbers that a saved trace does not hold."""

    checks: tuple[Check, ...]
    limit: float
    by_hand: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def limit_of(self, check: Check) -> float:
        return self.limit if check.limit is None else check.limit

    @property
    def worst(self) -> Check:
        """The check with the largest error, measured by its limit; an empty one where nothing could be checked."""
        return max(self.checks, key=lambda check: check.error / self.limit_of(check), default=Check("", 0.0))

    @property
    def kernel_limit(self) -> float:
        """The largest limit of the streams stored from fast kernels; the common one where that was enough."""
        return max((self.limit_of(check) for check in self.checks), default=self.limit)

    @property
    def holds(self) -> bool:
        """Whether every tensor that was not set by hand was checked and agrees with its formula."""
        return not self.unchecked and all(check.error <= self.limit_of(check) for check in self.checks)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts = [self.verdict] if self.checks or not self.unchecked else []
        if self.unchecked:
            parts.append(f"{len(self.unchecked)} could not be checked without the weights ({WITHOUT_WEIGHTS})")
        if self.by_hand:
            parts.append(f"set by hand and not judged: {', '.join(self.by_hand)}")
        return "; ".join(parts)

    @property
    def verdict(self) -> str:
        agree = all(check.error <= self.limit_of(check) for check in self.checks)
        text = f"{len(self.checks)} tensors {'agree' if agree else 'DO NOT all agree'} with their formulas"
        by_formula = [check for check in self.checks if check.limit is None]
        by_kernel = [check for check in self.checks if check.limit is not None]
        if by_formula or not by_kernel:
            largest = max(by_formula, key=lambda check: check.error, default=self.worst)
            text += f": largest error {largest.error:.1e}" + (f" in {largest.name}" if largest.name else "")
            text += f" (limit {self.limit:.0e})"
        if by_kernel:
            largest = max(by_kernel, key=lambda check: check.error)
            text += f"; stored from the fast kernels: largest error {largest.error:.1e} in {largest.name}"
            text += f" (limit {self.kernel_limit:.0e}, which the kernels round by)"
        return text


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


def check_rounded(formula: Formula, source: Source, limit: float, pairs: Sequence[tuple[Tensor, Tensor]]) -> Check:
    """Check a tensor that may differ by the rounding of each of `pairs`: a kernel's result and the exact one."""
    stored = source.tensor(formula.name)
    value, size = formula.rule.whole(Evaluator(formula, source))
    error = errors(stored.double(), value, size)
    kernel, own = (
        ((one.cpu().double() - two.cpu()).abs() / (1 + size.abs())).nan_to_num(nan=0.0, posinf=0.0)
        for one, two in pairs
    )
    excess = error - own - kernel.clamp(max=KERNEL_ROUNDING * float(own.max()))
    found = worst_of(formula.name, excess if float(excess.max()) > limit else error)
    allowed = limit + float((error - excess).expand_as(error)[found.worst])
    return replace(found, error=float(error[found.worst]), limit=allowed)


def compare(name: str, stored: Tensor, value: Tensor, size: Tensor) -> Check:
    if not fits(stored, value):
        raise FormulaError(f"{name} should have shape {list(value.shape)}", got=str(list(stored.shape)))
    return Check(name, 0.0) if stored.numel() == 0 else worst_of(name, errors(stored, value, size))


def errors(stored: Tensor, value: Tensor, size: Tensor) -> Tensor:
    """The error of each number; ∞ where it cannot be measured."""
    error = (stored - value).abs() / (1 + size.abs())
    error = torch.where(stored == value, torch.zeros((), dtype=error.dtype), error)
    return error.nan_to_num(nan=float("inf"), posinf=float("inf"))


def worst_of(name: str, error: Tensor) -> Check:
    flat = int(error.argmax())
    worst = tuple(int(step) for step in torch.unravel_index(torch.tensor(flat), error.shape))
    return Check(name, float(error.flatten()[flat]), worst)


def fits(stored: Tensor, value: Tensor) -> bool:
    """Equal shapes, but for axes of size 1 along which a number is shared by all."""
    if stored.dim() != value.dim():
        return False
    return all(one == two or 1 in (one, two) for one, two in zip(stored.shape, value.shape, strict=True))
