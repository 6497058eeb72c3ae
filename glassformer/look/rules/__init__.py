"""All rules by name.

Written out in elementary steps, in double precision, and sharing no code with `parts/`: this is the side that checks.
"""

from __future__ import annotations

from glassformer.look.rules.across import CrossEntropy, LayerNorm, LogSoftmax, RMSNorm, Softmax
from glassformer.look.rules.curves import Activation, Gate
from glassformer.look.rules.desk import Rule
from glassformer.look.rules.order import Fill, MayLook, RelativeBias, Rotate, Sinusoid
from glassformer.look.rules.sums import Add, Concatenate, Dot, LookUp, Scale, TanhDot

RULES: dict[str, Rule] = {
    "look_up": LookUp(),
    "add": Add(),
    "scale": Scale(),
    "linear": Dot(),
    "dot_product": Dot(),
    "weighted_sum": Dot(),
    "tanh_linear": TanhDot(),
    "concatenate": Concatenate(),
    "activation": Activation(),
    "gate": Gate(),
    "softmax": Softmax(),
    "log_softmax": LogSoftmax(),
    "layer_norm": LayerNorm(),
    "rms_norm": RMSNorm(),
    "cross_entropy": CrossEntropy(),
    "sinusoid": Sinusoid(),
    "rotate": Rotate(),
    "relative_bias": RelativeBias(),
    "may_look": MayLook(),
    "fill_set": Fill(added=False),
    "fill_add": Fill(added=True),
}
