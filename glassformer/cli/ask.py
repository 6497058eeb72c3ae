"""glassformer fill, score, classify: every verb that answers, made from the table of verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from glassformer.cli.opened import open_model
from glassformer.cli.options import Device, Fast, Json, ModelFolder, Out, Pair, TextFiles, Texts, Threads
from glassformer.cli.screen import note_windows, record, refuse_out_over_input, results
from glassformer.cli.show import SHOW
from glassformer.cli.texts import batches, records
from glassformer.tasks import VERBS

# The options that only one verb has, with their defaults.
_OPTIONS: dict[str, dict[str, tuple[Any, object]]] = {
    "fill": {"top": (Annotated[int, typer.Option("--top", "-k", min=1, help="Guesses for each masked word.")], 5)},
}
# The column that holds a role where a table is read.
_COLUMNS: dict[str, tuple[Any, object]] = {
    "text": (
        Annotated[
            str,
            typer.Option(
                "--column",
                help="Column of a table with the text: a name, or a number from 0.  [default: that of the training "
                "table, else text]",
            ),
        ],
        None,
    ),
    "pair": (
        Annotated[
            str | None,
            typer.Option(
                "--pair-column",
                help="Column with the second text of a pair.  [default: that of the training table, else none]",
            ),
        ],
        None,
    ),
}


def asking(verb: str) -> Callable[..., None]:
    """The command of a verb, with the options that its table names."""
    entry = VERBS[verb]
    shared: dict[str, tuple[Any, object]] = {
        "model": (ModelFolder, inspect.Parameter.empty),
        "text": (Texts, None),
        **({"pair": (Pair, None)} if "pair" in entry.columns else {}),
        "file": (TextFiles, None),
        **{f"{role}_column": _COLUMNS[role] for role in entry.columns},
        **_OPTIONS.get(verb, {}),
        "out": (Out, None),
        "json": (Json, False),
        "fast": (Fast, False),
        "device": (Device, "auto"),
        "threads": (Threads, None),
    }

    def command(**values: Any) -> None:
        options = {name: values[name] for name in _OPTIONS.get(verb, {})}
        columns = {role: values[f"{role}_column"] for role in entry.columns if values[f"{role}_column"] is not None}
        _answer(verb, values, options, columns)

    command.__name__, command.__doc__ = verb, f"{entry.help[0].upper()}{entry.help[1:]}."
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in shared.items()
        ]
    )
    command.__annotations__ = {name: kind for name, (kind, _) in shared.items()}
    return command


def _answer(verb: str, values: Mapping[str, Any], options: Mapping[str, Any], columns: Mapping[str, str]) -> None:
    from glassformer.artefact.verbs import answer  # not at the top: --help must not import torch

    path: Path = values["model"]
    opened = open_model(path, device=values["device"], fast=values["fast"], threads=values["threads"])
    # The columns of a table, where none are named, are those of the training tables.
    trained = {role: getattr(opened.data, role, None) for role in VERBS[verb].columns}
    columns = {"text": "text", **{role: name for role, name in trained.items() if name is not None}, **columns}
    refuse_out_over_input(values["out"], values["file"], text=columns["text"])
    asked = records(values["text"], values["file"], columns, values.get("pair"))
    with results(values["out"]) as handle:
        for batch in batches(asked):
            for each, found in zip(
                batch, answer(opened, verb, ((one.values, one.where) for one in batch), options), strict=True
            ):
                note_windows(found.windows, opened.row_tokens)
                if values["json"]:
                    record(found.to_dict(), handle)
                else:
                    SHOW[verb](each.values, found, handle)
            handle.flush()  # who sends one line waits for its answer
