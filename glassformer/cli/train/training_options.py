"""The options that `train`, `plan` and `distil` share, with their settings; what --help says of tasks and recipes."""

import inspect
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glassformer.base.errors import ConfigError
from glassformer.bundled.recipes import about, ready_recipes
from glassformer.cli.terminal import options
from glassformer.cli.terminal.options import COLUMNS, DATA_FILES, REJECTS, SUITS, keyword, signed
from glassformer.tasks import TASKS, TaskEntry


def default_of(setting: str, tasks: Collection[str] = TASKS, *, tuning: bool = False) -> str:
    """The default of a setting, `train.batch`, in brackets, with that for --start if it is another one; with `tuning`
    only this one. Where tasks differ, it says where theirs are. Empty where none of the tasks has the setting.
    """
    found = {value for task in tasks if (value := _defaults(task, setting, tuning)) is not None}
    if len(found) > 1:
        found = {"as for train TASK with --start" if tuning else "depends on the task"}
    return f"[default: {found.pop()}]" if found else ""


def _defaults(task: str, setting: str, tuning: bool) -> str | None:
    own, tuned = _table()[setting].get(task, (None, None))
    if tuning or tuned == own:
        return tuned
    return f"{own}; with --start: {tuned}"


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    """By setting and task its default, and that with --start: to import the classes of the settings takes longer than
    the rest of --help (`python -m manual tables` writes the file from them).
    """
    file = resources.files("glassformer.bundled").joinpath("defaults.json")
    found: dict[str, dict[str, list[str]]] = json.loads(file.read_text(encoding="utf-8"))
    known = {task for its in found.values() for task in its}
    for entry in (TASKS[task] for task in TASKS if task not in known):  # of a task that is not of the package
        from glassformer.cli.train.defaults import defaults_of

        for setting, (own, tuned) in defaults_of(entry, found).items():
            found[setting][entry.name] = [own, tuned]
    return found


_WHAT = "A task, a bundled recipe, or a recipe file (.toml)."
_FILES = f"Files, folders and glob patterns: .txt, .md, {DATA_FILES}."
What = Annotated[str | None, typer.Argument(metavar="WHAT", help=_WHAT, show_default=False)]
Files = Annotated[list[str] | None, typer.Argument(metavar="FILES", help=_FILES, show_default=False)]

# Of each kind of model: families, and their sizes.
_BERT = (
    "tiny, mini, small, medium, base, large, or LAYERSxWIDTH, such as 6x256, where LAYERS is 2, 4, 6, 8, 10 or 12 and "
    "WIDTH is 128, 256, 512 or 768"
)
_ENCODERS = (
    "bert, distilbert, roberta, modernbert, slides (the tiny model of a tutorial)",
    f"bert ({_BERT}), modernbert (tiny, mini, small, medium, base, large); distilbert, roberta and slides have no "
    "sizes: set their dimensions, such as --set model.settings.layers=6",
)
_PAIRS = (
    "marian, vaswani2017 (the original Transformer as in the paper), tensor2tensor (as in its authors' code), bart, t5",
    "marian (tiny, mini, small, base), vaswani2017 and tensor2tensor (base, big), t5 (small, base, large); bart has no "
    "sizes: set its dimensions, such as --set model.settings.layers=6",
)
_DECODERS = ("llama, gpt2", "llama (tiny, mini, small, medium, 1b), gpt2 (tiny, mini, small, medium, large, xl)")
_KINDS: Mapping[str, tuple[tuple[str, str], Callable[[TaskEntry], bool]]] = {
    "Encoders": (_ENCODERS, lambda entry: not _generates(entry)),
    "Encoder–decoders": (_PAIRS, lambda entry: entry.pairs),
    "Decoders": (_DECODERS, lambda entry: _generates(entry) and (entry.alone is not None or not entry.pairs)),
}


def _generates(entry: TaskEntry) -> bool:
    return entry.folder.rpartition(".")[0].endswith("writing")


