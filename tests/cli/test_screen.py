"""What is written for programs is JSON, whatever the numbers are."""

import io
import json
import math
from dataclasses import asdict

import pytest
import torch
from rich.box import SIMPLE_HEAD
from rich.table import Table

from glassformer.api.trace import trace
from glassformer.cli.terminal.screen import console, escaped, print_table, record
from glassformer.look.formulas.explanation import number
from glassformer.models.inputs import Inputs
from tests.contracts.families import Row


def no_number(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def test_what_json_has_no_number_for_is_a_word() -> None:
    out = io.StringIO()
    record({"cells": [-math.inf, (math.inf, math.nan)], "deep": {"x": -math.inf}, "plain": [1.5, 2, True, None]}, out)
    assert json.loads(out.getvalue(), parse_constant=no_number) == {
        "cells": ["-Infinity", ["Infinity", "NaN"]],
        "deep": {"x": "-Infinity"},
        "plain": [1.5, 2, True, None],
    }


def test_a_forbidden_score_of_a_decoder_is_explained_in_json() -> None:
    found = trace(Row("gpt2", "gpt2").model(), Inputs(ids=torch.tensor([[3, 4, 5]])))
    out = io.StringIO()
    record(asdict(found.explain("decoder.blocks.0.self_attention.masked", "sentence=0,head=0,query=0,key=2")), out)
    assert json.loads(out.getvalue(), parse_constant=no_number)["value"] == "-Infinity"


@pytest.mark.parametrize(("value", "message"), [(math.nan, "NaN"), (math.inf, "∞"), (-math.inf, "−∞"), (-2.0, "−2")])
def test_every_number_can_be_written_at_the_board(value: float, message: str) -> None:
    assert number(value) == message


CELLS = [
    [("likes", "50.0%", "██████"), ("…s", "7.1%", "▊")],
    [("[MASK]", "\\[x]", "\\"), ("日本語", "é", "")],
    [("two\nlines", "1", "2")],
    [("wide" * 60, "1", "2")],
    [],
]


@pytest.mark.parametrize("cells", CELLS, ids=["usual", "signs", "lines", "wide", "none"])
def test_a_file_gets_the_table_that_rich_would_print(cells: list[tuple[str, ...]]) -> None:
    ours, theirs = io.StringIO(), io.StringIO()
    heads, rows = ("token", escaped("[MASK] 1"), ""), [[*map(escaped, row)] for row in cells]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place == 2 else "left", min_width=12 * (place == 2), overflow="fold")
    for row in rows:
        table.add_row(*row)
    print_table(console(ours), heads, rows, (2,), bars=(2,))
    console(theirs).print(table)
    assert ours.getvalue() == theirs.getvalue()


def test_no_picture_stands_for_a_word_between_colons() -> None:
    out = io.StringIO()
    console(out).print(":smile:", ":heart:")
    print_table(console(out), ("token",), [(":heart:",)])
    assert (out.getvalue().count(":smile:"), out.getvalue().count(":heart:")) == (1, 2)
