"""Estimates what a run will need, from a short probe: parameters, memory, time."""

import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import torch

from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log, choose_machine, keep_freed_memory, recomputing, repeatable
from glassformer.tasks.feed import Feed
from glassformer.training import adapters
from glassformer.training.budget import Budget
from glassformer.training.compiled import LossAndGradient, worth_compiling
from glassformer.training.loop import counts_of, parts_of, step_seed
from glassformer.training.optimize import build_optimizer, optimizer_tensors
from glassformer.training.run import mean_tokens, place_frozen, to_standard_error
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.tune import choose, trained


@dataclass(frozen=True)
class Plan:
    """Sizes in bytes, times in seconds. Fields in `measured` were measured by the probe, the others are computed.
    `peak_bytes` is the most memory this process has used so far (on a GPU: the device's), None where the system does
    not report it. `runs` are as many as there are seeds, one after the other; `seconds` are those of all of them,
    without evaluation and saving, and everything else is that of one run.
    """

    machine: str
    compiled: bool
    reason: str
    parameters: int
    trained_parameters: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    checkpoint_bytes: int
    rows_per_step: int
    tokens_per_step: int
    steps: int
    epochs: float
    setup_seconds: float
    seconds_per_step: float
    tokens_per_second: float
    seconds_of_run: float
    runs: int
    seconds: float
    peak_bytes: int | None
    measured: tuple[str, ...] = (
        "setup_seconds",
        "seconds_per_step",
        "tokens_per_second",
        "seconds_of_run",
        "seconds",
        "peak_bytes",
    )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(
    model: Transformer,
    feed: Feed,
    settings: TrainSection,
    *,
    tune: TuneSection | None = None,
    steps: int = 3,
    log: Log = to_standard_error,
) -> Plan:
    """Do a few steps with a learning rate of zero, each twice as the first compiles and allocates, and estimate the
    whole run, with all its blocks. Raises DeviceError, ConfigError.
    """
    machine = choose_machine(settings.device, settings.precision, settings.threads)
    tune = TuneSection() if tune is None else tune
    if tune.adapters is not None:
        adapters.attach(model, tune.adapters, seed=settings.seed)
    stages = choose(model, tune)
    stages.begin(model, len(stages.names) - 1)
    model.to(machine.device, machine.weights).train()
    place_frozen(feed, machine)
    budget = Budget.of(settings, feed.steps_per_epoch)
    tokens = mean_tokens(feed)
    compiled, reason = worth_compiling(settings, budget, model, feed, tokens, machine, stages=len(stages.names))
    if compiled:
        log("compiling for the probe, up to a minute")
    loss_and_gradient = LossAndGradient(feed, model, machine, compiled=compiled, log=log)
    optimizer = build_optimizer(model, settings, tune=tune, products=machine.products)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    keep_freed_memory()

    def seconds_of(step: int) -> float:
        started = time.monotonic()
        parts = parts_of(feed, step, settings.accumulate)
        for part in parts:
            seed = step_seed(settings.seed, step).to(machine.device)
            loss_and_gradient(part.to(machine.device).with_dropout_key(seed), counts_of(parts))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if machine.device.type == "cuda":
            torch.cuda.synchronize(machine.device)
        return time.monotonic() - started

    with repeatable(machine), recomputing(model, settings.activation_checkpointing):
        times = [(seconds_of(step), seconds_of(step)) for step in range(steps)]
    setup = sum(max(0.0, first - second) for first, second in times)
    per_step = tokens * statistics.median(second / feed.batch(step).tokens for step, (_, second) in enumerate(times))
    by_clock = None if budget.seconds is None else max(1, int((budget.seconds - setup) / per_step))
    total = min(limit for limit in (budget.steps, by_clock) if limit is not None)
    seconds = setup + total * per_step
    parameters = list(model.parameters())
    weights_bytes = sum(each.numel() * each.element_size() for each in parameters)
    trained_bytes = sum(each.numel() * each.element_size() for each in trained(model).values())
    moments = (each for each in optimizer_tensors(model, optimizer).values() if each.dim())  # not the counts of steps
    state_bytes = sum(each.numel() * each.element_size() for each in moments)
    state_bytes += trained_bytes if settings.ema is not None else 0
    return Plan(
        machine=str(machine),
        compiled=loss_and_gradient.compiled,
        reason=reason,
        parameters=sum(each.numel() for each in parameters),
        trained_parameters=sum(each.numel() for each in trained(model).values()),
        weights_bytes=weights_bytes,
        gradients_bytes=trained_bytes,
        optimizer_bytes=state_bytes,
        checkpoint_bytes=weights_bytes + state_bytes,
        rows_per_step=feed.rows(0),
        tokens_per_step=round(tokens),
        steps=total,
        epochs=total / feed.steps_per_epoch,
        setup_seconds=setup,
        seconds_per_step=per_step,
        tokens_per_second=tokens / per_step,
        seconds_of_run=seconds,
        runs=settings.seeds,
        seconds=settings.seeds * seconds,
        peak_bytes=_peak_bytes(machine.device),
    )


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
