"""How a run ends: which weights are kept."""

import math

import torch

from glassformer.models.transformer import Transformer
from glassformer.training.checkpoint import Checkpoint, restore, weights
from glassformer.training.run import Run


def finish(run: Run) -> None:
    """Set the model of a run that is saved to the weights to keep: see `fit`."""
    model, settings, progress = run.state.whole, run.settings, run.progress
    best = None if run.held_out is None or progress.best is None else run.checkpoints.best()
    mean = beside = ""
    if settings.average is not None:
        # Checkpoints at the chosen steps and at the end: not those written by the clock or on Ctrl-C.
        every = settings.checkpoint_every or 1
        chosen = [each for each in run.checkpoints.all() if each.step % every == 0 or each.step == progress.step]
        kept = chosen[-settings.average :]
        _take_mean(model, kept)
        mean = f"the mean of the checkpoints of steps {', '.join(str(each.step) for each in kept)}"
    elif best is not None and best.step > 0 and (start := run.checkpoints.start()) is not None:
        # Half-way to the start (Wortsman et al. 2022), which knows more texts than those of the training.
        _take_mean(model, [start, best])
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
        beside = f"; {mean} has {run.in_words(found, loss)}"
    if best is not None:
        restore(weights(model), best.tensors("model"), what=f"model in {best.folder}")
        none = "no later step had a lower loss" if progress.loss_decides else "no later step was better"
        step = f"step {best.step:,}, the best" if best.step else f"step 0, the linear probe: {none}"
        run.log(f"keeping {step}, with {run.in_words(progress.best, progress.best_loss)}{beside}")
    elif run.state.average is not None:
        run.log("keeping the moving average of the weights")
    elif progress.best is not None:  # it was damaged, and the user deleted it as advised
        run.log(f"keeping the last weights, as the best model (step {progress.best_step:,}) is missing")


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
