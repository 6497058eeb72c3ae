"""The training loop, and which weights a run keeps at its end."""

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import Parameter

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, NotFiniteError
from glassformer.data.batches.batch import random_bits
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log, keep_freed_memory, recomputing, repeatable
from glassformer.runtime.processes import ALONE, Processes
from glassformer.tasks.feed import Feed
from glassformer.training.budget import plateau
from glassformer.training.checkpoint import Checkpoint, restore, weights
from glassformer.training.record import Record, Step, Unseen, WatchedSentences, Watching, running_means
from glassformer.training.run import Run, to_standard_error
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.stopping import Interrupted, stop_signals
from glassformer.training.trackers import trackers


def fit(
    model: Transformer,
    feed: Feed,
    settings: TrainSection,
    *,
    tune: TuneSection | None = None,
    out: str | Path,
    held_out: Feed | None = None,
    resume: bool = False,
    log: Log = to_standard_error,
    watched: WatchedSentences | None = None,
    start_seconds: float | None = None,
    processes: Processes = ALONE,
) -> Iterator[Step]:
    """Train `model` in place and yield each step.

    When the iterator ends, the model holds the weights to keep: the best on `held_out`, including the mean of the last
    checkpoints where `average` asks for it. Without `held_out` these are that mean, else the moving average where `ema`
    asks for it, else the last. What is trained is chosen by `tune`, everything by default; adapters are in the
    checkpoints, and merged into the weights at the end and kept in `adapters.safetensors`. `out` gets `checkpoints/`
    and `metrics.jsonl`. With `resume` the run continues from its newest checkpoint; one that is bounded by steps or
    epochs ends with the same weights, on a CPU to the bit, as if it had never stopped. Of `watched` sentences `out`
    gets the records too; the weights are the same to the bit with and without.

    `start_seconds`: how long it took to find initial weights that know the task, a part of `train.minutes`; these are
    measured too, and kept where no later ones are better. At the end their mean with the best later ones is measured
    (Wortsman et al. 2022, with equal shares), and kept where it is better.

    Of several `processes` each learns from its share of the rows of each step, and all end with the weights that one
    alone would have, up to rounding. Only the first one writes to `out`; the others need no `watched` and no log.

    Raises DeviceError, ConfigError, CheckpointError (no room on the disk, a damaged checkpoint, a folder that holds
    another run), NotFiniteError (a loss or gradient is not finite) and, after Ctrl-C or SIGTERM, Interrupted; then
    everything is saved.
    """
    run = Run.begin(
        model,
        feed,
        settings,
        tune=TuneSection() if tune is None else tune,
        out=Path(out),
        held_out=held_out,
        resume=resume,
        log=log,
        processes=processes,
    )
    if start_seconds is not None and run.progress.step == 0:
        began = time.monotonic()
        run.measure_start()
        # As compiling: it takes time but makes no steps.
        run.progress.setup += start_seconds + time.monotonic() - began
    with closing(_steps(run, watched)) as steps:
        while True:
            # Not active while the caller handles a step: these settings must not change what the caller computes.
            with repeatable(run.machine), recomputing(run.state.model, settings.activation_checkpointing):
                step = next(steps, None)
            if step is None:
                return
            yield step


