"""Pages of two megabytes: what they have is bit for bit the run's, also what they work out from formulas."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import glassformer as gf
from glassformer.api.trace import Trace, trace
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.page import page as written
from glassformer.page.page import page
from glassformer.page.sections import choosing
from glassformer.page.sections.carried import BEYOND_LIMIT, OTHER_ROWS, Carried
from glassformer.page.sections.choosing import Choice
from tests.look.rows import ALL
from tests.page.test_page import record_of

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node reads the pages, and is not installed")
SCRIPT = Path(__file__).with_name("every_number.mjs")


def read(pages: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """What node reads in these pages."""
    files = [folder / f"{order}.html" for order in range(len(pages))]
    for file, text in zip(files, pages, strict=True):
        file.write_text(text, encoding="utf-8")
    assert NODE is not None
    done = subprocess.run([NODE, str(SCRIPT), *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def digest(tensor: Tensor) -> str:
    return hashlib.sha256(tensor.detach().double().contiguous().numpy().tobytes()).hexdigest()


def is_the_run(found: Trace, answer: dict[str, Any]) -> None:
    """Every tensor of the page has the numbers of the run."""
    for name, numbers in answer["digests"].items():
        assert numbers == digest(found.tensor(name)), name


@needs_node
@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("chat", "Hi how are you"),
        pytest.param("english", "The animal didn't cross the [MASK] because it was too tired.", marks=pytest.mark.long),
    ],
)
def test_a_page_of_two_megabytes_opens_its_first_block_and_its_answer(model: str, text: str, tmp_path: Path) -> None:
    found = gf.load(model).trace(text, keep="*")
    html = page(found)
    assert len(html.encode()) <= 2_000_000
    (answer,) = read([html], tmp_path)
    is_the_run(found, answer)
    assert answer["derived"]
    left_out = answer["left_out"]
    assert set(left_out.values()) == {BEYOND_LIMIT, OTHER_ROWS}
    here = {name for name, why in left_out.items() if why == OTHER_ROWS} | {*answer["digests"]}
    first = [name for name in found if ".embed." in name or ".blocks.0." in name or name.startswith("head")]
    for name in first:
        operands = {operand.name for operand in found.statement.formulas[name].rule.operands.values()}
        # What enters the last norm or head is of the last block.
        assert {name, *operands} - here <= {found.statement.entering["head"]}, name


PARTS = 6


@needs_node
@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_what_a_page_works_out_is_the_number_of_the_run(
    part: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In every family, of which each part has some."""
    monkeypatch.setattr(choosing, "UNSURE_BYTES", 0)
    monkeypatch.setattr(written, "carry", lambda found, limit: Choice(found, Carried(limit)).chosen())
    runs = {}
    for row in ALL[part::PARTS]:
        inputs, decoder_inputs = row.batch(padding="uneven")
        runs[row.name] = trace(row.model(dtype=torch.float32), inputs, decoder_inputs, keep="*")
    rules = set()
    for found, answer in zip(
        runs.values(), read([page(found, megabytes=64) for found in runs.values()], tmp_path), strict=True
    ):
        is_the_run(found, answer)
        assert {*found} <= {*answer["digests"]}
        rules |= {found.statement.formulas[name].rule.name for name in answer["derived"]}
    assert {"add", "layer_norm", "linear", "softmax", "weighted_sum"} <= rules


@pytest.mark.long
def test_the_default_is_larger_where_the_first_block_needs_more() -> None:
    model = build(bert(vocabulary=50, max_length=8, layers=2, width=256, heads=4, feed_forward=1024), seed=1)
    found = trace(model, Inputs(ids=torch.tensor([[3, 4, 5]])))
    assert 2_000_000 < len(page(found)) <= 8_000_000
    small = page(found, megabytes=2)
    assert len(small) <= 2_000_000
    # No block opens to its weights: then the numbers of all blocks come first.
    assert not [name for name in found if name in record_of(small)["left_out"]]
