"""Checkpoints are whole or absent, whatever happens to the disk."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.base.errors import CheckpointError, TrainingError
from glassformer.base.json_text import read_sealed_json, sealed_json
from glassformer.models.families import t5
from glassformer.models.transformer import build
from glassformer.training.checkpoint import Checkpoints, damaged, differences, read_checkpoint, restore, weights
from glassformer.training.settings import TrainSection
from glassformer.training.state import State
from tests.damage import flipped_bits
from tests.refusals import refused
from tests.training.toy import toy_model

TENSORS: dict[str, dict[str, Tensor]] = {"model": {"a": torch.arange(3.0), "b": torch.tensor(2.0)}, "average": {}}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep=2)
    assert not checkpoints
    assert checkpoints.newest() is None
    checkpoints.save(12, TENSORS, {"progress": {"step": 12}})
    found = checkpoints.newest()
    assert found is not None
    assert (found.step, found.facts["progress"]) == (12, {"step": 12})
    assert {name: tensor.tolist() for name, tensor in found.tensors("model").items()} == {"a": [0, 1, 2], "b": 2}
    assert found.tensors("average") == {}
    assert names(found.folder) == ["model.safetensors", "state.json"]


def test_the_last_few_are_kept_and_the_best_apart(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (8, 9, 10, 100_000_000):
        checkpoints.save(step, TENSORS, {})
    for step in (3, 4, 5):
        checkpoints.save(step, TENSORS, {}, kind="best")
        checkpoints.keep_best(step)
    assert names(tmp_path) == ["best-00000005", "step-00000010", "step-100000000"]
    newest, best = checkpoints.newest(), checkpoints.best()
    assert newest is not None
    assert best is not None
    assert (newest.step, best.step) == (100_000_000, 5)


def test_one_written_by_chance_takes_no_others_place(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2, every=4)
    for step, kept in ((4, [4]), (8, [4, 8]), (9, [4, 8, 9]), (11, [4, 8, 11]), (12, [8, 12])):
        checkpoints.save(step, TENSORS, {})
        assert names(tmp_path) == [f"step-{each:08d}" for each in kept]


def test_drafts_are_never_read_and_are_cleared_away(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    checkpoints.save(1, TENSORS, {})
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for kind in ("draft", "removed"):
        left = tmp_path / f".step-00000009.{ended.pid}-1.{kind}"
        left.mkdir()
        (left / "state.json").write_text("{")
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 1
    checkpoints.save(2, TENSORS, {})
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


def test_a_checkpoint_cut_short_is_refused(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    folder = checkpoints.save(1, TENSORS, {})
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-2])
    newest = checkpoints.newest()
    assert newest is not None
    with refused(CheckpointError, got="model.safetensors"):
        newest.tensors("model")
    torch.save({}, path)
    with refused(CheckpointError, got=(str(newest.folder / "model.safetensors"), "pickle")):
        newest.tensors("model")
    path.unlink()
    with refused(CheckpointError, got="model.safetensors"):
        newest.tensors("model")
    (folder / "state.json").write_text('{"format": 1, "st')
    with refused(CheckpointError, got="state.json"):
        checkpoints.newest()


def test_a_flipped_bit_is_noticed_and_the_checkpoint_before_is_named(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    checkpoints.save(1, TENSORS, {})
    folder = checkpoints.save(2, {**TENSORS, "optimizer": {"step": torch.arange(9.0)}}, {"progress": {"seconds": 1.25}})
    found = read_checkpoint(folder)
    for group in ("model", "optimizer"):
        for place in flipped_bits(folder / f"{group}.safetensors"):
            with refused(CheckpointError, got=f"{group}.safetensors", do=(str(folder), "step-00000001")):
                pytest.fail(f"the bit at byte {place} of {group} went unnoticed: {found.tensors(group)}")
    noticed = 0
    for place in flipped_bits(folder / "state.json"):
        try:
            assert read_checkpoint(folder) == found, place
        except CheckpointError:
            noticed += 1
    assert noticed > 190
    assert "step-00000001" in damaged(folder, "").do


def test_files_of_another_step_are_noticed(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=3)
    first, second = (
        checkpoints.save(step, {group: {"a": torch.full((9,), float(step))} for group in ("model", "optimizer")}, {})
        for step in (10, 20)
    )
    found = read_checkpoint(second)
    shutil.copy(first / "optimizer.safetensors", second)
    assert found.tensors("model")["a"][0] == 20
    with refused(CheckpointError, got="optimizer.safetensors"):
        found.tensors("optimizer")
    shutil.copy(first / "state.json", second)
    with refused(CheckpointError, got="step 10"):
        checkpoints.newest()
    shutil.rmtree(second)
    shutil.copytree(first, second)  # one whole checkpoint under the name of another
    with refused(CheckpointError, got="step 10"):
        checkpoints.newest()


def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    folder = Checkpoints(tmp_path).save(1, TENSORS, {})
    found = read_checkpoint(folder)
    for name, read in (
        ("model.safetensors", lambda: found.tensors("model")),
        ("state.json", Checkpoints(tmp_path).newest),
    ):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with refused(CheckpointError, got=name):
            read()


def test_for_a_damaged_checkpoint_the_error_says_what_to_do(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step, kind, way in (
        (1, "step", "begin again"),
        (2, "step", "continue from step-00000001"),
        (2, "best", "end with the newest weights instead"),
    ):
        folder = checkpoints.save(step, {**TENSORS, "optimizer": TENSORS["model"]}, {}, kind=kind)
        found = read_checkpoint(folder)
        for group in ("model", "optimizer"):
            (folder / f"{group}.safetensors").unlink()
            with refused(CheckpointError, got=f"{group}.safetensors", do=(str(folder), way)):
                found.tensors(group)
        (folder / "state.json").write_text("{")
        with refused(CheckpointError, got="state.json", do=(str(folder), way)):
            read_checkpoint(folder)


def test_one_more_that_a_killed_run_has_left_is_tidied_away(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        Checkpoints(tmp_path, keep=3).save(step, TENSORS, {})
    Checkpoints(tmp_path, keep=2).tidy()
    assert names(tmp_path) == ["step-00000002", "step-00000003"]


@pytest.mark.parametrize("progress", [{"step": "three"}, {"step": 1.5}, {"best": "low"}, "three", None])
def test_progress_that_is_none_is_refused(tmp_path: Path, progress: object) -> None:
    model = toy_model()
    state = State.fresh(model, TrainSection())
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, state.tensors(), {"progress": progress})
    newest = checkpoints.newest()
    assert newest is not None
    with refused(CheckpointError, wanted=str(newest.folder), got="state.json"):
        state.restore(newest)


def test_another_format_is_refused(tmp_path: Path) -> None:
    folder = Checkpoints(tmp_path, keep=1).save(1, TENSORS, {})
    path = folder / "state.json"
    facts = read_sealed_json(path)
    path.write_text(sealed_json({**facts, "format": 99}))
    with refused(CheckpointError, wanted=str(folder), got="99"):
        read_checkpoint(folder)
    path.write_text(json.dumps({**facts, "format": 1}))  # as it was before there were checksums
    with refused(CheckpointError, wanted=str(folder), got=("state.json", "checksum")):
        read_checkpoint(folder)


def test_tensors_must_fit_before_one_is_touched() -> None:
    into = {"a": torch.zeros(3), "b": torch.zeros(2)}
    for saved, name, shape, got in (
        ({"a": torch.ones(3)}, "b", "[2]", "none"),
        ({"a": torch.ones(3), "b": torch.ones(3)}, "b", "[2]", "[3]"),
        ({"a": torch.ones(3), "b": torch.ones(2), "c": torch.ones(1)}, "c", "none", "[1]"),
    ):
        with refused(CheckpointError, wanted=(name, shape), got=got):
            restore(into, saved, what="it")
        assert into["a"].tolist() == [0, 0, 0]


def test_a_missing_number_is_reported_with_its_shape() -> None:
    with refused(CheckpointError, wanted=("step", "[]"), got="none"):
        restore({"step": torch.zeros(())}, {}, what="it")
    with refused(CheckpointError, wanted=("step", "none"), got="[]"):
        restore({}, {"step": torch.zeros(())}, what="it")


def test_shared_weights_are_written_once() -> None:
    model = build(t5(vocabulary=11, layers=1, width=8, heads=2, feed_forward=8))
    named = weights(model)
    assert len({tensor.data_ptr() for tensor in named.values()}) == len(named)
    assert sum(tensor.numel() for tensor in named.values()) == sum(p.numel() for p in model.parameters())
    assert weights(toy_model()).keys() == toy_model().state_dict().keys()


def test_a_full_disk_leaves_the_old_checkpoint_whole(tmp_path: Path) -> None:
    """The system refuses to write files of more than 60 kB, as a full disk refuses to write at all."""
    resource = pytest.importorskip("resource", reason="this system has no limit on the size of files")
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(1, {"model": {"a": torch.ones(100)}}, {})
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1][1]))
    try:
        with pytest.raises(CheckpointError) as caught:
            checkpoints.save(2, {"model": {"a": torch.ones(100)}, "optimizer": {"a": torch.ones(100_000)}}, {})
        checkpoints.save(3, {"model": {"a": torch.full((100,), 3.0)}}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[1])
        signal.signal(signal.SIGXFSZ, before[0])
    said = str(caught.value)
    assert said.startswith(f"the checkpoint of step 2 could not be written to {tmp_path}; got ")
    assert "too large" in said
    assert "step-00000001 is whole" in said
    assert names(tmp_path) == ["step-00000003"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused(CheckpointError, wanted=("step 1", str(tmp_path / "file" / "inside")), do="--resume"):
        Checkpoints(tmp_path / "file" / "inside", keep=1).save(1, TENSORS, {})


def test_a_folder_removed_while_the_run_goes_on_is_reported_with_what_was_lost(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints")
    (tmp_path / "run").mkdir()
    checkpoints.save(10, TENSORS, {})
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    checkpoints.save(20, TENSORS, {})  # what was removed is older than what is saved
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(TrainingError) as caught:
        checkpoints.save(3000, TENSORS, {})
    assert str(tmp_path / "run") in caught.value.got
    assert "3,000 steps" in caught.value.got
    assert not (tmp_path / "run").exists()


def test_another_held_out_text_is_a_difference() -> None:
    assert len(list(differences({"held_out": "one"}, {"held_out": "other"}))) == 1
    assert not list(differences({"held_out": "one"}, {"held_out": "one"}))
    assert not list(differences({}, {"held_out": "one"}))  # of a run that was begun before it was written down
