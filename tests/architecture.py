"""The picture and the table of docs/how/architecture.md, drawn from the imports: python -m tests.architecture."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.imports import FILES, PACKAGE, ROOMS, edges, sources

PAGE = PACKAGE.parent / "docs" / "how" / "architecture.md"
PICTURE = PAGE.with_suffix(".svg")
MARKERS = "<!-- rooms: python -m tests.architecture -->", "<!-- end of rooms -->"

BANDS = {
    "Foundations": ("base", "config"),
    "The Transformer": ("parts", "models", "text", "runtime", "data", "decode"),
    "Learning": ("scoring", "tasks", "training", "convert"),
    "Saved models and their answers": ("bundled", "saved", "answering", "features"),
    "Looking, running, showing": ("look", "run", "page", "api", "cli"),
}
"""The rooms in groups, from the bottom up, so that the picture has few arrows."""
BAND_OF = {room: band for band, rooms in BANDS.items() for room in rooms}


class Size(NamedTuple):
    """How much Python a folder holds."""

    files: int
    lines: int


@dataclass(frozen=True)
class House:
    """What the page shows of the package. `sizes` are those of rooms (`look`) and of folders in them (`look/trace`),
    `imports` counts the pairs of files of two bands of which the first imports the second.
    """

    holds: Mapping[str, str]
    sizes: Mapping[str, Size]
    imports: Mapping[tuple[str, str], int]

    @property
    def whole(self) -> Size:
        """All rooms together."""
        rooms = [self.sizes[room] for room in BAND_OF]
        return Size(sum(size.files for size in rooms), sum(size.lines for size in rooms))

    def folders(self, room: str) -> list[str]:
        """The folders of a room."""
        return sorted(name for name in self.sizes if name.startswith(f"{room}/"))


def house() -> House:
    """The package as it is."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in FILES:
        steps = path.relative_to(PACKAGE).parts[:-1]
        count = len(path.read_text(encoding="utf-8").splitlines())
        for name in {"/".join(steps[:depth]) for depth in (1, 2) if len(steps) >= depth}:
            files[name] += 1
            lines[name] += count
    pairs = Counter(
        (BAND_OF[module.split(".")[0]], BAND_OF[other.split(".")[0]])
        for module, others in edges(sources()).items()
        for other in others
        if module.split(".")[0] in BAND_OF and other.split(".")[0] in BAND_OF
    )
    return House(
        holds={room: _first_line(room) for room in BAND_OF},
        sizes={name: Size(files[name], lines[name]) for name in files},
        imports=pairs,
    )


