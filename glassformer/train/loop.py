"""The one training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from glassformer.config import TrainSection
from glassformer.data.chance import draw
from glassformer.errors import NotFiniteError
from glassformer.models.transformer import Transformer
from glassformer.tasks.task import Batch, Task
from glassformer.train.machine import Say, repeatable
from glassformer.train.memory import keep_freed_memory
from glassformer.train.notices import plateau
from glassformer.train.optimize import trained
from glassformer.train.record import Record, Step
from glassformer.train.run import Run, to_standard_error
from glassformer.train.stopping import Interrupted, stop_signals


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
    steps or epochs ends with the same weights, to the bit, as if it had never stopped.

    Raises DeviceError, ConfigError, CheckpointError (no room on the disk, a damaged checkpoint, a folder that holds
    another run), NotFiniteError (a loss or gradient is not) and, after Ctrl-C or SIGTERM, Interrupted; then everything
    is saved.
    """
    out = Path(out)
    run = Run.begin(model, task, settings, out=out, held_out=held_out, resume=resume, say=say)
    state, progress, device = run.state, run.progress, run.machine.device
    parameters = list(trained(model).values())
    with (
        closing(Record(out, step=progress.step, tensorboard=settings.tensorboard)) as record,
        repeatable(run.machine),
        stop_signals() as wish,
    ):
        _compile(run)
        keep_freed_memory()  # not before: the compiler leaves hundreds of megabytes behind
        mark = time.monotonic()
        while not run.over:
            parts = [task.batch(progress.step, part, settings.accumulate) for part in range(settings.accumulate)]
            # Counted before the first backward pass: each target weighs the same, however the step is cut.
            targets = max(1, sum(part.targets for part in parts))
            seed = step_seed(settings.seed, progress.step).to(device)
            losses = []
            for part in parts:
                loss = run.loss_of(part.to(device).with_noise(seed)) / targets
                loss.backward()
                losses.append(float(loss.detach()))
            norm = float(torch.nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf))
            if not math.isfinite(sum(losses) + norm):
                raise _not_finite(out, progress.step, parts, losses)

            rate = settings.learning_rate * run.schedule(progress)
            for group in state.optimizer.param_groups:
                group["lr"] = rate
            state.optimizer.step()
            state.optimizer.zero_grad(set_to_none=True)
            progress.step += 1
            if state.average is not None:
                state.average.update(model, progress.step)

            mark, seconds = time.monotonic(), time.monotonic() - mark
            progress.seconds += seconds
            scores = run.judge()  # not before: a run bounded by minutes must know that this step was its last
            report = Step(
                step=progress.step,
                steps=run.ending.steps,
                fraction=run.ending.fraction(progress),
                epoch=progress.step / task.steps_per_epoch,
                loss=sum(losses),
                learning_rate=rate,
                norm=norm,
                targets=targets,
                pieces=sum(part.pieces for part in parts),
                seconds=seconds,
                elapsed=progress.seconds,
                scores=scores,
            )
            if notice := plateau(progress, report.loss, report.fraction, task.blind_loss, settings):
                say(notice)
            record.see(report)
            if run.saving_due or run.over or wish.signal_number is not None:
                run.save()
            yield report
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


def _compile(run: Run) -> None:
    """One pass forward and back, so that the clock of the run starts when the kernels are there."""
    if not run.loss_of.compiled or run.over:
        return
    started = time.monotonic()
    batch = run.task.batch(run.progress.step, 0, run.settings.accumulate).to(run.machine.device)
    run.loss_of(batch.with_noise(step_seed(run.settings.seed, run.progress.step).to(run.machine.device))).backward()
    run.state.optimizer.zero_grad(set_to_none=True)
    run.facts["compiled"] = run.loss_of.compiled
    run.progress.setup += time.monotonic() - started


def _not_finite(out: Path, step: int, parts: Sequence[Batch], losses: Sequence[float]) -> NotFiniteError:
    """Save the batch that caused it, before the optimizer has moved, and say so."""
    guilty = [index for index, loss in enumerate(losses) if not math.isfinite(loss)] or range(len(parts))
    path = out / f"not-finite-step-{step + 1}.safetensors"
    tensors = {f"{index}.{name}": value.contiguous() for index in guilty for name, value in parts[index].tensors()}
    save_file(tensors, path)
    what = "loss" if not math.isfinite(sum(losses)) else "gradient"
    return NotFiniteError(
        f"training needs finite numbers: the {what} of step {step + 1} is not",
        got=f"the batch that is saved in {path}",
        do="the weights have not moved: resume with a lower learning rate, a longer warm-up or precision float32",
    )
