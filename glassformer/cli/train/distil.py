from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.options import WHICH, Resume, RunFolder, Set, json_option
from glassformer.cli.terminal.screen import console, print_table
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.cli.train.train import folder_of, tell, trained
from glassformer.cli.train.training_options import OF_VECTORS, Files, check_task, with_recipe_options

if TYPE_CHECKING:
    from glassformer.api.model import Model

_TEACHER = f"An encoder trained for a task, or with --vectors any encoder: {WHICH}."
Teacher = Annotated[str, typer.Argument(metavar="TEACHER", help=_TEACHER, show_default=False)]
_LAYERS = "Number of the teacher's layers with which the student starts.  [default: half of them]"
_TEMPERATURE = "Softmax temperature of the soft-target loss.  [default: 2]"
_SOFT = (
    "Weight of the soft-target loss: the student's predictions against the teacher's.  [default: 5; 0 with --vectors]"
)
_HARD = "Weight of the hard-target loss: the student's predictions against the data.  [default: 2]"
_COSINE = (
    "Weight of the cosine loss between the last hidden states of student and teacher.  [default: 1; 0 with --vectors]"
)
_VECTORS = (
    "Weight of the cosine loss between the text vectors of student and teacher. If it is above 0, the data are plain "
    "text, and the student learns the text vectors and the prediction of masked words.  [default: 0; 4 if the teacher "
    "has no task]"
)


@partial(with_recipe_options, student=True)
def distil(
    teacher: Teacher,
    files: Files = None,
    out: RunFolder = None,
    resume: Resume = False,
    layers: Annotated[int | None, typer.Option("--layers", help=_LAYERS)] = None,
    temperature: Annotated[float | None, typer.Option("--teacher-temperature", help=_TEMPERATURE)] = None,
    soft: Annotated[float | None, typer.Option("--soft", help=_SOFT)] = None,
    hard: Annotated[float | None, typer.Option("--hard", help=_HARD)] = None,
    cosine: Annotated[float | None, typer.Option("--cosine", help=_COSINE)] = None,
    vectors: Annotated[float | None, typer.Option("--vectors", help=_VECTORS)] = None,
    set: Set = None,
    json: Annotated[bool, json_option("The record has the folder and the scores of the student.")] = False,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Train a smaller model (the student) from a larger one (the teacher) and your data, as in DistilBERT. The student
    learns the teacher's task, from the data and from the teacher's predictions. It starts with some of the teacher's
    layers, or from the model --start. With --vectors, the student learns from plain text to predict masked words and to
    reproduce the teacher's text vectors; it starts from --start, or from random weights.
    """
    from glassformer.api.load import load
    from glassformer.saved.recipe import parse_changes, read_saved_recipe
    from glassformer.tasks.settings import TaskSection
    from glassformer.tasks.words.masked_lm.task import MaskedLMSection

    asked = {"layers": layers, "temperature": temperature, "soft": soft, "hard": hard, "cosine": cosine}
    asked["vectors"] = vectors
    task: TaskSection | None = load(teacher, device="cpu").task
    if task is None and vectors is None:
        asked["vectors"] = 4.0
    if task is None or asked["vectors"]:
        task = MaskedLMSection()
    if (other := parse_changes(set or []).get("task.name", task.name)) != task.name:
        raise ConfigError(
            f"a student learns the task of its teacher, {task.name}",
            got=f"task.name = {other}",
            do=f"leave it out, or name a teacher for {other}",
        )
    check_task(f"a student that learns {task.name}", task.name, settings or {})
    changes = {
        "distil.teacher": teacher,
        **{f"distil.{name}": value for name, value in asked.items() if value is not None},
        **{f"task.{name}": value for name, value in task.for_student().items()},
        **(settings or {}),
    }
    if not asked["vectors"] and (excluded := [OF_VECTORS[name] for name in OF_VECTORS if name in changes]):
        raise ConfigError(
            "a student has the sizes and the tokens of its teacher, or of the model --start",
            got=excluded[0],
            do="leave it out, or add --vectors 4 for a student that starts from random weights",
        )
    folder = folder_of(f"{Path(teacher).name}-student", out, resume=resume)
    recipe = requested_recipe(
        task.name,
        files or [],
        settings=changes,
        assignments=set or [],
        recorded=read_saved_recipe(folder) if resume else None,
    )
    model = trained(recipe, folder, resume=resume)
    if "teacher" in model.metrics:
        _compare(model)
    tell(model, folder, json=json)


def _compare(model: Model) -> None:
    taught = model.metrics["teacher"]
    scores, student = taught["scores"], model.metrics["scores"]
    kept = model.measured_as.kept_by.removeprefix("-")
    named = [name for name in dict.fromkeys((*_SHOWN, kept)) if name in scores and name in student]
    heads = ("", "layers", "parameters", *(name.replace("_", " ") for name in named))
    parameters = sum(each.numel() for each in model.module.parameters())
    layers = len(model.config.output_stack.blocks)
    both = ("teacher", scores, taught["layers"], taught["parameters"]), ("student", student, layers, parameters)
    rows = [
        (name, str(depth), f"{count:,}", *(f"{of[score]:.4f}" for score in named)) for name, of, depth, count in both
    ]
    print_table(console(sys.stderr), heads, rows)


# Scores that are printed side by side, where the task has them.
_SHOWN = (
    "loss",
    "accuracy",
    "exact_match",
    "f1",
    "macro_f1",
    "micro_f1",
    "pearson",
    "spearman",
    "masked_words_accuracy",
    "next_sentence_accuracy",
)
