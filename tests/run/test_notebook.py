"""What a notebook shows: small static pages in which words stay words, and progress as lines that can be read."""

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from rich.console import Console

import glassformer as gf
from glassformer.api.model import Model
from glassformer.look.trace.cell import Words
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.tasks.labels.classify.settings import ClassifySection
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.train import train_tokenizer
from glassformer.training.progress import ConsoleProgress, standard_error
from tests.contracts.families import Row

ATTACK = "<img onerror=alert(1)>"
KNOWN = {"div", "b", "table", "caption", "tr", "th", "td"}


class Page(HTMLParser):
    """The tags, the styles and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.styles: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style", "cellpadding"}
        self.styles += [value or "" for name, value in attrs if name == "style"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def checked(page: str) -> Page:
    """The page, small, static and closed, with the colours of the page around it."""
    found = Page(page)
    assert found.open == []
    assert set(found.tags) <= KNOWN
    assert len(page) < 40_000
    for style in found.styles:
        assert not re.search(r"url|expression|#|black|white(?!-space)|(?<!-)color:(?!inherit)", style)
        assert all(0 <= float(alpha) <= 0.75 for alpha in re.findall(r"rgba\([\d,]+,([\d.]+)\)", style))
    return found


@pytest.fixture
def model() -> Model:
    """A model of two layers, with scores."""
    tokenizer = train_tokenizer("words", ["she likes the summer"] * 3, vocabulary=30)
    config = bert(size="tiny", layers=2, width=16, heads=2, feed_forward=16, vocabulary=tokenizer.vocabulary_size)
    metrics = {"scores": {"loss": 1.25, "note": ATTACK}, "measured_on": ATTACK}
    task = MaskedLMSection()
    return Model(build(config), tokenizer, task=task, length=64, metrics=metrics, source=Path(f"a/{ATTACK}"))


def test_a_model_shows_itself(model: Model) -> None:
    page = checked(model._repr_html_())
    assert ATTACK in page.text
    assert "1.25" in page.text
    assert "masked-lm" in page.text
    assert f"{sum(weight.numel() for weight in model.module.parameters()):,}" in page.text
    labelled = Model(
        build(bert(size="tiny", layers=1, width=8, heads=1, vocabulary=9, sentence_labels=2, vocabulary_head=False)),
        task=ClassifySection(labels=(ATTACK, "no")),
    )
    assert ATTACK in checked(labelled._repr_html_()).text  # without a tokenizer, scores and folder


def test_a_trace_shows_itself(model: Model) -> None:
    trace = model.trace("she [MASK] the summer")
    page = checked(trace._repr_html_())
    assert f"{trace['encoder.blocks.0.self_attention.weights'][0, 1, 0, 1]:.2f}" in page.text
    best = model.fill("she [MASK] the summer", top=1).masks[0].guesses[0]
    assert f"{best.token} {best.probability:.0%}" in page.text
    long = model.trace(" ".join(["she"] * 60))
    assert len(checked(long._repr_html_()).tags) < 1500
    words = Words(inputs=[["[CLS]", ATTACK, "</table>"]], vocabulary=[ATTACK] * model.tokenizer.vocabulary_size)
    attacked = gf.trace(model.module, Inputs(ids=torch.tensor([[3, 4, 5]])), words=words)
    page = checked(attacked._repr_html_())
    assert page.text.count(ATTACK) > 8
    assert "</table>" in page.text
    number = attacked.explain("encoder.blocks.0.self_attention.weights", "head=1,query=0,key=1")
    assert ATTACK in checked(number._repr_html_()).text


def test_a_trace_without_words_or_model_shows_what_it_has(model: Model, tmp_path: Path) -> None:
    for name, family in (("bert", "bert"), ("t5", "t5"), ("gpt2", "gpt2")):
        row = Row(name, family)
        inputs, decoder_inputs = row.batch()
        trace = gf.trace(row.model(), inputs, decoder_inputs)
        assert checked(trace._repr_html_()).text
        trace.save(tmp_path / name)
        assert family in checked(gf.load_trace(tmp_path / name)._repr_html_()).text
    few = gf.trace(Row("bert", "bert").model(), Inputs(ids=torch.tensor([[3, 4, 5]])), keep=())
    few.save(tmp_path / "few")
    assert checked(gf.load_trace(tmp_path / "few")._repr_html_()).text  # nothing can be computed again


def test_an_explained_number_shows_itself(model: Model) -> None:
    trace = model.trace("she [MASK] the summer")
    found = trace.explain("encoder.blocks.0.self_attention.weights", "head=1,query=1,key=the")
    page = checked(found._repr_html_())
    for heading in ("term", "masked", "exponential", "sum so far"):  # those of the terminal
        assert f">{heading}</th>" in found._repr_html_()
        assert heading in str(found)
    assert found.formula in page.text
    for term in found.terms:
        assert term.numbers in page.text
    given = trace.explain("inputs.ids", "token=1")
    assert given.formula in checked(given._repr_html_()).text


# --------------------------------------------------------------------------- progress


class OutStream(io.StringIO):
    """Standard error as ipykernel makes it: no file descriptor, no terminal."""

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


class Terminal(OutStream):
    """Standard error as a program finds it that a notebook has started with `!`."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [OutStream, Terminal])
def test_a_notebook_gets_lines(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], tmp_path: Path) -> None:
    """Also with the variables that Jupyter sets, by which rich would take anything for a terminal."""
    paper = stream()
    monkeypatch.setattr("sys.stderr", paper)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    for name, value in {
        "JPY_PARENT_PID": "1",
        "FORCE_COLOR": "1",
        "CLICOLOR_FORCE": "1",
        "TERM": "xterm-color",
    }.items():
        monkeypatch.setenv(name, value)
    gf.train("slides", set={"train.steps": 30}, out=tmp_path / "run")
    moments = iter([0.0, *(float(second) for second in range(0, 2000, 2))])
    monkeypatch.setattr("glassformer.base.counting.time.monotonic", lambda: next(moments))
    with ConsoleProgress().counting("answers", 100) as advance:
        for _ in range(200):
            advance(7)
    text = paper.getvalue()
    assert not set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)), repr(text)
    steps = [line for line in text.splitlines() if line.startswith("step ")]
    assert 5 <= len(steps) <= 25
    counts = [line for line in text.splitlines() if " answers, " in line]
    assert 2 <= len(counts) <= 8
    assert all(len(line) < 120 for line in counts)


def test_a_terminal_gets_a_bar_and_a_file_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    for stream, drawn in ((Terminal(), True), (OutStream(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        assert standard_error().is_terminal is drawn
    paper = io.StringIO()
    with ConsoleProgress(Console(file=paper, force_terminal=True, width=80)).counting("answers", 5) as advance:
        advance(1234)
    assert "1,239 answers" in paper.getvalue()
