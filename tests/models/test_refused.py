"""Models that cannot be are refused before a tensor exists, each in a sentence that names what to change."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from glassformer.config import ModelConfig, NormConfig, PositionConfig, RelativeBiasConfig, StackConfig
from glassformer.errors import ConfigError
from glassformer.models.families import FAMILIES, bart, bert, family_config, gpt2, llama, t5
from glassformer.settings import Settings, read_settings

Change = dict[str, Any]

BY_FAMILY: list[tuple[str, Change, str]] = [
    ("brt", {}, r"no family 'brt'.*did you mean 'bert'"),
    ("zebra", {}, r"known here: bart, bert"),
    ("bert", {"heds": 4}, r"no setting 'heds'.*did you mean 'heads'"),
    ("bert", {"size": "bsae"}, r"no size 'bsae'.*did you mean 'base'"),
    ("bert", {"width": 100, "heads": 3}, r"width must be a multiple of heads.*100 / 3"),
    ("bert", {"width": -64}, r"width must be greater than or equal to 1, got -64"),
    ("bert", {"heads": -2}, r"heads must be greater than or equal to 1, got -2"),
    ("bert", {"width": 0}, r"width must be greater than or equal to 1, got 0"),
    ("bert", {"heads": 0}, r"heads must be greater than or equal to 1, got 0"),
    ("bert", {"layers": 0}, r"layers must be greater than or equal to 1"),
    ("bert", {"feed_forward": 0}, r"greater than or equal to 1"),
    ("distilbert", {"layers": 0}, r"layers must be greater than or equal to 1"),
    ("bert", {"dropout": 1.0}, r"less than 1"),
    ("bert", {"dropout": -0.1}, r"greater than or equal to 0"),
    ("bert", {"epsilon": 0.0}, r"greater than 0"),
    ("bert", {"max_length": 0}, r"greater than or equal to 1"),
    ("bert", {"vocabulary": 0}, r"greater than or equal to 1"),
    ("bert", {"vocabulary": "many"}, r"valid integer"),
    ("bert", {"activation": "gleu"}, r"'relu', 'gelu'"),
    ("bert", {"fill": 10000.0}, r"negative number"),
    ("slides", {"width": 5}, r"sinusoidal positions come in pairs: width must be even, got 5"),
    ("slides", {"fill": 0.0}, r"negative number"),
    ("slides", {"positions": "rotary"}, r"'sinusoidal', 'learned' or 'none'"),
    ("llama", {"heads": 6, "width": 12, "key_value_heads": 4}, r"multiple of key_value_heads, got 6 and 4"),
    ("llama", {"heads": 4, "width": 12, "key_value_heads": 4}, r"query_size must be even, got 3"),
    ("modernbert", {"reach": 0}, r"greater than or equal to 1"),
    ("modernbert", {"width": 15, "heads": 3}, r"query_size must be even, got 5"),
    ("vaswani2017", {"width": 9, "heads": 3}, r"width must be even, got 9"),
    ("modernbert", {"width": 0}, r"width must be greater than or equal to 1, got 0"),
    ("modernbert", {"feed_forward": 0}, r"greater than or equal to 1"),
    ("gpt2", {"heads": 0}, r"heads must be greater than or equal to 1, got 0"),
    ("gpt2", {"layers": 0}, r"layers must be greater than or equal to 1"),
    ("vaswani2017", {"heads": 0}, r"heads must be greater than or equal to 1, got 0"),
    ("vaswani2017", {"dropout": 1.0}, r"less than 1"),
    ("tensor2tensor", {"decoder_layers": 0}, r"layers must be greater than or equal to 1"),
    ("bart", {"decoder_heads": 0}, r"heads must be greater than or equal to 1, got 0"),
    ("bart", {"decoder_feed_forward": 0}, r"greater than or equal to 1"),
    ("t5", {"heads": 0}, r"heads: .* greater than or equal to 1"),
    ("t5", {"width": 0}, r"width: .* greater than or equal to 1"),
    ("t5", {"decoder_layers": 0}, r"layers must be greater than or equal to 1"),
    ("t5", {"buckets": 2}, r"greater than or equal to 4"),
    ("t5", {"buckets": 32, "max_distance": 16}, r"max_distance must be greater than 16, got 16"),
    ("bert", {"width": "128"}, r"width: .*valid integer; got '128'"),
    ("bert", {"layers": 2.5}, r"layers: .*valid integer.*; got 2.5"),
    ("bert", {"layers": "2"}, r"layers: .*valid integer; got '2'"),
    ("bert", {"layers": True}, r"layers: .*valid integer; got True"),
    ("bert", {"heads": "4"}, r"heads: .*valid integer; got '4'"),
    ("bert", {"size": 4}, r"size: .*valid string; got 4"),
    ("bert", {"size": ["base"]}, r"size: .*valid string; got \['base'\]"),
    ("bert", {"dropout": None}, r"dropout: .*valid number; got None"),
    ("bert", {"tied": "no"}, r"tied: .*valid boolean; got 'no'"),
    ("slides", {"zero": "nonsense"}, r"zero: .*'word' or 'sum'; got 'nonsense'"),
    ("modernbert", {"global_every": 0}, r"global_every must be greater than or equal to 1, got 0"),
    ("bart", {"decoder_heads": 5}, r"width must be a multiple of heads.*768 / 5"),
]


@pytest.mark.parametrize(("family", "settings", "message"), BY_FAMILY, ids=str)
def test_impossible_families(family: str, settings: Change, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        family_config(family, settings)
    assert "\n" not in str(caught.value)
    assert "  " not in str(caught.value)
    assert "validation error" not in str(caught.value)


def test_atomic_numbers_may_stand_for_numbers() -> None:
    assert family_config("bert", {"size": "tiny", "fill": -10000}) == bert(size="tiny")


def test_a_llama_of_few_heads_has_as_many_key_value_heads() -> None:
    few = llama(heads=4, width=64).decoder
    assert few is not None
    assert few.blocks[0].self_attention.body.key_value_heads == 4
    default = llama().decoder
    assert default is not None
    assert (default.blocks[0].self_attention.body.heads, default.blocks[0].self_attention.body.key_value_heads) == (
        32,
        8,
    )


def tree(config: ModelConfig, path: str, value: object) -> Change:
    """The config as plain values, with one of them changed."""
    values = config.model_dump(mode="json")
    *steps, last = path.split(".")
    place: Any = values
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return values


BERT, GPT2, T5, BART = bert(size="tiny"), gpt2(layers=2), t5(layers=2), bart(layers=2)
NORM = NormConfig().model_dump(mode="json")
CROSS = BART.model_dump(mode="json")["decoder"]["blocks"][0]["cross_attention"]
FIRST = "encoder.blocks.0.self_attention"

BY_TREE: list[tuple[ModelConfig, str, object, str]] = [
    (BERT, "encoder", None, r"needs an encoder, a decoder, or both"),
    (BERT, "encoder.blocks", [], r"a stack needs at least one block: layers must be"),
    (BERT, "encoder.blocks.0.cross_attention", CROSS, r"cross-attention belongs to a decoder"),
    (GPT2, "decoder.blocks.0.cross_attention", CROSS, r"no encoder to look at"),
    (BART, "decoder.blocks.1.cross_attention", None, r"each decoder block needs cross_attention"),
    (BERT, "share_embeddings", True, r"needs an encoder and a decoder"),
    (BART, "encoder.embed.vocabulary", 7, r"same width and vocabulary on both sides"),
    (T5, "encoder.relative_bias", None, r"asks for a relative bias but the stack has none"),
    (T5, "encoder.blocks.0.self_attention.body.heads", 2, r"key_value_heads|equal heads in all blocks"),
    (BART, "decoder.blocks.0.cross_attention.body.relative_bias", True, r"cross-attention has none"),
    (BART, "decoder.blocks.0.cross_attention.body.rotary", {"base": 10000.0}, r"rotary .*: cross-attention has none"),
    (BART, "decoder.blocks.0.cross_attention.body.window", 2, r"a window .*: cross-attention has none"),
    (T5, "encoder.norm.bias", True, r"RMSNorm scales and does not shift: set bias = false"),
    (T5, "encoder.embed.position.offset", 2, r"with none positions it must be 0"),
    (BERT, "encoder.embed.position.layout", "halves", r"with learned positions leave it at 'paper'"),
    (
        family_config("roberta", {}),
        "encoder.embed.position.kind",
        "sinusoidal",
        r"with sinusoidal positions it must be 0",
    ),
    (BERT, f"{FIRST}.norm_at", "none", r"norm_at is 'none': choose after, before or branch"),
    (BERT, f"{FIRST}.norm_at", "behind", r"'after', 'before', 'branch' or 'none'"),
    (BERT, f"{FIRST}.body.window", 0, r"greater than or equal to 1"),
    (BERT, f"{FIRST}.body.fill.value", 3.0, r"negative number"),
    (BERT, f"{FIRST}.body.fill.value", "minus", r"'-inf' or 'lowest'|valid number"),
    (BERT, f"{FIRST}.body.scale", True, r"no setting .*scale.*did you mean 'scaled'"),
    (BERT, "encoder.embed.masked_words", "zero", r"'token', 'zero_word' or 'zero_sum'"),
    (GPT2, "head.norm", NORM, r"the head's norm belongs to its transform"),
    (BERT, "initial.deviation", 0.0, r"greater than 0"),
    (BERT, "family", None, r"valid string"),
]


@pytest.mark.parametrize(("config", "path", "value", "message"), BY_TREE, ids=lambda value: str(value)[:60])
def test_impossible_trees(config: ModelConfig, path: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_settings(ModelConfig, tree(config, path, value), where="glassformer.json")
    assert str(caught.value).startswith("glassformer.json")
    assert "\n" not in str(caught.value)


def test_unequal_heads_cannot_share_one_bias() -> None:
    values = T5.model_dump(mode="json")
    body = values["encoder"]["blocks"][0]["self_attention"]["body"]
    body["heads"] = body["key_value_heads"] = 2
    with pytest.raises(ConfigError, match=r"equal heads in all blocks, got \[2, 8\]"):
        read_settings(ModelConfig, values)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_can_be_is_read_back_as_it_was(family: str) -> None:
    config = family_config(family, {})
    assert read_settings(ModelConfig, config.model_dump(mode="json")) == config
    assert len({config, config.model_copy()}) == 1


@pytest.mark.parametrize("group", [PositionConfig, NormConfig, RelativeBiasConfig, StackConfig])
def test_settings_cannot_be_changed_in_place(group: type[Settings]) -> None:
    assert group.model_config["frozen"]
    with pytest.raises(ValueError, match="frozen"):
        PositionConfig().kind = "none"


@pytest.mark.parametrize(
    ("family", "setting"),
    [
        (family, setting)
        for family, make in FAMILIES.items()
        for setting in ("layers", "decoder_layers")
        if setting in inspect.signature(make).parameters
    ],
)
def test_more_layers_than_memory_are_refused_at_once(family: str, setting: str) -> None:
    with pytest.raises(ConfigError, match=r"layers must be at most 10,000.*1,000,000,000,000"):
        family_config(family, {setting: 10**12})
