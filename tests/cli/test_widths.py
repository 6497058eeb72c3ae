"""What is shown obeys COLUMNS, also in a pipe, and no width cuts a number or leaves one out."""

import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from glassformer.cli.terminal.screen import bar, console, print_table
from tests.cli.conftest import Run
from tests.run.heads import TAGS, TEXTS, model_for

WIDTHS = pytest.mark.parametrize("width", [40, 60, 80, 120])
WIDE = "200"
NUMBER = re.compile(r"\d[\d.,]*%?")
QUESTION = "Which city does Bob like better than all the others that he has seen in his life?"
PASSAGE = " ".join(TEXTS * 3)
LABELS = ("a label of several words that goes on", "b", "c")
MODELS: dict[str, dict[str, Any]] = {
    "answer": {"section": {}, "words": [QUESTION, "--pair", PASSAGE]},
    "choose": {"section": {}, "words": [TEXTS[0], "--choice", TEXTS[1], "--choice", "cold day"]},
    "classify": {"section": {"labels": LABELS}, "words": [*TEXTS]},
    "tag": {"section": {"labels": TAGS}, "words": [PASSAGE]},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {task: model_for(task, dict(its["section"])).save(folder / task) for task, its in MODELS.items()}


def numbers(shown: str) -> Counter[str]:
    return Counter(NUMBER.findall(shown))


def holds(run: Run, words: list[str | Path], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command shows the same numbers as on a wide screen, in lines that fit."""
    monkeypatch.setenv("COLUMNS", WIDE)
    wide = run(*words)
    assert wide.code == 0, wide.err
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run(*words).out
    assert max(map(cell_len, shown.splitlines())) <= width
    assert numbers(wide.out) <= numbers(shown)  # headings are repeated where rows stand below each other
    if width == 80:
        monkeypatch.delenv("COLUMNS")
        assert run(*words).out == shown


@WIDTHS
@pytest.mark.parametrize("task", MODELS)
def test_answers_fit(task: str, width: int, models: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    holds(run, [task, models[task], *MODELS[task]["words"]], width, monkeypatch)


@WIDTHS
def test_the_list_of_models_fits(width: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", WIDE)
    wide, _, _ = run("models").out.partition("\n\n")
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run("models").out
    assert numbers(wide) <= numbers(shown)
    assert "…" not in shown
    assert max(cell_len(line) for line in shown.splitlines() if not line.startswith("  card: ")) <= width
    assert "not stated" not in shown


@pytest.mark.sampled(1)
@WIDTHS
def test_an_evaluation_and_a_comparison_fit(
    width: int, models: dict[str, Path], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table.jsonl"
    records = ({"text": f"{TEXTS[n % 2]} {'on and on ' * n}", "label": LABELS[n % 3]} for n in range(30))
    table.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    other = model_for("classify", {"labels": LABELS, "pooling": "mean"}).save(tmp_path / "other")
    monkeypatch.setenv("COLUMNS", WIDE)
    wide = run("evaluate", models["classify"], table)
    assert wide.code == 0, wide.err
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run("evaluate", models["classify"], table).out
    assert max(map(cell_len, shown.splitlines())) <= width
    # The matrix is left out where it does not fit: what is confused is then listed.
    scores, _, _ = wide.out.partition("\nBy label")
    assert numbers(scores) <= numbers(shown.partition("\nBy label")[0])
    holds(run, ["compare", models["classify"], other, table], width, monkeypatch)


@WIDTHS
def test_a_table_is_narrowed_between_words_then_loses_its_bars_then_its_rows_stand_below_each_other(width: int) -> None:
    handle = io.StringIO()
    heads = ("", "first of two models", "difference", "95 % interval", "")
    rows = [
        (f"score {n}", f"0.{n}2345 (0.{n}1111 … 0.{n}3333)", f"{n}34,567.891", "−0.5 … 0.5", bar(0.7)) for n in range(3)
    ]
    screen = console(handle)
    screen.width = width
    print_table(screen, heads, rows)
    shown = handle.getvalue()
    assert max(map(cell_len, shown.splitlines())) <= width
    cells = numbers(" ".join(cell for row in rows for cell in row))
    assert all(numbers(shown)[number] >= count for number, count in cells.items())
    assert ("█" in shown) is (width >= 80)
    assert ("─" in shown) is (width > 40)
    assert width == 40 or shown.count("95 %") <= 1
    assert width > 40 or shown.count("difference: ") == len(rows)
