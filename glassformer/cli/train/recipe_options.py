"""What is to be trained, as typed: a recipe file, or a task and files; and changes of single settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.cli.terminal.options import ENDS
from glassformer.cli.terminal.screen import note
from glassformer.tasks import TASKS, data_of, is_alone

if TYPE_CHECKING:
    from glassformer.saved.recipe import Recipe
    from glassformer.saved.sections import ModelSection


def requested_recipe(
    what: str,
    files: Sequence[str],
    *,
    settings: Mapping[str, object],
    assignments: Sequence[str],
    recorded: Recipe | None = None,
) -> Recipe:
    """The recipe asked for, changed; `recorded` is that of the run to resume. Raises ConfigError, DataError."""
    from glassformer.bundled.recipes import ready_recipes
    from glassformer.saved.recipe import parse_changes, resolve

    changes = dict(settings)
    if len([end for end in ENDS if end in changes]) == 1:  # the recipe's own limit must not end the run before it
        changes |= dict.fromkeys(set(ENDS) - changes.keys())
    changes |= parse_changes(assignments)
    if "" in files:
        raise DataError("a file needs a name", got="an empty one", do="is a variable of the shell unset?")
    if "-" in files:
        raise DataError("training reads its text more than once", got="standard input", do="save it to a file first")
    if files and "data.files" in changes:
        raise ConfigError(
            "the text is named once", got="files and --set data.files", do="leave one of them out, or name all as files"
        )
    if files:
        changes["data.files"] = list(files)
    if "data.target_files" in changes and what in TASKS and "target_files" not in data_of(what).model_fields:
        raise ConfigError(
            "files of targets belong to pairs of texts", got=f"--target-file with {what}", do="leave it out"
        )
    if changes.get("data.validation") and "data.validation_files" in changes:
        got = "--validation and --validation-file"
        raise ConfigError("what is held out is named once", got=got, do="leave one of them out")
    teaches = "distil.teacher" in changes
    if what in TASKS and "data.files" not in changes:
        verb = f"distil {changes['distil.teacher']}" if teaches else f"train {what}"
        raise DataError("data to learn from is needed", got="no files", do=f"glassformer {verb} FILES")
    # A student that learns vectors has a model and tokens of its own.
    starts = "model.start" in changes or (teaches and not changes.get("distil.vectors"))
    if starts and "model.family" in changes:
        raise ConfigError(
            "a model to start from has its own family",
            got=f"{'a teacher' if teaches else '--start'} together with --family",
            do="leave one of them out",
        )
    name, known = what, ready_recipes()
    if what in TASKS:
        entry = TASKS[what]
        usual = entry.alone[1] if entry.alone and _is_alone(changes.get("model.family")) else entry.recipe
        name = entry.tuning if starts else usual
    if name not in known and not name.endswith(".toml"):
        if Path(what).exists():
            do = f"glassformer train masked-lm {what}"
            raise ConfigError("a recipe (.toml) or a task is needed first", got=what, do=do)
        others = [each for each in known if each not in TASKS]
        near = did_you_mean(what, [*TASKS, *others])
        lists = f"tasks: {', '.join(TASKS)}; bundled recipes: {', '.join(others)}"
        do = near if near.startswith("did") else lists
        raise ConfigError(f"there is no task, bundled recipe or recipe file (.toml) {what!r}", do=do)
    if starts or "tokenizer.file" in changes:  # these bring the tokens that the recipe would learn
        changes = {"tokenizer": {}} | changes
    if starts and not name.endswith(".toml"):
        changes = {"model": {}} | changes
    if "model.size" not in changes and (starts or not _keeps_size(resolve(name).model, changes)):
        changes["model.size"] = None
    if what in TASKS and resolve(name).task.name != what:  # a task may begin from another one's recipe
        changes["task.name"] = what
    resolved = resolve(name, changes)
    sized = what in TASKS and TASKS[what].sized and not starts and resolved.model.family == resolve(name).model.family
    return resolve(name, _sized(resolved, changes, recorded)) if sized else resolved


def _is_alone(family: object) -> bool:
    if family is None:
        return False
    from glassformer.models.families import FAMILIES, family_config

    return str(family) in FAMILIES and is_alone(family_config(str(family), {}))


def _sized(recipe: Recipe, changes: Mapping[str, object], recorded: Recipe | None) -> dict[str, object]:
    """The changes with sizes that fit text and minutes where the user chose none; a resumed run keeps its own."""
    from glassformer.run.sizes import cores_of, sizes_for, translator_sizes

    translates = TASKS[recipe.task.name].pairs and not _is_alone(recipe.model.family)
    if recorded is not None:
        of_run = {"model.size": recorded.model.size, "tokenizer.vocabulary": recorded.tokenizer.vocabulary}
        tokens = recorded.train.batch_tokens
        of_run |= {"train.batch": recorded.train.batch} if tokens is None else {"train.batch_tokens": tokens}
        if translates:
            of_run |= {f"model.settings.{name}": value for name, value in recorded.model.settings.items()}
        return {**of_run, **changes}
    try:
        train, files = recipe.train, (*recipe.data.files, *getattr(recipe.data, "target_files", ()))
        minutes = None if train.minutes is None else train.minutes * cores_of(train)
        size = str(changes["model.size"]) if "model.size" in changes else None
        learned = "tokenizer.file" not in changes
        if translates:
            step = train.batch_tokens if "train.batch_tokens" in changes else None
            more: dict[str, Any] = {"steps": train.steps, "epochs": train.epochs, "step_tokens": step}
            more["shared"] = recipe.tokenizer.shared
            choice = translator_sizes(files, minutes, size=size, tokenizer=learned, **more)
        else:
            choice = sizes_for(files, minutes, size=size, tokenizer=learned)
    except DataError:  # raised again, with all that is wrong, where the files are read
        return dict(changes)
    given = {*changes, *("model.settings.dropout" for name in changes if name == "model.settings")}
    given |= {"train.steps" for name in ("train.minutes", "train.epochs") if name in changes}
    if recipe.train.batch_tokens is not None:
        given.add("train.batch")
    chosen = {name: value for name, value in choice.settings.items() if name not in given}
    if chosen:
        note(choice.sentence(chosen))
    return {**chosen, **changes}


def _keeps_size(own: ModelSection, changes: Mapping[str, object]) -> bool:
    """Whether the size in a recipe still applies: another family may have no sizes."""
    from glassformer.models.families import family_config

    family = changes.get("model.family", own.family)
    if own.size is None or family == own.family:
        return True
    try:
        family_config(str(family), {"size": own.size})
    except ConfigError:
        return False
    return True
