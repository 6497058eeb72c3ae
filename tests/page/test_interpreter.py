"""The page's interpreter of the formula table against the trace: every cell of every family, term by term."""

import json
import math
import random
import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.page.page import page
from tests.look.rows import ALL, slides_trace
from tests.page.together import try_each

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="the page's interpreter runs in node, which is not installed")

SCRIPT = Path(__file__).with_name("work_out.mjs")
# The limits of `verify` for one formula, here kept by a whole run: in double precision what is rounded from layer to
# layer stays far below, in float32 each tensor of the trace was rounded once.
LIMIT = {torch.float64: 1e-12, torch.float32: 1e-5}


Cells = list[tuple[str, dict[str, int]]]


def work_out(runs: Sequence[tuple[Trace, Cells]], folder: Path) -> list[dict[str, Any]]:
    """What node makes of the pages of these runs, and of some cells of each."""
    folders = [folder / str(order) for order in range(len(runs))]
    for each, (found, sampled) in zip(folders, runs, strict=True):
        each.mkdir()
        (each / "page.html").write_text(page(found), encoding="utf-8")
        (each / "cells.json").write_text(json.dumps(sampled))
    assert NODE is not None
    command = [NODE, str(SCRIPT), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def samples(found: Trace, seed: str) -> Cells:
    """A cell of each tensor."""
    rng = random.Random(seed)
    return [
        (name, {axis: rng.randrange(size) for axis, size in zip(found.axes(name), tensor.shape, strict=True)})
        for name, tensor in found.items()
    ]


def close(one: float | str, other: float, scale: float) -> bool:
    """Equal but for what double precision rounds."""
    return float(one) == other or abs(float(one) - other) <= 1e-13 * scale


def check_cells(found: Trace, sampled: Cells, answers: list[dict[str, Any]]) -> None:
    """The page's terms are those of `explain`: the same operands at the same places, the same values."""
    for (name, cell), answer in zip(sampled, answers, strict=True):
        expected = found.explain(name, cell)
        scale = 1 + sum(abs(term.value) for term in expected.terms if math.isfinite(term.value))
        assert float(answer["value"]) == expected.value
        assert expected.recomputed is not None
        assert close(answer["recomputed"], expected.recomputed, scale), (name, cell)
        assert len(answer["terms"]) == len(expected.terms), (name, cell)
        for term, other in zip(answer["terms"], expected.terms, strict=True):
            assert term["what"] == other.what
            assert close(term["value"], other.value, scale)
            for factor, reference in zip(term["factors"], other.factors, strict=True):
                assert factor["name"] == reference.name
                assert factor["index"] == list(reference.cell.values())
                assert close(factor["value"], reference.value, scale)
        assert set(answer["quantities"]) == set(expected.quantities)
        for quantity, value in expected.quantities.items():
            assert close(answer["quantities"][quantity], value, scale)


def check_run(found: Trace, errors: dict[str, float]) -> None:
    """Every tensor of the run, worked out from nothing but its words and weights."""
    assert set(errors) == set(found)
    assert max(float(error) for error in errors.values()) <= LIMIT[found.dtype], errors


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_every_cell_of_the_slides_model(dtype: torch.dtype, tmp_path: Path) -> None:
    found = slides_trace(dtype=dtype)
    every = [
        (name, dict(zip(found.axes(name), index, strict=True)))
        for name, tensor in found.items()
        for index in product(*map(range, tensor.shape))
    ]
    (answer,) = work_out([(found, every)], tmp_path)
    assert "wrong" not in answer, answer["wrong"]
    check_cells(found, every, answer["sampled"])
    assert max(cell["error"] for cell in answer["sampled"]) <= LIMIT[dtype]
    check_run(found, answer["errors"])


PARTS = 6


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_every_family(part: int, tmp_path: Path) -> None:
    runs = {}
    for row in ALL[part::PARTS]:
        inputs, decoder_inputs = row.batch(padding="uneven")
        # All are kept: a unit that is run again may round its last digit otherwise.
        found = trace(row.model(), inputs, decoder_inputs, keep="*")
        runs[row.name] = found, samples(found, row.name)
    answers = dict(zip(runs, work_out([*runs.values()], tmp_path), strict=True))

    def is_worked_out(name: str) -> None:
        found, sampled = runs[name]
        answer = answers[name]
        assert "wrong" not in answer, answer["wrong"]
        check_cells(found, sampled, answer["sampled"])
        check_run(found, answer["errors"])

    assert len(runs) == len(ALL[part::PARTS])
    try_each(runs, is_worked_out)
