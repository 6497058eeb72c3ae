"""What is to be trained, as typed on the command line: a recipe file, or a task and files; and changes of single
settings.

One table holds the options that `train` and `plan` share, with the setting of the recipe that each option changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.base.settings import Settings
from glassformer.bundled.recipes import ready_recipe, ready_recipes
from glassformer.cli.terminal.options import COLUMNS, DATA_FILES, DEVICE, REJECTS, START, TARGET_FILES, THREADS, signed
from glassformer.cli.terminal.screen import note
from glassformer.saved.sections import ModelSection, TokenizerSection, WatchSection
from glassformer.tasks import TASKS, TaskEntry, data_of, is_alone
from glassformer.training.settings import EpochsByData, TrainSection, TuneSection

if TYPE_CHECKING:
    from glassformer.saved.recipe import Recipe
    from glassformer.saved.sections import ModelSection

_ENDS = ("train.steps", "train.epochs", "train.minutes")
# What no value stands for.
_NONE = {"train.threads": "all", "model.size": "the family's own", **dict.fromkeys(_ENDS, "no limit")}
_NONE["train.learning_rate"] = "chosen by the size of the weights"
# The settings that `run/sizes.py` chooses.
_SIZED = ("model.size", "tokenizer.vocabulary", "train.batch")
# Tables that are absent where nothing of them is set.
_TABLES = {"tune.adapters.rank": "tune.adapters"}


def told(setting: str, tasks: Collection[str] = TASKS) -> str:
    """The default of a setting, `train.batch`, in brackets; where tasks differ, first that of the first task. What
    differs with --start comes last; it takes tokens and sizes from the model it starts from. Empty where none of the
    tasks has the setting.
    """
    own = {task: value for task in tasks if (value := _default(TASKS[task], setting)) is not None}
    tuned = {
        task: value
        for task in own
        if setting.startswith(("train.", "data."))
        and (value := _default(TASKS[task], setting, tuning=True)) not in (None, own[task])
    }
    parts = [f"{value} ({', '.join(its)})" if number else value for number, (value, its) in enumerate(_by_value(own))]
    for value, its in _by_value(tuned):
        parts.append(f"if --start is given: {value}" + (f" ({', '.join(its)})" if len(tasks) > 1 else ""))
    return f"[default: {'; '.join(parts)}]" if own else ""


def _by_value(its: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    return [(value, [task for task in its if its[task] == value]) for value in dict.fromkeys(its.values())]


def _default(entry: TaskEntry, setting: str, *, tuning: bool = False) -> str | None:
    """The default of a task's setting: of its recipe, else of the class; None where the task has no such setting."""
    section, _, key = _TABLES.get(setting, setting).partition(".")
    kinds: dict[str, type[Settings]] = {
        "train": TrainSection,
        "tune": TuneSection,
        "watch": WatchSection,
        "model": ModelSection,
        "tokenizer": TokenizerSection,
        "data": data_of(entry.name),
    }
    fields = kinds[section].model_fields
    if key not in fields:
        return None
    table = _recipe(entry.tuning if tuning else entry.recipe).get(section, {})
    if setting == "train.epochs" and key not in table and "epochs_by_data" in table:
        return str(EpochsByData.model_validate(table["epochs_by_data"]))
    if setting == "train.batch" and "batch_tokens" in table:
        return "none, as train.batch_tokens is set"
    if setting in _SIZED and entry.sized and not tuning:
        return "chosen by text size and minutes"
    value = table.get(key, fields[key].default)
    if value is None:
        return _NONE.get(setting, "none")
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def _recipe(name: str) -> dict[str, Any]:
    return ready_recipe(name)


What = Annotated[
    str | None,
    typer.Argument(
        metavar="WHAT",
        help=f"A task: {'; '.join(f'{name} ({entry.help})' for name, entry in TASKS.items())}. Or a recipe: a "
        f".toml file, or a bundled one: {', '.join(name for name in ready_recipes() if name not in TASKS)}.",
        show_default=False,
    ),
]
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILES", help=f"Files, folders and patterns: .txt, .md, {DATA_FILES}.", show_default=False),
]

