"""The folder of a training: which run may start or continue in it, and what a refused one leaves there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from glassformer.base.errors import ConfigError, GlassformerError, TrainingError
from glassformer.runtime.device import Log
from glassformer.saved import store
from glassformer.saved.recipe import RECIPE, Recipe, read_saved_recipe, tokenizer_of_run
from glassformer.saved.store import CHECKPOINTS, PROBE
from glassformer.tasks import task_named
from glassformer.text.tokenizer import Tokenizer
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.trackers import MLFLOW_DATABASE, MLFLOW_RUN, TENSORBOARD

# Tables of the recipe that must not change when a run is resumed: its checkpoints depend on them.
_FIXED = ("task", "data", "tokenizer", "model", "tune", "distil")
# Shares that are raised when there are few documents, and what identifies the teacher.
_RESOLVED_BY_THE_RUN = (("data", "validation"), ("data", "test"), ("data", "end"), ("distil", "fingerprint"))
_WRITTEN_BEFORE_TRAINING = (
    "tokens",
    *store.TOKENIZERS,
    PROBE,
    RECIPE,
    "metrics.jsonl",
    "watched.jsonl",
    "adapters.safetensors",
    TENSORBOARD,
    MLFLOW_DATABASE,
    MLFLOW_RUN,
)


def recorded(out: Path, *, resume: bool) -> Recipe:
    """The recipe of the run in a folder; raises ConfigError when there is no run to resume."""
    known = read_saved_recipe(out) if resume else None
    if known is None:
        raise ConfigError(
            "a training needs a recipe",
            got=f"none, and nothing to resume: there is no {RECIPE} in {out}" if resume else "none",
            do="name one, or masked-lm and text files",
        )
    return known


@dataclass(frozen=True)
class Begun:
    """A run in its folder; a resumed one has the `tokenizer`, split, labels and teacher it began with."""

    recipe: Recipe
    tokenizer: Tokenizer | None = None
    recorded: Recipe | None = None


def begin(out: Path, recipe: Recipe, *, resume: bool, log: Log) -> Begun:
    """The run of this recipe in a folder; raises as `earlier_recipe`, and TokenizerError for a changed tokenizer."""
    known = earlier_recipe(out, recipe, resume=resume)
    if resume and not Checkpoints(out / CHECKPOINTS):
        log(
            f"there is no run in {out} to resume: a new one starts"
            if known is None
            else f"the run in {out} has no checkpoint yet: it starts again at step 0, with its tokenizer and split"
        )
    if known is None:
        return Begun(recipe)
    found = {"data": known.data, "task": known.task, "distil": known.distil}
    return Begun(recipe.model_copy(update=found), tokenizer_of_run(out), known)


def earlier_recipe(out: Path, recipe: Recipe, *, resume: bool) -> Recipe | None:
    """The recipe of the run to resume, None for a new run; raises ConfigError, CheckpointError for another one."""
    if not Checkpoints(out / CHECKPOINTS):
        store.refuse_a_model(out, "a training without a checkpoint" if resume else "a new run")
    known = read_saved_recipe(out)
    if known is None:
        theirs = [name for name in (*store.TOKENIZERS, "metrics.jsonl", "watched.jsonl") if (out / name).exists()]
        if theirs and not resume:  # else maybe of a run that was killed before its recipe was written
            raise would_replace(out, theirs[0])
        return None
    check_same_run(known, recipe, out, resume=resume)
    return known.model_copy(update={"task": known.task.as_saved()})


def check_same_run(known: Recipe, recipe: Recipe, out: Path, *, resume: bool) -> None:
    """Raise ConfigError unless the run with the known recipe is resumed, and goes on with what it depends on."""
    if not resume:
        raise holds_a_run(out)
    known = known.model_copy(update={"task": known.task.as_saved()})
    for name in _FIXED:
        was, now = getattr(known, name).model_dump(), getattr(recipe, name).model_dump()
        for key in now:
            by_teacher = recipe.task.of_teacher() if recipe.distil.teacher is not None else ()
            open_before = {*recipe.task.found, *recipe.task.probed, *by_teacher}
            found_by_the_run = (name, key) in _RESOLVED_BY_THE_RUN or (
                name == "task" and key in open_before and now[key] == type(recipe.task).model_fields[key].default
            )
            if now[key] != was.get(key) and not found_by_the_run:
                raise _changed(f"{name}.{key}", was.get(key), repr(now[key]))
    _check_shares(recipe, known)
    if (known.train.seeds > 1) != (recipe.train.seeds > 1):
        raise _changed("train.seeds", known.train.seeds, str(recipe.train.seeds))


def would_replace(out: Path, file: str) -> ConfigError:
    """The error for a new run in a folder that holds this file of another."""
    return ConfigError(
        "a new run needs a folder without files that it would replace",
        got=f"{out}, which holds {file}",
        do="choose another --out, or move that file",
    )


def holds_a_run(out: Path) -> ConfigError:
    """The error for a new run in a folder that holds another one."""
    return ConfigError(
        "a new run needs a folder without a run",
        got=f"{out}, which holds a run",
        do="add --resume (in Python resume=True) to continue it, or choose another --out",
    )


def _check_shares(recipe: Recipe, known: Recipe) -> None:
    """Raise ConfigError when the shares asked for give another split: learned documents must not be held out."""
    asked, was = recipe.data.shares, known.data.shares
    if asked == was:
        return
    now = task_named(recipe.task.name).resolve_shares(recipe.data)
    for key in {**now, **was}:
        mine, before, its = (each.get(key, 0.0) for each in (now, was, asked))
        if mine != before:
            widened = "" if mine == its else f", which with this text comes to {mine!r}"
            raise _changed(f"data.{key}", before, f"{its!r}{widened}")


def _changed(name: str, was: object, got: str) -> ConfigError:
    return ConfigError(
        f"a resumed run must keep {name} = {was!r}", got=got, do="leave the setting as it was, or choose another --out"
    )


@contextmanager
def remove_files_if_refused(out: Path) -> Iterator[None]:
    """Inside, an error before the first checkpoint removes what this run has written to `out`, and nothing else."""
    new_folders = [folder for folder in (out, *out.parents) if not os.path.exists(folder)]
    new_names = [name for name in _WRITTEN_BEFORE_TRAINING if not os.path.exists(out / name)]
    try:
        yield
    except TrainingError:
        raise  # the run has saved its state and the batch in the folder
    except GlassformerError:
        if not (out / CHECKPOINTS).exists():
            for path in (out / name for name in new_names):
                shutil.rmtree(path, ignore_errors=True)  # a folder
                with suppress(OSError):
                    path.unlink()
            with suppress(OSError):  # a folder that is not empty holds files of others
                for folder in new_folders:
                    folder.rmdir()
        raise
