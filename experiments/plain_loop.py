"""A training loop as a careful person writes it for a model of one's own: AdamW, warm-up, linear decay, bf16 where the
machine multiplies faster in it, not compiled. It goes on where it was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.runtime.device import has_fast_bfloat16
from glassformer.training.checkpoint import Checkpoint, Checkpoints, restore, weights
from glassformer.training.optimize import Optimizers, optimizer_tensors
from glassformer.training.stopping import Interrupted, stop_signals

# A run keeps its state so many times.
SAVED = 20


@dataclass(frozen=True)
class Time:
    """How long a side trains: minutes by the clock, or steps for a try; on so many threads."""

    minutes: float
    steps: int | None = None
    threads: int | None = None
    seed: int = 0

    @property
    def tries(self) -> bool:
        """Whether this is a try, of which nothing is kept in docs/."""
        return self.steps is not None

    @property
    def name(self) -> str:
        """Part of the name of runs and results."""
        return f"{self.minutes:g}-minutes" if self.steps is None else f"{self.steps}-steps"

    @property
    def options(self) -> str:
        """What to type for it."""
        threads = "" if self.threads is None else f" --threads {self.threads}"
        return f"{f'--minutes {self.minutes:g}' if self.steps is None else '--try'}{threads}"


@dataclass(frozen=True)
class Recipe:
    """AdamW's settings. The warm-up is a share of the time."""

    learning_rate: float = 2e-3
    betas: tuple[float, float] = (0.9, 0.99)
    decay: float = 0.1
    warmup: float = 0.05
    clip: float = 1.0


@dataclass
class Progress:
    """How far a run has come: `seconds` are those of its steps alone, without saving."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0


# The mean loss of a step, and how many tokens it has learned from.
StepLoss = Callable[[int], tuple[Tensor, int]]


def train_plainly(module: nn.Module, loss_of: StepLoss, length: Time, run: Path, recipe: Recipe) -> Progress:
    """Train, or go on where the run was stopped; nothing where it has ended. Ctrl-C and SIGTERM save it.

    `loss_of` has the loss of the batch of a step; all that it keeps from step to step must be a buffer of the module.
    """
    if length.threads is not None:
        torch.set_num_threads(length.threads)
    adam = torch.optim.AdamW(
        module.parameters(), lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.decay, fused=True
    )
    for parameter in module.parameters():  # allocated now, so that it can be restored
        adam.state[parameter] = {
            "step": torch.tensor(0.0),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    checkpoints, progress = Checkpoints(run / "checkpoints"), Progress()
    run.mkdir(parents=True, exist_ok=True)
    if (last := checkpoints.newest()) is not None:
        progress = _restored(module, adam, last)
    every = 60 * length.minutes / SAVED
    fast = has_fast_bfloat16(torch.device("cpu"))
    module.train()
    with stop_signals() as stop:
        saved = int(progress.seconds / every)
        while (done := share_done(progress, length)) < 1:
            started = time.monotonic()
            with torch.autocast("cpu", torch.bfloat16, enabled=fast):
                loss, tokens = loss_of(progress.step)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), recipe.clip)
            for group in adam.param_groups:
                group["lr"] = recipe.learning_rate * min((done + 1e-3) / recipe.warmup, 1 - done, 1.0)
            adam.step()
            adam.zero_grad(set_to_none=True)
            progress.step += 1
            progress.tokens += tokens
            progress.seconds += time.monotonic() - started
            stopping = stop.signal_number
            if share_done(progress, length) >= 1 or int(progress.seconds / every) > saved or stopping is not None:
                saved = int(progress.seconds / every)
                _save(checkpoints, module, adam, progress)
                print(f"step {progress.step:,}, {progress.seconds:,.0f} s: loss {float(loss.detach()):.3f}", flush=True)
            if stopping is not None:
                raise Interrupted("stopped; the same command goes on", signal_number=stopping)
    module.eval()
    return progress


def share_done(progress: Progress, length: Time) -> float:
    """The share of the steps or minutes that is over, at most a little above 1."""
    if length.steps is not None:
        return progress.step / length.steps
    return progress.seconds / (60 * length.minutes)


def facts_of(module: nn.Module, progress: Progress, recipe: Recipe) -> dict[str, Any]:
    """What was trained, and for how long."""
    return {
        "seconds": round(progress.seconds, 1),
        "steps": progress.step,
        "tokens": progress.tokens,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "bfloat16": has_fast_bfloat16(torch.device("cpu")),
        "compiled": False,
        **asdict(recipe),
    }


def _save(checkpoints: Checkpoints, module: nn.Module, adam: torch.optim.AdamW, progress: Progress) -> None:
    tensors = {
        "model": weights(module),
        "optimizer": optimizer_tensors(module, Optimizers((adam,))),
        "random": {"state": torch.get_rng_state()},
    }
    checkpoints.save(progress.step, tensors, {"progress": asdict(progress)})


def _restored(module: nn.Module, adam: torch.optim.AdamW, last: Checkpoint) -> Progress:
    restore(weights(module), last.tensors("model"), what="the model")
    restore(optimizer_tensors(module, Optimizers((adam,))), last.tensors("optimizer"), what="AdamW")
    torch.set_rng_state(last.tensors("random")["state"])
    return Progress(**last.facts["progress"])