# Option, type, setting, help.
_OPTIONS: tuple[tuple[str, Any, str, str], ...] = (
    ("steps", int, "train.steps", "Stop after this many steps."),
    ("epochs", float, "train.epochs", "Stop after this many epochs."),
    ("minutes", float, "train.minutes", "Stop after this many minutes."),
    (
        "family",
        str,
        "model.family",
        "Encoders: bert, distilbert, roberta, modernbert or slides (a tutorial's tiny model); for translate and chat "
        "marian, vaswani2017 (the original Transformer), tensor2tensor (as its authors' code has it), bart or t5; for "
        "language-model and chat llama or gpt2.",
    ),
    (
        "size",
        str,
        "model.size",
        "Size of the model: tiny, mini, small, medium, base or large. bert also accepts LAYERSxWIDTH, such as 6x256; "
        "marian has tiny, mini, small and base, vaswani2017 base and big, t5 small, base and large. For roberta, "
        "distilbert, bart and slides use --set model.settings.layers=6 instead.",
    ),
    ("start", str, "model.start", START),
    *(
        (f"{role}-column", list[str] if role == "choices" else str, f"data.{role}", line)
        for role, line in COLUMNS.items()
    ),
    ("target-file", list[str], "data.target_files", TARGET_FILES),
    ("rejects", Path, "data.rejects", REJECTS),
    ("validation", float, "data.validation", "Fraction of the documents or records to hold out."),
    ("vocabulary", int, "tokenizer.vocabulary", "Number of tokens in a learned vocabulary."),
    ("length", int, "data.length", "Maximum length of a sequence, in tokens."),
    (
        "batch",
        int,
        "train.batch",
        "Sequences per step; for encoder–decoders use --set train.batch_tokens=4096 (target tokens per step) instead.",
    ),
    ("learning-rate", float, "train.learning_rate", "Peak learning rate."),
    (
        "freeze",
        list[str],
        "tune.freeze",
        "Parameters to freeze: all-but-head; gradually (train the head first, then add block after block); or a "
        "pattern of names, such as encoder.embed.*; ! before a pattern trains what it matches (repeatable).",
    ),
    ("layer-decay", float, "tune.layer_decay", "Learning rate of a layer, relative to that of the layer above."),
    (
        "adapters",
        int,
        "tune.adapters.rank",
        "Train only the head and LoRA adapters of this rank on queries and values; they are merged at the end.",
    ),
    ("precision", str, "train.precision", "Training precision: auto, float32, bfloat16 or float64."),
    ("device", str, "train.device", DEVICE),
    ("threads", int, "train.threads", THREADS),
    ("seed", int, "train.seed", "Random seed."),
    (
        "watch",
        list[str],
        "watch.sentences",
        "Sentence whose predictions and attention are recorded during training; explore shows them if given the run's "
        "folder (repeatable).",
    ),
    ("seeds", int, "train.seeds", "Train this many models, with seeds 0, 1 ...; report means and standard deviations."),
)


def with_recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its parameter `settings` replaced by one option for each entry of the table."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    others = [each for each in parameters if each.name != "settings"]

    def gathered(**values: Any) -> None:
        settings = {setting: values.pop(name.replace("-", "_")) for name, _, setting, _ in _OPTIONS}
        given = {setting: value for setting, value in settings.items() if value not in (None, [])}
        command(settings={key: str(of) if isinstance(of, Path) else of for key, of in given.items()}, **values)

    result: Callable[..., None] = signed(gathered, command, [*others, *_parameters(TASKS)])
    return result


def help_of_task(command: Callable[..., None], words: Sequence[str]) -> Callable[..., None]:
    """The command with only the options of the first task among the words, and with their defaults."""
    tasks, names = [word for word in words if word in TASKS], {name.replace("-", "_") for name, *_ in _OPTIONS}
    others = [each for name, each in inspect.signature(command).parameters.items() if name not in names]
    parameters = [*others, *_parameters(tasks[:1])]
    return signed(lambda **_: None, command, parameters) if tasks else command


def _parameters(tasks: Collection[str]) -> list[inspect.Parameter]:
    """Of the options of the table, those that a task has."""
    return [
        inspect.Parameter(
            name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                kind | None, typer.Option(f"--{name}", writable=kind is Path, help=f"{line}  {default}")
            ],
        )
        for name, kind, setting, line in _OPTIONS
        if (default := told(setting, tasks))
    ]


def requested_recipe(
    what: str,
    files: Sequence[str],
    *,
    settings: Mapping[str, object],
    assignments: Sequence[str],
    recorded: Recipe | None = None,
) -> Recipe:
    """A recipe file, a bundled recipe or a task, with single settings changed; `recorded` is that of the run to resume.
    Raises ConfigError, DataError.
    """
    from glassformer.saved.recipe import parse_changes, resolve

    changes = dict(settings)
    if (
        len([end for end in _ENDS if end in changes]) == 1
    ):  # the recipe's own limit must not end the run before the one asked for
        changes |= dict.fromkeys(set(_ENDS) - changes.keys())
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
    teaches = "distil.teacher" in changes
    if what in TASKS and "data.files" not in changes:
        verb = f"distil {changes['distil.teacher']}" if teaches else f"train {what}"
        raise DataError("data to learn from is needed", got="no files", do=f"glassformer {verb} FILES")
    starts = "model.start" in changes or teaches
    if starts and "model.family" in changes:
        raise ConfigError(
            "a model to start from has its own family",
            got=f"{'a teacher' if teaches else '--start'} together with --family",
            do="leave one of them out",
        )
    name, known = what, ready_recipes()
    if what in TASKS:
        name = TASKS[what].tuning if starts else _recipe_of(what, changes.get("model.family"))
    if name not in known and not name.endswith(".toml"):
        if Path(what).exists():
            do = f"glassformer train masked-lm {what}"
            raise ConfigError("a recipe (.toml) or a task is needed first", got=what, do=do)
        near = did_you_mean(what, [*TASKS, *known])
        raise ConfigError("a recipe (.toml) or a task is needed", got=repr(what), do=near)
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


def _recipe_of(task: str, family: object) -> str:
    entry = TASKS[task]
    return entry.alone[1] if entry.alone is not None and _is_alone(family) else entry.recipe


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
        if not translates:
            of_run["train.batch"] = recorded.train.batch
        else:
            of_run["train.batch_tokens"] = recorded.train.batch_tokens
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
