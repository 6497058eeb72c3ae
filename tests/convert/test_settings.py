"""Each setting of a source is used, left aside with a reason, or refused in a sentence."""

from pathlib import Path
from typing import Any

import pytest
import transformers

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.config import ModelConfig
from glassformer.convert import FAMILY_TABLES, read_huggingface, write_huggingface
from glassformer.convert.family import ACTIVATIONS
from glassformer.convert.settings import Only, Setting, at
from glassformer.models.families import family_config
from tests.contracts.families import TINY, norm_on_branch
from tests.convert.sources import change_settings, save
from tests.refusals import refused

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
STRETCHED = {"rope_type": "longrope", "factor": 2.0}

Refused = tuple[str, dict[str, Any], str, str, str]

# The family, what is changed in its settings, and the values that `wanted`, `got` and `do` carry.
REFUSED: tuple[Refused, ...] = (
    ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type", "'relative_key'", ""),
    ("bert", {"is_decoder": True}, "is_decoder must be False", "True", ""),
    ("bert", {"tie_word_embeddings": "no"}, "", "'no'", ""),
    ("bert", {"hidden_act": "laplace"}, "hidden_act", "'laplace'", ""),
    ("bert", {"hidden_act": "gelu_nwe"}, "hidden_act", "'gelu_nwe'", "'gelu_new'"),
    ("bert", {"type_vocab_size": 0}, "type_vocab_size must be at least 1", "0", ""),
    ("bert", {"pruned_heads": {"0": [1]}}, "pruned_heads", "{'0': [1]}", ""),
    ("bert", {"num_atention_heads": 3}, "", "num_atention_heads = 3", "'num_attention_heads'"),
    ("bert", {"quantization_config": {"bits": 4}}, "", "quantization_config = {'bits': 4}", ""),
    ("bert", {"hidden_size": 13}, "", "13 / 3", ""),
    ("bert", {"num_hidden_layers": "two"}, "", "'two'", ""),
    ("bert", {"type_vocab_size": "2"}, "", "{'type_vocab_size': '2'}", ""),
    ("bert", {"hidden_act": ["gelu"]}, "", "{'hidden_act': ['gelu']}", ""),
    ("bert", {"model_type": ["bert"]}, "model_type", "['bert']", "'bert'"),
    ("roberta", {"pad_token_id": "0"}, "", "'pad_token_id': '0'", ""),
    ("modernbert", {"local_attention": "128"}, "", "{'local_attention': '128'}", ""),
    ("modernbert", {"rope_parameters": 7}, "", "'rope_parameters': 7", ""),
    ("distilbert", {"is_encoder_decoder": True}, "is_encoder_decoder must be False", "True", ""),
    ("roberta", {"add_cross_attention": True}, "add_cross_attention must be False", "True", ""),
    ("modernbert", {"norm_bias": True}, "norm_bias must be False", "True", ""),
    ("modernbert", {"classifier_activation": "relu"}, "classifier_activation", "relu, gelu", ""),
    ("modernbert", {"layer_types": ["sliding_attention"] * 4}, "layer_types", "'sliding_attention'", ""),
    ("modernbert", {"rope_parameters": {"full_attention": STRETCHED}}, "rope_type", "'longrope', factor = 2.0", ""),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": "yes"}, "", "'yes'", ""),
    ("gpt2", {"scale_attn_weights": None}, "", "None", ""),
    ("modernbert", {"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "full_attention", "factor as well", ""),
    ("modernbert", {"max_position_embeddings": "8"}, "max_position_embeddings", "'8'", ""),
    ("llama", {"rope_parameters": STRETCHED}, "rope_type", "'longrope', factor = 2.0", ""),
    (
        "llama",
        {"rope_parameters": ..., "rope_scaling": {"type": "dynamic"}},
        "to have factor",
        "'dynamic'",
        "",
    ),
    ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0", "0.5", ""),
    ("marian", {"decoder_vocab_size": 30}, "decoder_vocab_size must be vocab_size", "30, 23", ""),
    ("marian", {"share_encoder_decoder_embeddings": "yes"}, "", "'yes'", ""),
    ("bart", {"normalize_before": True}, "normalize_before must be False", "True", ""),
    ("t5", {"is_encoder_decoder": False}, "is_encoder_decoder must be True", "False", ""),
    ("t5", {"feed_forward_proj": "gated-laplace", "dense_act_fn": ...}, "feed_forward_proj", "'laplace'", ""),
    ("t5", {"dense_act_fn": "laplace"}, "dense_act_fn", "'laplace'", ""),
    ("t5", {"is_gated_act": "yes"}, "", "'yes'", ""),
)


@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    ("family", "settings", "wanted", "got", "do"), REFUSED, ids=[f"{row[0]}-{list(row[1])}" for row in REFUSED]
)
def test_what_would_change_the_numbers_is_refused(
    family: str, settings: dict[str, Any], wanted: str, got: str, do: str, tmp_path: Path
) -> None:
    save(CLASS[family], tmp_path)
    change_settings(tmp_path, **settings)
    with refused(CheckpointError, wanted=(str(tmp_path / "config.json"), wanted), got=got, do=do):
        read_huggingface(tmp_path)


@pytest.mark.parametrize("family", FAMILY_TABLES)
def test_each_single_valued_setting_refuses_another_value(family: str, tmp_path: Path) -> None:
    save(CLASS[family], tmp_path)
    rows = [row for row in FAMILY_TABLES[family].settings if isinstance(row, Only)]
    assert rows
    for row in rows:
        change_settings(tmp_path, **{row.theirs: "something else"})
        with refused(CheckpointError, wanted=(row.theirs, row.because), got="'something else'"):
            read_huggingface(tmp_path)
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


@pytest.mark.sampled(3)
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


# The model, and the values that `wanted` and `got` carry.
UNSAID: dict[str, tuple[ModelConfig, str, str]] = {
    "a family of ours alone": (tiny("slides"), "bert", "'slides'"),
    "a norm elsewhere": (norm_on_branch(tiny("bert")), "bert", "norm_at: 'branch' ≠ 'after'"),
    "no segments": (tiny("bert", segments=0), "bert", "type_vocab_size must be at least 1"),
    "heads nobody has together": (tiny("roberta", sentence_labels=2), "roberta", "vocabulary head and a sentence head"),
    "layers that differ": (
        tiny("gpt2").model_copy(update={"decoder": None, "encoder": tiny("bert").encoder}),
        "decoder.embed.vocabulary",
        "",
    ),
    "another fill": (tiny("bert", fill=-1.0), "bert", "fill.value: -1.0 ≠ -10000.0"),
}


@pytest.mark.parametrize(("config", "wanted", "got"), UNSAID.values(), ids=UNSAID)
def test_a_model_that_their_settings_cannot_say_is_refused(
    config: ModelConfig, wanted: str, got: str, tmp_path: Path
) -> None:
    from glassformer.models.transformer import Transformer

    with refused(ConfigError, wanted=wanted, got=got):
        write_huggingface(tmp_path / "out", config, Transformer(config).state_dict())
    assert not (tmp_path / "out").exists()


def test_an_activation_without_a_word_is_refused() -> None:
    row = Setting("act", "activation", "encoder.blocks.0.feed_forward.body.activation", "relu", (("relu", "relu"),))
    with refused(ConfigError, wanted="act", got="gelu"):
        row.write(tiny("bert"))
