"""Tensors that a page works out from its formulas. Sent is only how far each number of the run is from its formula's.

A number of the run differs from its formula by a few steps of float32. They take an eighth of the bytes, and the page
gets the number itself back, bit for bit. Where the formula's value is so near the middle of two float32 numbers that
another machine may choose the other one, the page has the number too.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.base.errors import GlassformerError
from glassformer.look.formulas.named import Source
from glassformer.look.formulas.rules.evaluator import Evaluator, Formula

RULES = frozenset(
    (
        *("activated_linear", "activation", "add", "concatenate", "dot_product", "fill_add", "fill_set", "gate"),
        *("layer_norm", "linear", "log_softmax", "look_up", "rms_norm", "rotate", "scale", "softmax", "weighted_sum"),
    )
)
"""What `web/src/formulas/whole.ts` works out in loops; the other rules would take the page too long."""
UNSURE, OF_ANGLES = 1e-13, 1e-12
"""Shares of the size of the sum: beyond what two machines' double precision differs by, in a long text's angles too."""
LOWER = 0x7FFFFFFF


class Derived(NamedTuple):
    """`steps` int32 (2n: n upwards, 2n − 1: n downwards), and the numbers of the `unsure` places."""

    steps: Tensor
    unsure: dict[str, list[float]]


def derived(formula: Formula, tensor: Tensor, source: Source) -> Derived | None:
    """The steps of a float32 tensor from its formula; None where the page has no fast way, or numbers are missing."""
    if tensor.dtype != torch.float32 or formula.rule.name not in RULES or bool(tensor.isnan().any()):
        return None
    try:
        value, size = (each.expand(tensor.shape) for each in formula.rule.whole(Evaluator(formula, source)))
    except (GlassformerError, RuntimeError, IndexError):
        return None
    found = value.float() + 0.0  # a zero without a sign: the page's double precision may give it another one
    unsure = (size * (OF_ANGLES if formula.rule.name == "rotate" else UNSURE)).nan_to_num(posinf=0.0)
    places = ((value - unsure).float() != (value + unsure).float()).flatten().nonzero().flatten()
    steps = in_order(tensor) - in_order(found)
    steps.flatten()[places] = 0
    exact = [float(f"{number:.9g}") for number in tensor.flatten()[places].tolist()]  # tell float32 apart
    return Derived((steps << 1) ^ (steps >> 31), {"at": places.tolist(), "value": exact})


def work_of(formula: Formula, tensor: Tensor, source: Source) -> int:
    """About how many multiplications a page needs for it."""
    over, left = getattr(formula.rule, "over", ""), getattr(formula.rule, "left", None)
    return tensor.numel() * (1 if left is None else Evaluator(formula, source).size(left, over))


def in_order(tensor: Tensor) -> Tensor:
    """float32 as int32, so that a greater number has a greater integer and neighbours differ by 1."""
    bits = tensor.contiguous().view(torch.int32)
    return torch.where(bits < 0, bits ^ LOWER, bits)
