"""The picture of a card as SVG, and as PNG, which services that show links read."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import torch
from torch import Tensor

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
    for row, (bar, length) in enumerate(zip(picture, lengths(picture), strict=True)):
        found.append(text(bar.label, LABEL, row, "end", meant=False))
        kind = "meant" if bar.meant else "bar"
        found.append(
            f'<rect class="{kind}" x="{LABEL + 8}" y="{EDGE + row * ROW + 4}" width="{length:.1f}" height="{ROW - 8}"/>'
            + text(bar.said, WIDTH - LABEL, row, "start", meant=bar.meant, most=16)
        )
    return found


def lengths(picture: Sequence[Bar]) -> list[float]:
    """How long the bars are, in points: the largest has the whole room."""
    room = WIDTH - 2 * LABEL - 12
    most = max((bar.share for bar in picture if bar.share > 0), default=1.0)
    return [max(1.0, room * min(bar.share / most, 1.0)) for bar in picture]


def text(words: str, x: int, row: int, anchor: str, *, meant: bool, most: int = WORD) -> str:
    """A word of a row, cut where it is too long."""
    short = words if len(words) <= most else f"{words[: most - 1]}…"
    kind = "meant" if meant else "quiet"
    return f'<text class="{kind}" x="{x}" y="{middle(row) + 4}" text-anchor="{anchor}">{escape(short)}</text>'


def middle(row: int) -> int:
    return EDGE + row * ROW + ROW // 2


# --------------------------------------------------------------------- the same in dots


def png_of_card(card: Card) -> bytes:
    """A card as the image of a link preview; without a font, words are bars of the same length."""
    width, height = CARD
    picture = card.picture
    rows = max(len(picture.left), len(picture.right)) if isinstance(picture, Lines) else len(picture)
    dots = Dots(torch.zeros(height, width), (width - 80) / WIDTH, min(3.3, (height - 60) / (rows * ROW + 2 * EDGE)))
    dots.top = (height - dots.down * (rows * ROW + 2 * EDGE)) / 2
    if isinstance(picture, Lines):
        asks = {line[0] for line in picture.lines if line[3]}
        for left, right, weight, meant in picture.lines:
            if weight >= LEAST:
                opacity = max(FAINT, weight) if meant else FAINT * weight
                dots.curve(middle(left), middle(right), 1 + 4 * weight * meant, opacity)
        for row, word in enumerate(picture.left):
            dots.word(LABEL, row, -min(len(word), WORD), meant=row in asks)
        for row, word in enumerate(picture.right):
            dots.word(WIDTH - LABEL, row, min(len(word), WORD), meant=False)
    else:
        for row, (bar, length) in enumerate(zip(picture, lengths(picture), strict=True)):
            dots.word(LABEL, row, -min(len(bar.label), WORD), meant=False)
            dots.fill(LABEL + 8, EDGE + row * ROW + 4, length, ROW - 8, 1.0 if bar.meant else 0.3)
            dots.word(WIDTH - LABEL, row, min(len(bar.said), WORD), meant=bar.meant)
    return png(dots.shades)


@dataclass
class Dots:
    """Shades [height, width] between 0 (paper) and 1 (attention), and how many dots a point of a picture has."""

    shades: Tensor
    along: float
    down: float
    top: float = 0.0

    def fill(self, x: float, y: float, w: float, h: float, shade: float) -> None:
        """A rectangle, in points."""
        left, right = round(40 + x * self.along), round(40 + (x + w) * self.along)
        self.shades[round(self.top + y * self.down) : round(self.top + (y + h) * self.down), left:right] = shade

    def word(self, x: int, row: int, letters: int, *, meant: bool) -> None:
        """A word of so many letters that begins at `x`, or, of fewer than none, that ends there."""
        wide = 5.5 * abs(letters)
        self.fill(x - wide if letters < 0 else x, middle(row) - 3.5, wide, 7, 0.75 if meant else 0.25)

    def curve(self, start: int, end: int, line: float, opacity: float) -> None:
        """The curve between the two columns of words, from one height to another."""
        height = self.shades.shape[0]
        ends = torch.tensor([LABEL + 8, WIDTH / 2, WIDTH / 2, WIDTH - LABEL - 8]) * self.along + 40
        t = torch.linspace(0, 1, 2 * int(ends[3] - ends[0]))
        parts = torch.stack(((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3))  # [4, dots]
        columns = torch.arange(int(ends[0]), int(ends[3]) + 1)
        nearest = torch.searchsorted(ends @ parts, columns.float()).clamp(max=len(t) - 1)
        y = self.top + self.down * (torch.tensor([start, start, end, end]).float() @ parts)[nearest]
        far = (torch.arange(height)[:, None] - y).abs()  # [height, columns]
        cover = (self.down * line / 2 + 0.5 - far).clamp(0, 1) * opacity
        self.shades[:, columns] = torch.maximum(self.shades[:, columns], cover)


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
