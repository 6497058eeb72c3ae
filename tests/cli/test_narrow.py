"""On a terminal of 60 or 80 columns no line is too long, no word is cut, and the step count can be read."""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from glassformer.base.wrapping import for_stream, wrapped, wrapped_command
from glassformer.cli.__main__ import main
from glassformer.cli.terminal.screen import note
from glassformer.training.progress import ConsoleProgress
from glassformer.training.record import Step

NARROW = pytest.mark.parametrize("width", [60, 80])
MESSAGE = (
    "after 1,000 steps the loss is 6.00; knowing only how frequent each answer is gives 6.00. Likely causes: a "
    "warm-up that is too short for this rate (now 10% of the run); files in /home/someone/a/folder/of/many/texts.txt"
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def step(number: int, *, steps: int | None = 123_456, losses: int = 1) -> Step:
    named = {f"masked_words_{index}": 12.345 for index in range(losses)}
    means = {"loss": 12.345, **(named if losses > 1 else {})}
    return Step(
        step=number, steps=steps, fraction=number / 123_456, epoch=0.1, loss=12.345, losses=named, learning_rate=1e-3,
        norm=1.0, counts=dict.fromkeys(named, 1.0), tokens=4096, seconds=0.01, elapsed=number * 0.9,
        means=means,
    )  # fmt: skip


def fits(shown: str, width: int) -> bool:
    """Whether each line is short enough, or one word that is longer."""
    return all(len(line) <= width or " " not in line.strip() for line in shown.splitlines())


@NARROW
def test_a_message_ends_its_lines_between_words(width: int) -> None:
    shown = wrapped(MESSAGE, width)
    assert shown.split() == MESSAGE.split()
    assert fits(shown, width)


@NARROW
def test_notes_fit_the_tables_also_in_a_file_and_errors_stay_on_one_line(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert for_stream(MESSAGE, io.StringIO()) == MESSAGE
    monkeypatch.setenv("COLUMNS", str(width))
    note(MESSAGE)
    ConsoleProgress().note(MESSAGE)
    shown = capsys.readouterr().err
    assert fits(shown, width)
    assert shown.split() == 2 * MESSAGE.split()


@NARROW
def test_a_long_command_can_be_copied_from_the_terminal(width: int) -> None:
    words = ["glassformer", "train", "masked-lm", "my notes on trees.txt", "--minutes", "10", "--out", "runs/my notes",
             "--set", "model.settings.dropout=0.1", "--resume"]  # fmt: skip
    shown = wrapped_command("continue with:", words, width)
    assert max(map(len, shown.splitlines())) <= width
    begin, *rest = shown.splitlines()
    assert begin == "continue with:"
    assert shlex.split("\n".join(rest).replace("\\\n", "")) == words  # as a shell joins lines
    assert "\n" not in wrapped_command("continue with:", words, None)


@NARROW
def test_an_error_on_a_terminal_keeps_its_words_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = []
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(["train"]) == 2
        notes.append(stream.getvalue())
    assert notes[0].count("\n") == 1
    assert len(notes[0]) > width
    assert notes[1].split() == notes[0].split()
    assert fits(notes[1], width)


@NARROW
def test_a_note_of_a_training_keeps_its_words_whole(width: int) -> None:
    out = Terminal()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False)
    ConsoleProgress(console).note(MESSAGE)
    assert out.getvalue().split() == MESSAGE.split()
    assert fits(out.getvalue(), width)


@NARROW
@pytest.mark.parametrize("losses", [1, 2])
def test_the_bar_of_a_training_shows_the_step_whole(width: int, losses: int) -> None:
    out = Terminal()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False, _environ={})

    def steps() -> Iterator[Step]:
        for number in (98_764, 98_765):
            yield step(number, losses=losses)

    assert len(list(ConsoleProgress(console).training(steps()))) == 2
    lines = out.getvalue().replace("\r", "\n").splitlines()
    assert any("step 98,765/123,456, loss 12.345" in line for line in lines)
    assert "…" not in out.getvalue()
    assert all(len(_plain(line)) <= width for line in lines)


def _plain(line: str) -> str:
    """A line without the codes that move the cursor."""
    return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", line)


@NARROW
@pytest.mark.parametrize("verb", ["train", "plan", "evaluate", "fill", "score", "classify", "verify", "info"])
def test_help_fits(verb: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERMINAL_WIDTH", str(width))
    assert main([verb, "--help"]) == 0
    assert fits(capsys.readouterr().out, width)


def test_a_word_of_a_command_that_is_too_long_stays_whole() -> None:
    assert wrapped_command("continue with:", ["x" * 100, "y"], 60).split() == [
        "continue",
        "with:",
        "x" * 100,
        "\\",
        "y",
    ]


def test_a_note_does_not_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("kept: \x1b[31m\x07\0\nin two lines: wörd")
    assert capsys.readouterr().err == "kept: \\x1b[31m\\x07\\x00\nin two lines: wörd\n"


def test_a_step_shows_the_score_that_keeps_the_best_model_with_its_baseline() -> None:
    out = io.StringIO()
    scores = {"mean_absolute_error": 0.25, "kappa": 0.5, "accuracy": 0.75, "the_median_mean_absolute_error": 1.0}
    measured = replace(step(1), scores=scores, best="-mean_absolute_error", baseline_names=("the_median",))
    list(ConsoleProgress(Console(file=out, width=200)).training(iter([measured])))
    shown = out.getvalue().splitlines()[-1].partition("held-out ")[2]
    assert shown == "mean absolute error 0.250 (the median 1.000), accuracy 75.0%"
