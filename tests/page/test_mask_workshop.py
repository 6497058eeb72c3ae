"""The mask workshop: its numbers are those of `gf.activity_matrix`, whatever is hidden, forbidden or read."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import glassformer as gf
from glassformer.bundled.texts import quick_brown_fox
from glassformer.cli.__main__ import main
from tests.page.test_browser import show
from tests.page.watched import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

NODE = shutil.which("node")
READINGS = ("code", "stated", "pairs")
SENTENCE = quick_brown_fox().sentence


@pytest.mark.skipif(NODE is None, reason="the page's interpreter runs in node, which is not installed")
def test_random_masks_give_pythons_numbers() -> None:
    rng = random.Random(0)
    asked, expected = [], []
    for _ in range(60):
        words = rng.randint(1, 9)
        features = torch.randn(words, rng.randint(1, 5), dtype=torch.float64)
        hidden = rng.sample(range(words), rng.randint(0, words))
        reading: Any = rng.choice(READINGS)
        nothing: Any = rng.choice(("itself", "zero"))
        window, prefix, padding = (rng.choice((0, 0, rng.randint(1, words))) for _ in range(3))
        more = {"window": window, "prefix": prefix, "padding": padding}
        asked.append({"features": features.tolist(), "hidden": hidden, "reading": reading, "nothing": nothing} | more)
        masks: Any = more | {"window": window or None}
        expected.append(gf.activity_matrix(features, hidden, reading=reading, nothing_to_see=nothing, **masks))
    assert NODE is not None
    script = str(Path(__file__).with_name("work_out_masks.mjs"))
    done = subprocess.run([NODE, script], input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for found, wanted in zip(json.loads(done.stdout), expected, strict=True):
        assert found["alone"] == list(wanted.without_keys)
        assert found["allowed"] == wanted.allowed.tolist()
        for step in ("pairs", "masked", "weights"):
            numbers = torch.tensor([[float(cell) for cell in row] for row in found[step]], dtype=torch.float64)
            torch.testing.assert_close(numbers, getattr(wanted, step), rtol=0, atol=1e-12)


def expect(page: Page, row: int, wanted: Sequence[float]) -> None:
    """The shares of a row become those of Python, to the rounding of float32."""
    until(
        page,
        """([row, wanted]) => {
            const shown = [...document.querySelectorAll("td[data-share]")].map(({ dataset }) => dataset);
            return shown[0]?.share === `${row},0` && shown.length === wanted.length
                && shown.every(({ value }, key) => Math.abs(Math.fround(value) - Math.fround(wanted[key])) <= 2e-7);
        }""",
        [row, list(wanted)],
    )


def written(file: Path, *words: str) -> Path:
    """The page that `glassformer matrix` writes."""
    assert main(["matrix", *words, "--html", str(file)]) == 0
    return file


@pytest.mark.parametrize("reading", READINGS)
def test_the_page_of_a_matrix_has_pythons_numbers(window: Page, tmp_path: Path, reading: Any) -> None:
    file = written(tmp_path / "page.html", SENTENCE.masked, "--word-vectors", "printed", "--reading", reading)
    show(window, file)
    found = window.locator(".workshop .check")
    found.wait_for()
    assert found.get_attribute("data-holds") == "true"
    features, hidden = torch.tensor(quick_brown_fox().features), SENTENCE.masked_words
    expect(window, hidden[0], gf.activity_matrix(features, hidden, reading=reading).weights[hidden[0]].tolist())


def test_a_mask_of_the_command_line_is_that_of_the_page(window: Page, tmp_path: Path) -> None:
    masks = ("--window", "3", "--prefix-words", "1", "--padding-words", "2")
    show(window, written(tmp_path / "page.html", "--post", "--reading", "stated", *masks))
    found = window.locator(".workshop .check")
    found.wait_for()
    assert found.get_attribute("data-holds") == "true"
    # Without its window it is another matrix; the address keeps that.
    window.locator(".controls label", has_text="places away").locator("input").fill("0")
    until(window, "!location.hash.includes('window') && location.hash.includes('prefix.1')")
    features, hidden = torch.tensor(quick_brown_fox().features), SENTENCE.masked_words
    wanted = gf.activity_matrix(features, hidden, prefix=1, padding=2).weights[hidden[0]]
    expect(window, hidden[0], wanted.tolist())


def test_words_are_hidden_and_cells_forbidden_by_hand(window: Page, tmp_path: Path) -> None:
    file = written(tmp_path / "page.html", SENTENCE.text, "--word-vectors", "printed", "--mask-fraction", "0")
    features = torch.tensor(quick_brown_fox().features)
    show(window, file, "level=mask&options=pairs&at=0,4,1")
    expect(window, 4, gf.activity_matrix(features, [], reading="pairs").weights[4].tolist())
    window.locator(".sentences button", has_text="fox").click()
    until(window, "location.hash.includes('hide.3')")
    expect(window, 4, gf.activity_matrix(features, [3], reading="pairs").weights[4].tolist())
    # Enter on the square forbids the pair in hand.
    window.locator("canvas").focus()
    window.keyboard.press("Enter")
    until(window, "location.hash.includes('flip.4-1')")
    allowed = gf.activity_matrix(features, [3], reading="pairs").allowed
    allowed[4, 1] = False
    scores = (features @ features.T)[4].masked_fill(~allowed[4], float("-inf"))
    expect(window, 4, scores.softmax(0).tolist())
    # The address keeps it; one click takes it back.
    show(window, file, window.evaluate("location.hash").lstrip("#"))
    expect(window, 4, scores.softmax(0).tolist())
    window.locator(".controls a", has_text="as it was").click()
    expect(window, 4, gf.activity_matrix(features, [], reading="pairs").weights[4].tolist())


def test_rows_are_laid_in_one_after_the_other(window: Page, tmp_path: Path) -> None:
    show(window, written(tmp_path / "page.html", "a b c", "--mask-fraction", "0"))
    window.locator(".stepper a", has_text="no row").click()
    for count in (1, 2, 3):
        window.locator(".stepper a[aria-label='lay the next row in']").click()
        until(window, "count => location.hash.includes(`rows.${count}`)", count)
        until(window, "row => document.querySelectorAll(`td[data-share^='${row},']`).length === 3", count - 1)
    window.locator(".stepper a[aria-label='lay the next row in']").wait_for(state="detached")


def test_words_stay_words(tmp_path: Path) -> None:
    html = written(tmp_path / "page.html", "<img/src=x> </script> fox").read_text(encoding="utf-8")
    assert "<img/src" not in re.sub(r"<script type=\"module\">.*?</script>", "", html, flags=re.DOTALL)


def test_several_lines_make_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a b\nc d\n")))
    assert main(["matrix", "-", "--html", str(tmp_path / "page.html")]) == 2
    assert "--html" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
