"""glassformer matrix: the mask-matrix post, step by step.

Q query words · K key words
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from glassformer.bundled.texts import quick_brown_fox
from glassformer.cli.__main__ import main
from glassformer.parts.activity import activity_matrix

Run = Callable[..., Any]
SENTENCE = quick_brown_fox().sentence
PRINTED = ("--word-vectors", "printed")
STEPS = ("words", "words", "features", "empty", "pairs", "masked", "weights", "result")


def rows(out: str, step: int) -> list[list[float]]:
    """The numbers of a step of the printed output, where each row stands on one line."""
    (block,) = re.findall(rf"^{step}\. .*\n((?:[^\n]+\n)+)", out, flags=re.MULTILINE)
    lines = [line.split()[1:] for line in block.replace("−∞", "-inf").replace("−", "-").splitlines()]
    number = re.compile(r"-?(inf|\d+(\.\d+)?)$")
    return [[float(cell) for cell in line] for line in lines if line and all(map(number.match, line))]


@pytest.mark.parametrize("rule", ["itself", "zero"])
@pytest.mark.parametrize("reading", ["code", "stated", "pairs"])
def test_what_is_printed_is_what_is_computed(run: Run, reading: Any, rule: Any) -> None:
    words = ["matrix", SENTENCE.text, "--hide", "0.3", "--seed", "2", "--reading", reading, "--nothing-to-see", rule]
    shown, (record,) = run(*words).out, run(*words, "--json").records
    features = torch.tensor(record["features"])
    expected = activity_matrix(features, record["masked_words"], reading=reading, nothing_to_see=rule)
    assert record["reading"] == reading
    assert record["nothing_to_see"] == rule
    for number, (name, step) in enumerate(expected.steps.items(), start=4):
        as_floats = [[float(cell) for cell in row] for row in record[name]]
        assert as_floats == step.tolist()
        torch.testing.assert_close(torch.tensor(rows(shown, number)), step, rtol=0, atol=6e-5)


def test_the_masked_words_are_drawn_by_the_seed(run: Run) -> None:
    def masked(*words: str) -> list[int]:
        (record,) = run("matrix", SENTENCE.text, *words, "--json").records
        assert [word == "[MASK]" for word in record["seen"]] == [place in record["masked_words"] for place in range(9)]
        return list(record["masked_words"])

    assert [len(masked("--hide", share)) for share in ("0", "0.01", "0.11", "0.5", "1")] == [0, 1, 1, 4, 9]
    assert masked("--seed", "3") == masked("--seed", "3", "--hide", "0.11")
    assert len({tuple(masked("--seed", str(seed))) for seed in range(20)}) > 4


def test_words_written_as_masks_are_the_masked_ones(run: Run) -> None:
    (record,) = run("matrix", SENTENCE.masked, "--json").records
    assert record["masked_words"] == list(SENTENCE.masked_words)
    (record,) = run("matrix", SENTENCE.masked, "--hide", "0.2", "--json").records
    assert set(record["masked_words"]) >= set(SENTENCE.masked_words)
    (record,) = run("matrix", "over the [MASK].", "--json").records
    assert record["masked_words"] == [2]


def test_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    out = run("matrix", "the \x1b[31mred fox").out
    assert "\x1b" not in out
    assert r"\x1b[31mred" in out


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE.text,
        "a",
        "你好 世界 再见",
        "pneumonoultramicroscopicsilicovolcanoconiosis " * 3,
        "one two " * 20,
        "x" * 300,
    ],
)
@pytest.mark.parametrize("width", [1, 40])
def test_everything_fits_80_columns(run: Run, text: str, width: int) -> None:
    from rich.cells import cell_len

    done = run("matrix", text, "--width", str(width), "--notes", "--nothing-to-see", "zero")
    assert done.code == 0
    assert max(cell_len(line) for line in done.out.splitlines()) <= 80


@pytest.mark.parametrize("columns", [70, 120])
def test_a_pipe_is_as_wide_as_it_is_asked_to_be(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run("matrix", SENTENCE.text, "--notes").out.splitlines()
    assert columns - 12 < max(map(len, lines)) <= columns


def test_a_text_without_quotes_is_refused_with_what_to_do(run: Run) -> None:
    done = run("matrix", *SENTENCE.text.split())
    assert done.code == 2
    assert "quotes" in done.err


def test_the_notes_are_those_on_the_post(run: Run) -> None:
    out = run("matrix", SENTENCE.text, "--notes").out
    assert re.findall(r"C-\d+", out) == ["C-27", "C-28", "C-29", "C-35"]


def test_each_line_of_standard_input_is_a_text(run: Run) -> None:
    found = run("matrix", "-", "--json", stdin=b"a b\nc d e\n").records
    assert [record["words"] for record in found] == [["a", "b"], ["c", "d", "e"]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((" ",), "512"),
        (("a " * 513,), "513"),
        (("a b", "--hide", "1.5"), "--hide"),
        (("a b", "--hide", "nan"), "--hide"),
        (("a b", "--reading", "identity"), "'identity'"),
        (("a b", "--word-vectors", "learned"), "'learned'"),
        (("a b", *PRINTED), "9"),
        (("a b", "--nothing-to-see", "nan"), "'nan'"),
        (("a b", "--seed", "-1"), "--seed"),
        (("a b", "--seed", str(2**64)), "--seed"),
        (("a b", "--width", "0"), "--width"),
        (("the quick brown fox jumps over the lazy dog", *PRINTED, "--width", "3"), "--width 3"),
        (("-",), "standard input"),
    ],
    ids=str,
)
def test_what_makes_no_matrix_is_refused_in_a_sentence(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run("matrix", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert told in done.err


def test_help_does_not_need_torch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--help"]) == 0
    assert "--reading" in capsys.readouterr().out
