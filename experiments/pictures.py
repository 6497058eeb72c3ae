"""The pictures of README and docs, taken from pages of bundled models in a browser: python -m experiments.pictures.

Needs Chromium, playwright and Pillow (the extra `dev`). Run it again when the page has changed. Each picture is what a
person would see; nothing is drawn into it but the mouse pointer.
"""

import io
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.chromium import chromium
from experiments.results import RESULTS

PICTURES = RESULTS.parent / "pictures"
SIZE = {"width": 1200, "height": 720}
KINDS = {
    "encoder-decoder.png": ("en-fr", "I am a student."),
    "encoder.png": ("english", "She likes the [MASK] better than the winter."),
    "decoder.png": ("writer", "As Aliens entered our planet"),
}
"""A model of each kind and a text for it: docs/do/models.md."""
MOST_BYTES = {"first-screen.png": 150_000, "one-number.gif": 600_000} | dict.fromkeys(KINDS, 60_000)
ATTENTION = "encoder.blocks.0.self_attention"
START = (f"{ATTENTION}.weights", "0,1,1,0")

# From the number in hand through one operand after the other to a word: each is clicked on the page.
WAY = (
    (f"{ATTENTION}.masked", "0,1,1,0"),
    (f"{ATTENTION}.scores", "0,1,1,0"),
    (f"{ATTENTION}.key", "0,1,0,2"),
    ("encoder.embed.sum", "0,0,3"),
    ("encoder.embed.word", "0,0,3"),
)
FIRST, STEP, LAST = 2200, 1500, 3200
"""How long a picture stays, in milliseconds: the first, each number, and the word at the end."""
MOVES, MOVE = 6, 50
"""Pictures of the pointer on its way, and how long each stays."""


@dataclass
class Film:
    """Screenshots one after the other, each with the time that it stays."""

    frames: list[Any] = field(default_factory=list)
    stays: list[int] = field(default_factory=list)
    pointer: tuple[float, float] = (640.0, 500.0)

    def hold(self, shot: Any, stays: int) -> None:
        """Show a screenshot with the pointer where it is."""
        self.frames.append(with_pointer(shot, self.pointer))
        self.stays.append(stays)

    def move(self, shot: Any, to: tuple[float, float]) -> None:
        """Move the pointer there, slower at both ends."""
        x, y = self.pointer
        for step in range(1, MOVES + 1):
            share = step / MOVES
            eased = share * share * (3 - 2 * share)
            self.pointer = (x + (to[0] - x) * eased, y + (to[1] - y) * eased)
            self.hold(shot, MOVE)
        self.stays[-1] = 450


def with_pointer(shot: Any, at: tuple[float, float]) -> Any:
    """The screenshot with an arrow whose tip is there."""
    from PIL import Image, ImageDraw

    scale = 4  # drawn large and made small, for smooth edges
    outline = [(0, 0), (0, 17), (4, 13.4), (6.6, 19.5), (9.4, 18.3), (6.8, 12.4), (12, 12.4)]
    arrow = Image.new("RGBA", (16 * scale, 24 * scale))
    points = [((x + 1) * scale, (y + 1) * scale) for x, y in outline]
    ImageDraw.Draw(arrow).polygon(points, fill=(29, 31, 35, 255), outline=(255, 255, 255, 255), width=scale)
    small = arrow.resize((16, 24), Image.Resampling.LANCZOS)
    found = shot.copy()
    found.paste(small, (round(at[0]), round(at[1])), small)
    return found


def shot_of(page: Any) -> Any:
    """What the window shows, as an image."""
    from PIL import Image

    page.wait_for_timeout(250)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def opened(page: Any, file: Path, address: str) -> None:
    """The page at an address, once it has checked its numbers: what the foot says does not change any more."""
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#{address}")
    page.wait_for_selector("canvas")
    checked = page.locator(".foot [data-checked]", has_text="recomputed", has_not_text=re.compile("numbers? of "))
    checked.wait_for(timeout=120_000)


def first_screen(browser: Any, file: Path) -> None:
    """The page as it opens, two dots for each of the screen's."""
    from PIL import Image

    page = browser.new_page(viewport=SIZE, device_scale_factor=2, color_scheme="light")
    opened(page, file, "theme=light")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    # The page has few colours: a palette of them makes a file of a third of the size.
    drawn = shot.quantize(palette=palette_of([shot], 96), dither=Image.Dither.NONE)
    drawn.save(PICTURES / "first-screen.png", optimize=True)
    page.close()


