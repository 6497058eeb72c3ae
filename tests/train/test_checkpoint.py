"""Checkpoints are whole or absent, whatever happens to the disk."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.config import TrainSection
from glassformer.errors import CheckpointError
from glassformer.models.families import t5
from glassformer.models.transformer import build
from glassformer.train.checkpoint import Shelf, read_checkpoint, restore, weights
from glassformer.train.state import State
from tests.train.toy import toy_model

REPOSITORY = Path(__file__).resolve().parents[2]
TENSORS: dict[str, dict[str, Tensor]] = {"model": {"a": torch.arange(3.0), "b": torch.tensor(2.0)}, "average": {}}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "shelf", keep=2)
    assert not shelf
    assert shelf.newest() is None
    shelf.save(12, TENSORS, {"progress": {"step": 12}})
    found = shelf.newest()
    assert found is not None
    assert (found.step, found.facts["progress"]) == (12, {"step": 12})
    assert {name: tensor.tolist() for name, tensor in found.tensors("model").items()} == {"a": [0, 1, 2], "b": 2}
    assert found.tensors("average") == {}
    assert names(found.folder) == ["model.safetensors", "state.json"]


def test_the_last_few_are_kept_and_the_best_apart(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=2)
    for step in (8, 9, 10, 100_000_000):
        shelf.save(step, TENSORS, {})
    for step in (3, 4, 5):
        shelf.save(step, TENSORS, {}, kind="best")
        shelf.keep_best(step)
    assert names(tmp_path) == ["best-00000005", "step-00000010", "step-100000000"]
    newest, best = shelf.newest(), shelf.best()
    assert newest is not None
    assert best is not None
    assert (newest.step, best.step) == (100_000_000, 5)


def test_one_written_by_chance_takes_no_others_place(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=2, every=4)
    for step, kept in ((4, [4]), (8, [4, 8]), (9, [4, 8, 9]), (11, [4, 8, 11]), (12, [8, 12])):
        shelf.save(step, TENSORS, {})
        assert names(tmp_path) == [f"step-{each:08d}" for each in kept]


def test_drafts_are_never_read_and_are_cleared_away(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=2)
    shelf.save(1, TENSORS, {})
    draft = tmp_path / ".step-00000002.draft"
    draft.mkdir()
    (draft / "state.json").write_text("{")
    newest = shelf.newest()
    assert newest is not None
    assert newest.step == 1
    shelf.save(2, TENSORS, {})
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


def test_a_checkpoint_cut_short_is_refused(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=2)
    folder = shelf.save(1, TENSORS, {})
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-2])
    newest = shelf.newest()
    assert newest is not None
    told = r"step-00000001 must be a whole checkpoint; got "
    with pytest.raises(
        CheckpointError, match=told + r"model.safetensors, cut short or damaged \(.*; delete it to begin"
    ):
        newest.tensors("model")
    torch.save({}, path)
    with pytest.raises(CheckpointError, match=r"model.safetensors, a pickle"):
        newest.tensors("model")
    path.unlink()
    with pytest.raises(CheckpointError, match=told + r"no model.safetensors; delete it to begin again"):
        newest.tensors("model")
    (folder / "state.json").write_text('{"format": 1, "st')
    with pytest.raises(CheckpointError, match=r"must be a whole checkpoint; got no readable state.json; delete it"):
        shelf.newest()


def test_of_a_damaged_checkpoint_the_way_out_is_told(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keep=2)
    for step, kind, way in (
        (1, "step", "begin again"),
        (2, "step", "use an older one"),
        (2, "best", "end with the newest"),
    ):
        folder = shelf.save(step, {**TENSORS, "optimizer": TENSORS["model"]}, {}, kind=kind)
        found = read_checkpoint(folder)
        for group in ("model", "optimizer"):
            (folder / f"{group}.safetensors").unlink()
            with pytest.raises(CheckpointError, match=f"got no {group}.safetensors; delete it to {way}"):
                found.tensors(group)
        (folder / "state.json").write_text("{")
        with pytest.raises(CheckpointError, match=f"got no readable state.json; delete it to {way}"):
            read_checkpoint(folder)


@pytest.mark.parametrize("progress", [{"step": "three"}, {"step": 1.5}, {"best": "low"}, "three", None])
def test_progress_that_is_none_is_refused(tmp_path: Path, progress: object) -> None:
    model = toy_model()
    state = State.fresh(model, TrainSection())
    shelf = Shelf(tmp_path)
    shelf.save(1, state.tensors(), {"progress": progress})
    newest = shelf.newest()
    assert newest is not None
    with pytest.raises(CheckpointError, match="does not tell how far it had come; delete it to begin again"):
        state.restore(newest)


def test_another_format_is_refused(tmp_path: Path) -> None:
    folder = Shelf(tmp_path, keep=1).save(1, TENSORS, {})
    facts = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(facts | {"format": 99}))
    with pytest.raises(CheckpointError, match="must be a checkpoint of format 1; got 99"):
        read_checkpoint(folder)


def test_tensors_must_fit_before_one_is_touched() -> None:
    into = {"a": torch.zeros(3), "b": torch.zeros(2)}
    for saved, told in (
        ({"a": torch.ones(3)}, r"b of shape \[2\]; got none"),
        ({"a": torch.ones(3), "b": torch.ones(3)}, r"b of shape \[2\]; got \[3\]"),
        ({"a": torch.ones(3), "b": torch.ones(2), "c": torch.ones(1)}, r"c of shape none; got \[1\]"),
    ):
        with pytest.raises(CheckpointError, match=told):
            restore(into, saved, what="it")
        assert into["a"].tolist() == [0, 0, 0]


def test_a_missing_number_is_told_by_its_shape() -> None:
    with pytest.raises(CheckpointError, match=r"step of shape \[\]; got none"):
        restore({"step": torch.zeros(())}, {}, what="it")
    with pytest.raises(CheckpointError, match=r"step of shape none; got \[\]"):
        restore({}, {"step": torch.zeros(())}, what="it")


def test_shared_weights_are_written_once() -> None:
    model = build(t5(vocabulary=11, layers=1, width=8, heads=2, feed_forward=8))
    named = weights(model)
    assert len({tensor.data_ptr() for tensor in named.values()}) == len(named)
    assert sum(tensor.numel() for tensor in named.values()) == sum(p.numel() for p in model.parameters())
    assert weights(toy_model()).keys() == toy_model().state_dict().keys()


def test_a_full_disk_leaves_the_old_checkpoint_whole(tmp_path: Path) -> None:
    """The system refuses to write files of more than 60 kB, as a full disk refuses to write at all."""
    code = """
import json, resource, signal, sys
from pathlib import Path
import torch
from glassformer.errors import CheckpointError
from glassformer.train.checkpoint import Shelf
torch.set_num_threads(1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
shelf = Shelf(Path(sys.argv[1]), keep=1)
shelf.save(1, {"model": {"a": torch.ones(100)}}, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    shelf.save(2, {"model": {"a": torch.ones(100)}, "optimizer": {"a": torch.ones(100_000)}}, {})
except CheckpointError as error:
    print(error)
    shelf.save(3, {"model": {"a": torch.full((100,), 3.0)}}, {})
"""
    if not hasattr(signal, "SIGXFSZ"):
        pytest.skip("this system has no limit on the size of files")
    seen = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=REPOSITORY, capture_output=True, text=True)
    assert seen.returncode == 0, seen.stderr
    assert seen.stdout.startswith(f"the checkpoint of step 2 could not be written to {tmp_path}; got ")
    assert "too large" in seen.stdout
    assert "step-00000001 is whole" in seen.stdout
    assert names(tmp_path) == ["step-00000003"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"could not be written to .*; make room and start again"):
        Shelf(tmp_path / "file" / "inside", keep=1).save(1, TENSORS, {})
