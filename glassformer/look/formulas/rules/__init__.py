"""All rules by name.

Written out in elementary steps, in double precision, and sharing no code with `parts/`: this is the side that checks.
"""

from inspect import isabstract

from glassformer.look.formulas.rules import activations, chains, masks, positions, rotations, softmax_and_norms, sums
from glassformer.look.formulas.rules.evaluator import Rule

FILES = (sums, activations, softmax_and_norms, chains, positions, rotations, masks)

RULES: dict[str, type[Rule]] = {
    kind.name: kind
    for file in FILES
    for kind in vars(file).values()
    if isinstance(kind, type) and issubclass(kind, Rule) and not isabstract(kind)
}
