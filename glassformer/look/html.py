"""What a notebook shows of a trace and of an explained number: small static tables, without scripts.

Every word is escaped. Colours are those of the page, and shades are transparent: the same in light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Protocol

from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.errors import GlassformerError
from glassformer.look.cell import Words
from glassformer.look.formulas import Statement

# Words and heads of a picture, places and guesses of a table.
_WORDS, _HEADS, _PLACES, _GUESSES = 12, 4, 4, 3
_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = "padding:1px 8px;background:none;color:inherit;white-space:nowrap"
_TABLE = "border-collapse:collapse;color:inherit;background:none;font-size:90%;margin:4px 16px 4px 0"


class Run(Protocol):
    """What is drawn of a trace. (A trace draws itself, so that this file cannot import it.)"""

    @property
    def stored(self) -> Mapping[str, Tensor]: ...
    @property
    def statement(self) -> Statement: ...
    @property
    def words(self) -> Words: ...
    @property
    def config(self) -> ModelConfig: ...
    @property
    def interventions(self) -> Sequence[Any]: ...
    @property
    def python(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def chosen_tokens(self) -> Sequence[tuple[int, int]]: ...
    def __getitem__(self, name: str, /) -> Tensor: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...


def table(rows: Iterable[Sequence[object]], *, head: Sequence[str] = (), caption: str = "") -> str:
    """A table: words to the left, numbers to the right."""
    lines = [f"<caption style='text-align:left;color:inherit'>{escape(caption)}</caption>"] if caption else []
    if head:
        cells = "".join(f"<th style='{_CELL};{_LINE};text-align:left'>{escape(name)}</th>" for name in head)
        lines.append(f"<tr style='background:none'>{cells}</tr>")
    lines += [f"<tr style='background:none'>{''.join(map(_cell, row))}</tr>" for row in rows]
    return f"<table style='{_TABLE}'>{''.join(lines)}</table>"


def _cell(value: object) -> str:
    side = "left" if isinstance(value, str) else "right"
    text = value if isinstance(value, str) else f"{value:,}"
    return f"<td style='{_CELL};text-align:{side}'>{escape(text)}</td>"


def shades(words: Sequence[str], rows: Sequence[Sequence[float]], caption: str) -> str:
    """Weights between 0 and 1 as shades, with the words that look (rows) and those that they look at (columns)."""
    head = "".join(f"<th style='{_CELL};text-align:right'>{escape(word)}</th>" for word in words)
    lines = [f"<caption style='text-align:left;color:inherit'>{escape(caption)}</caption>"]
    lines.append(f"<tr style='background:none'><th style='{_CELL}'></th>{head}</tr>")
    for word, weights in zip(words, rows, strict=False):
        cells = "".join(_shade(weight) for weight in weights[: len(words)])
        lines.append(f"<tr style='background:none'><th style='{_CELL};text-align:left'>{escape(word)}</th>{cells}</tr>")
    return f"<table style='{_TABLE};display:inline-table;vertical-align:top'>{''.join(lines)}</table>"


def _shade(weight: float) -> str:
    depth = min(max(weight, 0.0), 1.0) if math.isfinite(weight) else 0.0
    style = f"{_CELL};text-align:right;background:rgba(66,133,244,{0.75 * depth:.2f})"
    return f"<td style='{style}'>{weight:.2f}</td>"


def paragraph(text: str) -> str:
    """A line of text."""
    return f"<div>{escape(text)}</div>"


def page(title: str, *parts: str) -> str:
    """The title and its parts, one below the other."""
    body = "".join(part for part in parts if part)
    return f"<div style='color:inherit;overflow-x:auto'><div><b>{escape(title)}</b></div>{body}</div>"


def of_trace(trace: Run) -> str:
    """What the trace is of, the model's best guesses, and the attention weights of the first block."""
    shown = len(trace.stored)
    facts = [("tensors", f"{len(trace):,}, of which {shown:,} stored ({trace.nbytes / 1e6:,.1f} MB)")]
    facts += [(side.replace("_", " "), _words(trace, side)) for side in ("inputs", "decoder_inputs")]
    if trace.interventions:
        facts.append(("changed by hand", trace.python))
    parts = [table((name, value) for name, value in facts if value)]
    for draw in (_guesses, _attention):
        try:
            parts.append(draw(trace))
        except GlassformerError:  # what is not stored cannot be had without the model: the rest is shown
            continue
    return page(f"Trace of a {trace.config.family} model", *parts)


def _words(trace: Run, side: str) -> str:
    words = trace.words.sentence(side, 0)
    more = len(getattr(trace.words, side)) - 1
    text = " ".join(words[: 2 * _WORDS]) + (" …" if len(words) > 2 * _WORDS else "")
    return text + (f" and {more} more" if more > 0 else "")


def _guesses(trace: Run) -> str:
    """The likeliest words where the vocabulary was scored."""
    vocabulary = trace.words.vocabulary
    if "head.logits" not in trace.statement.formulas or not vocabulary or not trace.chosen_tokens:
        return ""
    side = trace.statement.formulas["head.logits"].tokens
    places = trace.chosen_tokens[:_PLACES]
    likely = trace["head.logits"][: len(places)].float().softmax(dim=-1).topk(min(_GUESSES, len(vocabulary)))
    rows = []
    for (sentence, token), shares, ids in zip(places, likely.values.tolist(), likely.indices.tolist(), strict=True):
        words = trace.words.sentence(side, sentence)
        asked = words[token] if token < len(words) else "?"
        best = ", ".join(f"{vocabulary[id_]} {share:.0%}" for id_, share in zip(ids, shares, strict=True))
        rows.append((token, asked, best))
    more = len(trace.chosen_tokens) - len(rows)
    return table(rows, head=("position", "word", "guesses" + (f" ({more} more positions)" if more else "")))


def _attention(trace: Run) -> str:
    """The attention weights of the first block's first heads, between the first words of the first text."""
    name = next((name for name in trace if name.endswith(".self_attention.weights")), None)
    if name is None:
        return ""
    weights = trace[name][0].float()  # [H, Q, K]
    side = trace.statement.formulas[name].tokens
    words = list(trace.words.sentence(side, 0))[:_WORDS] or [str(place) for place in range(weights.shape[1])][:_WORDS]
    drawn = [
        shades(words, rows, f"{name}, head {head}: rows look at columns")
        for head, rows in enumerate(weights[:_HEADS, : len(words), : len(words)].tolist())
    ]
    return "".join(drawn)
