"""A real browser, where there is one, and pages of real models for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import glassformer as gf
from experiments.chromium import MISSING, chromium, path
from glassformer.api.model import Model
from glassformer.api.trace import Trace
from glassformer.bundled.texts import slides, slides_model
from glassformer.page import page as pages
from glassformer.page.sections.carried import compressed
from tests.look.rows import slides_trace
from tests.page.watched import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module", autouse=True)
def _loosely_packed() -> Iterator[None]:
    """Pages are packed in a third of the time: how tightly is nothing that a browser shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "compressed", lambda data: compressed(data, level=1))
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; skips where it or its driver is not installed."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if path(shell=True) is None:
        pytest.skip(MISSING)
    with chromium(shell=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Page]:
    """A window without a network and without the page's policy, in which nothing may go wrong."""
    with watched(browser, offline=True, bypass_csp=True) as page:
        yield page


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """A window without a network, in which nothing may go wrong."""
    with watched(browser, offline=True) as page:
        yield page


@pytest.fixture(scope="session")
def slides_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the slides' model with random weights."""
    file: Path = tmp_path_factory.mktemp("page") / "slides.html"
    slides_trace(dtype=torch.float32).to_html(file, title="slides")
    return file


@pytest.fixture(scope="session")
def english() -> Model:
    """The encoder of the package."""
    return gf.load("english")


@pytest.fixture(scope="session")
def translator() -> Model:
    """The translator of the package."""
    return gf.load("en-fr")


@pytest.fixture(scope="session")
def student(translator: Model) -> Trace:
    """The translator with the text of the notes."""
    return translator.trace("I am a student.")


@pytest.fixture(scope="session")
def student_page(student: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `student`."""
    file: Path = tmp_path_factory.mktemp("student") / "en-fr.html"
    student.to_html(file, title="en-fr", megabytes=64)
    return file


@pytest.fixture(scope="session")
def demo() -> Trace:
    """The slides' trained model with their three sentences, whose hidden words are given."""
    return gf.load(str(slides_model())).trace([sentence.masked for sentence in slides().sentences])


@pytest.fixture(scope="session")
def demo_page(demo: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `demo`."""
    file: Path = tmp_path_factory.mktemp("demo") / "slides.html"
    demo.to_html(file, title="slides")
    return file