def _steps(run: Run, watched: WatchedSentences | None) -> Generator[Step]:
    feed, settings, log, processes = run.feed, run.settings, run.log, run.processes
    state, progress = run.state, run.progress
    parameters = [state.model.get_parameter(name) for name in run.tuned.stages.trained()]
    written: Record | Unseen = Unseen()
    if processes.first:
        written = Record(run.out, progress, trackers=trackers(settings.track, run.out, progress.step, log))
    with (
        closing(written) as record,
        stop_signals(copies=processes.count > 1) as stop_request,
        ExitStack() as stack,
    ):
        _compile(run)
        parts = Ahead(
            lambda step: parts_of(feed, step, settings.accumulate, processes), thread=run.machine.device.type != "cpu"
        )
        stack.enter_context(closing(parts))
        keep_freed_memory()  # only now: the compiler has allocated hundreds of megabytes
        began = time.monotonic() - progress.seconds
        watching: Watching | Unseen = Unseen()
        if watched is not None:
            watching = Watching.begin(run.out, watched, run.state.evaluated_model(), progress.step, run.log)
        stack.enter_context(closing(watching))
        run.agree()
        while not run.over:
            started = time.monotonic()
            if run.tuned.begin_if_due(run.budget.fraction(progress), progress.step):
                run.loss_and_gradient.forget_shapes()
            loss, losses, counts, norm, tokens = _learn(run, parts(progress.step), parameters)
            rate = settings.rate * run.schedule(progress)
            for group in state.optimizer.param_groups:
                group["lr"] = rate * group["scale"]
            run.tuned.step(state.optimizer, progress.step)
            state.optimizer.zero_grad()
            progress.step += 1
            means = running_means(progress.recent, loss, losses)
            progress.setup += run.loss_and_gradient.setup
            began += run.loss_and_gradient.setup  # counted once: what is left of the minutes is without it
            run.loss_and_gradient.setup = 0.0
            if state.average is not None:
                state.average.update(state.model, progress.step)

            now = time.monotonic()
            progress.seconds = now - began  # includes all earlier evaluations and saving
            run.agree()
            # After the time is set: a run bounded by minutes must know that this step was its last.
            scores = run.evaluate_if_due()
            report = Step(
                step=progress.step, steps=run.budget.steps,
                fraction=1.0 if run.over else run.budget.fraction(progress),
                epoch=progress.step / feed.steps_per_epoch, loss=loss, losses=losses,
                learning_rate=rate, norm=norm, counts=counts, tokens=tokens,
                seconds=now - started, elapsed=progress.seconds, means=means, scores=scores,
                best=feed.best, baseline_names=feed.baseline_names,
            )  # fmt: skip
            notice = plateau(progress, report.loss, report.fraction, feed.baseline_loss, settings, feed.plateau_causes)
            if notice is not None:
                log(notice)
            record.see(report)
            watching.see(state.evaluated_model(), report)  # before a checkpoint, which then has its record
            if processes.any_of(run.saving_due or run.over or stop_request.signal_number is not None):
                run.save()
            away = time.monotonic()
            yield report
            began += time.monotonic() - away  # the caller's own time is not part of the run
            if signal_number := int(processes.highest(stop_request.signal_number or 0)[0]):
                run.save()
                raise Interrupted(
                    f"stopped after step {progress.step:,}; everything is saved in {run.out}: continue with "
                    "--resume, in Python resume=True",
                    signal_number=signal_number,
                )
    run.save()
    state.settle()
    if processes.first:
        finish(run)
    processes.copy_of_first(list(weights(state.whole).values()))
    run.tuned.finish(run.out if processes.first else None)


class Ahead:
    """The batches of each step. With `thread` those of the next step are made in one while a GPU computes this one."""

    def __init__(self, parts: Callable[[int], list[Batch]], *, thread: bool) -> None:
        self._parts, self._next = parts, dict[int, Future[list[Batch]]]()
        self._pool = ThreadPoolExecutor(1, "batches") if thread else None

    def __call__(self, step: int) -> list[Batch]:
        if self._pool is None:
            return self._parts(step)
        found = self._next.pop(step, None)
        parts = self._parts(step) if found is None else found.result()
        self._next = {step + 1: self._pool.submit(self._parts, step + 1)}
        return parts

    def close(self) -> None:
        """Wait for the thread."""
        if self._pool is not None:
            self._pool.shutdown()


