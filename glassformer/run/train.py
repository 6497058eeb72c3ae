"""`train`: makes a saved model from a recipe."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from glassformer.base.errors import ConfigError, NotFiniteError
from glassformer.base.paths import check_path
from glassformer.look.texts.watched import Sentences
from glassformer.run import seeds
from glassformer.run.card import write_card
from glassformer.run.distil import taught_by
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.run_folder import CHECKPOINTS, begin, holds_a_run, recorded, remove_files_if_refused
from glassformer.runtime.device import choose_device
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import Recipe, read_saved_recipe, resolve, tokenizer_of_run, write_recipe
from glassformer.scoring.score import not_above_a_baseline
from glassformer.scoring.verdict import intervals_by_flat_name, verdict
from glassformer.tasks import task_named
from glassformer.tasks.feed import TaskFeed
from glassformer.training.cadence import EVALUATION_ROWS
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.lock import exclusive
from glassformer.training.loop import fit
from glassformer.training.progress import ConsoleProgress, Progress
from glassformer.training.run import better_if_higher
from glassformer.training.settings import TuneSection

# Enough masked words for an accuracy within about half a percent; `evaluate` measures on all.
_MEASURED_ROWS = 1024


def train(
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    *,
    out: str | Path,
    resume: bool = False,
    set: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Artefact:
    """Train a model as a recipe says and save it to the folder `out`; `api.train.train` explains the arguments.

    Raises a GlassformerError for what cannot be done, and `Interrupted` after Ctrl-C, with everything saved.
    """
    check_path(out, ConfigError, utf8=True)
    out = Path(out)
    progress = ConsoleProgress() if progress is None else progress
    resolved = resolve(recorded(out, resume=resume) if recipe is None else recipe, set)
    train_each = _train_seeds if resolved.train.seeds > 1 else _train_one
    return train_each(resolved, out, progress, resume=resume)


def _train_seeds(recipe: Recipe, out: Path, progress: Progress, *, resume: bool) -> Artefact:
    """Train a model with each seed; returns the best, whose `metrics["seeds"]` are the scores of all of them.

    Runs that are finished are kept when this is resumed.
    """
    known = read_saved_recipe(out)
    if known is not None and (not resume or known.train.seeds == 1):
        raise holds_a_run(out)
    runs, best = {}, None
    kind = task_named(recipe.task.name)
    name = kind.best_of(recipe.task)
    for seed in range(recipe.train.seeds):
        folder, its = out / seeds.folder(seed), seeds.recipe_of(recipe, seed)
        if resume and seeds.is_finished(folder, its):
            model = store.read(folder, Artefact)
            progress.note(f"seed {seed} is finished: {folder}")
        else:
            progress.note(f"seed {seed} of {recipe.train.seeds}: {folder}")
            model = _train_one(its, folder, progress, resume=resume and folder.exists())
        if seed == 0:  # so that all of them can be resumed; a run that is refused leaves nothing
            write_recipe(out, recipe, None)
        runs[seed] = model.metrics["scores"]
        best = model if seeds.Seeds(runs, name).best == seed else best
    found = seeds.Seeds(runs, name, kind.baseline_names)
    found.write(out)
    assert best is not None
    best.metrics = {**best.metrics, "seeds": found.to_dict()}
    return best


def _train_one(resolved: Recipe, out: Path, progress: Progress, *, resume: bool) -> Artefact:
    choose_device(resolved.train.device)
    with remove_files_if_refused(out), exclusive(out):
        known = begin(out, resolved, resume=resume)
        if resume and not Checkpoints(out / CHECKPOINTS):
            progress.note(
                f"there is no run in {out} to go on with: a new one begins"
                if known is None
                else f"the run in {out} has no checkpoint yet: it begins again at step 0, with its tokenizer and split"
            )
        if known is not None:
            # With the split and the labels of the interrupted run.
            resolved = resolved.model_copy(update={"data": known.data, "task": known.task, "distil": known.distil})
        prepared = prepare_run(resolved, out, progress, tokenizer=None if known is None else tokenizer_of_run(out))
        if known is None:
            # A run that is stopped and resumed must find the same tokens and the same settings.
            prepared.tokenizer.save(out)
            write_recipe(out, prepared.recipe, prepared.tokenizer)
        facts, bfloat16 = _run(prepared, out, known, progress, resume=resume)
    return _finish(prepared, out, facts, progress, bfloat16=bfloat16)


def _run(
    prepared: Prepared, out: Path, known: Recipe | None, progress: Progress, *, resume: bool
) -> tuple[dict[str, Any], bool]:
    """Train to the end; returns the steps and seconds of the whole run, those before an interruption included, and
    whether it computed in bfloat16.
    """
    feed, settings, held_out = prepared.feed, prepared.recipe.train, prepared.held_out
    watched = _watched(prepared)
    log = progress.note
    steps = fit(
        prepared.module,
        feed,
        settings,
        tune=prepared.recipe.tune,
        out=out,
        held_out=held_out,
        resume=resume,
        log=log,
        watched=watched,
    )
    for number, _ in enumerate(progress.training(steps)):
        if number == 0 and known not in (None, prepared.recipe):  # from the first step on, the run uses these settings
            write_recipe(out, prepared.recipe, prepared.tokenizer)
    last = Checkpoints(out / CHECKPOINTS).newest()
    assert last is not None  # a run ends with a checkpoint
    facts = {"steps": last.step, "seconds": round(last.facts["progress"]["seconds"], 1)}
    if prepared.recipe.tune != TuneSection():
        facts["trained_parameters"] = last.facts["trained_parameters"]
    return facts, bool(last.facts["bfloat16"])


def _watched(prepared: Prepared) -> Sentences | None:
    """The sentences to watch, None where there are none. Raises DataError for one that the model cannot answer."""
    recipe = prepared.recipe
    if not recipe.watch.sentences:
        return None
    task, length = prepared.task.section, recipe.data.length
    model = Artefact(
        prepared.module,
        prepared.tokenizer,
        task=task,
        length=length,
        data=recipe.data,
        templates=prepared.task.templates,
    )
    return Sentences(model, recipe.watch.sentences)


def _measured(feed: TaskFeed, recipe: Recipe) -> dict[str, Any]:
    """How much was measured, of how much there is, for the card."""
    examples = getattr(feed.source, "examples", feed.source)  # of pairs, several stand in a row
    there, tables = len(examples), task_named(recipe.task.name).reads_tables
    unit = "records" if tables else f"rows of {recipe.data.length} tokens"
    return {"count": min(there, _MEASURED_ROWS), "of": there, "unit": unit}


def note_other_scores(there: int, during: str, final: str, log: Callable[[str], None]) -> None:
    """Log why the scores of the steps and those of the end differ, for one model on one held-out text of so many
    examples; `during` and `final` name the arithmetic of both.
    """
    some, more = (min(there, rows) for rows in (EVALUATION_ROWS, _MEASURED_ROWS))
    if during != final or some < more:
        log(
            f"the scores of the end are measured anew, on {more:,} of {there:,} held-out examples in {final}; those of "
            f"the steps were measured on {some:,} of them in {during}, and may differ"
        )


def _finish(prepared: Prepared, out: Path, facts: Mapping[str, Any], progress: Progress, *, bfloat16: bool) -> Artefact:
    module, recipe = prepared.module.eval(), prepared.recipe
    measured, task = prepared.held_out or prepared.feed, prepared.task
    if prepared.held_out is not None:
        task = task.fitted(module, prepared.held_out.source, progress.note)
        final = str(next(module.parameters()).dtype).removeprefix("torch.")
        note_other_scores(len(measured.source), "bfloat16" if bfloat16 else final, final, progress.note)
    found = task.evaluate(module, measured.source, limit=_MEASURED_ROWS)
    scores = found.flat()
    if not math.isfinite(better_if_higher(measured.best, scores)):
        raise NotFiniteError(
            "a model to save needs finite numbers: its score after the last step is not",
            got=f"{measured.best.removeprefix('-')} {scores[measured.best.removeprefix('-')]}",
            do="train in another folder with a lower learning rate, a longer warm-up or precision float32",
        )
    if prepared.held_out is not None:
        train, limit = prepared.feed.source, _MEASURED_ROWS
        found = task.beside(found, train, measured.source, limit=limit, log=progress.note)
        scores = found.flat()
    judged = verdict(found, measured.best)
    if said := not_above_a_baseline(measured.best, scores, task.baseline_names) if judged is None else judged.sentence:
        progress.note(said)
    metrics: dict[str, Any] = {
        "measured_on": "held-out text" if prepared.held_out is not None else "the training text",
        "measured": _measured(measured, recipe),
        "scores": scores,
        "intervals": intervals_by_flat_name(found),
        "verdict": "" if judged is None else judged.sentence,
        **facts,
        **taught_by(
            prepared.teacher,
            recipe.distil,
            prepared.task,
            measured.source,
            held_out=prepared.held_out is not None,
            limit=_MEASURED_ROWS,
        ),
        **task.facts(),
    }
    model = Artefact(
        module,
        prepared.tokenizer,
        task=task.section,  # with what was fitted on the held-out text; the recipe stays as the run began
        length=recipe.data.length,
        data=recipe.data,
        recipe=recipe,
        templates=task.templates,
        metrics=metrics,
        source=out,
    )
    model.card = write_card(model, out)
    store.write(out, model)
    return model
