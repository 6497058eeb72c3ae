"""What a page needs to change its run: how Python makes it, and the formulas that hold when more is given.

A masked word, or padding, adds a fact to a run that had none, and with it some formulas read one operand more. Which
they are is said here, so that the page knows nothing of how a model is made.
"""

from itertools import chain, combinations
from typing import Any

import torch

from glassformer.base.json_text import in_json
from glassformer.config import StackConfig
from glassformer.look.formulas.stacks import state
from glassformer.look.trace.interventions import ChangeWord, Intervention, MaskWord, Visibility
from glassformer.look.trace.trace import Origin, Trace
from glassformer.page.sections.statement import formula_record


def editing_record(trace: Trace, *, alone: bool) -> dict[str, Any]:
    """How the run was made; with `alone`, for a page without a server, the formulas for more facts too."""
    origin = trace.origin or Origin((), ())
    sides = {"inputs": trace.config.encoder or trace.config.output_stack, "decoder_inputs": trace.config.output_stack}
    return {
        "loads": list(origin.loads),
        "command": origin.command,
        "texts": None if trace.origin is None else list(origin.texts),
        "seconds": None if origin.seconds is None else list(origin.seconds),
        "choices": None if origin.choices is None else list(origin.choices),
        "target_ids": None if origin.target_ids is None else [list(ids) for ids in origin.target_ids],
        "by_word": origin.by_word,
        "mask_id": origin.mask_id,
        "marks": {side: reads_marks(stack) for side, stack in sides.items()},
        "scored_by_masks": trace.origin is not None and origin.scored_by_masks and "labels" not in trace.facts,
        "otherwise": otherwise(trace) if alone else [],
        "steps": [step_record(step) for step in trace.interventions if not isinstance(step, ChangeWord | MaskWord)],
    }


def reads_marks(stack: StackConfig) -> bool:
    """Whether a stack reads which words are masked, and not only the token in their place."""
    return stack.hide_masked or stack.embed.masked_words != "token"


def otherwise(trace: Trace) -> list[dict[str, Any]]:
    """For each set of facts that could be given too: the formulas that are others then."""
    sides = [side for side in ("inputs", "decoder_inputs") if f"{side}.positions" in trace.facts]
    could = [f"{side}.masked_words" for side in sides]
    if trace.origin is not None and trace.origin.by_word:
        could.append("inputs.real")
    missing = [name for name in could if name not in trace.facts]
    found = []
    for more in chain.from_iterable(combinations(missing, count) for count in range(1, len(missing) + 1)):
        statement = state(trace.config, {*trace.facts, *more}, at_places=trace.scored_at is not None)
        others = [
            formula_record(statement, formula)
            for name, formula in statement.formulas.items()
            if formula != trace.statement.formulas.get(name)
        ]
        found.append({"given": list(more), "formulas": others})
    return found


def step_record(step: Intervention) -> dict[str, Any]:
    """An intervention as a page writes it, of a patch only its place; infinities are words."""
    if isinstance(step, Visibility):
        return {
            "kind": "allow" if step.allowed else "forbid",
            "attention": step.attention,
            "query": step.query,
            "key": step.key,
            "head": step.head,
            "sentence": step.sentence,
        }
    assert not isinstance(step, ChangeWord | MaskWord)
    cell = list(step.cell) if isinstance(step.cell, tuple) else []
    if isinstance(step.tensor, torch.Tensor):
        return {"kind": "patch", "where": step.where, "run": "", "cell": cell}
    return {"kind": "replace", "where": step.where, "by": in_json(step.by), "cell": cell}