def _learn(
    run: Run, parts: Sequence[Batch], parameters: Sequence[Parameter]
) -> tuple[float, dict[str, float], Mapping[str, float], float, int]:
    """The forward and backward passes of a step, in parts: the weighted sum of the losses, these, the labels of each,
    the gradient's norm before clipping, tokens. Raises NotFiniteError.
    """
    feed, settings, device, step = run.feed, run.settings, run.machine.device, run.progress.step
    # Counted before the first backward pass, so that each label has the same weight however the step is cut.
    tokens = sum(part.tokens for part in parts)
    counts, present, size = run.processes.sums(counts_of(parts), _present(parts), {"tokens": tokens})
    seed = step_seed(settings.seed, step).to(device)
    of_parts = run.processes.together(
        lambda: [run.loss_and_gradient(part.to(device).with_dropout_key(seed), counts) for part in parts]
    )
    run.processes.add_up([each.grad for each in parameters if each.grad is not None])
    sums = run.processes.sums({name: sum(part[name] for part in of_parts) for name in of_parts[0]})[0]
    losses = mean_losses(sums, counts, present)
    loss = sum(feed.weights[name] * value for name, value in losses.items())
    clipped = run.processes.together(lambda: torch.nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf))
    norm = float(run.processes.whole(clipped))
    if not math.isfinite(loss + norm):
        raise _not_finite(run, parts, of_parts)
    return loss, losses, counts, norm, int(size["tokens"])


def step_seed(seed: int, step: int) -> Tensor:
    """The seed of a step's dropout, an int32 scalar: a pure function of the run's seed and the step."""
    return torch.tensor(random_bits(seed, step).astype("int64").item() & 0x7FFFFFFF, dtype=torch.int32)


