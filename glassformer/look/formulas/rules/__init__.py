"""All rules by name.

Written out in elementary steps, in double precision, and sharing no code with `parts/`: this is the side that checks.
"""

from glassformer.look.formulas.rules.activations import Activation, Gate
from glassformer.look.formulas.rules.chains import BestPath, ChainBest, ChainBestEnd, ChainEnd, ChainSum, Difference
from glassformer.look.formulas.rules.evaluator import Rule
from glassformer.look.formulas.rules.masks import FillAdd, FillSet, MayLook
from glassformer.look.formulas.rules.positions import RelativeBias, Sinusoid
from glassformer.look.formulas.rules.rotations import STRETCHED, Rotate
from glassformer.look.formulas.rules.softmax_and_norms import (
    CrossEntropy,
    Largest,
    LayerNorm,
    LogSoftmax,
    RMSNorm,
    Softmax,
)
from glassformer.look.formulas.rules.sums import (
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
