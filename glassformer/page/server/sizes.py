"""How large each tensor of a run is, from the formulas: so that a page knows all of them before any is computed.

What is the same for all sentences, heads or queries may be stored with size 1 there; sizes here are whole.
"""

import math
from collections.abc import Mapping

from glassformer.look.formulas.named import axis_names, sizes_of
from glassformer.look.formulas.rules.activations import Compared
from glassformer.look.formulas.rules.evaluator import Formula
from glassformer.look.formulas.rules.positions import Sinusoid
from glassformer.look.formulas.rules.sums import Concatenate
from glassformer.look.trace.tensors import heads_of
from glassformer.look.trace.trace import Trace

Shape = tuple[int, ...]


def shapes(trace: Trace) -> dict[str, Shape]:
    known: dict[str, Shape] = {name: tuple(tensor.shape) for name, tensor in trace.facts.items()}
    known |= {name: tuple(tensor.shape) for name, tensor in trace.parameters.items()}
    sentences, tokens = text_sizes(trace)
    counted = {"sentence": sentences, "candidate": sentences}
    if trace.scored_at is not None:
        counted["place"] = len(trace.scored_at)
    for name, formula in trace.statement.formulas.items():
        counted |= {"token": tokens[formula.tokens], "query": tokens[formula.tokens], "key": tokens[formula.keys]}
        known[name] = tuple(
            counted[axis] if axis in counted else size_of(formula, axis, known) for axis in axis_names(formula.axes)
        )
        if name.endswith("_attention.may_look"):  # it is read from facts, which know of no heads
            known[name] = (sentences, heads_of(trace.config, name), *known[name][2:])
    return {name: known[name] for name in trace.statement.formulas}


def text_sizes(trace: Trace) -> tuple[int, dict[str, int]]:
    """How many sentences, and tokens of each side: a side that is not there has those of the other."""
    sides = {
        side: fact.shape
        for side in ("inputs", "decoder_inputs")
        for kind in ("ids", "vectors")
        if (fact := trace.facts.get(f"{side}.{kind}")) is not None
    }
    first = next(iter(sides.values()))
    return first[0], {side: sides.get(side, first)[1] for side in ("inputs", "decoder_inputs")}


def size_of(formula: Formula, axis: str, known: Mapping[str, Shape]) -> int:
    """How long an axis is that counts no text: as long as that of the operands."""
    if isinstance(formula.rule, Sinusoid):
        return formula.rule.width
    operands = [operand for operand in formula.rule.operands.values() if operand.name in known]
    sizes = [sizes_of(operand, known[operand.name], None) for operand in operands]
    if isinstance(formula.rule, Concatenate):
        (parts,) = sizes
        return parts["head"] * parts["channel"]
    longest = max((each.get(axis, 1) for each in sizes), default=1)
    return 4 * longest if isinstance(formula.rule, Compared) and axis == "channel" else longest


def numbers(found: Mapping[str, Shape]) -> int:
    return sum(map(math.prod, found.values()))
