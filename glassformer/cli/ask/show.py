"""Answers on the screen: each says what is shown of it (`tasks/answered.py`), and this draws it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from glassformer.base.errors import DataError
from glassformer.base.shown import Grid, Line, Part, Parts, Remark, Share, Style, Tick
from glassformer.base.wrapping import in_one_line, printable
from glassformer.cli.terminal.interrupts import goes_on
from glassformer.cli.terminal.options import refuse_given
from glassformer.cli.terminal.partial import Answers
from glassformer.cli.terminal.readers import Text, with_kept
from glassformer.cli.terminal.screen import Few, bar, console, escaped, note, note_windows, print_table, record
from glassformer.cli.terminal.texts import TYPED
from glassformer.decode.options import WritingOptions
from glassformer.tasks import VERBS

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.cli.corpus.blocks import Spread
    from glassformer.data.readers.rejects import RejectsFile
    from glassformer.look.texts.tree import SearchTree
    from glassformer.look.trace.trace import Trace
    from glassformer.tasks.predictor import Options
    from glassformer.tasks.writing.chat.chatter import Reply
    from glassformer.tasks.writing.generator import Generation
    from glassformer.tasks.writing.translation import Translation


@dataclass(frozen=True, kw_only=True)
class Job:
    """`advance` gets numbers of new answers, `bad` rejected records; `page` is a file; `spread`: other processes."""

    opened: Model
    verb: str
    texts: Iterable[Text]
    options: Options
    out: Answers
    advance: Callable[[int], None] = lambda more: None
    bad: RejectsFile | None = None
    json: bool = False
    page: Path | None = None
    megabytes: int | None = None
    title: str = ""
    spread: Spread | None = None

    @property
    def writing(self) -> WritingOptions:
        """The options of a verb that writes; only such a verb streams, and shows trees and pages."""
        assert isinstance(self.options, WritingOptions)
        return self.options


# What ends a line for some program.
_LINE_END = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def show(parts: Parts, handle: TextIO) -> None:
    for part in parts:
        _draw(part, handle)


def _draw(part: Part, handle: TextIO) -> None:
    if isinstance(part, Remark):
        note(part.text)
    elif isinstance(part, Grid):
        heads, rows = [*map(escaped, part.columns)], [[*map(_cell, row)] for row in part.rows]
        print_table(console(handle), heads, rows, part.right, bold=part.bold, bars=part.bars)
    elif isinstance(part, Line):
        pairs: Iterable[tuple[str, Style]] = ((each, "") if isinstance(each, str) else each for each in part.parts)
        words = "".join(_styled(escaped(text), style) for text, style in pairs)
        console(handle).print(_styled(words, part.style) + "\n" * part.after)
    else:
        handle.write(f"{part.before}{on_screen(part.text, handle, lines=part.lines)}\n")


def _styled(markup: str, style: Style) -> str:
    if style == "answer":
        return f"[green]→[/green] {markup}"
    return f"[{style}]{markup}[/{style}]" if style else markup


def _cell(cell: str | Share) -> str:
    if isinstance(cell, Share):
        return bar(cell)
    return f"[green]{cell}[/green]" if isinstance(cell, Tick) else escaped(cell)


def on_screen(text: str, handle: TextIO, *, lines: bool) -> str:
    """A text as it is for a file; for a terminal its control characters as escapes, but not tabs."""
    kept = text if lines else _LINE_END.sub(" ", text)
    return printable(kept, stay="\n\t") if handle.isatty() else kept


# What a tree and its page do not have, or have anyway.
_NOT_WITH_TREE = ("stream", "alignment", "paragraphs", "out", "rejects")


def check_tree(values: Mapping[str, Any]) -> None:
    mine, does, last = "--html", "writes the page of one text", "json"
    if values.get("tree"):
        mine, does, last = "--tree", "shows how each text was found", "html"
    given = {name: values.get(name) for name in (*_NOT_WITH_TREE, last)}
    refuse_given(given, f"{mine} {does} and nothing else", got="{} as well", do=f"leave {mine} or {{}} out")


def show_trees(job: Job) -> None:
    from glassformer.base.lines import screen_width
    from glassformer.look.texts.search_tree import search_tree  # not at the top: --help must not import torch
    from glassformer.look.texts.tree import tree_lines

    number, handle = 0, job.out.handle
    for number, text in enumerate(job.texts, start=1):
        tree = search_tree(job.opened, given(text), job.writing, verb=job.verb)
        if job.json:
            record(with_kept(text, tree.to_dict()), handle)
            continue
        if number > 1:
            handle.write("\n")
        for line in tree_lines(tree, screen_width()):
            handle.write(f"{in_one_line(line)}\n")
        handle.flush()
    if number and not job.json:
        draws = "explain MODEL TEXT" if VERBS[job.verb].writes == "translation" else f"{job.verb} MODEL TEXT"
        note(f"glassformer {draws} --html page.html draws it, with the numbers of each word")


def given(text: Text) -> str | list[str]:
    """What a record asks to continue: its text, or the turns of a conversation."""
    value = text.values.get("turns", text.values.get("text"))
    return list(value) if isinstance(value, list | tuple) else str(value)


def write_story(job: Job) -> None:
    """Continue the only text, and write its page; raises DataError for several texts."""
    from glassformer.look.texts.search_tree import search_tree  # not at the top: --help must not import torch

    out = job.page
    assert out is not None, "only --html asks for a page"
    texts = list(job.texts)
    if len(texts) != 1:
        raise DataError("--html writes the page of one text", got=f"{len(texts)} texts", do="give one of them")
    tree = search_tree(job.opened, given(texts[0]), job.writing, verb=job.verb)
    story_page(job.opened, tree, out, title=job.title, megabytes=job.megabytes)


def story_page(
    opened: Model,
    tree: SearchTree,
    out: Path,
    *,
    title: str,
    megabytes: int | None = None,
    language: str = "en",
    trace: Trace | None = None,
) -> None:
    from glassformer.api.trace import Trace
    from glassformer.look.texts.search_tree import trace_of
    from glassformer.look.texts.written import PLACE

    page = Trace.of(trace_of(opened, tree) if trace is None else trace)
    page.to_html(
        out, title=title, megabytes=megabytes, searches=[tree], training=opened.source, place=PLACE, language=language,
        overwrite=True,
    )  # fmt: skip
    note(f"{out}: {out.stat().st_size / 1e6:.1f} MB, opens in any browser; the space bar plays and pauses")


Answer = TypeVar("Answer", "Translation", "Generation", "Reply")
# What is known only when an answer is whole, or goes elsewhere, by the option that asks for it.
_NOT_STREAMED = ("json", "alignment", "out", "rejects")


def check_streamed(values: Mapping[str, Any]) -> None:
    given = {**{name: values.get(name) for name in _NOT_STREAMED}, "n_best": (values.get("n_best") or 1) > 1}
    wanted = "--stream prints the text of a single answer and nothing else"
    refuse_given(given, wanted, got="{} as well", do="leave --stream or {} out")


def can_stream(values: Mapping[str, Any]) -> bool:
    """Whether words are shown one by one by default: on a screen, without other output options."""
    return sys.stdout.isatty() and not any(values.get(name) for name in _NOT_STREAMED) and (values["n_best"] or 1) == 1


def stream_words(job: Job) -> None:
    """Answer the texts one after another. Ctrl-C ends it; at a terminal it ends the answer of the typed line alone."""
    from glassformer.answering.answers import stream_answer  # not at the top: --help must not import torch

    opened, handle, entry = job.opened, job.out.handle, VERBS[job.verb]
    remarks, long = Few(), Few()
    for text in job.texts:
        words = stream_answer(opened, job.verb, text.values, text.where, job.writing)
        before = str(text.values["text"]) if entry.goes_on else ""
        lines = entry.goes_on or (handle.isatty() if entry.turns else "\n" in str(text.values["text"]))
        try:
            found = _written(words, handle, lines=lines, before=before)
        except KeyboardInterrupt:
            if not (text.where.startswith(TYPED) and sys.stdin.isatty()):
                raise
            goes_on()
            note("stopped; type the next line, or exit with Ctrl-C or the end of the input")
            continue
        note_windows(text.values.get("text", ""), found.windows, opened.row_tokens, long)
        for sentence in found.notes:
            remarks(f"{text.where}: {sentence}" if text.where else sentence)
    remarks.rest()
    long.rest()


def _written(words: Generator[str, None, Answer], handle: TextIO, *, lines: bool, before: str) -> Answer:
    """Write an answer after a prompt and the end of its line, also where it is stopped within the line."""
    begun = bool(before)
    try:
        if before:
            handle.write(on_screen(before, handle, lines=lines))
            handle.flush()
        while True:
            some = next(words)
            begun = True
            handle.write(on_screen(some, handle, lines=lines))
            handle.flush()
    except StopIteration as end:
        begun = True
        return end.value
    finally:
        if begun:
            handle.write("\n")
            handle.flush()
