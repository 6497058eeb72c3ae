"""All rules by name.

Written out in elementary steps, in double precision, and sharing no code with `parts/`: this is the side that checks.
"""

from __future__ import annotations

from glassformer.look.rules.across import CrossEntropy, LayerNorm, LogSoftmax, RMSNorm, Softmax
from glassformer.look.rules.activations import Activation, Gate
from glassformer.look.rules.evaluator import Rule
from glassformer.look.rules.masks import FillAdd, FillSet, MayLook
from glassformer.look.rules.positions import RelativeBias, Rotate, Sinusoid
from glassformer.look.rules.sums import (
    Add,
    Concatenate,
    DotProduct,
    Linear,
    LookUp,
    Scale,
    TanhLinear,
    WeightedSum,
)

_ALL: tuple[type[Rule], ...] = (
    *(LookUp, Add, Scale, DotProduct, WeightedSum, Linear, TanhLinear, Concatenate),
    *(Activation, Gate),
    *(Softmax, LogSoftmax, LayerNorm, RMSNorm, CrossEntropy),
    *(Sinusoid, Rotate, RelativeBias),
    *(MayLook, FillSet, FillAdd),
)

RULES: dict[str, type[Rule]] = {rule.name: rule for rule in _ALL}
