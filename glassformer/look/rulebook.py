"""All rules by name, and how each is said in words."""

from __future__ import annotations

from glassformer.look.order_rules import Fill, MayLook, RelativeBias, Rotate, Sinusoid
from glassformer.look.rules import (
    Activation,
    Add,
    Concatenate,
    CrossEntropy,
    Dot,
    Gate,
    LayerNorm,
    LogSoftmax,
    LookUp,
    RMSNorm,
    Rule,
    Scale,
    Softmax,
    TanhDot,
)

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
