"""How large exported pages are: by default, with every number and weight, and what of them the numbers take."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.page.window import Case, Samples
from glassformer.api.load import load
from glassformer.bundled.texts import slides, slides_model
from glassformer.page.page import page
from glassformer.page.sections.carried import BEYOND_LIMIT, OTHER_ROWS
from glassformer.page.sections.sections import sections_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from bench.page.models import Models

# Model, text, how many tokens the model goes on, and how many megabytes its page should have at most.
PAGES: dict[str, tuple[str, str | list[str], int, float]] = {
    "slides": ("slides", [sentence.masked for sentence in slides().sentences], 0, 0.4),
    "english": ("english", "The animal didn't cross the [MASK] because it was too tired.", 0, 2),
    "chat": ("chat", "Hi how are you", 0, 2),
    "en-fr": ("en-fr", "I am a student.", 0, 2),
    "writer, a story of 256 tokens": ("writer", "As Aliens entered our planet", 250, 2),
    "6 layers of 384": ("6 layers of 384", "the man saw [MASK] house", 0, 8),
}
WHOLE = 10_000


def sizes(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The size of each page by default and with all of it, and what the default leaves out."""
    cases = []
    for what, (name, text, more, goal) in PAGES.items():
        opened = load(str(slides_model()) if name == "slides" else models.place(name))
        if more:
            text = "".join((prompt := str(text), opened.generate(prompt, max_tokens=more, seed=1).generated))
        trace = opened.trace(text)
        sections = sections_of(trace)
        default, whole = (blocks_of(page(trace, megabytes=most, sections=sections)) for most in (None, WHOLE))
        record = record_of(default)
        left_out = Counter(record["left_out"].values())
        facts = {
            "megabytes_of_the_run": round(len(default["tensors"]) / 1e6, 3),
            "megabytes_of_the_weights": round(len(default["weights"]) / 1e6, 3),
            "megabytes_with_all": round(sum(map(len, whole.values())) / 1e6, 3),
            "tokens": sum(each.numel() for fact, each in trace.facts.items() if fact.endswith(".ids")),
            "tensors": len(trace),
            "worked_out": len(record["unsure"]),
            "left_out": left_out[BEYOND_LIMIT],
            "in_part": left_out[OTHER_ROWS],
        }
        cases.append(Case(f"a page by default: {what}", sum(map(len, default.values())) / 1e6, "MB", goal, facts))
    return cases


def blocks_of(html: str) -> dict[str, str]:
    """The blocks of a page as they are written, by name; all else under an empty name."""
    found = dict(re.findall(r'<script type="application/gzip" id="([\w-]+)">([^<]*)</script>', html))
    return {**found, "": " " * (len(html) - sum(map(len, found.values())))}


def record_of(blocks: dict[str, str]) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(blocks["record"])))
    return record
