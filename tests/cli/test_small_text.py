"""A text of three paragraphs, from training over --resume to evaluate: its end is held out, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.data.settings import CorpusSection

Run = Callable[..., Any]
TINY = ["--steps", "1", "--size", "tiny", "--vocabulary", "270", "--length", "16", "--batch", "2"]


def test_the_end_is_held_out_found_again_and_named(run: Run, tmp_path: Path) -> None:
    text, out = tmp_path / "three.txt", tmp_path / "run"
    paragraphs = (" ".join(f"Day {10 * day + n} was long." for n in range(30)) for day in range(3))
    text.write_text("\n\n".join(paragraphs), encoding="utf-8")
    command = ("train", "language-model", text, *TINY, "--set", "train.compile=off", "--out", out)
    done = run(*command)
    assert done.code == 0, done.err
    assert "10%" in done.err
    model = load(out)
    assert isinstance(model.data, CorpusSection)
    assert model.data.shares == {"validation": 0.0, "test": 0.0, "end": 0.1}
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.count("last 10%") == 2
    assert "No held-out text was used" not in card
    assert "also chose the step that was kept" in card
    again = run(*command, "--resume")
    assert again.code == 0, again.err
    (measured,) = run("evaluate", out, "--json").records
    assert measured["loss"] == pytest.approx(model.metrics["scores"]["loss"], rel=1e-5)
