"""Models that cannot be are refused before a tensor exists, each in a sentence that names what to change."""

import inspect
from typing import Any

import pytest

from glassformer.base.errors import ConfigError
from glassformer.base.settings import Settings, read_settings
from glassformer.config import ModelConfig, NormConfig, PositionConfig, RelativeBiasConfig, StackConfig
from glassformer.models.families import FAMILIES, bart, bert, family_config, gpt2, llama, t5
from tests.refusals import Values, refused

Change = dict[str, Any]

# The family, its settings, and the values that `wanted`, `got` and `do` carry.
BY_FAMILY: list[tuple[str, Change, Values, str, str]] = [
    ("brt", {}, "'brt'", "", "'bert'"),
    ("zebra", {}, "'zebra'", "", "bart, bert"),
    ("bert", {"heds": 4}, "'heds'", "", "'heads'"),
    ("bert", {"size": "bsae"}, "'bsae'", "", "'base'"),
    ("bert", {"width": 100, "heads": 3}, "100 / 3", "", ""),
    ("bert", {"width": -64}, "-64", "", ""),
    ("bert", {"heads": -2}, "-2", "", ""),
    ("bert", {"width": 0}, ("width", "1", "0"), "", ""),
    ("bert", {"heads": 0}, ("heads", "1", "0"), "", ""),
    ("bert", {"layers": 0}, "layers", "", ""),
    ("bert", {"feed_forward": 0}, "1", "0", ""),
    ("distilbert", {"layers": 0}, "layers", "", ""),
    ("bert", {"dropout": 1.0}, "dropout", "1.0", ""),
    ("bert", {"dropout": -0.1}, "dropout", "-0.1", ""),
    ("bert", {"epsilon": 0.0}, "epsilon", "0.0", ""),
    ("bert", {"max_length": 0}, "max_length", "0", ""),
    ("bert", {"vocabulary": 0}, "vocabulary", "0", ""),
    ("bert", {"vocabulary": "many"}, "vocabulary", "'many'", ""),
    ("bert", {"activation": "gleu"}, ("activation", "'relu', 'gelu'"), "'gleu'", ""),
    ("bert", {"fill": 10000.0}, "10000.0", "", ""),
    ("slides", {"width": 5}, ("width", "5"), "", ""),
    ("slides", {"fill": 0.0}, "0.0", "", ""),
    ("slides", {"positions": "rotary"}, "'sinusoidal', 'learned' or 'none'", "'rotary'", ""),
    ("llama", {"heads": 6, "width": 12, "key_value_heads": 4}, ("key_value_heads", "6", "4"), "", ""),
    ("llama", {"heads": 4, "width": 12, "key_value_heads": 4}, ("query_size", "3"), "", ""),
    ("modernbert", {"reach": 0}, "1", "0", ""),
    ("modernbert", {"width": 15, "heads": 3}, ("query_size", "5"), "", ""),
    ("vaswani2017", {"width": 9, "heads": 3}, ("width", "9"), "", ""),
    ("modernbert", {"width": 0}, ("width", "1", "0"), "", ""),
    ("modernbert", {"feed_forward": 0}, "1", "0", ""),
    ("gpt2", {"heads": 0}, ("heads", "1", "0"), "", ""),
    ("gpt2", {"layers": 0}, "layers", "", ""),
    ("vaswani2017", {"heads": 0}, ("heads", "1", "0"), "", ""),
    ("vaswani2017", {"dropout": 1.0}, "dropout", "1.0", ""),
    ("tensor2tensor", {"decoder_layers": 0}, "layers", "", ""),
    ("bart", {"decoder_heads": 0}, ("heads", "1", "0"), "", ""),
    ("bart", {"decoder_feed_forward": 0}, "1", "0", ""),
    ("t5", {"heads": 0}, "heads", "0", ""),
    ("t5", {"width": 0}, "width", "0", ""),
    ("t5", {"decoder_layers": 0}, "layers", "", ""),
    ("t5", {"buckets": 2}, "4", "2", ""),
    ("t5", {"buckets": 32, "max_distance": 16}, ("max_distance", "16"), "", ""),
    ("bert", {"width": "128"}, "width", "'128'", ""),
    ("bert", {"layers": 2.5}, "layers", "2.5", ""),
    ("bert", {"layers": "2"}, "layers", "'2'", ""),
    ("bert", {"layers": True}, "layers", "True", ""),
    ("bert", {"heads": "4"}, "heads", "'4'", ""),
    ("bert", {"size": 4}, "size", "4", ""),
    ("bert", {"size": ["base"]}, "size", "['base']", ""),
    ("bert", {"dropout": None}, "dropout", "None", ""),
    ("bert", {"tied": "no"}, "tied", "'no'", ""),
    ("slides", {"zero": "nonsense"}, "zero", "'nonsense'", ""),
    ("modernbert", {"global_every": 0}, ("global_every", "1", "0"), "", ""),
    ("bart", {"decoder_heads": 5}, "768 / 5", "", ""),
]


