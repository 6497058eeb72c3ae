from collections.abc import Mapping
from typing import Annotated, Any

import typer

from glassformer.base.wrapping import printable
from glassformer.cli.terminal import options
from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.screen import console, escaped, print_table, record, results

_MODEL = f"The first model: {options.WHICH}."
_OTHER = "The second model, given in the same way."
_FILES = f"Data to measure both models on: {options.DATA_FILES}.  [default: the data that both held out]"


@options.with_column_options
def compare(
    model: Annotated[str, typer.Argument(metavar="FIRST", help=_MODEL, show_default=False)],
    other: Annotated[str, typer.Argument(metavar="SECOND", help=_OTHER, show_default=False)],
    files: Annotated[list[str] | None, typer.Argument(metavar="FILES", help=_FILES)] = None,
    split: options.HeldOut = None,
    out: options.Out = None,
    json: options.Json = False,
    fast: options.Fast = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Test which of two models is better, by a paired bootstrap of their scores on the same examples."""
    from glassformer.run.compare import compare as measure
    from glassformer.scoring.verdict import TOO_FEW, difference, lower_note, shown
    from glassformer.training.progress import ConsoleProgress

    first, second = (Machine(device, threads, fast).open(each) for each in (model, other))
    with results(out, first.data) as handle:
        found = measure(first, second, *(files or ()), split=split, columns=columns or {}, progress=ConsoleProgress())
        if json:
            record({"first": model, "second": other, **found.to_dict()}, handle)
            return
        rows = []
        for name, each in found.differences.items():
            value, low, high = (difference(name, number) for number in (each.difference, each.low, each.high))
            within = "" if each.few else f" ({low} … {high})"
            numbers = shown(name, each.mine), shown(name, each.other), f"{value}{within}"
            rows.append((escaped(name.replace("_", " ")), *numbers, each.verdict))
        screen = console(handle)
        screen.print(printable(f"first: {model}, second: {other}"), markup=False)
        print_table(screen, ("", "first", "second", "difference", "first is"), rows, slice(1, 4))
        parts = [
            f"measured on the same {found.count:,} {found.unit}",
            *(["in brackets 95 % intervals by paired bootstrap over them"] if found.count >= TOO_FEW else []),
        ]
        screen.print(escaped("; ".join(filter(None, [*parts, lower_note(found.differences)]))))
        if found.left_out:
            screen.print(f"not compared, as the unit differs between the models: {', '.join(found.left_out)}")
        screen.print(escaped(f"{found.sentence[0].upper()}{found.sentence[1:]}."))
