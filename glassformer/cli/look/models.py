import sys
from collections.abc import Mapping

from glassformer.bundled.travelling import LICENCE, described, travelling
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.options import Json
from glassformer.cli.terminal.screen import console, escaped, plain_table, record


def models(json: Json = False) -> None:
    """List the models that came with the package: their names stand wherever a model's folder may."""
    found = [described(name) for name in travelling()]
    if json:
        for each in found:
            record({**each._asdict(), "folder": str(each.folder), "licence": LICENCE}, sys.stdout)
        return
    screen = console()
    if not found:
        screen.print("no model came with this package")
        return
    table = plain_table("name", "task", "parameters", "size", "licence", "score")
    for each in found:
        size, score = f"{each.size / 1e6:.1f} MB", _score(each.scores)
        table.add_row(escaped(each.name), each.task or "", f"{each.parameters:,}", size, LICENCE, score)
    print_table(screen, table)
    for each in found:
        about = {
            "learned from": each.text_licence or "text of a licence that is not stated",
            "measured on": each.measured_on or "nothing",
            "card": str(each.folder / "README.md"),
        }
        screen.print(f"[bold]{escaped(each.name)}[/bold]")
        for name, value in about.items():
            screen.print(f"  {name}: {escaped(value)}", soft_wrap=True)
    screen.print("\nIts name stands wherever the folder of a model may.")


def _score(scores: Mapping[str, float]) -> str:
    if "accuracy" in scores:
        return f"accuracy {scores['accuracy']:.1%}"
    return f"loss {scores['loss']:.3f}" if "loss" in scores else "not measured"
