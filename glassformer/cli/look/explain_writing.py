from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.wrapping import in_one_line
from glassformer.cli.ask.ask import help_of
from glassformer.cli.ask.show import story_page
from glassformer.cli.terminal.options import WRITE, check_decoding
from glassformer.cli.terminal.screen import note, record
from glassformer.tasks import VERBS

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.look.texts.tree import SearchTree
    from glassformer.look.texts.written import Looks

_WRITE = f"{WRITE}  They continue the text, or reply to it, and each step is shown.  [default: none]"
_ATTENTION = (
    "With --write: show the attention of this block (the mean of its heads) or of this head, both counted from 0.  "
    "[default: the last block]"
)
Write = Annotated[int | None, typer.Option("--write", min=1, help=_WRITE)]
AttentionOf = Annotated[str | None, typer.Option("--attention", metavar="BLOCK[.HEAD]", help=_ATTENTION)]
_AS = "Needs --write.  [default: the model's own]"
Beams = Annotated[int | None, typer.Option("--beams", min=1, help=help_of("beams", _AS))]
Temperature = Annotated[float | None, typer.Option("--temperature", help=help_of("temperature", _AS))]
TopK = Annotated[int | None, typer.Option("--top-k", min=1, help=help_of("top_k", _AS))]
TopP = Annotated[float | None, typer.Option("--top-p", help=help_of("top_p", _AS))]
Seed = Annotated[int | None, typer.Option("--seed", help=help_of("seed", "Needs --write.  [default: 0]"))]


def explain_writing(
    opened: Model,
    texts: Sequence[str],
    count: int,
    attention: str | None,
    options: Mapping[str, Any],
    *,
    html: Path | None,
    title: str,
    megabytes: int | None,
    language: str,
    json: bool,
) -> None:
    """Continue one text, or reply to turns, and show each step, with `html` as a page. Raises DataError."""
    # Not at the top: --help must not import torch.
    from glassformer.base.lines import screen_width
    from glassformer.cli.look.written_lines import written_lines
    from glassformer.look.texts.search_tree import search_tree, trace_of, writing_verb
    from glassformer.look.texts.written import Looks, stepwise

    verb = writing_verb(opened)
    turns = VERBS[verb].turns
    if not turns and len(texts) != 1:
        raise DataError("--write shows how one text is generated", got=f"{len(texts)} texts", do="give one of them")
    asked = check_decoding({**options, "max_tokens": count}, verb)
    block, head = _block_and_head(attention)
    tree = search_tree(opened, list(texts) if turns else texts[0], asked, verb=verb, attention=True)
    trace = trace_of(opened, tree)
    compared = stepwise(tree, trace, fast=opened.fast)
    if html is not None:
        story_page(opened, tree, html, title=title, megabytes=megabytes, language=language, trace=trace)
    else:
        looks = Looks(tree, block, head)
        crosses = tree.source is not None
        read = trace.words.sentence("decoder_inputs" if crosses else "inputs", 0)
        if json:
            record(_as_record(tree, looks, read, asdict(compared) | {"holds": compared.holds}), sys.stdout)
        else:
            source = trace.words.sentence("inputs", 0) if crosses else ()
            for line in written_lines(tree, looks, read, source, screen_width()):
                print(in_one_line(line))
    note(f"{'✓' if compared.holds else '✗'} {compared}")


def _as_record(tree: SearchTree, looks: Looks, read: Sequence[str], compared: Mapping[str, Any]) -> dict[str, Any]:
    from glassformer.look.texts.written import path_of

    steps = []
    for node in path_of(tree):
        own, crossing = looks.row(node), looks.row(node, crossing=True)
        steps.append(
            {
                "node": node.number,
                "looked_at": None if own is None else own.tolist(),
                **({} if crossing is None else {"looked_at_source": crossing.tolist()}),
            }
        )
    return {
        **tree.to_dict(),
        "read": list(read),
        "attention": {"block": looks.block, "head": looks.head, "bytes": looks.kept.nbytes},
        "steps": steps,
        "against_one_run": dict(compared),
    }


def _block_and_head(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    block, _, head = text.partition(".")
    if not block.isdecimal() or (head and not head.isdecimal()) or text.endswith("."):
        raise ConfigError("--attention takes a block, such as 3, or one of its heads, such as 3.1", got=repr(text))
    return int(block), int(head) if head else None
