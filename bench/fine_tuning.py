"""Fine-tuning: `glassformer train` against transformers' Trainer, from the same encoder, alternating in one run.

    python -m bench.fine_tuning sst2      # or mrpc, sick …; writes docs/results/bench-fine-tuning-SET.json

A process for each system; they train in turn, some steps at a time, on the same records in batches of 32: ours as
`glassformer train` runs it (eager, which is what it chooses for runs this short, and compiled), the Trainer at its
defaults (float32), and as an expert sets it up (bf16, compiled, batches of similar length, fused AdamW, which is its
default). Each batch is as long as its longest row, so batches differ in size: what counts are tokens that are no
padding, per second. A step in which something is compiled does not count.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.turns import Gate, Gated, in_turn, medians, stopping_at, times
from experiments import results
from experiments.encoder.plan import PLANS
from experiments.encoder.sets import SETS

TURNS = 5
STEPS = {"squad": 4}  # in a turn; of the other sets:
USUAL_STEPS = 24
OURS, COMPILED, DEFAULTS, EXPERT = "ours", "ours compiled", "Trainer", "Trainer, expert"
SYSTEMS = (OURS, COMPILED, DEFAULTS, EXPERT)
# Of the set that all systems train on; on the others ours and the Trainer at its defaults.
ALL_ON = "sst2"
# Epochs that no turn reaches the end of.
MANY_EPOCHS = 1000


def ours(name: str, folder: Path, gate: Gate, *, compiled: bool) -> None:
    """Our side, through the same call as in experiments/encoder."""
    from experiments.encoder import ours as side
    from experiments.encoder.__main__ import files_of

    plan = replace(PLANS[name], epochs=MANY_EPOCHS)
    files = files_of(name, plan, SETS[name](), folder)
    how = {"train.compile": "on" if compiled else "off", "train.checkpoint_minutes": 600.0}
    side.train(plan, files, folder / "run", seed=0, side="ours", settings=how, progress=Gated(gate))


def peer(name: str, folder: Path, gate: Gate, **settings: Any) -> None:
    """The Trainer with these arguments."""
    from experiments.encoder.peer import Peer

    def counting(collator: Any) -> Callable[[Sequence[Any]], Any]:
        def collate(features: Sequence[Any]) -> Any:
            batch = collator(features)
            gate.tokens(int(batch["attention_mask"].sum()))
            return batch

        return collate

    splits, callbacks = SETS[name](), [stopping_at(gate)]
    side = Peer(replace(PLANS[name], epochs=MANY_EPOCHS), splits.train, seed=0)
    trainer = side.trainer(splits.train, folder, callbacks=callbacks, wrap=counting, save_strategy="no", **settings)
    trainer.train()


def work(system: str, name: str, pipe: Connection) -> None:
    """A worker: answers each number of steps with seconds and tokens."""
    gate = Gate(pipe)
    with tempfile.TemporaryDirectory() as folder:
        if system in (OURS, COMPILED):
            ours(name, Path(folder), gate, compiled=system == COMPILED)
        elif system == DEFAULTS:
            peer(name, Path(folder), gate)
        else:
            peer(name, Path(folder), gate, bf16=True, torch_compile=True, train_sampling_strategy="group_by_length")


def run(name: str, systems: Sequence[str] = SYSTEMS) -> dict[str, Any]:
    """All systems in turn: medians, and ratios within each turn."""
    steps = STEPS.get(name, USUAL_STEPS)
    done, setup = in_turn(
        work,
        systems,
        (name,),
        ask=steps,
        turns=TURNS,
        kept=None,
        reported=lambda given: f"{given['tokens'] / given['seconds']:,.0f} tokens/s",
    )
    speeds = {system: [turn[system]["tokens"] / turn[system]["seconds"] for turn in done] for system in systems}

    mine, theirs = (OURS, COMPILED), (DEFAULTS, EXPERT)
    return {
        "tokens_per_second": medians(speeds),
        "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
        "ratios": {
            f"{one} over {two}": times(speeds[one], speeds[two])
            for one in mine
            for two in theirs
            if {one, two} <= set(systems)
        },
        "ready_after_seconds": setup,
        "turns": TURNS,
        "steps_in_a_turn": steps,
        "load_before": os.getloadavg()[0],
    }


if __name__ == "__main__":
    chosen = sys.argv[1]
    found = run(chosen, SYSTEMS if chosen == ALL_ON else (OURS, DEFAULTS))
    print(results.write(f"bench-fine-tuning-{chosen}", f"python -m bench.fine_tuning {chosen}", found))
