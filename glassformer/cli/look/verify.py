from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassformer.cli.look.info import note_changed
from glassformer.cli.terminal import options
from glassformer.cli.terminal.opened import Machine, second_text, split_model
from glassformer.cli.terminal.screen import console, escaped, print_table, record
from glassformer.cli.terminal.texts import texts_to_explain
from glassformer.decode.options import WritingOptions

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.look.texts.written import Stepwise
    from glassformer.look.trace.honesty import Honesty
    from glassformer.look.trace.verify import Verification
    from glassformer.run.independence import Independence

# The number of tensors shown: those that agree least.
_SHOWN = 8
# The tokens that a decoder writes where nobody says otherwise.
_WRITTEN = 8

_PRECISION = f"{options.PRECISION}  The formulas are checked in this precision."
_WRITE = (
    f"{options.WRITE}  Their attention and probabilities are compared with those of one pass over the whole text.  "
    "[default: 8 for a decoder, else 0]"
)
_FAST = f"{options.FAST}  Only for predictions: formulas are checked in --precision."


def verify(
    text: options.Texts = None,
    model: options.NamedModel = None,
    pair: options.Pair = None,
    target: options.Target = None,
    choice: options.Choices = None,
    precision: Annotated[Literal["float32", "float64"], typer.Option("--precision", help=_PRECISION)] = "float32",
    write: Annotated[int | None, typer.Option("--write", min=0, help=_WRITE)] = None,
    fast: Annotated[bool, typer.Option("--fast", help=_FAST)] = False,
    json: options.Json = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Check that every tensor equals its formula, and that tracing, padding and other texts in the batch do not change
    the output. For a decoder, also check that generation with the key–value cache gives the same attention and
    probabilities as one pass over the whole text. The exit code is 1 if a check fails.
    """
    which, texts = split_model("verify", text, model)
    opened = Machine(device, threads, fast).open(which)
    from glassformer.saved.store import changed_files  # not at the top: --help must not import torch

    note_changed(() if opened.source is None else changed_files(opened.source))
    second = second_text(opened, pair, target)
    held = [
        _holds(opened, each, second, choice or [], precision, write=write, json=json)
        for each in texts_to_explain(texts)
    ]
    if not all(held):
        raise typer.Exit(1)


def _holds(
    opened: Model, text: str, pair: str | None, choices: list[str], dtype: str, *, write: int | None, json: bool
) -> bool:
    """Whether all checks pass for one text, pair or choice; prints the results, or writes them as a record."""
    import torch

    from glassformer.run.independence import independence

    trace = opened.trace(text, pair, dtype=getattr(torch, dtype), choices=choices or None)
    pairs: list[str | None] = [*choices] or [pair]
    each = [independence(opened, text, second) for second in pairs]
    own = max(each, key=lambda found: max(found.padding or 0.0, found.batch_mates))
    verified, honesty = trace.verify(), trace.honesty
    written = _written(opened, text, write)
    holds = verified.holds and honesty.holds and own.holds and (written is None or written.holds)
    if json:
        facts: dict[str, Any] = {
            "text": text,
            **({} if pair is None else {"pair": pair}),
            **({"choices": choices} if choices else {}),
            "holds": holds,
            "formulas": {check.name: check.error for check in verified.checks},
            "limit": verified.limit,
            "kernel_limit": verified.kernel_limit,
            "honesty": asdict(honesty),
            "independence": asdict(own),
            **({} if written is None else {"writing": asdict(written)}),
        }
        record(facts, sys.stdout)
    else:
        least = sorted(verified.checks, key=lambda each: -each.error)[:_SHOWN]
        rows = [(check.name, f"{check.error:.1e}", check.note) for check in least]
        screen = console()
        for words in (text, *([] if pair is None else [pair]), *choices):
            screen.print(f"[dim]{escaped(words)}[/dim]")
        print_table(screen, ("tensors that agree least", "error", ""), rows)
        checks: list[Verification | Honesty | Independence | Stepwise] = [verified, honesty, own]
        for result in checks if written is None else [*checks, written]:
            sign = "[green]✓[/green]" if result.holds else "[red]✗[/red]"
            screen.print(f"{sign} {result}")
    return holds


def _written(opened: Model, text: str, count: int | None) -> Stepwise | None:
    """The numbers of a few tokens as they are written, and those of one run over them; None where none is asked for.
    Unasked, only a decoder alone writes: a translator has read what it writes already.
    """
    from glassformer.look.texts.search_tree import search_tree, trace_of
    from glassformer.look.texts.written import stepwise

    config = opened.config
    alone = config.encoder is None and config.decoder is not None and config.head is not None
    count = (_WRITTEN if alone else 0) if count is None else count
    if count == 0:
        return None
    tree = search_tree(opened, text, WritingOptions(max_tokens=count), attention=True)
    return stepwise(tree, trace_of(opened, tree), fast=opened.fast)
