"""A trace is read back as it was saved, and a damaged one is refused."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from glassformer.api.trace import Trace, load_trace, trace
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.look.trace.cell import Words
from glassformer.models.inputs import Inputs
from tests.look.rows import ATTENTION, bert_model, row_named, slides_trace
from tests.refusals import refused

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])


CELL = {"where": f"{ATTENTION}.scores", "by": 0.0, "cell": [], "source": "other"}
NO_STEPS: tuple[dict[str, object], ...] = (
    {"kind": "Remove", "values": {}},
    {"kind": "Replace", "values": {**CELL, "by": "other"}},  # without the tensor of the patch
    {"kind": "Replace", "values": {**CELL, "x": 1}},
    {"kind": "ChangeWord", "values": {"token": 1}},
    {"kind": "ChangeWord", "values": {"token": 1, "id": 2, "sentence": 0, "where": 5}},
)


def same(one: Trace, two: Trace) -> None:
    assert list(one) == list(two)
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("family", ["bert", "t5", "slides"])
def test_saved_with_its_weights_or_loaded_with_its_model_all_is_within_reach(family: str, tmp_path: Path) -> None:
    row = row_named(family)
    inputs, decoder_inputs = row.batch()
    model = row.model()
    found = trace(model, inputs, decoder_inputs, keep=(), words=Words(inputs=[["a", "b"]]))
    found.save(tmp_path / "whole", weights=True)
    found.save(tmp_path / "light")
    same(found, load_trace(tmp_path / "whole"))
    same(found, load_trace(tmp_path / "light", model))
    assert (tmp_path / "light").stat().st_size < (tmp_path / "whole").stat().st_size
    light = load_trace(tmp_path / "light")
    assert light.honesty == found.honesty
    assert light.words.inputs == [["a", "b"]]
    kept = next(name for name in found if found.kept(name))
    assert torch.equal(light[kept], found[kept])
    lost = next(name for name in found if not found.kept(name))
    with refused(ConfigError, wanted=lost, do="weights=True"):
        light[lost]
    assert load_trace(tmp_path / "whole").verify().holds


def test_another_model_is_noticed_by_its_fingerprint(tmp_path: Path) -> None:
    trace(bert_model(), Inputs(ids=IDS)).save(tmp_path / "trace")
    other = row_named("bert").model(seed=1)
    with refused(CheckpointError, wanted=str(tmp_path / "trace")):
        load_trace(tmp_path / "trace", other)


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a trace")
    for name in ("text", "missing"):
        with refused(CheckpointError, wanted=str(tmp_path / name)):
            load_trace(tmp_path / name)
    header = {"glassformer": json.dumps({"format": "glassformer trace", "version": 99})}
    save_file({"x": torch.zeros(1)}, tmp_path / "newer", metadata=header)
    with refused(CheckpointError, wanted="version 2", got="99"):
        load_trace(tmp_path / "newer")


def damaged(path: Path, *, lost: str = "", header: dict[str, object] | None = None) -> Path:
    """A saved trace with other words for its tensors, or without some of these."""
    trace(bert_model(), Inputs(ids=IDS)).save(path, weights=True)
    with safe_open(path, framework="pt") as file:
        before = json.loads(file.metadata()["glassformer"])
    tensors = {name: tensor for name, tensor in load_file(path).items() if not lost or lost not in name}
    save_file(tensors, path, metadata={"glassformer": json.dumps(before | (header or {}))})
    return path


@pytest.mark.parametrize("header", ["[1]", "null", "3", "{}", "{"])
def test_the_header_must_be_that_of_a_trace(header: str, tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / "other", metadata={"glassformer": header})
    with refused(CheckpointError, wanted=str(tmp_path / "other")):
        load_trace(tmp_path / "other")


def test_a_header_alone_is_no_trace(tmp_path: Path) -> None:
    header = {"glassformer": json.dumps({"format": "glassformer trace", "version": 2})}
    save_file({"x": torch.zeros(1)}, tmp_path / "head", metadata=header)
    with refused(CheckpointError, wanted=str(tmp_path / "head"), got="config"):
        load_trace(tmp_path / "head")


@pytest.mark.parametrize(
    "header",
    [
        {"config": {}},
        {"words": []},
        {"words": {"inputs": 3}},
        {"honesty": {}},
        {"interventions": 4},
        {"x": 1},
        *({"interventions": [step]} for step in NO_STEPS),
    ],
)
def test_the_header_must_be_whole(header: dict[str, object], tmp_path: Path) -> None:
    path = damaged(tmp_path / "trace", header=header)
    with refused(CheckpointError, wanted=str(path), got=next(iter(header))):
        load_trace(path)


@pytest.mark.parametrize("lost", ["fact.inputs.positions", "tensor.encoder.blocks.1.feed_forward.norm", "tensor."])
def test_tensors_that_all_others_need_must_be_there(lost: str, tmp_path: Path) -> None:
    with refused(CheckpointError, wanted=str(tmp_path / "trace"), got=lost):
        load_trace(damaged(tmp_path / "trace", lost=lost))


def test_tensors_must_have_the_axes_of_their_formulas(tmp_path: Path) -> None:
    path, name = damaged(tmp_path / "trace"), "encoder.blocks.0.feed_forward.output"
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    tensors = load_file(path)
    tensors[f"tensor.{name}"] = tensors[f"tensor.{name}"][0].clone()
    save_file(tensors, path, metadata=header)
    with refused(CheckpointError, wanted=name, got=str(list(tensors[f"tensor.{name}"].shape))):
        load_trace(path)


def test_weights_must_be_whole_and_the_model_a_transformer(tmp_path: Path) -> None:
    with refused(CheckpointError, wanted=str(tmp_path / "trace"), got="others"):
        load_trace(damaged(tmp_path / "trace", lost="weight.encoder.embed"))
    with refused(ConfigError, got="Linear"):
        load_trace(damaged(tmp_path / "trace"), torch.nn.Linear(2, 2))


def test_a_trace_comes_to_the_device_of_its_model(tmp_path: Path) -> None:
    """Saved from a trace without its model, so that nobody asks a device without numbers for a fingerprint."""
    trace(bert_model(), Inputs(ids=IDS), scored_at=torch.tensor([1])).save(tmp_path / "trace")
    load_trace(tmp_path / "trace").save(tmp_path / "light")
    found = load_trace(tmp_path / "light", bert_model().to("meta"))
    assert found.scored_at is not None
    tensors = [found.scored_at, *found.stored.values(), *found.facts.values(), *found.parameters.values()]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert found[f"{ATTENTION}.scores"].device.type == "meta"


def test_a_trace_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with refused(CheckpointError, wanted=str(tmp_path / "no" / "folder")):
        slides_trace().save(tmp_path / "no" / "folder")
    assert list(tmp_path.iterdir()) == []
