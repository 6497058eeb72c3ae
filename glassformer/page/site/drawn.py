"""The picture of a card as SVG, and all heads of a run as PNG, which services that show links read."""

from __future__ import annotations

import struct
import zlib
from html import escape

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d, interpolate

from glassformer.look.trace.trace import Trace
from glassformer.page.site.cards import SHOWN, Bar, Card, Lines

WIDTH, ROW, EDGE = 272, 20, 4
HEIGHT = SHOWN * ROW + 2 * EDGE
LABEL, WORD = 84, 12
"""Points for a label, and signs of a word that is not cut."""
FAINT, LEAST = 0.12, 0.02
"""How strong lines are drawn that are not meant, and below which weight none is drawn."""
ALONE = (
    "svg{background:#fbfaf7;font:12px sans-serif}.ink{fill:#1d1f23}.quiet{fill:#5f636a}.meant{fill:#5a2ca0}"
    ".bar{fill:#d8d5cc}.line{stroke:#5a2ca0;fill:none}"
)
"""The colours of a picture that is a file of its own; on a page they are the page's."""
CARD = (1200, 630)
"""Points of the picture that services show with a link."""
PAPER, INK = (251, 250, 247), (90, 44, 160)


def svg_of(card: Card, *, alone: bool = False) -> str:
    """The picture of a card; `alone` with its own colours, as a file."""
    space = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    style = f"<style>{ALONE}</style>" if alone else ""
    picture = card.picture
    rows = max(len(picture.left), len(picture.right)) if isinstance(picture, Lines) else len(picture)
    top = (rows - SHOWN) * ROW // 2  # few rows stand in the middle
    drawn = drawn_lines(picture) if isinstance(picture, Lines) else drawn_bars(picture)
    size = f'viewBox="0 {top} {WIDTH} {HEIGHT}" role="img" aria-label="{escape(card.answer)}"'
    return f"<svg{space} {size}>{style}{''.join(drawn)}</svg>"


def drawn_lines(picture: Lines) -> list[str]:
    """Two columns of words, and the weights between them as lines: the wider, the larger."""
    found = []
    strongest = max((weight for *_, weight, meant in picture.lines if meant), default=0.0)
    for left, right, weight, meant in picture.lines:
        if weight < LEAST:
            continue
        opacity = max(FAINT, weight) if meant else FAINT * weight
        ends = f"M{LABEL + 8} {middle(left)}C{WIDTH / 2:.0f} {middle(left)} {WIDTH / 2:.0f} {middle(right)}"
        found.append(
            f'<path class="line" d="{ends} {WIDTH - LABEL - 8} {middle(right)}" '
            f'stroke-width="{1 + 4 * weight * meant:.2f}" stroke-opacity="{opacity:.3f}"/>'
        )
    aims = {line[1] for line in picture.lines if line[3] and line[2] == strongest}
    asks = {line[0] for line in picture.lines if line[3]}
    for words, x, anchor, meant_rows in (
        (picture.left, LABEL, "end", asks),
        (picture.right, WIDTH - LABEL, "start", aims),
    ):
        found += [text(word, x, row, anchor, meant=row in meant_rows) for row, word in enumerate(words)]
    return found


def drawn_bars(picture: tuple[Bar, ...]) -> list[str]:
    """A row for each state or word: its label, a bar, and what is said of it."""
    found = []
    room = WIDTH - 2 * LABEL - 12
    for row, bar in enumerate(picture):
        top = EDGE + row * ROW + 4
        length = max(1.0, room * min(bar.share / max(each.share for each in picture if each.share > 0), 1.0))
        found.append(text(bar.label, LABEL, row, "end", meant=False))
        kind = "meant" if bar.meant else "bar"
        found.append(
            f'<rect class="{kind}" x="{LABEL + 8}" y="{top}" width="{length:.1f}" height="{ROW - 8}"/>'
            + text(bar.said, WIDTH - LABEL, row, "start", meant=bar.meant, most=16)
        )
    return found


def text(words: str, x: int, row: int, anchor: str, *, meant: bool, most: int = WORD) -> str:
    """A word of a row, cut where it is too long."""
    short = words if len(words) <= most else f"{words[: most - 1]}…"
    kind = "meant" if meant else "quiet"
    return f'<text class="{kind}" x="{x}" y="{middle(row) + 4}" text-anchor="{anchor}">{escape(short)}</text>'


def middle(row: int) -> int:
    return EDGE + row * ROW + ROW // 2


# --------------------------------------------------------------------- all heads


def png_of_heads(trace: Trace) -> bytes:
    """The weights of all heads for the first text, a picture each; a row for each attention of the run."""
    names = [name for name in trace if name.endswith("_attention.weights")]
    width, height = CARD
    canvas = torch.zeros(height, width)
    gap = 8
    if names:
        rows = len(names)
        heads = max(trace[name].shape[1] for name in names)
        side = max(1, min((width - gap) // heads - gap, (height - gap) // rows - gap))
        left, top = (width - heads * (side + gap) + gap) // 2, (height - rows * (side + gap) + gap) // 2
        for row, name in enumerate(names):
            drawn = squares(trace[name][0].float().cpu(), side)
            for head, square in enumerate(drawn):
                x, y = left + head * (side + gap), top + row * (side + gap)
                if y + side <= height and x + side <= width:
                    canvas[y : y + side, x : x + side] = FAINT / 2 + (1 - FAINT / 2) * square
    return png(canvas)


def squares(weights: Tensor, side: int) -> Tensor:
    """The weights [H, Q, K] as squares [H, side, side] between 0 and 1, small weights made visible by the root."""
    roots = weights.clamp(0, 1).sqrt()[None]
    if max(weights.shape[1:]) > side:
        return adaptive_max_pool2d(roots, side)[0]
    return interpolate(roots, size=(side, side), mode="nearest")[0]


def png(shades: Tensor) -> bytes:
    """A picture [height, width] of values between 0 (paper) and 1 (attention) as a file."""
    paper, ink = torch.tensor(PAPER), torch.tensor(INK)
    colours = (paper + shades[..., None] * (ink - paper)).round().to(torch.uint8)  # [height, width, 3]
    height, width = shades.shape
    raw = torch.cat([torch.zeros(height, 1, dtype=torch.uint8), colours.reshape(height, 3 * width)], 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pieces = ((b"IHDR", header), (b"IDAT", zlib.compress(raw.numpy().tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in pieces
    )
