"""What `transformers` saved comes in, and goes out again with the same bits under the same names."""

import json
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from glassformer.base.errors import CheckpointError
from glassformer.convert import FAMILY_TABLES, read_huggingface, write_huggingface
from glassformer.convert.family import ACTIVATIONS
from glassformer.models.transformer import Transformer
from tests.contracts.families import Row
from tests.contracts.test_parity import COMPARED
from tests.convert.sources import SOURCES, change_settings, change_tensors, save, send_out, tensors_of
from tests.refusals import refused


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", SOURCES)
def test_export_of_import_is_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    save(name, tmp_path / "theirs")
    found = read_huggingface(tmp_path / "theirs")
    report = found.report
    Transformer(found.config).load_state_dict(found.state)  # strict: nothing is missing on our side
    send_out(found, tmp_path / "ours")
    same_bits(tensors_of(tmp_path / "theirs"), tensors_of(tmp_path / "ours"))
    assert report.architecture == name
    written = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert written["architectures"] == [name]
    for key, value in report.token_settings.items():
        assert written[key] == value


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", SOURCES)
def test_transformers_loads_what_we_write(name: str, tmp_path: Path) -> None:
    """The settings come back as well: each one that the class knows is what it was."""
    model = save(name, tmp_path / "theirs")
    send_out(read_huggingface(tmp_path / "theirs"), tmp_path / "ours")
    again, found = getattr(transformers, name).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(found[what] for what in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    before, after = model.config.to_dict(), again.config.to_dict()  # type: ignore[operator, union-attr]  # a class by its name
    # What was implied is written out: GPT-2's inner width, a classifier's dropout, and that it gives one label.
    free = {"_name_or_path", "n_inner", "problem_type", "classifier_dropout"}
    assert {key for key in before if before[key] != after.get(key)} <= free


# The classes whose output may be tied or not, each the way that is not its default. T5 has a test of its own: its
# tensors tell, not its settings.
OTHER_TIES = {
    "BertForPreTraining": False,
    "BertForMaskedLM": False,
    "DistilBertForMaskedLM": False,
    "RobertaForMaskedLM": False,
    "ModernBertForMaskedLM": False,
    "GPT2LMHeadModel": False,
    "LlamaForCausalLM": True,
}
# Untied, these have a second bias, which their class stores and adds nowhere.
IDLE = {
    "BertForPreTraining": ("cls.predictions.bias", "cls.predictions.decoder.bias"),
    "BertForMaskedLM": ("cls.predictions.bias", "cls.predictions.decoder.bias"),
    "RobertaForMaskedLM": ("lm_head.bias", "lm_head.decoder.bias"),
}


@pytest.mark.parametrize("name", OTHER_TIES)
def test_tied_or_not_it_goes_out_as_it_came(name: str, tmp_path: Path) -> None:
    save(name, tmp_path / "theirs", tie_word_embeddings=OTHER_TIES[name])
    config, state, _, report, _ = read_huggingface(tmp_path / "theirs")
    assert config.head is not None
    assert config.head.tied == OTHER_TIES[name]
    write_huggingface(tmp_path / "ours", config, state, token_settings=report.token_settings)
    before, after = tensors_of(tmp_path / "theirs"), tensors_of(tmp_path / "ours")
    if name in IDLE:
        idle, added = IDLE[name]
        assert not torch.equal(before[idle], before[added])
        assert report.tensors_aside == {idle: f"{added} is computed with, not this"}
        before[idle] = before[added]
    else:
        assert not report.tensors_aside
    same_bits(before, after)
    again, found = getattr(transformers, name).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(found[what] for what in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert again.config.tie_word_embeddings == OTHER_TIES[name]


@pytest.mark.parametrize("name", IDLE)
def test_the_one_bias_of_an_older_untied_file_is_believed(name: str, tmp_path: Path) -> None:
    """Up to version 4 the two biases stayed one tensor where the matrices were untied, and it was stored once."""
    save(name, tmp_path, tie_word_embeddings=False)
    idle, added = IDLE[name]
    change_tensors(tmp_path, lambda tensors: tensors.__delitem__(added))
    state, report = read_huggingface(tmp_path)[1:4:2]
    assert torch.equal(state["head.bias"], tensors_of(tmp_path)[idle])
    assert not report.tensors_aside


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", COMPARED, ids=str)
def test_import_of_export_is_the_same_to_the_bit(row: Row, tmp_path: Path) -> None:
    model = row.model(dtype=torch.float32)
    write_huggingface(tmp_path, model.config, model.state_dict())
    config, state, tokenizer, report, _ = read_huggingface(tmp_path)
    assert (report.settings_aside, report.tensors_aside) == ({}, {})  # there is nothing to tell of our own folder
    assert config.model_copy(update={"initial": model.config.initial}) == model.config
    same_bits(dict(model.state_dict()), state)
    assert tokenizer is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tensors_keep_the_type_they_were_stored_in(dtype: torch.dtype, tmp_path: Path) -> None:
    save("BertForMaskedLM", tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.update({n: t.to(dtype) for n, t in tensors.items()}))
    config, state, _, _, _ = read_huggingface(tmp_path)
    assert {tensor.dtype for tensor in state.values()} == {dtype}
    write_huggingface(tmp_path / "ours", config, state)
    computed = torch.promote_types(dtype, torch.float32)
    assert json.loads((tmp_path / "ours/config.json").read_text())["dtype"] == str(computed).removeprefix("torch.")


@pytest.mark.parametrize("name", ["BertForMaskedLM", "GPT2LMHeadModel", "T5ForConditionalGeneration"])
def test_shards_are_one_model(name: str, tmp_path: Path) -> None:
    save(name, tmp_path / "whole")
    save(name, tmp_path / "sharded", shards="4KB")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 2
    same_bits(read_huggingface(tmp_path / "whole").state, read_huggingface(tmp_path / "sharded").state)


def test_names_of_old_files(tmp_path: Path) -> None:
    """TensorFlow's words for a norm, stored counts, the tied matrix stored once more."""
    save("BertForPreTraining", tmp_path)
    before = read_huggingface(tmp_path)

    def older(tensors: dict[str, Tensor]) -> None:
        for name in [name for name in tensors if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[old] = tensors.pop(name)
        tensors["bert.embeddings.position_ids"] = torch.arange(16)[None]
        tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"].clone()
        tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone()

    change_tensors(tmp_path, older)
    after = read_huggingface(tmp_path)
    assert after.config == before.config
    same_bits(before.state, after.state)
    assert set(after.report.tensors_aside) == {
        "bert.embeddings.position_ids",
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
    }


def test_a_tied_matrix_may_be_stored_under_its_other_name(tmp_path: Path) -> None:
    save("DistilBertForMaskedLM", tmp_path)
    before = read_huggingface(tmp_path)

    def moved(tensors: dict[str, Tensor]) -> None:
        tensors["vocab_projector.weight"] = tensors.pop("distilbert.embeddings.word_embeddings.weight")

    change_tensors(tmp_path, moved)
    same_bits(before.state, read_huggingface(tmp_path).state)


def test_a_body_saved_alone_may_still_speak(tmp_path: Path) -> None:
    """The hub's GPT-2 is such a folder: bare names, and a class whose tied head stores nothing."""
    save("GPT2Model", tmp_path)
    assert read_huggingface(tmp_path).config.head is None
    change_settings(tmp_path, architectures=["GPT2LMHeadModel"])
    config, state, _, _, _ = read_huggingface(tmp_path)
    assert config.head is not None
    Transformer(config).load_state_dict(state)


def test_a_bart_without_an_output_bias_has_zeros(tmp_path: Path) -> None:
    save("BartForConditionalGeneration", tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.__delitem__("final_logits_bias"))
    assert not read_huggingface(tmp_path).state["head.bias"].any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_marians_stored_sines_are_checked_and_let_go(dtype: torch.dtype, tmp_path: Path) -> None:
    model = save("MarianMTModel", tmp_path)
    name = "model.encoder.embed_positions.weight"
    table = model.state_dict()[name].to(dtype)
    change_tensors(tmp_path, lambda tensors: tensors.update({n: t.to(dtype) for n, t in tensors.items()}))
    change_tensors(tmp_path, lambda tensors: tensors.update({name: table}))
    assert name in read_huggingface(tmp_path).report.tensors_aside
    table[3, 3] += 0.02
    change_tensors(tmp_path, lambda tensors: tensors.update({name: table}))
    with refused(CheckpointError, wanted=(str(tmp_path), name), got="numbers"):
        read_huggingface(tmp_path)


def test_gpt2s_stored_masks_are_let_go(tmp_path: Path) -> None:
    save("GPT2LMHeadModel", tmp_path)
    mask = torch.ones(16, 16).tril()[None, None]
    change_tensors(tmp_path, lambda tensors: tensors.update({"transformer.h.0.attn.bias": mask}))
    assert list(read_huggingface(tmp_path).report.tensors_aside) == ["transformer.h.0.attn.bias"]


def test_an_untied_t5_of_today_and_of_yesterday(tmp_path: Path) -> None:
    """Version 1.1 stores its own output matrix; which files say that the states are not scaled differs by age."""
    for name, said in (("old", {"tie_word_embeddings": False, "scale_decoder_outputs": ...}),
                       ("new", {"tie_word_embeddings": True, "scale_decoder_outputs": False})):  # fmt: skip
        folder = tmp_path / name
        save("T5ForConditionalGeneration", folder, feed_forward_proj="gated-gelu")
        change_settings(folder, **said)
        change_tensors(folder, lambda tensors: tensors.update({"lm_head.weight": tensors["shared.weight"] + 1}))
        config = read_huggingface(folder).config
        assert config.head is not None
        assert not config.head.tied
        assert not config.head.scaled
        assert config.encoder is not None
        feed_forward = config.encoder.blocks[0].feed_forward
        assert feed_forward is not None
        assert (feed_forward.body.gated, feed_forward.body.activation) == (True, "gelu_tanh")


@pytest.mark.parametrize(
    "said",
    [
        {"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new", "is_gated_act": True},
        {"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu"},
        {"feed_forward_proj": "relu", "dense_act_fn": "silu"},
        {"feed_forward_proj": "silu", "is_gated_act": True},
        {"feed_forward_proj": "gated-silu", "is_gated_act": False},
    ],
    ids=str,
)
def test_what_t5_says_twice_is_read_as_the_reference_reads_it(said: dict[str, object], tmp_path: Path) -> None:
    reference = transformers.T5Config(**said)
    gated: bool = reference.is_gated_act
    save("T5ForConditionalGeneration", tmp_path, feed_forward_proj="gated-relu" if gated else "relu")
    change_settings(tmp_path, **{"dense_act_fn": ..., "is_gated_act": ..., **said})
    encoder = read_huggingface(tmp_path).config.encoder
    assert encoder is not None
    feed_forward = encoder.blocks[0].feed_forward
    assert feed_forward is not None
    assert feed_forward.body.gated == gated
    assert feed_forward.body.activation == dict(ACTIVATIONS)[reference.dense_act_fn]


def test_older_words_for_rotary_positions(tmp_path: Path) -> None:
    save("LlamaForCausalLM", tmp_path / "llama")
    change_settings(tmp_path / "llama", rope_parameters=..., rope_theta=500.0, rope_scaling=None)
    decoder = read_huggingface(tmp_path / "llama").config.decoder
    assert decoder is not None
    assert decoder.blocks[0].self_attention.body.rotary is not None
    assert decoder.blocks[0].self_attention.body.rotary.base == 500.0
    save("ModernBertForMaskedLM", tmp_path / "modernbert")
    change_settings(
        tmp_path / "modernbert",
        rope_parameters=..., layer_types=..., global_attn_every_n_layers=2,
        global_rope_theta=700.0, local_rope_theta=None,
    )  # fmt: skip
    encoder = read_huggingface(tmp_path / "modernbert").config.encoder
    assert encoder is not None
    attentions = [block.self_attention.body for block in encoder.blocks]
    assert [attention.window for attention in attentions] == [None, 2, None, 2]
    assert {attention.rotary.base for attention in attentions if attention.rotary is not None} == {700.0}


def test_each_family_is_read_by_some_class() -> None:
    tables = [
        *FAMILY_TABLES.values(),
        *(table for one in FAMILY_TABLES.values() for table in one.label_heads.values()),
    ]
    assert {name for family in tables for name in family.classes.values()} == set(SOURCES)


def same_bits(one: dict[str, Tensor], two: dict[str, Tensor]) -> None:
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].dtype == two[name].dtype, name
        assert torch.equal(one[name], two[name]), name
