"""Mistral and Qwen2 are read as a Llama that computes the same, and written as a Llama."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.convert import read_huggingface, write_huggingface
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.convert.sources import change_settings, change_tensors, save, send_out
from tests.refusals import refused

IDS = torch.tensor([[3, 9, 1, 17, 22, 4, 8, 15]])
# Both are float64, but transformers normalizes in float32; against its own Llama only the order of products differs.
FLOAT32, ROUNDING = 2e-6, 1e-11

ROWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Qwen2ForCausalLM", {}),
    ("Qwen2ForCausalLM", {"tie_word_embeddings": True}),
    ("MistralForCausalLM", {"sliding_window": None}),
    ("MistralForCausalLM", {"sliding_window": 3}),
    ("MistralForCausalLM", {"sliding_window": None, "head_dim": 6}),
)


def logits_of(folder: Path) -> Tensor:
    config, state = read_huggingface(folder)[:2]
    model = Transformer(config).double().eval()
    model.load_state_dict({name: tensor.double() for name, tensor in state.items()})
    with torch.no_grad():
        logits = model(Inputs(ids=IDS)).logits
    assert logits is not None
    return logits


@pytest.mark.parametrize(("name", "settings"), ROWS, ids=str)
def test_it_computes_what_transformers_does(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = save(name, tmp_path, **settings).double()
    with torch.no_grad():
        expected = theirs(input_ids=IDS).logits
    assert (logits_of(tmp_path) - expected).abs().max() < FLOAT32


@pytest.mark.parametrize(("name", "settings"), [row for row in ROWS if row[1].get("sliding_window") is None], ids=str)
def test_it_is_written_as_a_llama(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = save(name, tmp_path / "theirs", **settings).double()
    send_out(read_huggingface(tmp_path / "theirs"), tmp_path / "ours")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "ours", dtype=torch.float64)
    assert type(again) is transformers.LlamaForCausalLM
    with torch.no_grad():
        assert (again(input_ids=IDS).logits - theirs(input_ids=IDS).logits).abs().max() < ROUNDING


def test_a_window_is_nothing_that_a_llama_of_transformers_has(tmp_path: Path) -> None:
    save("MistralForCausalLM", tmp_path / "theirs", sliding_window=3)
    config, state = read_huggingface(tmp_path / "theirs")[:2]
    with refused(ConfigError, got="window"):
        write_huggingface(tmp_path / "ours", config, state)


@pytest.mark.parametrize(
    "settings",
    [
        {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1, "layer_types": ...},
        {"layer_types": ["sliding_attention"] * 2},
    ],
    ids=str,
)
def test_windows_in_some_layers_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    save("Qwen2ForCausalLM", tmp_path)
    change_settings(tmp_path, **settings)
    with refused(CheckpointError, wanted="each layer", got="layer_types"):
        read_huggingface(tmp_path)


def test_windows_in_no_layer_are_none(tmp_path: Path) -> None:
    save("Qwen2ForCausalLM", tmp_path)
    change_settings(tmp_path, use_sliding_window=True, sliding_window=3, max_window_layers=28, layer_types=...)
    assert read_huggingface(tmp_path).config.output_stack.blocks[0].self_attention.body.window is None


def test_a_window_without_a_size_is_none(tmp_path: Path) -> None:
    save("Qwen2ForCausalLM", tmp_path)
    change_settings(tmp_path, use_sliding_window=True, sliding_window=None, max_window_layers=0, layer_types=...)
    assert read_huggingface(tmp_path).config.output_stack.blocks[0].self_attention.body.window is None


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM"])
def test_a_length_left_out_is_the_class_s_own(name: str, tmp_path: Path) -> None:
    theirs = getattr(transformers, name.replace("ForCausalLM", "Config"))()
    save(name, tmp_path)
    yarn = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0}
    found = []
    for length in (theirs.max_position_embeddings, ...):
        change_settings(tmp_path, rope_parameters=yarn, max_position_embeddings=length)
        found.append(read_huggingface(tmp_path).config.output_stack.blocks[0].self_attention.body.rotary)
    assert found[0] == found[1] is not None


def test_the_settings_of_published_models_are_read(tmp_path: Path) -> None:
    save("Qwen2ForCausalLM", tmp_path)
    now = {"rope_parameters": ..., "layer_types": ..., "dtype": ..., "torch_dtype": "bfloat16", "sliding_window": 32768}
    change_settings(tmp_path, **now, rope_theta=1e6, rope_scaling=None, use_mrope=False, max_window_layers=24)
    config = read_huggingface(tmp_path).config
    rotary = config.output_stack.blocks[0].self_attention.body.rotary
    assert rotary is not None
    assert rotary.base == 1e6


@pytest.mark.parametrize("tensor", ["o_proj.weight", "q_proj.bias"])
def test_nothing_but_the_bias_of_the_output_may_be_missing(tensor: str, tmp_path: Path) -> None:
    save("Qwen2ForCausalLM", tmp_path)
    name = f"model.layers.1.self_attn.{tensor}"
    change_tensors(tmp_path, lambda tensors: tensors.__delitem__(name))
    with refused(CheckpointError, wanted=name):
        read_huggingface(tmp_path)