@pytest.mark.parametrize(("family", "settings", "wanted", "got", "do"), BY_FAMILY, ids=str)
def test_impossible_families(family: str, settings: Change, wanted: Values, got: str, do: str) -> None:
    with refused(ConfigError, wanted=wanted, got=got, do=do) as caught:
        family_config(family, settings)
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
ROBERTA = family_config("roberta", {})
NORM = NormConfig().model_dump(mode="json")
CROSS = BART.model_dump(mode="json")["decoder"]["blocks"][0]["cross_attention"]
FIRST = "encoder.blocks.0.self_attention"
CROSSED = "decoder.blocks.0.cross_attention.body"

# The config, the place in it, what is put there, and the values that `wanted`, `got` and `do` carry.
BY_TREE: list[tuple[ModelConfig, str, object, Values, str, str]] = [
    (BERT, "encoder", None, ("encoder", "decoder"), "", ""),
    (BERT, "encoder.blocks", [], ("encoder", "layers"), "", ""),
    (BERT, "encoder.blocks.0.cross_attention", CROSS, ("cross-attention", "encoder"), "", ""),
    (GPT2, "decoder.blocks.0.cross_attention", CROSS, ("cross-attention", "no encoder"), "", ""),
    (BART, "decoder.blocks.1.cross_attention", None, ("decoder", "cross_attention"), "", ""),
    (BERT, "share_embeddings", True, ("share_embeddings", "encoder", "decoder"), "", ""),
    (BART, "encoder.embed.vocabulary", 7, "vocabulary", "", ""),
    (T5, "encoder.relative_bias", None, ("encoder", "relative_bias"), "", ""),
    (T5, f"{FIRST}.body.heads", 2, (f"{FIRST}.body", "key_value_heads", "2", "8"), "", ""),
    (BART, f"{CROSSED}.relative_bias", True, ("decoder", "relative bias", "cross-attention"), "", ""),
    (BART, f"{CROSSED}.rotary", {"base": 10000.0}, ("decoder", "rotary", "cross-attention"), "", ""),
    (BART, f"{CROSSED}.window", 2, ("decoder", "window", "cross-attention"), "", ""),
    (T5, "encoder.norm.bias", True, ("encoder.norm", "bias = false"), "", ""),
    (T5, "encoder.embed.position.offset", 2, ("encoder.embed.position", "offset", "none", "0"), "", ""),
    (BERT, "encoder.embed.position.layout", "halves", ("encoder.embed.position", "layout", "'paper'"), "", ""),
    (ROBERTA, "encoder.embed.position.kind", "sinusoidal", ("encoder.embed.position", "sinusoidal", "0"), "", ""),
    (BERT, f"{FIRST}.norm_at", "none", (FIRST, "norm_at is 'none'"), "", ""),
    (BERT, f"{FIRST}.norm_at", "behind", f"{FIRST}.norm_at", "'behind'", ""),
    (BERT, f"{FIRST}.body.window", -1, f"{FIRST}.body.window", "-1", ""),
    (BERT, f"{FIRST}.body.fill.value", 3.0, (f"{FIRST}.body.fill", "3.0"), "", ""),
    (BERT, f"{FIRST}.body.fill.value", "minus", f"{FIRST}.body.fill.value", "'minus'", ""),
    (BERT, f"{FIRST}.body.scale", True, f"{FIRST}.body.scale", "", "'scaled'"),
    (BERT, "encoder.embed.masked_words", "zero", "encoder.embed.masked_words", "'zero'", ""),
    (GPT2, "head.norm", NORM, ("head", "transform = true"), "", ""),
    (BERT, "initial.deviation", 0.0, "initial.deviation", "0.0", ""),
    (BERT, "family", None, "family", "None", ""),
]


@pytest.mark.parametrize(("config", "path", "value", "wanted", "got", "do"), BY_TREE, ids=lambda value: str(value)[:60])
def test_impossible_trees(config: ModelConfig, path: str, value: object, wanted: Values, got: str, do: str) -> None:
    with refused(ConfigError, wanted=wanted, got=got, do=do) as caught:
        read_settings(ModelConfig, tree(config, path, value), where="glassformer.json")
    assert caught.value.wanted.startswith("glassformer.json")


def test_unequal_heads_cannot_share_one_bias() -> None:
    values = T5.model_dump(mode="json")
    body = values["encoder"]["blocks"][0]["self_attention"]["body"]
    body["heads"] = body["key_value_heads"] = 2
    with refused(ConfigError, wanted=("encoder", "[2, 8]")):
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
    with refused(ConfigError, wanted=("layers", "10,000"), got="1,000,000,000,000"):
        family_config(family, {setting: 10**12})
