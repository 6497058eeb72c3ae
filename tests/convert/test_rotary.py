"""Rotary positions of every kind: the numbers of `transformers`, unchanged, and its refusals."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError

from glassformer.base.errors import CheckpointError
from glassformer.convert import read_huggingface
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.convert.sources import change_settings, save, send_out
from tests.refusals import refused

LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8}
TABLES: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 3.0},
    "an old word": {"type": "linear", "factor": 3},
    "its own base": {"rope_type": "linear", "factor": 3.0, "rope_theta": 700.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, **LLAMA3},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8},
    "yarn, no length": {"rope_type": "yarn", "factor": 4.0},
    "yarn, no factor": {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 4},
    "yarn, two scales": {"rope_type": "yarn", "factor": 4.0, "mscale": 0.7, "mscale_all_dim": 0.3},
    "yarn, all said": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 30, "attention_factor": 1.3,
        "beta_fast": 4.0, "beta_slow": 0.5, "truncate": False,
    },
}  # fmt: skip
# Rates and angles are made in float32 there (7 digits), two layers deep.
FLOAT32_INSIDE = 1e-5


STRETCHED = (
    *(("LlamaForCausalLM", table) for table in TABLES),
    *(("ModernBertForMaskedLM", table) for table in ("its own base", "dynamic", "llama3", "yarn")),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "table"), STRETCHED)
def test_a_stretched_model_computes_what_transformers_computes(name: str, table: str, tmp_path: Path) -> None:
    """On texts shorter and longer than the first training's; what we write again is the same model."""
    said = TABLES[table]
    if name.startswith("Modern"):
        save(name, tmp_path / "theirs", rope_parameters={"full_attention": said, "sliding_attention": said})
    else:
        save(name, tmp_path / "theirs", rope_parameters=copy.deepcopy(said), head_dim=12)
    change = getattr(transformers, name).from_pretrained
    found = read_huggingface(tmp_path / "theirs")
    send_out(found, tmp_path / "ours")
    model = Transformer(found.config).eval()
    model.load_state_dict(found.state)
    for tokens in (5, 30):
        ids = torch.arange(tokens)[None] % 20 + 3
        logits = model(Inputs(ids=ids)).logits
        for folder in ("theirs", "ours"):
            # each text anew: a dynamic stretch there keeps the longest length it has seen
            reference = change(tmp_path / folder, dtype=torch.float64, attn_implementation="sdpa").eval()
            wanted = reference(input_ids=ids).logits
            assert logits is not None
            torch.testing.assert_close(
                logits.double(), wanted, rtol=FLOAT32_INSIDE, atol=10 * FLOAT32_INSIDE, msg=f"{folder}, {tokens} tokens"
            )
    assert read_huggingface(tmp_path / "ours").config == found.config


def test_an_old_table_is_believed_before_a_new_one(tmp_path: Path) -> None:
    save("LlamaForCausalLM", tmp_path)
    change_settings(tmp_path, rope_scaling={"type": "linear", "factor": 2.0}, rope_theta=300.0)
    decoder = read_huggingface(tmp_path).config.decoder
    theirs = transformers.AutoConfig.from_pretrained(tmp_path).rope_parameters
    assert decoder is not None
    rotary = decoder.blocks[0].self_attention.body.rotary
    assert rotary is not None
    assert rotary.stretch is not None
    assert (rotary.stretch.kind, rotary.stretch.factor, rotary.base) == ("linear", 2.0, 300.0)
    assert (theirs["rope_type"], theirs["factor"], theirs["rope_theta"]) == ("linear", 2.0, 300.0)


MALFORMED: list[Any] = [
    "linear", [1], 7,
    {"rope_type": "nope"}, {"rope_type": None}, {"rope_type": ["linear"]},
    {"rope_type": "default", "rope_theta": None}, {"rope_type": "default", "rope_theta": "1"},
    {"rope_type": "linear"}, {"rope_type": "linear", "factor": None}, {"rope_type": "linear", "factor": "2"},
    {"rope_type": "dynamic"}, {"rope_type": "yarn"},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": None},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": "8"},
    {"rope_type": "llama3", "factor": 2.0}, {"rope_type": "llama3", "factor": 2.0, **LLAMA3, "low_freq_factor": None},
]  # fmt: skip
# These transformers computes with after a warning, or reads past: infinite or nonsensical angles, unknown words.
WARNED: list[Any] = [
    {"rope_type": "linear", "factor": 0}, {"rope_type": "default", "rope_theta": -3.0},
    {"rope_type": "linear", "factor": 2.0, "faktor": 3.0}, {"rope_type": "default", "factor": 2.0},
    {"rope_type": "llama3", "factor": 2.0, **LLAMA3, "low_freq_factor": 5.0},
    {"rope_type": "yarn", "factor": 2.0, "rope_theta": 1.0}, {"full_attention": {"rope_type": "default"}},
    {"rope_type": "default", "partial_rotary_factor": 0.5}, {"rope_type": "longrope", "factor": 2.0},
]  # fmt: skip


@pytest.mark.parametrize("table", [*MALFORMED, *WARNED], ids=json.dumps)
def test_a_malformed_table_is_refused(table: object, tmp_path: Path) -> None:
    save("LlamaForCausalLM", tmp_path, num_hidden_layers=1)
    change_settings(tmp_path, rope_parameters=table)
    with refused(CheckpointError, wanted=str(tmp_path / "config.json")):
        read_huggingface(tmp_path)
    if table in MALFORMED:
        with pytest.raises((KeyError, TypeError, StrictDataclassError)):
            transformers.LlamaModel.from_pretrained(tmp_path)(torch.zeros(1, 3, dtype=torch.long))


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "ModernBertForMaskedLM"])
def test_the_length_of_the_texts_goes_out(name: str, tmp_path: Path) -> None:
    save(name, tmp_path / "theirs", max_position_embeddings=77)
    found = read_huggingface(tmp_path / "theirs")
    assert found.report.length == 77
    assert "max_position_embeddings" not in found.report.settings_aside
    send_out(found, tmp_path / "ours")
    assert transformers.AutoConfig.from_pretrained(tmp_path / "ours").max_position_embeddings == 77


def test_the_head_size_is_read_and_written(tmp_path: Path) -> None:
    save("LlamaForCausalLM", tmp_path / "theirs", head_dim=10)
    found = read_huggingface(tmp_path / "theirs")
    assert found.config.decoder is not None
    assert found.config.decoder.blocks[0].self_attention.body.query_size == 10
    send_out(found, tmp_path / "ours")
    assert transformers.AutoConfig.from_pretrained(tmp_path / "ours").head_dim == 10
