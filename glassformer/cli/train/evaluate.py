from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.terminal import options
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.screen import console, escaped, print_table, record, results

if TYPE_CHECKING:
    from glassformer.scoring.score import Scores

_EXAMPLES = "Show the examples with the worst predictions."


@options.with_column_options
def evaluate(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] FILES",
            show_default="english if files are given",
            help=f"Data to measure on: .txt, .md, {options.DATA_FILES}.  [default: the data that the model held out]",
        ),
    ] = None,
    model: options.NamedModel = None,
    split: options.HeldOut = None,
    examples: Annotated[bool, typer.Option("--examples/--no-examples", help=_EXAMPLES)] = True,
    rejects: options.Rejects = None,
    out: options.Out = None,
    json: options.Json = False,
    fast: options.Fast = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    engine: options.Engine = "auto",
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Measure a model on its task and compare it with baselines. A stopped evaluation cannot be resumed: run the
    command again.
    """
    if not files and model is None:
        raise DataError(
            "evaluate needs a model or files to measure on", got="neither", do="see glassformer evaluate --help"
        )
    which, paths = split_model(
        "evaluate", files, model, is_data=lambda word: os.path.isfile(word) or not set(word).isdisjoint("*?[")
    )
    if columns and not paths:
        wanted, got = "the columns, the decimals and the targets are those of files", "no file to measure on"
        raise ConfigError(wanted, got=got, do="name one, or leave these options out")
    from glassformer.cli.train.report import show_report
    from glassformer.run.evaluate import evaluate as measure
    from glassformer.scoring.verdict import QUOTING, to_dict
    from glassformer.training.progress import ConsoleProgress

    opened = Machine(device, threads, fast, engine=engine).open(which)
    with results(out, opened.data) as handle:  # before measuring: an output that cannot be written is refused
        scores = measure(opened, paths, split=split, columns=columns or {}, rejects=rejects, progress=ConsoleProgress())
        if not examples:
            scores = replace(scores, report={name: of for name, of in scores.report.items() if name not in QUOTING})
        best = opened.measured_as.kept_by
        if json:
            record(to_dict(scores, best, opened.metrics), handle)
            return
        _show(scores, best, opened.metrics, handle)
        show_report(scores.report, handle)


def _show(scores: Scores, best: str, facts: Mapping[str, Any], handle: TextIO) -> None:
    from glassformer.scoring.score import THIS_MODEL, interval
    from glassformer.scoring.verdict import intervals, lower_note, shown, verdict

    measure = scores.measures.get(THIS_MODEL)
    bounds = {} if measure is None else {name: (each.low, each.high) for name, each in intervals(measure).items()}
    method = "bootstrap over the examples" if bounds else "Wilson"
    if measure is None:
        bounds = {name: interval(scores.of[THIS_MODEL][name], scores.count) for name in scores.shares}
    rows = []
    for name in scores.of[THIS_MODEL]:
        cells = [shown(name, values[name]) if name in values else "" for values in scores.of.values()]
        if name in bounds:
            low, high = bounds[name]
            cells[0] += f" ({shown(name, low)} … {shown(name, high)})"
        rows.append((escaped(name.replace("_", " ")), *cells))
    screen = console(handle)
    print_table(screen, ("", *scores.of), rows, slice(1, None))
    parts = [
        f"measured on {scores.count:,} {scores.unit.removesuffix('s') if scores.count == 1 else scores.unit}",
        f"in brackets: the 95 % interval ({method})" if bounds else "too few for an interval",
    ]
    screen.print(escaped("; ".join(filter(None, [*parts, lower_note(scores.of[THIS_MODEL])]))))
    if (judged := verdict(scores, best, facts)) is not None:
        screen.print(escaped(f"{judged.sentence[0].upper()}{judged.sentence[1:]}."))
