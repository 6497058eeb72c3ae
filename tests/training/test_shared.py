"""Processes that share out the weights learn what one learns, and any number of them goes on from their checkpoints."""

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.run.train import train
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS, Row
from tests.training.several import Begin
from tests.training.test_processes import FLOAT64, largest_difference

SHARED: dict[str, Any] = {**FLOAT64, "shard": True}


# Only the order of sums differs. Some gradients are 0 but for rounding, as that of a bias which all choices share: Adam
# makes a step of either sign of it. So in float32 losses are compared, and weights in float64 alone.
@pytest.mark.long
@pytest.mark.parametrize(
    ("row", "count", "precision"),
    [(row, count, of) for row in TASKS for count, of in ((2, "float64"), (3, "float64"), (2, "float32"))],
    ids=lambda value: value.name if isinstance(value, Row) else str(value),
)
def test_they_learn_what_one_learns(begin: Begin, row: Row, count: int, precision: str, tmp_path: Path) -> None:
    """With dropout, uneven batches, Muon and a moving average."""
    recipe = row.recipe(tmp_path)
    recipe["train"] |= {**FLOAT64, "precision": precision, "batch": 7, "compile": "off"}
    recipe["train"] |= {"accumulate": 2 if row.task == "tag" else 1}
    if row.task == "masked-lm":
        recipe["train"] |= {"optimizer": "muon", "ema": 0.5}
    alone = train(recipe, out=tmp_path / "alone", progress=NoProgress())
    shared = {**recipe, "train": {**recipe["train"], "shard": True}}
    group = begin(tmp_path / "together", *[shared] * count)
    assert group.end() == [0] * count, group.text("errors", 0)
    tolerance = 1e-10 if precision == "float64" else 1e-5
    for each in group.weights() if precision == "float64" else ():
        assert largest_difference(weights(alone.module), each) < tolerance
    folders = (tmp_path / "alone", group.folder / "run")
    one, several = (Checkpoints(folder / "checkpoints").newest() for folder in folders)
    assert one is not None
    assert several is not None
    assert len(several.facts["parts"]) == count
    sizes = [(several.folder / "parts" / name).stat().st_size for name in several.facts["parts"]]
    assert max(sizes) < 1.5 * sum(sizes) / count  # of each tensor an equal part; a file has a header too
    for name in ("best", "least_loss", "smoothed"):
        assert one.facts["progress"][name] == pytest.approx(several.facts["progress"][name], rel=tolerance)
    for name, tensor in one.tensors("optimizer").items():  # each process has written its part of it
        torch.testing.assert_close(several.tensors("optimizer")[name], tensor, rtol=0, atol=tolerance)


@pytest.mark.long
def test_a_checkpoint_without_one_of_its_parts_is_refused(begin: Begin, tmp_path: Path) -> None:
    settings = {**SHARED, "checkpoint_every": 2}
    assert begin(tmp_path / "run", *[{**settings, "steps": 4}] * 3).end() == [0] * 3
    newest = Checkpoints(tmp_path / "run" / "checkpoints").newest()
    assert newest is not None
    part = sorted((newest.folder / "parts").iterdir())[1]
    kept = part.read_bytes()
    for count, content in ((2, None), (1, kept[:-1] + bytes([kept[-1] ^ 1]))):
        part.unlink() if content is None else part.write_bytes(content)
        then = begin(tmp_path / "run", *[{**settings, "steps": 6}] * count)
        assert then.end() == [2] * count
        said = then.text("errors", 0).splitlines()
        assert part.name in said[-1], said
        assert not any("Traceback" in each for each in said)


@pytest.mark.long
@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--set", "train.compile=on"], "compile"),
        (["--layer-decay", "0.9"], "[tune]"),
        (["--watch", "He likes [MASK]."], "watched"),
    ],
)
def test_what_does_not_go_with_it_is_one_sentence(begin: Begin, tmp_path: Path, more: list[str], named: str) -> None:
    words = ["train", "masked-lm", str(TASKS[0].write(tmp_path)), "--steps", "2", "--vocabulary", "160"]
    words += ["--length", "24", "--device", "cpu", "--quiet", "--family", "bert", "--size", "tiny", "--shard"]
    words += ["--validation", "0.2", "--out", str(tmp_path / "run"), *more]
    group = begin(tmp_path / "group", *[words] * 2)
    assert group.end() == [2, 2], group.text("errors", 0)
    assert len(group.text("errors", 0).splitlines()) == 1
    assert named in group.text("errors", 0)
    assert not (tmp_path / "run").exists()