def parts_of(feed: Feed, step: int, accumulate: int, processes: Processes = ALONE) -> list[Batch]:
    """The rows of a step in up to `accumulate` parts for each process: those of this process."""
    parts = min(accumulate, feed.rows(step) // processes.count) * processes.count
    return [feed.batch(step, part, parts) for part in range(processes.number, parts, processes.count)]


def counts_of(parts: Sequence[Batch]) -> dict[str, float]:
    """By loss, the sum of the weights of the labels in all these parts of a step."""
    return {name: sum(part.counts[name] for part in parts) for name in parts[0].counts}


def _present(parts: Sequence[Batch]) -> dict[str, float]:
    each = [part.counts if part.present is None else part.present for part in parts]
    return {name: sum(its[name] for its in each) for name in each[0]}


def mean_losses(
    losses: Mapping[str, float], counts: Mapping[str, float], present: Mapping[str, float]
) -> dict[str, float]:
    """By loss, the mean over the labels of a step. What is learned from may be divided by the mean count of an epoch's
    steps instead: of a step with half as many labels that would be half of their mean.
    """
    return {name: loss * counts[name] / present[name] if present[name] else loss for name, loss in losses.items()}


def _compile(run: Run) -> None:
    """One forward and backward pass, so that the clock of the run starts after the kernels are compiled."""
    if not run.loss_and_gradient.compiled or run.over:
        return
    started = time.monotonic()
    batch = parts_of(run.feed, run.progress.step, run.settings.accumulate, run.processes)[0].to(run.machine.device)
    seed = step_seed(run.settings.seed, run.progress.step).to(run.machine.device)
    run.loss_and_gradient(batch.with_dropout_key(seed), batch.counts)
    run.state.optimizer.zero_grad()
    run.progress.setup += time.monotonic() - started
    run.loss_and_gradient.setup = 0.0


def _not_finite(run: Run, parts: Sequence[Batch], losses: Sequence[Mapping[str, float]]) -> NotFiniteError:
    """Save the run as it was before the step, and the batch that caused it; returns the error to raise."""
    step = run.progress.step
    sums = [sum(part.values()) for part in losses]
    what = "loss" if not math.isfinite(sum(sums)) else "gradient"
    path = run.out / f"not-finite-step-{step + 1}.safetensors"
    at_fault = {index: parts[index] for index, loss in enumerate(sums) if not math.isfinite(loss)}
    if not at_fault:  # maybe one of another process
        at_fault = dict(enumerate(parts_of(run.feed, step, run.settings.accumulate * run.processes.count)))
    try:
        # The optimizer has made no step: a run that is resumed from here gets the same batch again.
        if step and run.state.finite:
            run.save()
    except CheckpointError as error:
        run.log(str(error))
    try:
        if run.processes.first:
            _write_batch(path, at_fault)
        got = f"the batch that is saved in {path}"
    except (OSError, SafetensorError) as error:
        got = f"a batch that could not be saved ({getattr(error, 'strerror', None) or error})"
    return NotFiniteError(
        f"the {what} of each step must be finite; that of step {step + 1} is not",
        got=got,
        do="the weights are unchanged: resume with a lower learning rate, a longer warm-up or precision float32",
    )


def _write_batch(path: Path, parts: Mapping[int, Batch]) -> None:
    tensors = {f"{index}.{name}": value.contiguous() for index, part in parts.items() for name, value in part.tensors()}
    with atomic_write(path) as draft:
        save_file(tensors, draft)


def finish(run: Run) -> None:
    """Set the model of a run that is saved to the weights to keep: see `fit`."""
    model, settings, progress = run.state.whole, run.settings, run.progress
    best = None if run.held_out is None or progress.best is None else run.checkpoints.best()
    best = None if best is not None and best.step != progress.best_step else best
    mean = of_mean = ""
    if settings.average is not None:
        # Checkpoints at the chosen steps and at the end: not those written by the clock or on Ctrl-C.
        every = settings.checkpoint_every or 1
        chosen = [each for each in run.checkpoints.all() if each.step % every == 0 or each.step == progress.step]
        kept = chosen[-settings.average :]
        _take_mean(model, kept)
        mean = f"the mean of the checkpoints of steps {', '.join(str(each.step) for each in kept)}"
    elif best is not None and best.step > 0 and (start := run.checkpoints.start()) is not None:
        # Half-way to the start (Wortsman et al. 2022), where `up` of adapters is 0: their mean has the later `down`.
        _take_mean(model, [start, best], last=".adapter.down")
        mean = f"the mean of the weights of step 0 and of step {best.step:,}"
    if mean:
        if best is None:
            run.log(f"keeping {mean}")
            return
        found, scores = run.measured(model)
        loss = scores.get("loss", math.inf)
        if run.is_better(found, loss):
            its = run.in_words(progress.best, progress.best_loss)
            run.log(f"keeping {mean}, with {run.in_words(found, loss)}; the best single step, {best.step:,}, has {its}")
            return
        of_mean = f"; {mean} has {run.in_words(found, loss)}"
    if best is not None:
        restore(weights(model), best.tensors("model"), what=f"model in {best.folder}")
        by = " by this loss" if progress.loss_decides else ""
        if by and run.held_out is not None and run.held_out.best != "-loss":
            by += ", one more example counted as wrong"
        none = f"no later step was better{by}"
        step = f"step {best.step:,}, the best" if best.step else f"step 0, the initial weights: {none}"
        run.log(f"keeping {step}, with {run.in_words(progress.best, progress.best_loss)}{of_mean}")
    elif run.state.average is not None:
        run.log("keeping the moving average of the weights")
    elif progress.best is not None:  # it was damaged, and the user deleted it as advised
        run.log(f"keeping the last weights, as the best model (step {progress.best_step:,}) is missing")


def _take_mean(model: Transformer, checkpoints: list[Checkpoint], last: str = " ") -> None:
    """The weights become the mean of those of checkpoints; the last checkpoint's where a name ends with `last`."""
    group = "average" if "average" in checkpoints[0].facts["groups"] else "model"
    total: dict[str, torch.Tensor] = {}
    for checkpoint in checkpoints:
        for name, tensor in checkpoint.tensors(group).items():
            more = (len(checkpoints) - 1) * tensor.double() if name.endswith(last) else total.get(name, 0.0)
            total[name] = more + tensor.double()
    mine = weights(model)
    with torch.no_grad():
        for name, tensor in total.items():
            mine[name].copy_(tensor / len(checkpoints))
