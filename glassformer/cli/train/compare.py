from typing import Annotated

import typer

from glassformer.base.wrapping import printable
from glassformer.cli.terminal.inputs import files_behind
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.opened import open_model
from glassformer.cli.terminal.options import (
    DATA_FILES,
    AnswersColumn,
    ChoicesColumn,
    Device,
    Fast,
    HeldOut,
    Json,
    LabelColumn,
    ModelFolder,
    Out,
    PairColumn,
    TagsColumn,
    TargetColumn,
    TargetFiles,
    TextColumn,
    Threads,
    WordsColumn,
    columns_named,
)
from glassformer.cli.terminal.screen import console, escaped, plain_table, record, refuse_out_over_input, results


def compare(
    model: ModelFolder,
    other: ModelFolder,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILES]",
            help=f"Data to measure both on ({DATA_FILES}); by default what both held out in training.",
        ),
    ] = None,
    split: HeldOut = None,
    text: TextColumn = None,
    pair: PairColumn = None,
    choices: ChoicesColumn = None,
    label: LabelColumn = None,
    answers: AnswersColumn = None,
    words: WordsColumn = None,
    tags: TagsColumn = None,
    target: TargetFiles = None,
    target_column: TargetColumn = None,
    out: Out = None,
    json: Json = False,
    fast: Fast = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Tell whether one of two models is better: the paired bootstrap of their scores on the same examples."""
    from glassformer.run.compare import compare as measure
    from glassformer.scoring.verdict import difference, shown, told_lower
    from glassformer.training.progress import ConsoleProgress

    first, second = (open_model(each, device=device, fast=fast, threads=threads) for each in (model, other))
    named = {"text": text, "pair": pair, "choices": choices, "label": label, "answers": answers}
    columns = columns_named({**named, "words": words, "tags": tags, "target": target_column, "target_files": target})
    trained = "text" if first.data is None else first.data.text
    refuse_out_over_input(out, files_behind(files or (), text or trained))
    with results(out) as handle:
        found = measure(first, second, *(files or ()), split=split, columns=columns, progress=ConsoleProgress())
        if json:
            record({"first": model, "second": other, **found.to_dict()}, handle)
            return
        table = plain_table("", "first", "second", "difference", "first is", right=slice(1, 4))
        for name, each in found.differences.items():
            value, low, high = (difference(name, number) for number in (each.difference, each.low, each.high))
            numbers = shown(name, each.mine), shown(name, each.other), f"{value} ({low} … {high})"
            table.add_row(escaped(name.replace("_", " ")), *numbers, each.verdict)
        screen = console(handle)
        screen.print(printable(f"first: {model}, second: {other}"), markup=False)
        print_table(screen, table)
        parts = [
            f"measured on the same {found.count:,} {found.unit}",
            "in brackets 95 % intervals by paired bootstrap over them",
        ]
        screen.print(escaped("; ".join(filter(None, [*parts, told_lower(found.differences)]))))
        if found.left_out:
            screen.print(f"not compared: {', '.join(found.left_out)}, which are per token: the vocabularies differ")
        screen.print(escaped(f"{found.sentence[0].upper()}{found.sentence[1:]}."))
