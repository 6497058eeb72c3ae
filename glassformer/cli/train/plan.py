from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.options import Set, json_option
from glassformer.cli.terminal.screen import console, print_facts, record
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.cli.train.training_options import Files, What, with_recipe_options

if TYPE_CHECKING:
    from glassformer.training.plan import Plan

PlanJson = Annotated[bool, json_option("The record has all estimates.")]


@with_recipe_options
def plan(
    what: What,
    files: Files = None,
    set: Set = None,
    json: PlanJson = False,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Count the parameters of the model that glassformer train would train with the same arguments, and estimate the
    memory and time that it would need. To do so, plan runs a few training steps and one evaluation, and saves the model
    once to a temporary folder.
    """
    began = time.monotonic()
    if what is None:
        raise ConfigError(
            "a recipe (.toml) or a task is needed", got="neither", do="glassformer plan masked-lm TEXT.txt"
        )
    recipe = requested_recipe(what, files or [], settings=settings or {}, assignments=set or [])
    from glassformer.run.train import planned
    from glassformer.training.progress import ConsoleProgress

    progress = ConsoleProgress()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows deletes no mapped file
        found = planned(recipe, Path(folder), progress, began)
    if json:
        record(found.to_dict(), sys.stdout)
    else:
        _show(found)


def _show(found: Plan) -> None:
    from glassformer.base.counting import clock

    rows = {
        "machine": found.machine,
        "": found.reason,
        "parameters": f"{found.parameters:,} ({found.trained_parameters:,} trained)",
        "weights": megabytes(found.weights_bytes),
        "gradients": megabytes(found.gradients_bytes),
        "optimizer": megabytes(found.optimizer_bytes),
        "memory": megabytes(found.peak_bytes) if found.peak_bytes is not None else "not reported by the system",
        "a checkpoint": megabytes(found.checkpoint_bytes),
        "a step": f"{found.rows_per_step} rows, {found.tokens_per_step:,} tokens, {found.seconds_per_step:.3f} s",
        "speed": f"{found.tokens_per_second:,.0f} tokens/s",
        "the run": f"{found.steps:,} steps, {found.epochs:.1f} times the text, "
        f"{found.evaluations:,} evaluation{'s' * (found.evaluations != 1)}",
        "time": f"{clock(found.seconds / found.runs)}: {clock(found.preparing_seconds)} before the first step, "
        f"{clock(found.seconds_of_run)} for the run, {clock(found.ending_seconds)} to measure and save",
    }
    if found.runs > 1:
        rows["all seeds"] = f"{clock(found.seconds)} for {found.runs:,} such runs, one after the other"
    print_facts(console(), rows)


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count < 1e10 else f"{count / 1e9:,.1f} GB"
