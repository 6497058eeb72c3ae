"""Every level and scene with every model of the package, at addresses with and without a number: each is a view."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import glassformer as gf
from glassformer.api.trace import Trace
from glassformer.bundled.texts import slides, slides_model
from tests.page.watched import WAIT, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WEB = Path(__file__).parents[2] / "web" / "src"
LEVELS = re.findall(r"^  (\w+): \{$", (WEB / "frame" / "levels.ts").read_text(encoding="utf-8"), re.M)
SCENES = re.findall(r'^  "?([\w-]+)"?: \{$', (WEB / "scenes" / "scenes.ts").read_text(encoding="utf-8"), re.M)
TEXTS = {
    "slides": [sentence.masked for sentence in slides().sentences],
    "english": ["The animal didn't cross the [MASK] because it was too tired."],
    "en-fr": ["I am a student."],
    "chat": ["Hi how are you"],
    "writer": ["As Aliens entered our planet"],
}

# Goes to each address and waits until the view has a heading and nothing is on its way; reports what was there instead.
WALK = """async (addresses) => {
  const wrong = [];
  const next = () => new Promise((done) => setTimeout(done));
  let thrown = [];
  addEventListener("error", ({ message }) => thrown.push(message));
  addEventListener("unhandledrejection", ({ reason }) => thrown.push(String(reason)));
  for (const address of addresses) {
    location.hash = address;
    const end = performance.now() + WAIT;
    let found = "";
    for (let turns = 0; turns < 3 || performance.now() < end; turns++) {
      await next();
      const main = document.querySelector("main");
      const level = new URLSearchParams(address).get("level");
      const headings = main.querySelectorAll("h1").length;
      found = "";
      if (main.dataset.level !== level) found = `the level is ${main.dataset.level}`;
      else if (headings !== 1) found = `${headings} headings`;
      else if (main.innerText.trim().length < 30) found = "empty";
      else if (main.parentElement.querySelector("[aria-busy=true], main .working") !== null) found = "still at work";
      else found = main.innerText.match(/.*\\b(NaN|undefined)\\b.*/)?.[0] ?? "";
      if (found === "" && turns >= 3) break;
    }
    if (thrown.length > 0) found = thrown.join("; ");
    thrown = [];
    if (found !== "") wrong.push([address, found.slice(0, 300)]);
  }
  return wrong;
}"""


def addresses(trace: Trace) -> list[str]:
    """Each level and scene without a number, with one, and with names and numbers that this run does not have."""
    weights = next((name for name in trace if name.endswith("self_attention.weights")), "")
    held = [
        "",
        f"&tensor={weights}&cell=0,0,1,1",
        f"&tensor={weights}&cell=7,99,9999,9999&sentence=5",
        "&tensor=encoder.blocks.77.self_attention.weights&cell=0,0,0,0",
    ]
    levels = [f"level={level}" for level in LEVELS if level != "scene"]
    return [f"{place}{more}" for place in levels for more in held] + [
        f"level=scene&scene={scene}{more}" for scene in SCENES for more in held[:2]
    ]


_LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("model", "megabytes"),
    [
        ("slides", 8),
        *(
            pytest.param(*case, marks=_LONG)
            for case in (("en-fr", 8), ("chat", 2), ("writer", 2), ("english", 8), ("english", 1))
        ),
    ],
)
def test_each_level_is_a_view_at_every_address(model: str, megabytes: int, browser: Browser, tmp_path: Path) -> None:
    opened = gf.load(str(slides_model()) if model == "slides" else model)
    trace = opened.trace(TEXTS[model])
    trace.to_html(tmp_path / "page.html", megabytes=megabytes)
    assert (tmp_path / "page.html").stat().st_size <= megabytes * 1_000_000
    with watched(browser, offline=True, idles=True) as page:
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector(".frame")
        wrong = page.evaluate(WALK.replace("WAIT", str(WAIT)), addresses(trace))
        assert wrong == [], json.dumps(wrong, indent=1)
