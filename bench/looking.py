"""What looking costs, and what it costs when nobody looks.

`python -m bench.looking` writes docs/results/bench-looking.json: the taps nobody watches as a share of a forward pass
of BERT-mini, then the size of a default trace of BERT-base at 512 words and its slowest tensor computed again on demand
(of all that the embedding, a block and the head do not store; the best of three tries each), once with one masked word,
where the vocabulary is scored at one place, and once with none, where it is scored at all 512; and the largest error of
all formulas in the first. A forward is shorter than a training step, so the share is an upper bound.
"""

import os
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from experiments import results
from glassformer.look.trace.run import trace
from glassformer.look.trace.trace import Trace
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.parts import tap


def seconds(work: Callable[[], object], tries: int) -> float:
    """The shortest of several tries."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def taps_of_a_forward(model: Transformer, inputs: Inputs) -> int:
    """How often a forward asks whether somebody watches: each tap and each question counted."""
    asked = 0

    class Counter:
        def wants(self, owner: nn.Module, name: str) -> bool:
            nonlocal asked
            asked += 1
            return False

        def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
            nonlocal asked
            asked += 1
            return tensor

    token = tap.watcher.set(Counter())
    try:
        model(inputs)
    finally:
        tap.watcher.reset(token)
    return asked


def unwatched_share() -> tuple[int, float]:
    """Taps in a forward of BERT-mini, batch 32 of length 128, and their share of its time."""
    model, inputs = build(bert(size="mini")).eval(), Inputs(ids=torch.full((32, 128), 5))
    owner, tensor, rounds = nn.Identity(), torch.zeros(1), 100_000
    with torch.no_grad():
        places = torch.arange(0, 32 * 128, 7)
        forward = seconds(lambda: model(inputs, scored_at=places), 5)
        asked = taps_of_a_forward(model, inputs)
        each = seconds(lambda: [tap.tap(owner, "x", tensor) for _ in range(rounds)], 3) / rounds
    return asked, asked * each / forward


def slowest_on_demand(found: Trace) -> tuple[str, float]:
    """The tensor that takes longest to compute again, and its seconds."""
    units = ("encoder.embed", "encoder.blocks.0", "head")  # one block is as large as another
    timed = [name for name in found if found.statement.unit(name) in units and not found.kept(name)]
    times = {name: seconds(partial(found.__getitem__, name), 3) for name in timed}
    slowest = max(times, key=times.__getitem__)
    return slowest, times[slowest]


def measure() -> dict[str, object]:
    """All of it, by name."""
    load = os.getloadavg()[0]
    asked, share = unwatched_share()
    model, ids, masked_words = build(bert()), torch.full((1, 512), 5), torch.zeros(1, 512, dtype=torch.bool)
    masked_words[0, 7] = True
    one, everywhere = trace(model, Inputs(ids=ids, masked_words=masked_words)), trace(model, Inputs(ids=ids))
    traces = {"one masked word": one, "scores at all 512": everywhere}
    slowest = {case: slowest_on_demand(found) for case, found in traces.items()}
    return {
        "taps_in_a_forward": asked,
        "unwatched_share_of_a_forward": share,
        "default_trace_megabytes": {case: found.nbytes / 1e6 for case, found in traces.items()},
        "slowest_on_demand_seconds": {case: time for case, (_, time) in slowest.items()},
        "slowest_on_demand": {case: name for case, (name, _) in slowest.items()},
        "honesty": str(one.honesty),
        "verify": str(one.verify()),
        "load_before": load,
    }


if __name__ == "__main__":
    print(results.write("bench-looking", "python -m bench.looking", measure()))
