"""What a head does, by a rule that is stated, with the number that decides each label: `gf.heads(trace)`.

The page follows the same rule (`web/src/levels/heads/jobs.ts`); a test compares the two.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor

from glassformer.look.summaries.head_measures import MEASURES, measure_trace
from glassformer.look.trace.tensors import Tensors, check_trace

PLACED = ("previous", "next", "self", "first", "separator", "same_word")
JOBS = (*PLACED, "few", "many")
"""The groups in their order: where most of a head's attention goes; where it goes to no such place, over how many
tokens it is spread."""

LEAST, TIMES = 0.25, 2
"""A head is called by a place that gets at least this share of its attention, and this many times an even share. Of
three tokens or fewer that would be more than there is: half way from an even share to all of it is enough."""
FEW, AT_LEAST = 0.125, 2
""""A few" are at most this share of the tokens that it could look at, or so many."""
ROUNDED = 1 + 1e-6  # Two tokens with half of the attention each are two at once, whatever their entropy was rounded to

RULE = (
    "A head is named after the place that gets most of its attention, on average over the tokens, if this place gets "
    f"at least {LEAST:.0%} of the attention and at least {TIMES} times an even share (with fewer than three visible "
    "tokens: at least half way from an even share to all of it). Otherwise the head looks at a few tokens if "
    f"exp(entropy) is at most {AT_LEAST}, or at most an eighth of the number of visible tokens; else it looks broadly."
)


@dataclass(frozen=True)
class Head:
    """One head: `attention` is `encoder.blocks.0.self_attention`, `job` one of JOBS, `value` its share of the attention
    (of `few` and `many`: over how many tokens it is spread), `measures` those of MEASURES by name.
    """

    attention: str
    head: int
    job: str
    value: float
    measures: Mapping[str, float]


def job_of(measures: Mapping[str, float]) -> tuple[str, float]:
    """What a head with these measures does, and the number that says so; see RULE."""
    even = measures["even"]
    least = max(LEAST, min(TIMES * even, (1 + even) / 2))
    shares = {job: measures[job] for job in PLACED if measures[job] >= least}  # NaN is not
    if shares:
        job = max(shares, key=lambda each: shares[each])
        return job, shares[job]
    value = math.exp(measures["entropy"])  # as many tokens as would give this entropy if they got the same
    return ("few" if value <= ROUNDED * max(FEW / even, AT_LEAST) else "many"), value


def heads(trace: Tensors) -> tuple[Head, ...]:
    """Every head of a run by what it does over all its texts (`head_jobs.RULE`): the groups in the order of JOBS, the
    clearest head first. Other texts give other numbers; how much the model needs a head says `gf.head_importance`.
    Raises ConfigError for anything but a trace.
    """
    check_trace(trace)
    return in_groups(listed(measure_trace(trace)))


def listed(measured: Mapping[str, Tensor]) -> list[Head]:
    """The heads in the order of the model, from their measures [H, 10] by attention."""
    found = []
    for attention, rows in measured.items():
        for head, row in enumerate(rows.tolist()):
            measures = dict(zip(MEASURES, row, strict=True))
            job, value = job_of(measures)
            found.append(Head(attention, head, job, value, measures))
    return found


def in_groups(found: Iterable[Head]) -> tuple[Head, ...]:
    """Heads grouped by job; largest share first, of `few` and `many` the fewest tokens first."""

    def order(head: Head) -> tuple[int, float]:
        return JOBS.index(head.job), head.value if head.job in ("few", "many") else -head.value

    return tuple(sorted(found, key=order))
