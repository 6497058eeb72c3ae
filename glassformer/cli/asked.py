"""What is to be trained, as a person says it: a recipe file, or a task and files; and single settings on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.errors import ConfigError, DataError, did_you_mean

if TYPE_CHECKING:
    from glassformer.config import Recipe

What = Annotated[str, typer.Argument(metavar="WHAT", help="A recipe (.toml), or masked-lm.", show_default=False)]
Files = Annotated[
    list[str] | None, typer.Argument(metavar="[FILES]...", help="Text files and folders.", show_default=False)
]
Steps = Annotated[int | None, typer.Option("--steps", help="End after so many steps.")]
Minutes = Annotated[float | None, typer.Option("--minutes", help="End after so many minutes.")]
Family = Annotated[str | None, typer.Option("--family", help="bert, distilbert, roberta, modernbert or slides.")]
Size = Annotated[str | None, typer.Option("--size", help="tiny, mini, small, medium, base, large, or 6x256 ...")]
Vocabulary = Annotated[int | None, typer.Option("--vocabulary", help="Pieces that the tokenizer learns.")]
Length = Annotated[int | None, typer.Option("--length", help="Pieces in a row of text.")]
Batch = Annotated[int | None, typer.Option("--batch", help="Rows in a step.")]
Rate = Annotated[float | None, typer.Option("--learning-rate", help="The highest learning rate.")]

# The recipe that each task begins from when only files are given.
_SHORT = {"masked-lm": "masked-lm-mini"}


def asked_recipe(what: str, files: Sequence[str], chosen: Mapping[str, object], assignments: list[str]) -> Recipe:
    """The recipe that was asked for. Raises ConfigError for a task or setting that is not there, DataError for a
    short form without files.
    """
    from glassformer.artefact.resolve import parse_changes, ready_recipes, resolve

    changes = {name: value for name, value in chosen.items() if value is not None}
    if "train.steps" in changes and "train.minutes" not in changes:
        changes.setdefault("train.minutes", None)  # a recipe's own minutes must not end it earlier
    changes |= parse_changes(assignments)
    if what in _SHORT:
        if not files and "data.files" not in changes:
            raise DataError("text to learn from is needed", got="no files", do=f"glassformer train {what} TEXT.txt")
        return resolve(_SHORT[what], _with_files(changes, files))
    if what in ready_recipes() or what.endswith(".toml"):
        return resolve(what, _with_files(changes, files))
    if Path(what).exists():
        raise ConfigError(
            "a recipe (.toml) or a task is needed first", got=what, do=f"glassformer train masked-lm {what}"
        )
    raise ConfigError(
        "a recipe (.toml) or a task is needed", got=repr(what), do=did_you_mean(what, [*_SHORT, *ready_recipes()])
    )


def _with_files(changes: Mapping[str, object], files: Sequence[str]) -> dict[str, object]:
    return {**changes, "data.files": list(files)} if files else dict(changes)
