"""How large exported pages are: by default, with every number and weight, and what of them the numbers take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.page.window import Case, Samples
from glassformer.api.load import load
from glassformer.bundled.texts import slides, slides_model
from glassformer.page.page import MEGABYTES, SHELL, page
from glassformer.page.sections.carried import BEYOND_LIMIT, carry, packed_bytes
from glassformer.page.sections.sections import sections_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from bench.page.models import Models

# Model, text, how many tokens the model goes on, and how many megabytes its page should have at most.
PAGES: dict[str, tuple[str, str | list[str], int, float]] = {
    "slides": ("slides", [sentence.masked for sentence in slides().sentences], 0, 0.4),
    "english": ("english", "The animal didn't cross the [MASK] because it was too tired.", 0, 8),
    "chat": ("chat", "Hi how are you", 0, 8),
    "en-fr": ("en-fr", "I am a student.", 0, 8),
    "writer, a story of 256 tokens": ("writer", "As Aliens entered our planet", 250, 8),
}
WHOLE = 10_000


def sizes(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The size of each page by default and with all of it, and how many tensors the default leaves out."""
    cases = []
    for what, (name, text, more, goal) in PAGES.items():
        opened = load(str(slides_model()) if name == "slides" else name)
        if more:
            text = "".join((prompt := str(text), opened.generate(prompt, max_tokens=more, seed=1).generated))
        trace = opened.trace(text)
        sections = sections_of(trace)
        whole, default = carry(trace, WHOLE * 1_000_000), carry(trace, MEGABYTES * 1_000_000 - SHELL)
        told = {
            "megabytes_of_the_run": round(sum(map(packed_bytes, whole.tensors.values())) / 1e6, 3),
            "megabytes_of_the_weights": round(sum(map(packed_bytes, whole.weights.values())) / 1e6, 3),
            "megabytes_with_all": round(len(page(trace, megabytes=WHOLE, sections=sections)) / 1e6, 3),
            "tokens": sum(each.numel() for fact, each in trace.facts.items() if fact.endswith(".ids")),
            "left_out": sum(reason == BEYOND_LIMIT for reason in default.left_out.values()),
            "in_part": len(default.rows),
        }
        size = len(page(trace, sections=sections)) / 1e6
        cases.append(Case(f"a page by default: {what}", size, "MB", goal, told))
    return cases
