import sys
from collections.abc import Mapping

from glassformer.base.lines import wrapped
from glassformer.bundled.travelling import LICENCE, described, travelling
from glassformer.cli.terminal.options import Json
from glassformer.cli.terminal.screen import console, escaped, print_table, record


def models(json: Json = False) -> None:
    """List the bundled models. A name can be used in place of a model folder."""
    found = [described(name) for name in travelling()]
    if json:
        for each in found:
            record({**each._asdict(), "folder": str(each.folder), "licence": LICENCE}, sys.stdout)
        return
    screen = console()
    if not found:
        screen.print("this package has no bundled models")
        return
    rows = []
    for each in found:
        size, score = f"{each.size / 1e6:.1f} MB", _score(each.scores)
        rows.append((escaped(each.name), each.task or "", f"{each.parameters:,}", size, score))
    print_table(screen, ("name", "task", "parameters", "size", "score"), rows)
    for each in found:
        screen.print(f"[bold]{escaped(each.name)}[/bold]")
        for line in (
            f"licences of its text: {each.text_licence or 'not stated'}",
            f"measured on: {each.measured_on or 'nothing'}",
        ):
            screen.print(escaped("\n".join(wrapped(line, screen.width, first=2, rest=4))))
        # A path is not broken, so that it can be copied.
        screen.print(f"  card: {escaped(str(each.folder / 'README.md'))}", soft_wrap=True)
    screen.print(f"\nThe licence of all is {LICENCE}. A name can be used in place of a model folder.")


def _score(scores: Mapping[str, float]) -> str:
    if "bleu" in scores:
        return f"BLEU {scores['bleu']:.1f}"
    if "bits_per_byte" in scores:
        return f"perplexity {scores['perplexity']:.1f}"
    if "accuracy" in scores:
        return f"accuracy {scores['accuracy']:.1%}"
    return f"loss {scores['loss']:.3f}" if "loss" in scores else "not measured"
