"""Gradient attributions: what one number of a run owes to each token that the model read.

B sentences · S tokens · W width
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, UnknownNameError
from glassformer.look.formulas.named import split_name
from glassformer.look.formulas.rules.evaluator import AFTERWARDS
from glassformer.look.trace.replay import Replay
from glassformer.look.trace.tensors import Tensors, check_trace
from glassformer.look.trace.verify import WITHOUT_WEIGHTS

HEADS = ("head.logits", "sentence_head.logits", "token_head.logits")
NOTE = (
    "An attention weight tells how much of a value a head mixes in, in one block. It tells neither how large that "
    "value is, nor what later blocks and the residual connections make of it, nor whether the answer would change "
    "without it. A gradient tells how the answer would change for a small change of the token's vector, with "
    "everything between; it is no proof of what a large change, as another word, would do."
)


@dataclass(frozen=True)
class Attribution:
    """What one number owes to the tokens of one side, `inputs` or `decoder_inputs`; in the run's precision. `tensor`
    [B, S, W] enters the first block: word, position and segment, after the embedding's norm if any (before it, the
    product is about 0: a norm ignores length). `gradient` [B, S] is the Euclidean norm of its gradient (Simonyan et al.
    2014, §3, there the largest channel). `product` [B, S] is input times gradient summed over channels (Shrikumar et
    al. 2017, §3.2.2): what the token adds to first order.
    """

    side: str
    tensor: str
    gradient: Tensor
    product: Tensor


@dataclass(frozen=True)
class Attributions:
    """`goal` is the name and the cell of the number that was asked about, `value` its value."""

    goal: str
    cell: Mapping[str, int]
    value: float
    of: tuple[Attribution, ...]


def attributions(trace: Tensors, goal: str | None = None) -> Attributions:
    """The gradient of one number of a run with respect to the embedding of each token, as a norm and times the input.
    `goal` is a cell in words, `head.logits[place=0,vocabulary=garden]`; by default the largest score of the first place
    of the model's head. A logit is the better goal: where a probability is near 1 its gradient is near 0. Raises
    ConfigError for a run without weights or of a number that is not computed from the embedding, and UnknownNameError.
    """
    return attribute(trace, [goal_of(trace, goal)])[0]


def goal_of(trace: Tensors, goal: str | None) -> tuple[str, dict[str, int]]:
    """The name and the cell of a number in words; by default the largest score of the first place of the head."""
    check_trace(trace)
    if goal is None:
        return goals(trace)[0]
    if not isinstance(goal, str):
        raise ConfigError("a goal is a string, 'name[cell]'", got=repr(goal)[:60])
    name, asked = split_name(goal)
    try:
        name = trace.full_name(name)
    except UnknownNameError as error:
        known, cell = goals(trace)[0]
        do = f"name a cell, such as {known}[{','.join(f'{axis}={at}' for axis, at in cell.items())}]"
        raise UnknownNameError(error.wanted, got=error.got, do=do) from None
    return name, trace.cell(name, asked)


def goals(trace: Tensors, most: int = 1) -> list[tuple[str, dict[str, int]]]:
    """The largest score of each of the first places of the model's head, of every text alike; raises ConfigError."""
    name = next((name for name in HEADS if name in trace), None)
    if name is None:
        raise ConfigError("attributions need a number to explain", do="give goal='name[cell]', a cell of the run")
    logits = trace[name].detach().cpu()
    axes = trace.axes(name)
    rows = logits.flatten(0, -2)  # [places, scores]
    shape = logits.shape[:-1]
    formula = trace.statement.formulas[name]
    real = trace.facts.get(f"{formula.tokens}.real")
    seen: Counter[int] = Counter()  # by text
    places = []
    for row, cell in enumerate(product(*map(range, shape))):
        place = trace.chosen_tokens[row] if axes[0] == "place" and trace.chosen_tokens else cell
        if len(place) == 2 and real is not None and not real[place]:
            continue
        seen[place[0]] += 1
        places.append((seen[place[0]], row, cell))
    chosen = sorted(sorted(places)[:most], key=lambda each: each[1])
    return [(name, dict(zip(axes, [*cell, int(rows[row].argmax())], strict=True))) for _, row, cell in chosen]


def attribute(trace: Tensors, cells: Sequence[tuple[str, Mapping[str, int]]]) -> list[Attributions]:
    """The attributions of several cells, after one forward pass; raises as `attributions` does."""
    embedded = entering_tensors(trace)
    seen = refuse_goals(trace, cells).with_graph(dict.fromkeys([*embedded, *(name for name, _ in cells)]))
    found = []
    for name, cell in cells:
        with torch.enable_grad():
            goal = seen[name][tuple(cell.values())]
        if not goal.requires_grad:
            raise ConfigError("gradients are those of a number that is computed", got=name)
        slopes = torch.autograd.grad(goal, [seen[name] for name in embedded], retain_graph=True, allow_unused=True)
        if all(slope is None for slope in slopes):
            raise ConfigError("an attribution is that of a number that is computed from the embedding", got=name)
        of = []
        for tensor, slope in zip(embedded, slopes, strict=True):
            vectors = seen[tensor].detach()
            slope = torch.zeros_like(vectors) if slope is None else slope  # [B, S, W]
            side = trace.statement.formulas[tensor].tokens
            of.append(Attribution(side, tensor, slope.norm(dim=-1), (slope * vectors).sum(-1)))
        found.append(Attributions(name, dict(cell), float(goal.detach()), tuple(of)))
    return found


def entering_tensors(trace: Tensors) -> list[str]:
    """What enters the first block of each stack."""
    entering = trace.statement.entering
    return [entering[unit] for side in ("encoder", "decoder") if (unit := f"{side}.blocks.0") in entering]


def refuse_goals(trace: Tensors, cells: Sequence[tuple[str, Mapping[str, int]]]) -> Replay:
    """What runs the model again; raises where there is none, or where a cell is no number that the model computes."""
    if trace.replay is None:
        raise ConfigError("gradients run the model again", do=WITHOUT_WEIGHTS)
    trace.refuse_changed_weights()
    for name, _ in cells:
        if name not in trace:
            raise UnknownNameError("an attribution is that of a number of the run", got=name)
        if trace.statement.unit(name) in AFTERWARDS:
            raise ConfigError("an attribution is that of a number that the model computes", got=name)
    return trace.replay