def kind(browser: Any, name: str) -> None:
    """A model as a closed box, as its stacks, as its blocks."""
    from PIL import Image

    import glassformer as gf

    model, text = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{model}.html"
        gf.load(model).trace(text).to_html(file, title=model)
        page = browser.new_page(viewport=SIZE, device_scale_factor=2, color_scheme="light")
        page.goto(f"{file.as_uri()}#theme=light&level=scene&scene=stages")
        page.locator("main canvas").last.wait_for()
        page.wait_for_timeout(1000)
        shot = Image.open(io.BytesIO(page.locator("main canvas").last.screenshot())).convert("RGB")
        page.close()
    shot.quantize(palette=palette_of([shot], 64), dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)


def one_number(browser: Any, file: Path) -> None:
    """One number followed home: the block, an attention weight, its operands, a word."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    name, cell = START
    opened(page, file, f"theme=light&level=block&tensor={name}&cell={cell}")
    film = Film()
    shot = shot_of(page)
    film.hold(shot, FIRST)
    page.locator(".frame-of-cell").first.scroll_into_view_if_needed()
    shot = shot_of(page)
    film.move(shot, middle(page.locator(".frame-of-cell").first.bounding_box()))
    page.mouse.dblclick(*film.pointer)
    page.locator(f'article[data-tensor="{name}"]').wait_for()
    for operand, at in WAY:
        page.mouse.move(1199, 719)
        shot = shot_of(page)
        film.hold(shot, STEP)
        # Next to the picture, where it is seen without scrolling.
        link = page.locator(f'.inspector a[href*="tensor={operand}&cell={at}"]').first
        film.move(shot, middle(link.bounding_box()))
        link.click()
        page.locator(f'article[data-tensor="{operand}"]').wait_for()
    page.mouse.move(1199, 719)
    film.hold(shot_of(page), LAST)
    page.close()
    save_film(film)


def middle(box: Any) -> tuple[float, float]:
    """A point within what is clicked: near its left end where it is wide, as a hand does."""
    return box["x"] + min(box["width"] / 2, 40), box["y"] + box["height"] / 2


def palette_of(shots: Sequence[Any], colours: int) -> Any:
    """The colours of all these pictures together. A colour counts by the root of its dots, so that the few of a small
    word are not made those of a large area next to it.
    """
    from PIL import Image

    counts: Counter[Any] = Counter()
    for shot in shots:
        for count, colour in shot.getcolors(shot.width * shot.height):
            counts[colour] += count
    dots = [colour for colour, count in counts.items() for _ in range(round(count**0.5))]
    histogram = Image.new("RGB", (len(dots), 1))
    histogram.putdata(dots)
    return histogram.quantize(colours, kmeans=2, dither=Image.Dither.NONE)


def save_film(film: Film) -> None:
    """One palette for all pictures, so that what does not move does not flicker."""
    from PIL import Image

    palette = palette_of([frame for frame, stays in zip(film.frames, film.stays, strict=True) if stays > MOVE], 256)
    first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in film.frames)
    first.save(
        PICTURES / "one-number.gif",
        save_all=True,
        append_images=others,
        duration=film.stays,
        loop=0,
        optimize=False,
        disposal=1,
    )


def main(given: Sequence[str] = ()) -> None:
    """Take all pictures anew, or those that are named."""
    import glassformer as gf
    from glassformer.bundled.texts import slides, slides_model

    PICTURES.mkdir(exist_ok=True)
    makers = {"first-screen.png": first_screen, "one-number.gif": one_number}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "slides.html"
        trace = gf.load(slides_model()).trace([sentence.masked for sentence in slides().sentences])
        trace.to_html(file, title="slides")
        for name in given or MOST_BYTES:
            if name in makers:
                makers[name](browser, file)
            else:
                kind(browser, name)
            size = (PICTURES / name).stat().st_size
            print(f"{PICTURES / name}: {size:,} bytes")
            if size > MOST_BYTES[name]:
                raise SystemExit(f"{name} must have at most {MOST_BYTES[name]:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