def _of_kinds(which: int, tasks: Collection[str]) -> str:
    """The families (0) or the sizes (1) of the models of these tasks."""
    fit = {kind: of[which] for kind, (of, fits) in _KINDS.items() if any(fits(TASKS[task]) for task in tasks)}
    several = [f"{kind}: {each}." for kind, each in fit.items()]
    return " ".join(several) if len(fit) > 1 else f"{('One of', 'By family:')[which]} {next(iter(fit.values()))}."


# What --help says of an option only for some tasks, by its setting.
_FOR_TASKS: dict[str, Callable[[Collection[str]], str]] = {
    "model.family": lambda tasks: _of_kinds(0, tasks),
    "model.size": lambda tasks: _of_kinds(1, tasks),
    "data.text": lambda tasks: (
        "Used only for JSON Lines and Parquet files with a text and spans instead of words."
        if tasks and all("words" in TASKS[task].columns for task in tasks)
        else ""
    ),
    "train.batch": lambda tasks: (
        "For encoder–decoders use --set train.batch_tokens=4096 (target tokens per step) instead."
        if any(TASKS[task].pairs for task in tasks)
        else ""
    ),
}

# Option, type, setting, help.
_OPTIONS: tuple[tuple[str, Any, str, str], ...] = (
    ("steps", int, "train.steps", "Stop after this many steps."),
    ("epochs", float, "train.epochs", "Stop after this many epochs."),
    ("minutes", float, "train.minutes", "Stop after this many minutes."),
    ("family", str, "model.family", "Family of the model."),
    ("size", str, "model.size", "Size of the model."),
    ("start", str, "model.start", options.START),
    *(
        (f"{role}-column", list[str] if role == "choices" else str, f"data.{role}", line)
        for role, line in COLUMNS.items()
    ),
    ("decimal", Literal[".", ","], "data.decimal", options.DECIMAL),
    ("target-file", list[str], "data.target_files", options.TARGET_FILES),
    ("rejects", Path, "data.rejects", REJECTS),
    ("validation", float, "data.validation", "Fraction of the documents or records to hold out."),
    ("validation-file", list[str], "data.validation_files", options.VALIDATION_FILES),
    ("vocabulary", int, "tokenizer.vocabulary", "Number of tokens in the vocabulary, if it is learned from your text."),
    ("length", int, "data.length", "Maximum length of a sequence, in tokens."),
    ("batch", int, "train.batch", "Number of sequences per step."),
    ("learning-rate", float, "train.learning_rate", "Peak learning rate."),
    (
        "freeze",
        list[str],
        "tune.freeze",
        "Parameters to freeze (repeatable): all-but-head; gradually (gradual unfreezing: at first only the head is "
        "trained, then one more block at a time); or a pattern for parameter names, such as encoder.embed.*. A "
        "pattern that begins with ! names parameters that are trained even if another pattern matches them.",
    ),
    ("layer-decay", float, "tune.layer_decay", "Ratio of the learning rate of a layer to that of the layer above."),
    (
        "adapters",
        int,
        "tune.adapters.rank",
        "Train only the head and LoRA adapters of this rank on the query and value projections; the adapters are "
        "merged into the weights at the end.",
    ),
    ("precision", str, "train.precision", options.PRECISION),
    ("device", str, "train.device", options.DEVICE),
    ("threads", int, "train.threads", options.THREADS),
    ("seed", int, "train.seed", "Random seed."),
    (
        "watch",
        list[str],
        "watch.sentences",
        "Sentence for which predictions and attention are recorded during training (repeatable). glassformer explore "
        "RUN shows them.",
    ),
    (
        "track",
        list[str],
        "train.track",
        "Program that shows the losses and scores as curves: tensorboard or mlflow (repeatable). Install the extra of "
        "that name.",
    ),
    (
        "seeds",
        int,
        "train.seeds",
        "Number of models to train, with the seeds 0, 1 and so on instead of --seed. Their scores are reported as mean "
        "and standard deviation.",
    ),
)


