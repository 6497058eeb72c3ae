from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.base.errors import ConfigError
from glassformer.base.machine import is_one_of_several
from glassformer.base.wrapping import width_of, wrapped_command
from glassformer.cli.terminal.options import Resume, RunFolder, Set, json_option
from glassformer.cli.terminal.screen import console, note_command, print_table, record
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.cli.train.training_options import Files, What, with_recipe_options

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.saved.recipe import Recipe

_PROCESSES = (
    "Train in N processes on this machine, each with a share of every batch. To train on several machines, start the "
    "command with torchrun.  [default: 1]"
)
_SHARD = "Share out weights, gradients and optimizer among the processes, for a model that does not fit one."


@with_recipe_options
def train(
    what: What = None,
    files: Files = None,
    out: RunFolder = None,
    resume: Resume = False,
    set: Set = None,
    processes: Annotated[int | None, typer.Option("--processes", metavar="N", min=1, help=_PROCESSES)] = None,
    shard: Annotated[bool, typer.Option("--shard", help=_SHARD)] = False,
    json: Annotated[bool, json_option("The record has the folder and the scores of the model.")] = False,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Train a model and save it with its tokenizer, recipe, scores and model card. glassformer train TASK --help lists
    the options of a task and their defaults. Ctrl-C saves the run; continue it with --resume --out RUN.
    """
    from glassformer.saved.recipe import RECIPE, read_saved_recipe

    if what is None:
        if not resume or out is None:
            got = "--resume without --out" if resume else "neither"
            do = "glassformer train masked-lm TEXT.txt, or glassformer train --resume --out RUN"
            raise ConfigError("a recipe (.toml) or a task is needed, or a run to resume", got=got, do=do)
        if not os.path.isfile(out / RECIPE):
            wanted, do = f"there is nothing to resume in {out}", "name a recipe (.toml) or a task too"
            raise ConfigError(wanted, got=f"no {RECIPE} there", do=do)
        what = str(out / RECIPE)
    elif resume and not files and out is not None and os.path.isfile(out / RECIPE):
        known = read_saved_recipe(out)
        if known is not None and known.task.name == what:  # its task may be named again
            what = str(out / RECIPE)
    folder = folder_of(what, out, resume=resume)
    if (processes or 1) > 1 and not is_one_of_several():
        from glassformer.cli.train.processes import in_processes

        given = [] if out is not None else ["--out", str(folder)]
        if code := in_processes(processes or 1, [*sys.argv[1:], *given]):
            raise typer.Exit(code)
        return
    recipe = requested_recipe(
        what,
        files or [],
        settings={**(settings or {}), **({"train.shard": True} if shard else {})},
        assignments=set or [],
        recorded=read_saved_recipe(folder) if resume else None,
    )
    model = trained(recipe, folder, resume=resume)
    tell(model, folder, json=json)


# A command of more words, such as the files of a pattern, is not repeated.
_MANY = 40


def trained(recipe: Recipe, folder: Path, *, resume: bool) -> Model:
    from glassformer.api.train import train as run

    try:
        return run(recipe, out=folder, resume=resume)
    except KeyboardInterrupt as stopped:  # also while data are read, and while the model is saved
        words = [word for word in sys.argv[1:] if word != "--resume"]
        if "--out" not in words and "-o" not in words:
            words += ["--out", str(folder)]
        if len(words) > _MANY and (folder / "recipe.toml").exists():  # the folder has all that was said
            words = [words[0], "--out", str(folder)]
        stopped.add_note(wrapped_command("continue with:", ["glassformer", *words, "--resume"], width_of(sys.stderr)))
        raise


def tell(model: Model, folder: Path, *, json: bool) -> None:
    """Print where the model is, or its scores as a JSON record; how to try it goes to standard error."""
    from glassformer.run.card import example

    if "seeds" in model.metrics:
        assert model.source is not None
        folder = model.source
        from glassformer.run.seeds import lines

        found = model.metrics["seeds"]
        screen = console(sys.stderr)
        print_table(screen, ("", "mean", "deviation", "lowest … highest"), lines(found))
        screen.print(
            f"over {len(found['runs'])} seeds. The best by {found['best_by']}: {folder} (being the best of several, "
            "its own score is too high: report the mean)"
        )
    scores = {name: value for name, value in model.metrics.items() if not name.endswith("_counts")}
    if json:
        record({"model": str(folder), **scores}, sys.stdout)
    else:
        print(folder)
        verb, words = example(model)
        note_command("saved. Try:", ["glassformer", verb, str(folder), *words])


def folder_of(what: str, out: Path | None, *, resume: bool) -> Path:
    """The folder of the run. Raises ConfigError where several processes would each choose one."""
    if out is not None:
        return out
    if is_one_of_several():
        raise ConfigError("a training on several processes needs a folder", got="none", do="name one with --out")
    first = Path("runs") / Path(what).stem
    last, folder = first, first
    for number in itertools.count(2):
        if not folder.exists():
            break
        last, folder = folder, first.with_name(f"{first.name}-{number}")
    return last if resume else folder
