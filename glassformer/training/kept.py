"""Which weights a run ends with: the best, a mean of checkpoints, the moving average, or the last."""

from __future__ import annotations

import math

import torch

from glassformer.models.transformer import Transformer
from glassformer.training.cadence import EVALUATION_ROWS
from glassformer.training.checkpoint import Checkpoint, restore, weights
from glassformer.training.run import Run, better_if_higher


def finish(run: Run) -> None:
    """Save the run, and give its model the weights to keep: see `fit`."""
    run.save()
    model, settings, progress = run.state.model, run.settings, run.progress
    best = None if run.held_out is None or progress.best is None else run.checkpoints.best()
    beside = ""
    if settings.average is not None:
        kept = _regular(run)[-settings.average :]
        if run.state.average is not None:
            run.state.average.copy_to(model)
        _take_mean(model, kept)
        mean = f"the mean of the checkpoints of steps {', '.join(str(each.step) for each in kept)}"
        if best is None:
            run.log(f"kept: {mean}")
            return
        found, loss = _measured(run, model)
        if run.is_better(found, loss):
            its = _told(run, progress.best)
            run.log(f"kept: {mean}, with {_told(run, found)}; the best model, of step {best.step:,}, has {its}")
            return
        beside = f"; {mean} has {_told(run, found)}"
    if best is not None:
        restore(weights(model), best.tensors("model"), what=f"model in {best.folder}")
        run.log(f"kept: the best model, of step {best.step:,} with {_told(run, progress.best)}{beside}")
    elif run.state.average is not None:
        run.state.average.copy_to(model)
        run.log("kept: the moving average of the weights")
    elif progress.best is not None:  # it was damaged, and the user deleted it as advised
        run.log(f"kept: the last weights, as the best model, of step {progress.best_step:,}, is gone")


def _measured(run: Run, model: Transformer) -> tuple[float, float]:
    """The score of a model by which the best is kept, as in the run's own evaluations, and its loss."""
    assert run.held_out is not None
    with run.machine.context():
        scores = run.held_out.evaluate(model, limit=EVALUATION_ROWS)
    return better_if_higher(run.held_out.best, scores), scores.get("loss", math.inf)


def _told(run: Run, score: float | None) -> str:
    """A score by which the best model is kept, in words."""
    assert run.held_out is not None
    assert score is not None
    return f"a held-out {run.held_out.best.removeprefix('-')} of {abs(score):.4f}"


def _regular(run: Run) -> list[Checkpoint]:
    """Checkpoints at the chosen steps and at the end: not those written by the clock or on Ctrl-C."""
    every = run.settings.checkpoint_every or 1
    return [each for each in run.checkpoints.all() if each.step % every == 0 or each.step == run.progress.step]


def _take_mean(model: Transformer, checkpoints: list[Checkpoint]) -> None:
    group = "average" if "average" in checkpoints[0].facts["groups"] else "model"
    total: dict[str, torch.Tensor] = {}
    for checkpoint in checkpoints:
        for name, tensor in checkpoint.tensors(group).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    mine = weights(model)
    with torch.no_grad():
        for name, tensor in total.items():
            mine[name].copy_(tensor / len(checkpoints))
