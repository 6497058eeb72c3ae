"""Estimates what a run will need, from a short probe: parameters, memory, time."""

import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log, choose_machine, keep_freed_memory, recomputing, repeatable
from glassformer.tasks.feed import Feed
from glassformer.training import adapters
from glassformer.training.budget import EVALUATION_ROWS, Budget, evaluations
from glassformer.training.compiled import LossAndGradient, worth_compiling
from glassformer.training.loop import counts_of, parts_of, step_seed
from glassformer.training.optimize import build_optimizer, optimizer_tensors
from glassformer.training.run import place_frozen, sampled_tokens, to_standard_error
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.tune import choose, trained

# What the rows of other lengths than those of the first steps, or an evaluation, may add to the time of a probe.
_MOST_SECONDS = 10.0
# Rows of the evaluation that shows whether a whole one takes longer.
_FEW_ROWS = 32


@dataclass(frozen=True)
class Plan:
    """Sizes in bytes, times in seconds. Fields in `measured` were measured by the probe, the others are computed.
    `peak_bytes` is the most memory this process has used, with an evaluation and the end of a run where the probe has
    done them (on a GPU: the device's), None where the system does not report it. `runs` are as many as there are seeds,
    one after the other; `seconds` are those of all of them, each with what comes before its first step
    (`preparing_seconds`) and after its last (`ending_seconds`: measuring, baselines, saving); everything else is that
    of one run.
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
    preparing_seconds: float
    setup_seconds: float
    seconds_per_step: float
    tokens_per_second: float
    evaluations: int
    evaluation_seconds: float
    seconds_of_run: float
    ending_seconds: float
    runs: int
    seconds: float
    peak_bytes: int | None
    measured: tuple[str, ...] = (
        "preparing_seconds",
        "setup_seconds",
        "seconds_per_step",
        "tokens_per_second",
        "evaluation_seconds",
        "seconds_of_run",
        "ending_seconds",
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
    held_out: Feed | None = None,
    end: Callable[[], float] | None = None,
    began: float | None = None,
    probe_seconds: float = 0.0,
    log: Log = to_standard_error,
) -> Plan:
    """Do a few steps with a learning rate of zero, each twice as the first compiles and allocates, an evaluation and
    the `end` of a run, which returns its seconds, and estimate the whole run, with all its blocks. `began` is when the
    command did, by the monotonic clock; `probe_seconds` of the time since then are a part of the run's minutes. Raises
    DeviceError, ConfigError.
    """
    began = time.monotonic() if began is None else began
    machine = choose_machine(settings.device, settings.precision, settings.threads)
    tune = TuneSection() if tune is None else tune
    if tune.adapters is not None:
        adapters.attach(model, tune.adapters, seed=settings.seed)
    stages = choose(model, tune)
    stages.begin(model)
    model.to(machine.device, machine.weights).train()
    place_frozen(feed, machine)
    budget = Budget.of(settings, feed.steps_per_epoch)
    sampled = sampled_tokens(feed)
    tokens = statistics.mean(sampled.values())
    compiled, reason = worth_compiling(settings, budget, model, feed, tokens, machine, stages=len(stages.names))
    if compiled:
        log("compiling for the probe, a minute or more on a busy machine")
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
        optimizer.zero_grad()
        if machine.device.type == "cuda":
            torch.cuda.synchronize(machine.device)
        return time.monotonic() - started

    preparing = time.monotonic() - began
    # The allocator keeps what each length of rows needs: the longest first, as time may end.
    others = sorted(sampled, key=lambda step: -sampled[step])[::3] if feed.shapes > 1 else []
    with repeatable(machine), recomputing(model, settings.activation_checkpointing):
        times = {step: (seconds_of(step), seconds_of(step)) for step in range(steps)}
        spent = time.thread_time()  # so that other work on the machine does not end it
        for number, step in enumerate(others, start=1):
            if time.thread_time() - spent < _MOST_SECONDS:
                if compiled:
                    log(f"compiling for rows of another length, {number} of at most {len(others)}")
                times[step] = seconds_of(step), seconds_of(step)
    setup = sum(max(0.0, first - second) for first, second in times.values())
    per_step = tokens * statistics.median(second / feed.batch(step).tokens for step, (_, second) in times.items())
    with machine.context():
        evaluation = 0.0 if held_out is None else _evaluation(held_out, model)
    total, often = _steps(budget, settings, feed.rows(0), setup + probe_seconds, per_step, evaluation)
    often = 0 if held_out is None else often
    seconds = setup + total * per_step + often * evaluation
    parameters = list(model.parameters())
    weights_bytes = sum(each.numel() * each.element_size() for each in parameters)
    learned = list(trained(model).values())  # before adapters are merged
    trained_bytes = sum(each.numel() * each.element_size() for each in learned)
    moments = (each for each in optimizer_tensors(model, optimizer).values() if each.dim())  # not the counts of steps
    state_bytes = sum(each.numel() * each.element_size() for each in moments)
    state_bytes += trained_bytes if settings.ema is not None else 0
    adapters.merge(model)
    ending = 0.0 if end is None else end()
    return Plan(
        machine=str(machine),
        compiled=loss_and_gradient.compiled,
        reason=reason,
        parameters=sum(each.numel() for each in parameters),
        trained_parameters=sum(each.numel() for each in learned),
        weights_bytes=weights_bytes,
        gradients_bytes=trained_bytes,
        optimizer_bytes=state_bytes,
        checkpoint_bytes=weights_bytes + state_bytes,
        rows_per_step=feed.rows(0),
        tokens_per_step=round(tokens),
        steps=total,
        epochs=total / feed.steps_per_epoch,
        preparing_seconds=preparing,
        setup_seconds=setup,
        seconds_per_step=per_step,
        tokens_per_second=tokens / per_step,
        evaluations=often,
        evaluation_seconds=evaluation,
        seconds_of_run=seconds,
        ending_seconds=ending,
        runs=settings.seeds,
        seconds=settings.seeds * (preparing + seconds + ending),
        peak_bytes=_peak_bytes(machine.device),
    )


def _evaluation(held_out: Feed, model: Transformer) -> float:
    """The seconds of an evaluation in a run; computed from a few rows where it is long."""
    whole = min(EVALUATION_ROWS, math.ceil(held_out.steps_per_epoch * held_out.rows(0)))
    for rows in (min(_FEW_ROWS, whole), whole):
        began = time.monotonic()
        held_out.evaluate(model, limit=rows)
        seconds = (time.monotonic() - began) * whole / rows
        if seconds > _MOST_SECONDS:
            break
    return seconds


def _steps(
    budget: Budget, settings: TrainSection, rows: int, setup: float, per_step: float, evaluation: float
) -> tuple[int, int]:
    """How many steps and evaluations a run has; those before the last are part of its minutes."""
    steps, often = budget.steps, 0
    for _ in range(3 if budget.seconds is not None else 1):
        if budget.seconds is not None:
            left = budget.seconds - setup - max(0, often - 1) * evaluation
            by_clock = max(1, int(left / per_step))
            steps = by_clock if budget.steps is None else min(budget.steps, by_clock)
        assert steps is not None
        every = settings.evaluate_every
        often = evaluations(steps, rows) if every is None else -(-steps // every)
    assert steps is not None
    return steps, often


def _peak_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
