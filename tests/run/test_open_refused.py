"""Folders that are no model, or lie about one: refused in a sentence, before anything large or foreign is opened."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import glassformer
from glassformer.api.load import load
from glassformer.base.errors import CheckpointError, TokenizerError
from glassformer.saved import store
from glassformer.text.train import train_tokenizer
from tests.refusals import refused


def test_a_checkpoint_cut_short(saved: Path) -> None:
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with refused(CheckpointError, wanted=str(path), do="again"):
        load(saved)


def test_another_version(saved: Path) -> None:
    path = saved / "glassformer.json"
    text = path.read_text(encoding="utf-8")
    assert f'"format": {store.FORMAT}' in text
    path.write_text(text.replace(f'"format": {store.FORMAT}', '"format": 7'), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        load(saved)
    assert str(path) in caught.value.wanted
    assert f"format {store.FORMAT}" in caught.value.wanted
    assert caught.value.got == "format 7"
    assert glassformer.__version__ in caught.value.do


def test_settings_that_are_none(saved: Path) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"]
    path.write_text(json.dumps({**values, "modle": 1}), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got=("'modle'", "'model'")):
        load(saved)
    path.write_text(json.dumps({**values, "task": {**values["task"], "name": "masked-ml"}}), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got=("'masked-ml'", "'masked-lm'")):
        load(saved)
    for name in ([1], {"a": 1}, 7):
        path.write_text(json.dumps({**values, "task": {**values["task"], "name": name}}), encoding="utf-8")
        with refused(CheckpointError, wanted=str(path), got=repr(name)):
            load(saved)
    path.write_text("[1, 2]", encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="list"):
        load(saved)
    path.write_text('{"format": 1,', encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="line 1 column 14"):
        load(saved)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with refused(CheckpointError, wanted=str(saved / name), got="no such file"):
        load(saved)


# Opens a model in a process that may have 1 GB beyond what it has at the start.
_OPENED_IN_LITTLE_MEMORY = """
import resource, sys
from glassformer.api.load import load
from glassformer.base.errors import CheckpointError
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
try:
    load(sys.argv[1])
except CheckpointError as error:
    print(error)
