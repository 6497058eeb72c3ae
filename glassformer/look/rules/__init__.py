"""All rules by name.

Written out in elementary steps, in double precision, and sharing no code with `parts/`: this is the side that checks.
"""

from __future__ import annotations

from glassformer.look.rules.across import CrossEntropy, Largest, LayerNorm, LogSoftmax, RMSNorm, Softmax
from glassformer.look.rules.activations import Activation, Gate
from glassformer.look.rules.chains import BestPath, ChainBest, ChainBestEnd, ChainEnd, ChainSum, Difference
from glassformer.look.rules.evaluator import Rule
from glassformer.look.rules.masks import FillAdd, FillSet, MayLook
from glassformer.look.rules.positions import RelativeBias, Sinusoid
from glassformer.look.rules.rotations import STRETCHED, Rotate
from glassformer.look.rules.sums import (
    ActivatedLinear,
    Add,
    Concatenate,
    DotProduct,
    Linear,
    LookUp,
    Scale,
    WeightedSum,
)

_ALL: tuple[type[Rule], ...] = (
    *(LookUp, Add, Scale, DotProduct, WeightedSum, Linear, ActivatedLinear, Concatenate),
    *(Activation, Gate),
    *(Softmax, LogSoftmax, LayerNorm, RMSNorm, CrossEntropy, Largest),
    *(ChainSum, ChainBest, ChainEnd, ChainBestEnd, BestPath, Difference),
    *(Sinusoid, RelativeBias, Rotate),
    *STRETCHED.values(),
    *(MayLook, FillSet, FillAdd),
)

RULES: dict[str, type[Rule]] = {rule.name: rule for rule in _ALL}
