"""The notebook of the mask-matrix post: run again, it prints what it holds."""

import json
import re
from typing import Any

import pytest
import torch

from experiments.notebook import NOTEBOOK, notebook
from tests.conftest import REPOSITORY


def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return found


def printed(cell: dict[str, Any]) -> str:
    return "".join(line for output in cell.get("outputs", ()) for line in output["text"])


def test_the_notebook_is_text_and_code_by_turns_with_no_path_of_a_machine() -> None:
    found = kept()
    assert [cell["cell_type"] for cell in found["cells"]] == ["markdown", "code"] * 8
    text = json.dumps(found)
    assert re.findall(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/", text) == []
    assert str(REPOSITORY) not in text
    assert "as the post prints it: True" in printed(found["cells"][5])


@pytest.mark.long
def test_the_cells_print_what_the_notebook_holds() -> None:
    """Word by word; numbers to the last printed digit."""
    number = re.compile(r"-?\d+\.\d*")
    try:
        again = notebook()
    finally:
        torch.set_printoptions(profile="default")  # the first cell has changed them
    for old, new in zip(kept()["cells"], again["cells"], strict=True):
        before, after = printed(old), printed(new)
        assert number.sub("#", before).split() == number.sub("#", after).split()
        found = [float(each) for each in number.findall(after)]
        assert found == pytest.approx([float(each) for each in number.findall(before)], abs=1.1e-4)
