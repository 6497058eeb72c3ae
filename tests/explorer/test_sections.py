"""What a page is told beside the tensors: by a server that works it out, and inside an exported page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from glassformer.artefact.open import load
from glassformer.demo.texts import slides, slides_model
from glassformer.explorer import sections
from glassformer.explorer.page import page
from glassformer.look.trace import Trace
from tests.explorer.test_page import blocks


@pytest.fixture
def run() -> Trace:
    return load(slides_model()).trace([slides().sentences[0].masked])


def test_an_exported_page_carries_the_sections_it_is_given(run: Trace) -> None:
    told: dict[str, Any] = {"rows": [1, 0.5], "text": "<b> é"}
    assert json.loads(blocks(page(run, sections={"made": told}))["section-made"]) == told
    assert not [name for name in blocks(page(run)) if name.startswith("section-")]


def test_sections_are_worked_out_from_the_run(run: Trace) -> None:
    assert sections.sections_of(run, {"count": lambda trace: len(trace)}) == {"count": len(run)}
