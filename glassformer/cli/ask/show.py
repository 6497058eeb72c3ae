"""Predictions for display: a small table for each verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len

from glassformer.base.wrapping import printable
from glassformer.cli.terminal.layout import print_table
from glassformer.cli.terminal.screen import bar, console, escaped, note, plain_table
from glassformer.text.token_text import marked
from glassformer.text.tokenizer import MASK

if TYPE_CHECKING:
    from glassformer.tasks.labels.answer.spans import Answer, Span
    from glassformer.tasks.labels.choose.candidates import Choice
    from glassformer.tasks.labels.labels import Class, Classes
    from glassformer.tasks.labels.regress.task import Number
    from glassformer.tasks.labels.tag.tagging import Tagging
    from glassformer.tasks.words.masked_lm.fill import Filled, MaskedWord
    from glassformer.tasks.writing.chat.reply import Reply
    from glassformer.tasks.writing.generation import Generation
    from glassformer.tasks.writing.scored import Scored, ScoredPair, ScoredText
    from glassformer.tasks.writing.translation import Translation

# Characters of an answer in a table, and of the passage on either side of the marked answer.
_ANSWER, _AROUND = 40, 200
# Masks side by side in one table: at most, and the columns that each needs for its numbers, bars and blanks.
_BESIDE, _NUMBERS = 3, 28
# What ends a line for some program.
_LINE_END = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
# Labels that are shown: the likeliest.
_LABELS = 5


def _fill(values: Mapping[str, object], filled: Filled, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(filled.text)}[/dim]")
    longest = max(
        (
            cell_len(cell)
            for mask in filled.masks
            for rank in range(len(mask.guesses))
            for cell in _cells(mask, rank)[:1]
        ),
        default=0,
    )
    beside = max(1, min(_BESIDE, screen.width // (max(longest, len(MASK) + 3) + _NUMBERS)))
    for first in range(0, len(filled.masks), beside):
        masks = filled.masks[first : first + beside]
        table = plain_table()
        for number, _ in enumerate(masks, start=first + 1):
            table.add_column(escaped(MASK) + (f" {number}" if len(filled.masks) > 1 else ""), style="bold")
            table.add_column("", justify="right")
            table.add_column("", style="cyan", min_width=12)
        for rank in range(max(len(mask.guesses) for mask in masks)):
            table.add_row(*(cell for mask in masks for cell in _cells(mask, rank)))
        print_table(screen, table)
    screen.print(f"[green]→[/green] {escaped(filled.filled)}\n")


def _cells(mask: MaskedWord, rank: int) -> tuple[str, str, str]:
    if rank >= len(mask.guesses):
        return "", "", ""
    guess = mask.guesses[rank]
    word = f"…{guess.word}" if guess.joins and guess.word.isalnum() else marked(guess.word)
    return escaped(word), f"{guess.probability:.1%}", bar(guess.probability)


def _score(values: Mapping[str, object], scored: Scored | ScoredPair | ScoredText, handle: TextIO) -> None:
    screen, target = console(handle), getattr(scored, "target", None)
    screen.print(f"[dim]{escaped(scored.text)}[/dim]")
    if target is not None:
        screen.print(f"[green]→[/green] {escaped(target)}")
    table = plain_table("token", "probability", "", "log-probability")
    for token in scored.tokens:
        table.add_row(
            escaped(marked(token.text)),
            f"{token.probability:.2%}",
            bar(token.probability),
            f"{token.log_probability:.3f}",
        )
    print_table(screen, table)
    masked = target is None and not hasattr(scored, "bits_per_byte")
    bits = getattr(scored, "bits_per_byte", None)
    screen.print(
        f"{'pseudo-log-likelihood' if masked else 'log-probability'} [bold]{scored.total:.3f}[/bold] over "
        f"{len(scored.tokens)} tokens, perplexity [bold]{scored.perplexity:.2f}[/bold]"
        + (f", [bold]{bits:.3f}[/bold] bits per byte\n" if bits is not None else "\n")
    )


def _classify(values: Mapping[str, object], found: Class | Classes | Number, handle: TextIO) -> None:
    screen = console(handle)
    for role in ("text", "pair"):
        if role in values:
            screen.print(f"[dim]{escaped(str(values[role]))}[/dim]")
    from glassformer.tasks.labels.labels import Classes
    from glassformer.tasks.labels.regress.task import Number

    if isinstance(found, Number):
        screen.print(f"[green]→[/green] [bold]{found.number:.6g}[/bold]\n")
        return
    table = plain_table("label", "probability", "")
    likeliest = sorted(found.probabilities.items(), key=lambda each: -each[1])
    for label, probability in likeliest[:_LABELS]:
        table.add_row(escaped(label), f"{probability:.1%}", bar(probability))
    if len(likeliest) > _LABELS:
        table.add_row(f"{len(likeliest) - _LABELS:,} more", "", "")
    print_table(screen, table)
    if isinstance(found, Classes):
        chosen = ", ".join(found.chosen) or f"none is as likely as {found.threshold:.0%}"
        screen.print(f"[green]→[/green] {escaped(chosen)}\n")


def _choose(values: Mapping[str, object], found: Choice, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(found.text)}[/dim]")
    table = plain_table("", "candidate", "probability", "")
    for place, (choice, probability) in enumerate(zip(found.choices, found.probabilities, strict=True)):
        mark = "[green]→[/green]" if place == found.index else ""
        table.add_row(mark, escaped(choice), f"{probability:.1%}", bar(probability))
    print_table(screen, table)


def _tag(values: Mapping[str, object], found: Tagging, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(found.text)}[/dim]")
    if not found.spans:
        screen.print("no span found\n")
        return
    table = plain_table("start", "end", "text", "label", "probability", "")
    for span in found.spans:
        shown = bar(span.probability)
        table.add_row(
            f"{span.start}", f"{span.end}", escaped(span.text), escaped(span.label), f"{span.probability:.1%}", shown
        )
    for column in table.columns[:2]:
        column.justify = "right"
    print_table(screen, table)


def _answer(values: Mapping[str, object], found: Answer, handle: TextIO) -> None:
    screen = console(handle)
    screen.print(f"[dim]{escaped(found.question)}[/dim]")
    if found.question_cut:
        note(f"the question was cut: its last {found.question_cut:,} tokens were not read")
    none = found.no_answer_probability
    table = plain_table("answer", "probability", "", "characters")
    for span in found.spans:
        words = span.text if len(span.text) <= _ANSWER else f"{span.text[:_ANSWER]} …"
        chance, place = span.probability, f"{span.start:,}–{span.end:,}"
        table.add_row(escaped(" ".join(words.split())), f"{chance:.1%}", bar(chance), place)
    if none is not None:
        table.add_row("(no answer)", f"{none:.1%}", bar(none), "")
    print_table(screen, table)
    if none is not None:
        score = f"score of the best span {found.spans[0].score:.2f}"
        screen.print(f"{score}; it is the answer above the threshold {found.threshold:.2f}")
    screen.print(f"[green]→[/green] {_marked(str(values['pair']), found.best)}\n")


def _marked(context: str, best: Span | None) -> str:
    """The passage around the answer, which stands in bold and in brackets."""
    if best is None:
        return "no answer"
    before, after = context[max(0, best.start - _AROUND) : best.start], context[best.end : best.end + _AROUND]
    left, right = "… " * (best.start > _AROUND), " …" * (best.end + _AROUND < len(context))
    marked = escaped(f"[{best.text}]")
    return f"{left}{escaped(before)}[bold]{marked}[/bold]{escaped(after)}{right}"


def _translate(values: Mapping[str, object], found: Translation, handle: TextIO) -> None:
    lines = "\n" in str(values["text"])  # else one text is one line
    if len(found.n_best) > 1:
        for each in found.n_best:
            handle.write(f"{each.score:.4f}\t{on_screen(each.translation, handle, lines=lines)}\n")
    else:
        handle.write(f"{on_screen(found.translation, handle, lines=lines)}\n")
    if found.alignment:
        table = plain_table("translation", "", "source", "attention", "")
        for link in found.alignment:
            (a, b), (c, d) = link.target, link.source
            words = found.translation[a:b], "←", found.text[c:d]
            table.add_row(*map(escaped, words), f"{link.weight:.0%}", bar(link.weight))
        print_table(console(handle), table)


def _generate(values: Mapping[str, object], found: Generation, handle: TextIO) -> None:
    if not found.n_best:
        handle.write(f"{on_screen(found.text, handle, lines=True)}\n")
    for number, each in enumerate(found.n_best, start=1):
        handle.write(f"{number}\t{on_screen(found.prompt + each.generated, handle, lines=True)}\n")


def _chat(values: Mapping[str, object], found: Reply, handle: TextIO) -> None:
    for each in found.n_best or (found,):
        handle.write(f"{on_screen(each.reply, handle, lines=False)}\n")


def on_screen(text: str, handle: TextIO, *, lines: bool) -> str:
    """A text as it is for a file; for a terminal its control characters as escapes, but not tabs."""
    kept = text if lines else _LINE_END.sub(" ", text)
    return printable(kept, stay="\n\t") if handle.isatty() else kept


SHOW: dict[str, Callable[[Mapping[str, object], Any, TextIO], None]] = {
    "fill": _fill,
    "score": _score,
    "classify": _classify,
    "choose": _choose,
    "tag": _tag,
    "answer": _answer,
    "chat": _chat,
    "generate": _generate,
    "translate": _translate,
}
