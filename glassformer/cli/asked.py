"""What is to be trained, as a person says it: a recipe file, or a task and files; and single settings on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.errors import ConfigError, DataError, did_you_mean

if TYPE_CHECKING:
    from glassformer.config import ModelSection, Recipe

What = Annotated[str, typer.Argument(metavar="WHAT", help="A recipe (.toml), or masked-lm.", show_default=False)]
Files = Annotated[
    list[str] | None, typer.Argument(metavar="[FILES]...", help="Text files and folders.", show_default=False)
]
Steps = Annotated[int | None, typer.Option("--steps", help="End after so many steps.")]
Minutes = Annotated[float | None, typer.Option("--minutes", help="End after so many minutes.")]
Family = Annotated[str | None, typer.Option("--family", help="bert, distilbert, roberta, modernbert or slides.")]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        help="tiny, mini, small, medium, base or large, for bert also 6x256 ...; roberta, distilbert and slides have "
        "none: --set model.settings.layers=6.",
    ),
]
Start = Annotated[str | None, typer.Option("--start", help="A saved model to begin from, with its tokenizer.")]
Vocabulary = Annotated[int | None, typer.Option("--vocabulary", help="Pieces that the tokenizer learns.")]
Length = Annotated[int | None, typer.Option("--length", help="Pieces in a row of text.")]
Batch = Annotated[int | None, typer.Option("--batch", help="Rows in a step.")]
Rate = Annotated[float | None, typer.Option("--learning-rate", help="The highest learning rate.")]
Precision = Annotated[str | None, typer.Option("--precision", help="auto, float32, bfloat16 or float64.")]
Where = Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:1 ...")]
Seed = Annotated[int | None, typer.Option("--seed", help="Source of all random choices.")]

# The recipe that each task begins from when only files are given.
_SHORT = {"masked-lm": "masked-lm-mini"}


def asked_recipe(
    what: str,
    files: Sequence[str],
    *,
    assignments: Sequence[str],
    steps: int | None,
    minutes: float | None,
    family: str | None,
    size: str | None,
    start: str | None,
    vocabulary: int | None,
    length: int | None,
    batch: int | None,
    rate: float | None,
    precision: str | None,
    device: str | None,
    threads: int | None,
    seed: int | None,
) -> Recipe:
    """The recipe that was asked for; what is None stays as the recipe has it.

    Raises ConfigError for a task or setting that is not there, DataError for a short form without files.
    """
    from glassformer.artefact.resolve import parse_changes, ready_recipes, resolve

    given: dict[str, object] = {
        "train.steps": steps,
        "train.minutes": minutes,
        "model.family": family,
        "model.size": size,
        "model.start": start,
        "tokenizer.vocabulary": vocabulary,
        "data.length": length,
        "train.batch": batch,
        "train.learning_rate": rate,
        "train.precision": precision,
        "train.device": device,
        "train.threads": threads,
        "train.seed": seed,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if (steps is None) != (minutes is None):  # the recipe's own end must not come before the one asked for
        changes |= dict.fromkeys({"train.steps", "train.epochs", "train.minutes"} - changes.keys())
    changes |= parse_changes(assignments)
    if "-" in files:
        raise DataError("training reads its text more than once", got="standard input", do="save it to a file first")
    if files and "data.files" in changes:
        raise ConfigError(
            "the text is named once", got="files and --set data.files", do="leave one of them out, or name all as files"
        )
    if files:
        changes["data.files"] = list(files)
    if what in _SHORT and "data.files" not in changes:
        raise DataError("text to learn from is needed", got="no files", do=f"glassformer train {what} TEXT.txt")
    name, known = _SHORT.get(what, what), ready_recipes()
    if name not in known and not name.endswith(".toml"):
        if Path(what).exists():
            do = f"glassformer train masked-lm {what}"
            raise ConfigError("a recipe (.toml) or a task is needed first", got=what, do=do)
        near = did_you_mean(what, [*_SHORT, *known])
        raise ConfigError("a recipe (.toml) or a task is needed", got=repr(what), do=near)
    if "model.size" not in changes and not _keeps_size(resolve(name).model, changes):
        changes["model.size"] = None
    if "model.start" in changes or "tokenizer.file" in changes:  # what the recipe would learn, these bring along
        changes = {"tokenizer": {}} | changes
    return resolve(name, changes)


def _keeps_size(own: ModelSection, changes: Mapping[str, object]) -> bool:
    """Whether the size in a recipe still says something: a model to start from has its own, and so may a family."""
    from glassformer.models.families import family_config

    family = changes.get("model.family", own.family)
    if "model.start" in changes:
        return False
    if own.size is None or family == own.family:
        return True
    try:
        family_config(str(family), {"size": own.size})
    except ConfigError:
        return False
    return True
