"""What looking costs, and what it costs when nobody looks.

`python -m bench.looking` writes docs/results/bench-looking.json: the taps nobody watches as a share of a forward pass
of BERT-mini, then the size of a default trace of BERT-base at 512 words, the slowest tensor computed again on demand
(of all that the embedding, a block and the head do not store; the best of three tries each), and the largest error of
all formulas. A forward is shorter than a training step, so the share is an upper bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from experiments import results
from glassformer.look.run import trace
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
        forward = seconds(lambda: model(inputs, places=places), 5)
        asked = taps_of_a_forward(model, inputs)
        each = seconds(lambda: [tap.tap(owner, "x", tensor) for _ in range(rounds)], 3) / rounds
    return asked, asked * each / forward


def measure() -> dict[str, object]:
    """All of it, by name."""
    asked, share = unwatched_share()
    hidden = torch.zeros(1, 512, dtype=torch.bool)
    hidden[0, 7] = True
    found = trace(build(bert()), Inputs(ids=torch.full((1, 512), 5), hidden=hidden))
    units = ("encoder.embed", "encoder.blocks.0", "head")  # one block is as large as another
    timed = [name for name in found if found.statement.unit(name) in units and not found.kept(name)]
    times = {name: seconds(partial(found.__getitem__, name), 3) for name in timed}
    slowest = max(times, key=times.__getitem__)
    return {
        "taps_in_a_forward": asked,
        "unwatched_share_of_a_forward": share,
        "default_trace_megabytes": found.nbytes / 1e6,
        "slowest_on_demand_seconds": times[slowest],
        "slowest_on_demand": slowest,
        "honesty": str(found.honesty),
        "verify": str(found.verify()),
    }


if __name__ == "__main__":
    print(results.write("bench-looking", "python -m bench.looking", measure()))