def _first_line(room: str) -> str:
    """What a room holds, as the docstring of its `__init__` begins."""
    source = (PACKAGE / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


# --------------------------------------------------------------------------- the table


def table(of: House) -> str:
    """One line for each room, the highest first."""
    lines = ["| room | holds | its folders (files, lines) | files | lines |", "| --- | --- | --- | ---: | ---: |"]
    for room in reversed(ROOMS[:-1]):
        folders = ", ".join(f"{name.partition('/')[2]} ({_of(of.sizes[name])})" for name in of.folders(room))
        size = of.sizes[room]
        lines.append(f"| **{room}** | {of.holds[room]} | {folders} | {_of(size, ' | ')} |")
    lines.append(f"| | | all rooms | {_of(of.whole, ' | ')} |")
    return "\n".join(lines)


def _of(size: Size, between: str = ", ") -> str:
    return f"{size.files}{between}{size.lines:,}"


def sizes_in(page: str) -> dict[str, Size]:
    """The sizes that the table of a page says."""
    found = {}
    for room, folders, files, lines in re.findall(
        r"^\| \*\*(\w+)\*\* \| .* \| ([^|]*) \| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE
    ):
        found[room] = Size(_number(files), _number(lines))
        for name, its_files, its_lines in re.findall(r"(\w+) \((\d+), ([\d,]+)\)", folders):
            found[f"{room}/{name}"] = Size(_number(its_files), _number(its_lines))
    return found


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def with_table(page: str, rows: str) -> str:
    """The page with these rows between its markers."""
    before, _, rest = page.partition(MARKERS[0])
    _, _, after = rest.partition(MARKERS[1])
    return f"{before}{MARKERS[0]}\n{rows}\n{MARKERS[1]}{after}"


# --------------------------------------------------------------------------- the picture

WIDTH, LEFT, RIGHT = 800, 12, 690  # of the picture, and the sides of the bands
TOP, HEAD, ROW, GAP, FOOT = 44, 28, 24, 26, 8  # heights, in points
NAMES, TEXT, BARS, LONGEST = 22, 112, 566, 66  # where names, texts and bars begin; the longest bar
LANE = 18  # from one arrow at the right to the next
STRENGTHS = ((250, 5.0), (80, 3.0), (0, 1.5))  # from so many imports on, an arrow is so thick

STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}
.room{font-family:ui-monospace,Menlo,Consolas,monospace;font-weight:600}
.band{font-weight:600}.quiet{fill:var(--quiet)}.small{font-size:12px}
.paper{fill:var(--paper)}.panel{fill:var(--panel);stroke:var(--line)}.box{fill:var(--paper);stroke:var(--line)}
.bar{fill:var(--bar)}.way{fill:none;stroke:var(--way)}.tip{fill:var(--way)}
svg{--paper:#fff;--panel:#f4f6f9;--line:#cfd6df;--ink:#1d2530;--quiet:#586473;--bar:#5b8def;--way:#8793a3}
@media (prefers-color-scheme:dark){svg{--paper:#0d1117;--panel:#161c26;--line:#333d4b;--ink:#e3e8ef;--quiet:#9aa7b6;
--bar:#3f6fcb;--way:#77859a}}
"""


def picture(of: House) -> str:
    """The rooms as boxes from the bottom up in their bands, a bar for the lines of each, and arrows between bands."""
    tops, at = {}, TOP
    for band, rooms in reversed(BANDS.items()):
        tops[band] = at
        at += _height(rooms) + GAP
    height = at - GAP + LEFT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        "<title>The rooms of glassformer from the bottom up, and which of them import which</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text x="{LEFT}" y="27">Rooms import rooms below them only. The thicker an arrow, the more imports.</text>',
        f'<text x="{BARS}" y="27" class="quiet small">lines of Python</text>',
    ]
    for band, top in tops.items():
        parts += _band(of, band, top)
    for strength, points in _arrows(of, tops):
        parts.append(_arrow(strength, points))
    return "\n".join([*parts, "</svg>", ""])


def _height(rooms: tuple[str, ...]) -> int:
    return HEAD + ROW * len(rooms) + FOOT


def _band(of: House, band: str, top: int) -> Iterator[str]:
    rooms = BANDS[band]
    wide = max(of.sizes[room].lines for room in BAND_OF)
    yield f'<rect class="panel" x="{LEFT}" y="{top}" width="{RIGHT - LEFT}" height="{_height(rooms)}" rx="6"/>'
    yield f'<text class="band quiet" x="{NAMES}" y="{top + 19}">{escape(band)}</text>'
    for number, room in enumerate(reversed(rooms)):
        y, lines = top + HEAD + ROW * number, of.sizes[room].lines
        bar = max(2, round(LONGEST * lines / wide))
        yield f'<rect class="box" x="{NAMES - 4}" y="{y}" width="{RIGHT - NAMES - 4}" height="{ROW - 3}" rx="3"/>'
        yield f'<text class="room" x="{NAMES + 4}" y="{y + 15}">{room}</text>'
        yield f'<text x="{TEXT}" y="{y + 15}">{escape(of.holds[room].rstrip("."))}</text>'
        yield f'<rect class="bar" x="{BARS}" y="{y + 5}" width="{bar}" height="{ROW - 13}"/>'
        yield f'<text class="small quiet" x="{RIGHT - 12}" y="{y + 15}" text-anchor="end">{lines:,}</text>'


def _arrows(of: House, tops: Mapping[str, int]) -> Iterator[tuple[float, list[tuple[float, float]]]]:
    """Thickness and corners of each arrow: between neighbours straight down, else by a lane at the right."""
    order = list(BANDS)
    ways = [pair for pair in combinations(reversed(order), 2) if of.imports.get(pair)]
    far = [pair for pair in ways if _span(pair) > 1]
    lanes = _lanes(far)
    for way in ways:
        start, end = way
        thick = next(thick for least, thick in STRENGTHS if of.imports[way] >= least)
        if way not in lanes:
            x = (LEFT + RIGHT) / 2
            yield thick, [(x, tops[start] + _height(BANDS[start]) + 1), (x, tops[end] - 1)]
            continue
        # The longer an arrow, the higher it leaves and the lower it arrives: so they do not cross at the band.
        leaving = sorted((pair for pair in far if pair[0] == start), key=_span, reverse=True)
        coming = sorted((pair for pair in far if pair[1] == end), key=_span)
        y1 = tops[start] + _height(BANDS[start]) - 12 * (len(leaving) - leaving.index(way))
        y2 = tops[end] + 12 * (1 + coming.index(way))
        x = RIGHT + 14 + LANE * lanes[way]
        yield thick, [(RIGHT + 1, y1), (x, y1), (x, y2), (RIGHT + 1, y2)]


def _span(way: tuple[str, str]) -> int:
    order = list(BANDS)
    return order.index(way[0]) - order.index(way[1])


def _lanes(ways: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The lane of each arrow, the innermost that is free all the way; short arrows choose first."""
    order, lanes = list(BANDS), dict[tuple[str, str], int]()
    for way in sorted(ways, key=_span):
        high, low = order.index(way[0]), order.index(way[1])
        taken = {lane for (start, end), lane in lanes.items() if order.index(end) < high and low < order.index(start)}
        lanes[way] = min(set(range(len(ways))) - taken)
    return lanes


def _arrow(thick: float, points: list[tuple[float, float]]) -> str:
    *before, last = points
    x, y = last
    size = 5 + thick / 2
    down = before[-1][0] == x
    stop = (x, y - size) if down else (x + size, y)  # the line ends where the tip begins
    path = "M" + "L".join(f"{px:g},{py:g}" for px, py in [*before, stop])
    sides = ((x - size, y - size), (x + size, y - size)) if down else ((x + size, y - size), (x + size, y + size))
    tip = " ".join(f"{px:g},{py:g}" for px, py in (last, *sides))
    return f'<path class="way" stroke-width="{thick:g}" d="{path}"/><polygon class="tip" points="{tip}"/>'


if __name__ == "__main__":
    found = house()
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(found)), encoding="utf-8")
    PICTURE.write_text(picture(found), encoding="utf-8")
    print(PAGE, PICTURE, sep="\n")
