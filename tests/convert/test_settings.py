"""Each setting of a source is used, left aside with a reason, or refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from glassformer.config import ModelConfig
from glassformer.convert import FAMILY_TABLES, read_huggingface, write_huggingface
from glassformer.convert.family import ACTIVATIONS
from glassformer.convert.settings import Only, Setting, at
from glassformer.errors import CheckpointError, ConfigError
from glassformer.models.families import family_config
from tests.contracts.families import TINY, norm_on_branch
from tests.convert.sources import change_settings, save

CLASS = {
    "bert": "BertForMaskedLM",
    "distilbert": "DistilBertForMaskedLM",
    "roberta": "RobertaForMaskedLM",
    "modernbert": "ModernBertForMaskedLM",
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "marian": "MarianMTModel",
    "bart": "BartForConditionalGeneration",
    "t5": "T5ForConditionalGeneration",
}
STRETCHED = {"rope_type": "linear", "factor": 2.0}

REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
    ("bert", {"is_decoder": True}, "looks both ways"),
    ("bert", {"tie_word_embeddings": "no"}, "tied: Input should be a valid boolean"),
    ("bert", {"hidden_act": "gelu_fast"}, "hidden_act must be one of"),
    ("bert", {"hidden_act": "gelu_nwe"}, "did you mean 'gelu_new'"),
    ("bert", {"type_vocab_size": 0}, "at least 1"),
    ("bert", {"pruned_heads": {"0": [1]}}, "pruned_heads"),
    ("bert", {"num_atention_heads": 3}, "did you mean 'num_attention_heads'"),
    ("bert", {"quantization_config": {"bits": 4}}, "quantization_config"),
    ("bert", {"hidden_size": 13}, "multiple of heads"),
    ("bert", {"num_hidden_layers": "two"}, "can be built"),
    ("bert", {"type_vocab_size": "2"}, "numbers and words as usual; got {'type_vocab_size': '2'}"),
    ("bert", {"hidden_act": ["gelu"]}, "numbers and words as usual"),
    ("bert", {"model_type": ["bert"]}, "model_type must be one of"),
    ("roberta", {"pad_token_id": "0"}, "numbers and words as usual"),
    ("modernbert", {"local_attention": "128"}, "numbers and words as usual"),
    ("modernbert", {"rope_parameters": 7}, "numbers and words as usual"),
    ("distilbert", {"is_encoder_decoder": True}, "one stack"),
    ("roberta", {"add_cross_attention": True}, "memory"),
    ("modernbert", {"norm_bias": True}, "norms have no bias"),
    ("modernbert", {"classifier_activation": "relu"}, "classifier_activation must be the hidden_activation"),
    ("modernbert", {"layer_types": ["sliding_attention"] * 4}, "layer_types must be"),
    ("modernbert", {"rope_parameters": {"full_attention": STRETCHED}}, "stretched"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "layer's number"),
    ("gpt2", {"scale_attn_weights": False}, "root of the query size"),
    ("llama", {"rope_parameters": STRETCHED}, "stretched"),
    ("llama", {"rope_parameters": ..., "rope_scaling": {"type": "dynamic", "factor": 2.0}}, "stretched"),
    ("llama", {"partial_rotary_factor": 0.5}, "all of a query"),
    ("marian", {"decoder_vocab_size": 30}, "both sides share one"),
    ("marian", {"share_encoder_decoder_embeddings": False}, "one table"),
    ("marian", {"encoder_layerdrop": 0.1}, "layers are not dropped"),
    ("bart", {"normalize_before": True}, "come after"),
    ("t5", {"is_encoder_decoder": False}, "two stacks"),
    ("t5", {"feed_forward_proj": "gated-mish", "dense_act_fn": ...}, "feed_forward_proj must be one of"),
    ("t5", {"dense_act_fn": "mish"}, "dense_act_fn must be one of"),
    ("t5", {"is_gated_act": "yes"}, "gated: Input should be a valid boolean"),
)


@pytest.mark.parametrize(("family", "settings", "words"), REFUSED, ids=[f"{row[0]}-{list(row[1])}" for row in REFUSED])
def test_what_would_change_the_numbers_is_refused(
    family: str, settings: dict[str, Any], words: str, tmp_path: Path
) -> None:
    save(CLASS[family], tmp_path)
    change_settings(tmp_path, **settings)
    with pytest.raises(CheckpointError, match=r"config\.json") as caught:
        read_huggingface(tmp_path)
    assert words in str(caught.value)


@pytest.mark.parametrize("family", FAMILY_TABLES)
def test_each_single_valued_setting_refuses_another_value(family: str, tmp_path: Path) -> None:
    save(CLASS[family], tmp_path)
    rows = [row for row in FAMILY_TABLES[family].settings if isinstance(row, Only)]
    assert rows
    for row in rows:
        change_settings(tmp_path, **{row.theirs: "something else"})
        with pytest.raises(CheckpointError) as caught:
            read_huggingface(tmp_path)
        assert row.because in str(caught.value)
        change_settings(tmp_path, **{row.theirs: row.allowed[0]})


@pytest.mark.parametrize("family", FAMILY_TABLES)
def test_each_field_of_the_references_settings_is_known(family: str) -> None:
    known = {key for row in FAMILY_TABLES[family].settings for key in row.keys}
    config = transformers.AutoConfig.for_model(family)
    assert set(config.to_dict()) <= known


@pytest.mark.parametrize("family", FAMILY_TABLES)
def test_a_setting_left_out_has_the_references_default(family: str) -> None:
    """Old files leave out what newer code asks for: their default must be ours."""
    ours = {
        row.theirs: row.default
        for row in FAMILY_TABLES[family].settings
        if isinstance(row, Setting) and row.default is not None
    }
    config = transformers.AutoConfig.for_model(family)
    assert ours == {key: getattr(config, key) for key in ours}


@pytest.mark.parametrize("family", FAMILY_TABLES)
def test_every_word_for_an_activation_is_understood(family: str, tmp_path: Path) -> None:
    key = {
        "distilbert": "activation", "modernbert": "hidden_activation", "t5": "feed_forward_proj",
        **dict.fromkeys(("gpt2", "marian", "bart"), "activation_function"),
    }.get(family, "hidden_act")  # fmt: skip
    save(CLASS[family], tmp_path)
    for theirs, ours in ACTIVATIONS:
        more: dict[str, Any] = {"classifier_activation": theirs} if family == "modernbert" else {}
        if family == "t5":
            more = {"dense_act_fn": ...}  # it would be believed before the other
        change_settings(tmp_path, **{key: theirs, **more})
        config = read_huggingface(tmp_path).config
        side = "decoder" if config.encoder is None else "encoder"
        assert at(config, f"{side}.blocks.0.feed_forward.body.activation") == ours


def test_the_report_says_why(tmp_path: Path) -> None:
    save("BertForMaskedLM", tmp_path)
    report = read_huggingface(tmp_path).report
    assert "fresh weights" in report.settings_aside["initializer_range"]
    assert report.token_settings == {"pad_token_id": 0}
    assert "hidden_size" not in report.settings_aside


# --------------------------------------------------------------------------- what cannot be said the other way


def tiny(family: str, **settings: Any) -> ModelConfig:
    return family_config(family, {**TINY[family], **settings})


UNSAID: tuple[tuple[str, ModelConfig, str], ...] = (
    ("a family of ours alone", tiny("slides"), "it has bert"),
    ("a norm elsewhere", norm_on_branch(tiny("bert")), "norm_at: 'branch' ≠ 'after'"),
    ("no segments", tiny("bert", segments=0), "at least 1"),
    ("heads nobody has together", tiny("roberta", sentence_labels=2), "must have a class"),
    (
        "layers that differ",
        tiny("gpt2").model_copy(update={"decoder": None, "encoder": tiny("bert").encoder}),
        "decoder",
    ),
    ("another fill", tiny("bert", fill=-1.0), "fill.value: -1.0 ≠ -10000.0"),
)


@pytest.mark.parametrize(("config", "words"), [row[1:] for row in UNSAID], ids=[row[0] for row in UNSAID])
def test_a_model_that_their_settings_cannot_say_is_refused(config: ModelConfig, words: str, tmp_path: Path) -> None:
    from glassformer.models.transformer import Transformer

    with pytest.raises(ConfigError) as caught:
        write_huggingface(tmp_path / "out", config, Transformer(config).state_dict())
    assert words in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_activation_without_a_word_is_refused() -> None:
    row = Setting("act", "activation", "encoder.blocks.0.feed_forward.body.activation", "relu", (("relu", "relu"),))
    with pytest.raises(ConfigError, match="a word for it"):
        row.write(tiny("bert"))
