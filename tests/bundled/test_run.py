"""The demo from its first line to its last, on less text and for a shorter time."""

import io
import json
import shlex
from pathlib import Path

import pytest
from rich.console import Console

from glassformer.api.load import load
from glassformer.bundled.texts import slides
from glassformer.cli.__main__ import main
from glassformer.cli.train import demo_run as demo
from glassformer.cli.verbs import VERBS


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo on less text and for a shorter time, without the story, which is shown below."""
    monkeypatch.setattr(demo, "ENGLISH_MINUTES", 0.01)
    monkeypatch.setattr(demo, "CORPUS_CHARACTERS", 60_000)
    monkeypatch.setattr(demo, "show_story", lambda console: None)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_the_demo_shows_what_it_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.run(tmp_path)
    shown = capsys.readouterr().out
    assert right(shown, "two heads (the slides)") == 4
    assert right(shown, "two heads, zeroed after the position is added") < 4
    assert "Promise kept: all four masked words are right." in shown
    is_whole(shown, tmp_path)


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_a_broken_promise_is_said_and_ends_with_1_and_the_demo_can_be_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "SLIDES_STEPS", (1, 2))
    monkeypatch.setattr(demo, "ENGLISH_MINUTES", 1e-4)
    tables_of = []
    for _ in range(2):
        assert main(["demo", "--out", str(tmp_path)]) == 1
        shown = capsys.readouterr()
        is_whole(shown.out, tmp_path)
        assert right(shown.out, "two heads (the slides)") < 4
        slides, english = shown.err.splitlines()[-2:]
        assert slides.startswith("glassformer: Promise broken: ")
        assert slides.endswith(" of the slides' four masked words are right, all four were promised.")
        assert english == f"glassformer: {demo.promise_of_english(scores_of(tmp_path / 'english')).sentence}"
        tables_of.append(tables(shown.out))
        assert all((tmp_path / name).stat().st_size > 100_000 for name in ("slides.html", "english.html"))
        # Pages are of the models that are kept: made once here.
        monkeypatch.setattr(demo, "write_pages", lambda *folders: [])
    # The second time shows the models of the first: every number of the tables is the same.
    assert tables_of[0] == tables_of[1] != []
    assert load(tmp_path / "slides").metrics["steps"] == 2  # it went on for as long as it may
    assert load(tmp_path / "english").has_tokenizer


def is_whole(shown: str, out: Path) -> None:
    """All promises are stated, and the commands to go on with are commands."""
    assert demo.promise_of_english(scores_of(out / "english")).sentence in shown
    commands = [shlex.split(line) for line in shown.splitlines() if line.startswith("  glassformer ")]
    assert {words[1] for words in commands} >= {"explain", "verify", "fill", "evaluate", "translate", "train"}
    assert demo.promise_of_translation(demo.TRANSLATION).sentence in shown
    assert any(word.endswith("[head=1,query=likes,key=She]") for words in commands for word in words)
    assert {words[1] for words in commands} <= {verb for group in VERBS.values() for verb in group}


@pytest.mark.long
def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    """All of it, as people see it: two minutes on all cores."""
    assert main(["demo", "--out", str(tmp_path)]) == 0
    scores = scores_of(tmp_path / "english")
    assert scores["accuracy"] >= 1.3 * scores["unigram_accuracy"] > 0
    small = load(tmp_path / "slides")
    for sentence in slides().sentences:
        guessed = tuple(mask.guesses[0].word for mask in small.fill(sentence.masked, top=1).masks)
        assert guessed == sentence.answers


def scores_of(folder: Path) -> dict[str, float]:
    scores: dict[str, float] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["scores"]
    return scores


def right(shown: str, model: str) -> int:
    """How many of the four masked words the table of the three trainings gives a model."""
    rows = [[cell.strip() for cell in line.split("│")] for line in tables(shown)]
    (count,) = [row[2].removesuffix(" of 4") for row in rows if row[1] == model]
    return int(count)


def tables(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if line.startswith("│")]


@pytest.mark.parametrize(
    ("accuracy", "baseline", "message"),
    [
        (0.26, 0.2, "Promise kept: 1.30 x the baseline's"),
        (0.25, 0.2, "Promise broken: 1.25 x the baseline's"),
        (0.1, 0.0, "Promise kept: 10.0% against a baseline of 0"),
        (0.0, 0.0, "Promise broken: 0.0% against a baseline of 0"),
    ],
)
def test_the_promise_is_said_to_be_kept_or_broken(accuracy: float, baseline: float, message: str) -> None:
    kept, sentence = demo.promise_of_english({"accuracy": accuracy, "unigram_accuracy": baseline})
    assert sentence.startswith(message)
    assert kept == message.startswith("Promise kept")


@pytest.mark.parametrize(("translation", "kept"), [("Je suis étudiant.", True), ("Je suis un étudiant.", False)])
def test_the_promised_translation_is_that_of_the_guide(translation: str, kept: bool) -> None:
    assert demo.promise_of_translation(translation).kept is kept


@pytest.mark.parametrize(("reply", "kept"), [("I am fine", True), ("I am fine, thank you", False), ("", False)])
def test_the_promised_reply_is_that_of_the_guide(reply: str, kept: bool) -> None:
    assert demo.promise_of_reply(reply).kept is kept


@pytest.mark.long
def test_the_models_that_write_are_shown() -> None:
    console = Console(record=True, width=80, file=io.StringIO())
    demo.show_story(console)
    assert demo.show_reply(console).kept
    story = load("writer").generate(demo.PROMPT, max_tokens=demo.TOKENS)
    shown = console.export_text()
    assert "".join(story.text.split())[:60] in "".join(shown.split())
    assert "step 2" in shown
    assert "agree with one run" in shown
