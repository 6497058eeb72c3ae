"""How long the page takes from one step of a training to the next: 100 records of three sentences, of `english`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from bench.page.models import Models
from bench.page.window import Case, Samples, late, settle, show, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from glassformer.api.model import Model

RECORDS = 100
SENTENCES = (
    "The animal didn't cross the [MASK] because it was too tired.",
    "She [MASK] the summer better than the winter.",
    "The old man and the [MASK] went to the sea every day.",
)
KEYS = ("ArrowRight", "ArrowLeft", "ArrowRight", "ArrowRight", "Home", "End")


def replay(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The slider by keys and by mouse until guesses, heads and curve have followed; and the size of the records."""
    file, size = made(models)
    cases = [Case("100 records of three sentences, in the run's folder", size / 1e6, "MB", goal=3.0)]
    for options, what in (("", "one step"), ("&options=A.3,B.40", "beside two that are kept")):
        with window(browser) as page:
            show(page, file.as_uri(), f"level=training&at=20{options}")
            page.wait_for_selector(".scrubber input")
            settle(page)
            cases.append(late(f"{what}: a key", pressed(page, samples.keys), 33.0))
            cases.append(late(f"{what}: the mouse", slid(page, samples.moves), 33.0))
    return cases


def pressed(page: Page, keys: int) -> list[float]:
    """Milliseconds until the page has followed a key of the slider."""
    rng, found = random.Random(5), []
    page.locator(".scrubber input").focus()
    for _ in range(keys):
        page.keyboard.press(rng.choice(KEYS))
        times = settle(page)
        if times["picture"] > times["began"]:
            found.append(times["picture"] - times["began"])
    return found


def slid(page: Page, moves: int) -> list[float]:
    """Milliseconds until the page has followed a click into the slider."""
    rng, found = random.Random(6), []
    box = page.locator(".scrubber input").bounding_box()
    assert box is not None
    for _ in range(moves):
        page.mouse.click(box["x"] + rng.random() * box["width"], box["y"] + box["height"] / 2)
        times = settle(page)
        if times["picture"] > times["began"]:
            found.append(times["picture"] - times["began"])
    return found


def made(models: Models) -> tuple[Path, int]:
    """A page of `english` with a training in it whose records are those of weights that change a little with each."""
    from glassformer.api.load import load
    from glassformer.base.json_text import sealed_line
    from glassformer.look.texts.watched import Sentences
    from glassformer.page.page import page, write_document
    from glassformer.training.record import FORMAT, due_steps

    model: Model = load("english")
    place, due = models.folder / "replay.html", due_steps()
    steps = [next(due) for _ in range(RECORDS)]
    sentences = Sentences(model, SENTENCES)
    records: list[dict[str, Any]] = []
    torch.manual_seed(0)
    with torch.no_grad():
        for step in steps:
            for weight in model.module.parameters():
                weight.add_(torch.randn_like(weight) * 0.002)
            facts = {"step": step, "epoch": step / 100, "loss": 8 / (1 + step) + 3, "mean": 8 / (1 + step) + 3}
            records.append({**facts, "learning_rate": 1e-3, "sentences": sentences.look(model.module)})
    header = {"format": FORMAT, **sentences.header}
    size = sum(len(sealed_line(line)) for line in (header, *records))
    section = {
        **{"task": "masked-lm", "steps": steps[-1], "baselines": ["unigram"], "best": "-loss", "saved": True},
        "curve": {"lines": 1, "points": [[step, 8 / step + 3, 1e-3] for step in range(10, steps[-1], 10)]},
        "evaluated": [{"step": step, "loss": 4.0, "unigram_loss": 6.5} for step in (steps[-30], steps[-1])],
        **{"running": False, "mark": "", "fresh": True, "damaged": 0, "watched": header, "records": records},
    }
    run, sections = load("english").trace(SENTENCES[0]), {"training": json.loads(json.dumps(section))}
    write_document(place, lambda: page(run, sections=sections))
    return place, size
