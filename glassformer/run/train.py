"""`train`: makes a saved model from a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.base.paths import check_path
from glassformer.look.texts.watched import Sentences
from glassformer.run import seeds
from glassformer.run.finish import Fitted, finish
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.resuming import CHECKPOINTS, begin, holds_a_run, recorded, remove_files_if_refused
from glassformer.runtime.device import choose_device
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import Recipe, read_saved_recipe, resolve, write_recipe
from glassformer.tasks import task_named
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.lock import exclusive
from glassformer.training.loop import fit
from glassformer.training.progress import ConsoleProgress, Progress
from glassformer.training.settings import TuneSection


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
    """Train a model with each seed, or keep a finished one; the best has all scores in `metrics["seeds"]`."""
    known = read_saved_recipe(out)
    if known is not None and (not resume or known.train.seeds == 1):
        raise holds_a_run(out)
    runs, best = {}, None
    kind = task_named(recipe.task.name)
    name = recipe.task.kept_by
    for seed in range(recipe.train.seeds):
        folder, its = out / seeds.folder(seed), seeds.recipe_of(recipe, seed)
        if resume and seeds.is_finished(folder, its.train):
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


def _train_one(recipe: Recipe, out: Path, progress: Progress, *, resume: bool) -> Artefact:
    """Begin or go on with the run in a folder, train to the end, and save the model there."""
    choose_device(recipe.train.device)
    with remove_files_if_refused(out), exclusive(out):
        begun = begin(out, recipe, resume=resume, log=progress.note)
        prepared = prepare_run(begun.recipe, out, progress, tokenizer=begun.tokenizer)
        if begun.recorded is None:
            # A run that is stopped and resumed must find the same tokens and the same settings.
            prepared.tokenizer.save(out)
            write_recipe(out, prepared.recipe, prepared.tokenizer)
        changed = begun.recorded not in (None, prepared.recipe)
        fitted = _fit(prepared, out, progress, resume=resume, changed=changed)
    return finish(prepared, fitted, out, progress.note)


def _fit(prepared: Prepared, out: Path, progress: Progress, *, resume: bool, changed: bool) -> Fitted:
    """Train to the end; `changed`: the run goes on with other settings than those that are written in its folder."""
    steps = fit(
        prepared.module,
        prepared.feed,
        prepared.recipe.train,
        tune=prepared.recipe.tune,
        out=out,
        held_out=prepared.held_out,
        resume=resume,
        log=progress.note,
        watched=_watched(prepared),
    )
    for number, _ in enumerate(progress.training(steps)):
        if number == 0 and changed:  # from the first step on, the run uses these settings
            write_recipe(out, prepared.recipe, prepared.tokenizer)
    last = Checkpoints(out / CHECKPOINTS).newest()
    assert last is not None  # a run ends with a checkpoint
    facts = {"steps": last.step, "seconds": round(last.facts["progress"]["seconds"], 1)}
    if prepared.recipe.tune != TuneSection():
        facts["trained_parameters"] = last.facts["trained_parameters"]
    return Fitted(facts, bfloat16=bool(last.facts["bfloat16"]))


def _watched(prepared: Prepared) -> Sentences | None:
    """The sentences to watch, None where there are none. Raises DataError for one that the model cannot answer."""
    data, sentences = prepared.recipe.data, prepared.recipe.watch.sentences
    if not sentences:
        return None
    model = Artefact(
        prepared.module,
        prepared.tokenizer,
        task=prepared.task.section,
        length=data.length,
        data=data,
        templates=prepared.task.templates,
    )
    return Sentences(model, sentences)
