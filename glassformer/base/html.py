"""Small static tables for notebooks, without scripts.

Every word is escaped. Colours are those of the page and shades are transparent, for light and dark pages.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

# Pages of notebooks bring their own lines, stripes and distances; what they do not fit is set here.
_TABLE = "<table cellpadding='3' style='border-collapse:collapse;color:inherit;white-space:nowrap;margin:4px 12px 4px 0"


def table(
    rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), right: Sequence[int] = (), caption: str = ""
) -> str:
    """A table; `right` are the columns of numbers, aligned to the right."""
    lines = [_caption(caption)] if caption else []
    lines += [_row(head, "th", right)] if head else []
    lines += [_row(row, "td", right) for row in rows]
    return f"{_TABLE}'>{''.join(lines)}</table>"


def shades(words: Sequence[str], rows: Sequence[Sequence[float]], caption: str) -> str:
    """Weights between 0 and 1 as shades, with the words that look (rows) and those that they look at (columns)."""
    lines = [_caption(caption), _row(("", *words), "th", range(1, len(words) + 1))]
    for word, weights in zip(words, rows, strict=True):
        cells = "".join(map(_shade, weights))
        lines.append(f"<tr><th style='text-align:left'>{escape(word)}</th>{cells}</tr>")
    return f"{_TABLE};display:inline-table;vertical-align:top'>{''.join(lines)}</table>"


def _caption(text: str) -> str:
    return f"<caption style='text-align:left;color:inherit'>{escape(text)}</caption>"


def _row(cells: Sequence[str], kind: str, right: Sequence[int]) -> str:
    sides = ("right" if place in right else "left" for place, _ in enumerate(cells))
    drawn = (
        f"<{kind} style='text-align:{side}'>{escape(cell)}</{kind}>" for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"


def _shade(weight: float) -> str:
    depth = min(max(weight, 0.0), 1.0) if math.isfinite(weight) else 0.0
    return f"<td style='background:rgba(66,133,244,{0.75 * depth:.2f})'>{weight:.2f}</td>"


def paragraph(text: str) -> str:
    return f"<div>{escape(text)}</div>"


def page(title: str, *parts: str) -> str:
    body = "".join(part for part in parts if part)
    return f"<div style='color:inherit;overflow-x:auto'><div><b>{escape(title)}</b></div>{body}</div>"
