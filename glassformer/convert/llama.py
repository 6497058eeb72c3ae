"""Llama of Hugging Face: `transformers.models.llama`; Mistral and Qwen2, which are read as a Llama.

They are written as a Llama, but for a model with a window, which a Llama does not have.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from glassformer.base.errors import CheckpointError
from glassformer.config import ModelConfig, RotaryConfig
from glassformer.convert.family import ACTIVATIONS, ONE_STACK, SHARED, Family
from glassformer.convert.rotary import dynamic_length, read_rotary, write_rotary
from glassformer.convert.settings import Count, Joint, Only, Setting, SettingRow, Unused, Values
from glassformer.convert.table import Ignore, Same, attention

BLOCK = "decoder.blocks.{}"
LAYER = "model.layers.{}"
BASE = 10000.0


def _read_rotary(longest: int, values: Values) -> dict[str, Any]:
    """Older files hold the base outside the table that stretches it; transformers believes that table first. `longest`
    is the length of a model whose file does not say it.
    """
    table = values.get("rope_scaling") or values.get("rope_parameters")
    longest = values.get("max_position_embeddings", longest)
    found = read_rotary(table, base=values.get("rope_theta", BASE), longest=longest)
    return {"rotary_base": found.base, "stretch": found.stretch}


def _write_rotary(config: ModelConfig) -> dict[str, Any]:
    rotary = config.output_stack.blocks[0].self_attention.body.rotary or RotaryConfig(base=BASE)
    length = dynamic_length(rotary)
    return {"rope_parameters": write_rotary(rotary), **({} if length is None else {"max_position_embeddings": length})}


def _rotary(longest: int) -> Joint:
    keys = ("rope_parameters", "rope_theta", "rope_scaling", "max_position_embeddings")
    return Joint(keys, partial(_read_rotary, longest), _write_rotary)


LLAMA = Family(
    name="llama",
    prefix="model.",
    heads=("lm_head.",),
    free_length=True,
    classes={(True, False): "LlamaForCausalLM", (False, False): "LlamaModel"},
    settings=(
        *SHARED,
        Setting("vocab_size", "vocabulary", "decoder.embed.vocabulary", 32000),
        Setting("hidden_size", "width", "decoder.width", 4096),
        Count("num_hidden_layers", "layers", "decoder.blocks", 32),
        Setting("num_attention_heads", "heads", "decoder.blocks.0.self_attention.body.heads", 32),
        Setting("num_key_value_heads", "key_value_heads", "decoder.blocks.0.self_attention.body.key_value_heads", None),
        Setting("head_dim", "query_size", "decoder.blocks.0.self_attention.body.query_size", None),
        Setting("intermediate_size", "feed_forward", "decoder.blocks.0.feed_forward.body.width", 11008),
        Setting("hidden_act", "activation", "decoder.blocks.0.feed_forward.body.activation", "silu", ACTIVATIONS),
        Setting("rms_norm_eps", "epsilon", "decoder.norm.epsilon", 1e-6),
        Setting("attention_bias", "attention_bias", "decoder.blocks.0.self_attention.body.bias", False),
        Setting("mlp_bias", "feed_forward_bias", "decoder.blocks.0.feed_forward.body.bias", False),
        Setting("attention_dropout", "dropout", "decoder.blocks.0.self_attention.body.dropout", 0.0),
        Setting("tie_word_embeddings", "tied", "head?.tied", False),
        _rotary(2048),
        Only("partial_rotary_factor", (1.0, None), "all of a query is turned here"),
        ONE_STACK,
        Unused(("max_sequence_length",), "rotary positions have no table that could end"),
        Only("rope_interleaved", (False,), "rotated pairs are half a query apart"),
        Unused(("is_llama_config",), "bookkeeping"),
        Unused(("pretraining_tp",), "says how it is computed, not what"),
    ),
    tensors=(
        Same("head.weight", "lm_head.weight"),
        Same("decoder.embed.word.weight", "model.embed_tokens.weight", copies=("lm_head.weight",)),
        *attention(f"{BLOCK}.self_attention", f"{LAYER}.self_attn", ("q_proj", "k_proj", "v_proj", "o_proj")),
        Same(f"{BLOCK}.self_attention.norm.*", f"{LAYER}.input_layernorm.*"),
        Same(f"{BLOCK}.feed_forward.body.gate.*", f"{LAYER}.mlp.gate_proj.*"),
        Same(f"{BLOCK}.feed_forward.body.hidden.*", f"{LAYER}.mlp.up_proj.*"),
        Same(f"{BLOCK}.feed_forward.body.output.*", f"{LAYER}.mlp.down_proj.*"),
        Same(f"{BLOCK}.feed_forward.norm.*", f"{LAYER}.post_attention_layernorm.*"),
        Same("decoder.norm.*", "model.norm.*"),
        Ignore(f"{LAYER}.self_attn.rotary_emb.inv_freq", "the angles are computed"),
    ),
)


def _read_window(values: Values) -> dict[str, Any]:
    """They count the token itself as well."""
    reach = values.get("sliding_window", 4096)
    return {"window": None if reach is None else reach - 1}


def _read_full(values: Values) -> dict[str, Any]:
    """Nothing, as each layer attends to all tokens; raises CheckpointError where some do not."""
    kinds, layers = values.get("layer_types"), values.get("num_hidden_layers", 32)
    window = values.get("use_sliding_window", False) and values.get("sliding_window", 4096) is not None
    near = not kinds and window and values.get("max_window_layers", 28) < layers
    if near or set(kinds or ()) - {"full_attention"}:
        raise CheckpointError(
            "each layer of a Qwen2 model must attend to all tokens before",
            got=f"use_sliding_window = {values.get('use_sliding_window')!r}, layer_types = {sorted(set(kinds or ()))}",
        )
    return {}


def _like_llama(name: str, longest: int, defaults: dict[str, Any], settings: tuple[SettingRow, ...]) -> Family:
    """A family whose models are Llamas: its classes' names, its default length, other defaults, further settings."""
    rows = (
        replace(row, default=defaults[row.theirs])
        if isinstance(row, Setting) and row.theirs in defaults
        else _rotary(longest)
        if isinstance(row, Joint)
        else row
        for row in LLAMA.settings
    )
    classes = {(True, False): f"{name}ForCausalLM", (False, False): f"{name}Model"}
    return replace(LLAMA, classes=classes, settings=(*rows, *settings))


def _nothing(config: ModelConfig) -> dict[str, Any]:
    return {}


MISTRAL = _like_llama(
    "Mistral",
    131072,
    {"intermediate_size": 14336, "num_key_value_heads": 8},
    (Joint(("sliding_window",), _read_window, _nothing),),
)
_QWEN2 = _like_llama(
    "Qwen2",
    32768,
    {"vocab_size": 151936, "intermediate_size": 22016, "attention_bias": True},
    (
        Joint(("use_sliding_window", "layer_types"), _read_full, _nothing),
        Unused(("sliding_window", "max_window_layers"), "each layer attends to all tokens before"),
        Only("use_mrope", (False,), "a token has one position"),
    ),
)
_OUTPUT, _O_PROJ = f"{BLOCK}.self_attention.body.output", f"{LAYER}.self_attn.o_proj"
# Queries, keys and values have biases. The output has none: it is zero here.
QWEN2 = replace(
    _QWEN2,
    tensors=(
        *(row for row in _QWEN2.tensors if row.theirs != f"{_O_PROJ}.*"),
        Same(f"{_OUTPUT}.weight", f"{_O_PROJ}.weight"),
        Same(f"{_OUTPUT}.bias", f"{_O_PROJ}.bias", or_zeros=True),
    ),
)
