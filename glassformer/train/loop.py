"""The one training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from glassformer.config import TrainSection
from glassformer.data.chance import draw
from glassformer.errors import CheckpointError, NotFiniteError
from glassformer.models.transformer import Transformer
from glassformer.tasks.task import Batch, Task
from glassformer.train.machine import Say, repeatable
from glassformer.train.memory import keep_freed_memory, recomputing
from glassformer.train.notices import plateau
from glassformer.train.optimize import trained
from glassformer.train.record import Record, Step
from glassformer.train.run import Run, to_standard_error
from glassformer.train.stopping import Interrupted, stop_signals
from glassformer.whole import drafted


def fit(
    model: Transformer,
    task: Task,
    settings: TrainSection,
    *,
    out: str | Path,
    held_out: Task | None = None,
    resume: bool = False,
    say: Say = to_standard_error,
) -> Iterator[Step]:
    """Train `model` in place and tell of each step.

    When the iterator ends, the model holds the weights to keep: the mean of the last checkpoints where `average` asks
    for it, else the best on `held_out`, else the moving average where `ema` asks for it, else the last. `out` gets
    `checkpoints/` and `metrics.jsonl`. With `resume` the run goes on from its newest checkpoint; one that is bounded by
    steps or epochs ends with the same weights, on a CPU to the bit, as if it had never stopped.

    Raises DeviceError, ConfigError, CheckpointError (no room on the disk, a damaged checkpoint, a folder that holds
    another run), NotFiniteError (a loss or gradient is not) and, after Ctrl-C or SIGTERM, Interrupted; then everything
    is saved.
    """
    out = Path(out)
    run = Run.begin(model, task, settings, out=out, held_out=held_out, resume=resume, say=say)
    with closing(_steps(run, out)) as steps:
        while True:
            # Not while the caller has a step: what he computes then, this model or another run, is his own.
            with repeatable(run.machine), recomputing(model, settings.activation_checkpointing):
                step = next(steps, None)
            if step is None:
                return
            yield step


def _steps(run: Run, out: Path) -> Generator[Step]:
    task, settings, say = run.task, run.settings, run.say
    state, progress, device = run.state, run.progress, run.machine.device
    parameters = list(trained(state.model).values())
    with (
        closing(Record(out, progress, tensorboard=settings.tensorboard)) as record,
        stop_signals() as wish,
    ):
        _compile(run)
        keep_freed_memory()  # not before: the compiler leaves hundreds of megabytes behind
        began = time.monotonic() - progress.seconds
        while not run.over:
            started = time.monotonic()
            parts = parts_of(task, progress.step, settings.accumulate)
            # Counted before the first backward pass: each target weighs the same, however the step is cut.
            targets = max(1, sum(part.targets for part in parts))
            seed = step_seed(settings.seed, progress.step).to(device)
            losses = [run.loss_and_gradient(part.to(device).with_noise(seed), targets) for part in parts]
            norm = float(torch.nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf))
            if not math.isfinite(sum(losses) + norm):
                raise _not_finite(run, out, parts, losses)

            rate = settings.learning_rate * run.schedule(progress)
            for group in state.optimizer.param_groups:
                group["lr"] = rate
            state.optimizer.step()
            state.optimizer.zero_grad(set_to_none=True)
            progress.step += 1
            if state.average is not None:
                state.average.update(state.model, progress.step)

            now = time.monotonic()
            progress.seconds = now - began  # with all evaluations and savings before it
            scores = run.judge()  # not before: a run bounded by minutes must know that this step was its last
            report = Step(
                step=progress.step,
                steps=run.ending.steps,
                fraction=run.ending.fraction(progress),
                epoch=progress.step / task.steps_per_epoch,
                loss=sum(losses),
                learning_rate=rate,
                norm=norm,
                targets=sum(part.targets for part in parts),
                pieces=sum(part.pieces for part in parts),
                seconds=now - started,
                elapsed=progress.seconds,
                scores=scores,
            )
            if notice := plateau(progress, report.loss, report.fraction, task.blind_loss, settings):
                say(notice)
            record.see(report)
            if run.saving_due or run.over or wish.signal_number is not None:
                run.save()
            away = time.monotonic()
            yield report
            began += time.monotonic() - away  # what the caller does with a step is no part of the run
            if wish.signal_number is not None:
                run.save()
                raise Interrupted(
                    f"stopped after step {progress.step:,}; everything is saved in {out}: go on with --resume",
                    signal_number=wish.signal_number,
                )
    run.finish()


def step_seed(seed: int, step: int) -> Tensor:
    """The source of a step's dropout, an int32 scalar: a pure function of the run's seed and the step."""
    return torch.tensor(draw(seed, step).astype("int64").item() & 0x7FFFFFFF, dtype=torch.int32)


def parts_of(task: Task, step: int, accumulate: int) -> list[Batch]:
    """The rows of a step in `accumulate` parts, or in as many as there are rows."""
    parts = min(accumulate, task.rows(step))
    return [task.batch(step, part, parts) for part in range(parts)]


def _compile(run: Run) -> None:
    """One pass forward and back, so that the clock of the run starts when the kernels are there."""
    if not run.loss_and_gradient.compiled or run.over:
        return
    started = time.monotonic()
    batch = parts_of(run.task, run.progress.step, run.settings.accumulate)[0].to(run.machine.device)
    run.loss_and_gradient(batch.with_noise(step_seed(run.settings.seed, run.progress.step).to(run.machine.device)))
    run.state.optimizer.zero_grad(set_to_none=True)
    run.progress.setup += time.monotonic() - started


def _not_finite(run: Run, out: Path, parts: Sequence[Batch], losses: Sequence[float]) -> NotFiniteError:
    """Save the run as it stands before the step, and the batch that caused it, and say so."""
    step = run.progress.step
    what = "loss" if not math.isfinite(sum(losses)) else "gradient"
    path = out / f"not-finite-step-{step + 1}.safetensors"
    guilty = [index for index, loss in enumerate(losses) if not math.isfinite(loss)] or range(len(parts))
    try:
        # The optimizer has not moved: a run that is resumed from here meets the same batch again.
        if step and run.state.finite:
            run.save()
    except CheckpointError as error:
        run.say(str(error))
    try:
        _write_batch(path, {index: parts[index] for index in guilty})
        got = f"the batch that is saved in {path}"
    except (OSError, SafetensorError) as error:
        got = f"a batch that could not be saved ({getattr(error, 'strerror', None) or error})"
    return NotFiniteError(
        f"training needs finite numbers: the {what} of step {step + 1} is not",
        got=got,
        do="the weights have not moved: resume with a lower learning rate, a longer warm-up or precision float32",
    )


def _write_batch(path: Path, parts: Mapping[int, Batch]) -> None:
    tensors = {f"{index}.{name}": value.contiguous() for index, part in parts.items() for name, value in part.tensors()}
    with drafted(path) as draft:
        save_file(tensors, draft)