"""


@pytest.mark.long
@pytest.mark.parametrize("whole", [True, False])
def test_a_hundred_thousand_blocks_are_refused_before_one_is_built(saved: Path, whole: bool) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell a process how much memory it has")
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    stack = values["model"]["encoder"]
    block = json.dumps(stack["blocks"][0], indent=2) if whole else "{}"
    stack["blocks"] = ["these"]
    path.write_text(json.dumps(values).replace('"these"', ",".join([block] * 100_000)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _OPENED_IN_LITTLE_MEMORY, str(saved)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert str(path) in done.stdout
    assert done.stdout.strip().endswith(f"{path.stat().st_size:,} bytes" if whole else "got 100000")


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, 1 << 70])
@pytest.mark.parametrize(
    "name", ["width", "vocabulary", "heads", "query_size", "max_length", "segments", "feed_forward"]
)
def test_sizes_that_the_weights_have_not_are_refused(saved: Path, name: str, size: int) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    stack = values["model"]["encoder"]
    attention = stack["blocks"][0]["self_attention"]["body"]
    if name == "width":
        stack["width"] = size
    elif name in ("vocabulary", "segments"):
        stack["embed"][name] = size
    elif name == "max_length":
        stack["embed"]["position"][name] = size
    elif name == "feed_forward":
        stack["blocks"][0]["feed_forward"]["body"]["width"] = size
    elif name == "heads":
        attention["heads"] = attention["key_value_heads"] = size
    else:
        attention[name] = size
    del values["checksum"]
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        load(saved)
    assert str(saved) in caught.value.wanted + caught.value.got
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", [1 << 40, 1 << 60, (1 << 64) - 1])
def test_a_header_that_lies_about_its_length_is_refused(saved: Path, length: int) -> None:
    path = saved / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    with refused(CheckpointError, wanted=str(path)):
        load(saved)


@pytest.mark.parametrize("shape", [[1 << 62], [1 << 63], [1 << 70], [0, 1 << 62], [-1], ["1"], 1])
def test_a_header_that_lies_about_its_shapes_is_refused(saved: Path, shape: object) -> None:
    path = saved / "model.safetensors"
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["encoder.embed.word.weight"]["shape"] = shape
    lying = json.dumps(header).encode()
    path.write_bytes(len(lying).to_bytes(8, "little") + lying + whole[8 + length :])
    with refused(CheckpointError, wanted=str(path)):
        load(saved)


def test_nothing_there(tmp_path: Path) -> None:
    with refused(CheckpointError, wanted=str(tmp_path / "nowhere")):
        load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with refused(CheckpointError, wanted=(str(tmp_path / "empty"), "glassformer.json", "config.json")):
        load(tmp_path / "empty")
    (tmp_path / "file.txt").write_text("words")
    with refused(CheckpointError, wanted="folder", got=str(tmp_path / "file.txt")):
        load(tmp_path / "file.txt")


def test_a_run_that_has_not_ended(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("[train]\nsteps = 3\n")
    with refused(CheckpointError, wanted=str(tmp_path), do=f"--resume --out {tmp_path}"):
        load(tmp_path)


def test_a_role_that_nobody_knows(saved: Path) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"]
    values["tokenizer"]["roles"]["begni"] = "[CLS]"
    path.write_text(json.dumps(values), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="tokenizer.roles.begni"):
        load(saved)
    values["tokenizer"]["roles"] = {"mask": 7}
    path.write_text(json.dumps(values), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got=("tokenizer.roles.mask", "7")):
        load(saved)


def test_weights_of_another_model(saved: Path) -> None:
    path = saved / "model.safetensors"
    state = load_file(path)
    name = "encoder.embed.word.weight"
    save_file({**state, "extra": torch.zeros(1)}, path)
    with refused(CheckpointError, wanted=str(path), got="extra"):
        load(saved)
    save_file({key: value for key, value in state.items() if key != name}, path)
    with refused(CheckpointError, wanted=str(path), got=name):
        load(saved)
    save_file({**state, name: state[name][:-1].clone()}, path)
    with refused(CheckpointError, wanted=(name, "[160, 16]"), got=("[159, 16]", str(path))):
        load(saved)
    save_file({**state, name: state[name].to(torch.int8)}, path)
    with refused(CheckpointError, wanted=name, got=("I8", str(path))):
        load(saved)


def test_a_tokenizer_that_does_not_fit(saved: Path) -> None:
    train_tokenizer("bpe", ["other words altogether " * 9], vocabulary=300).save(saved.parent / "other")
    (saved.parent / "other" / "tokenizer.json").replace(saved / "tokenizer.json")
    with refused(TokenizerError, wanted="160", got="278"):
        load(saved)


def test_a_tokenizer_of_the_same_size_that_is_another_one(saved: Path) -> None:
    path = saved / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"she"', '"her"'), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), do="tokens"):
        load(saved)


class Trap:
    """Running this would leave a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt", "model.pkl", "last.ckpt"])
def test_a_pickle_is_refused_and_never_opened(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / name).write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    for path in (folder, folder / name):
        with refused(CheckpointError, wanted="safetensors", got=(name, "pickle")):
            load(path)
    assert not (tmp_path / "mark").exists()


def test_a_pickle_under_the_name_of_safetensors(saved: Path, tmp_path: Path) -> None:
    (saved / "model.safetensors").write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    with refused(CheckpointError, got=(str(saved / "model.safetensors"), "pickle")):
        load(saved)
    torch.save({"weight": torch.zeros(2)}, saved / "model.safetensors")
    with refused(CheckpointError, got=(str(saved / "model.safetensors"), "pickle")):
        load(saved)
    assert not (tmp_path / "mark").exists()