def with_recipe_options(command: Callable[..., None], *, student: bool = False) -> Callable[..., None]:
    """The command with its parameter `settings` replaced by one option for each entry of the table; those of a student
    are of an encoder, of the family of its teacher or its start.
    """
    tasks = [name for name, entry in TASKS.items() if not (student and _generates(entry))]
    added = _parameters(tasks, student=student)
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    others = [each for each in parameters if each.name != "settings"]
    names = {each.name for each in added}

    def gathered(**values: Any) -> None:
        table = ((name.replace("-", "_"), setting) for name, _, setting, _ in _OPTIONS)
        settings = {setting: values.pop(name) for name, setting in table if name in names}
        given = {setting: value for setting, value in settings.items() if value not in (None, [])}
        check_task(f"{command.__name__} {values.get('what')}", values.get("what"), given)
        command(settings={key: str(of) if isinstance(of, Path) else of for key, of in given.items()}, **values)

    return signed(gathered, command, [*others, *added])


def check_task(who: str, task: str | None, given: Collection[str]) -> None:
    """Raise ConfigError for an option whose setting a task does not have; `who` has no such option."""
    lacking = [name for name, _, setting, _ in _OPTIONS if setting in given and not default_of(setting, [task or ""])]
    if task in TASKS and lacking:
        raise ConfigError(f"{who} has no option --{lacking[0]}", do=f"see glassformer train {task} --help")


def help_of_task(
    command: Callable[..., None], words: Sequence[str]
) -> tuple[Callable[..., None], Mapping[str, Sequence[tuple[str, str]]]]:
    """The command with the options of the first task named; without one unchanged, with tasks and recipes."""
    tasks, names = [word for word in words if word in TASKS], {name.replace("-", "_") for name, *_ in _OPTIONS}
    if not tasks:
        return command, {
            "Tasks": [(name, f"{entry.help[0].upper()}{entry.help[1:]}.") for name, entry in TASKS.items()],
            "Bundled recipes": [(name, about(name)) for name in ready_recipes() if name not in TASKS],
        }
    others = [each for name, each in inspect.signature(command).parameters.items() if name not in names]
    return signed(lambda **_: None, command, [*others, *_parameters(tasks[:1])]), {}


# What a student has no choice of, and what it has only with --vectors.
_OF_THE_TEACHER = ("model.family",)
OF_VECTORS = {"model.size": "--size", "tokenizer.vocabulary": "--vocabulary"}
_ONLY = "Only with --vectors and without --start."
_STUDENTS = {
    "model.start": "[default: some of the teacher's layers]",
    "model.size": f"{_ONLY} Sizes of modernbert: tiny, mini, small, medium, base, large.  [default: {SUITS}]",
    "tokenizer.vocabulary": f"{_ONLY}  [default: {SUITS}]",
}


def _parameters(tasks: Collection[str], *, student: bool = False) -> list[inspect.Parameter]:
    """Of the options of the table, those that a task has, or a student of any of these tasks."""
    found = []
    for name, kind, setting, line in _OPTIONS:
        default = default_of(setting, tasks, tuning=student)
        if not default or (student and setting in _OF_THE_TEACHER):
            continue
        more = _FOR_TASKS[setting](tasks) if setting in _FOR_TASKS else ""
        end = _STUDENTS[setting] if student and setting in _STUDENTS else f"{more}  {default}"
        metavar = _METAVARS.get(name)
        option = typer.Option(f"--{name}", metavar=metavar, writable=kind is Path, help=f"{line}  {end}")
        found.append(keyword(name.replace("-", "_"), Annotated[kind | None, option]))
    return found


# What stands for the value of an option that is no number and no text.
_METAVARS = {
    "start": "MODEL",
    "family": "FAMILY",
    "size": "SIZE",
    "device": "DEVICE",
    "precision": "auto|float32|bfloat16|float64",
    "target-file": "FILE",
    "validation-file": "FILE",
    "freeze": "PARAMETERS",
    "watch": "SENTENCE",
    "track": "tensorboard|mlflow",
}
