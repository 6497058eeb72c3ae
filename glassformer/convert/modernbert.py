"""ModernBERT of Hugging Face: `transformers.models.modernbert`."""

from typing import Any

from glassformer.base.errors import CheckpointError
from glassformer.config import ModelConfig, RotaryConfig
from glassformer.convert.family import (
    ACTIVATIONS,
    ONE_STACK,
    SHARED,
    Family,
    LabelHead,
    Presence,
    dropout_row,
    with_label_heads,
)
from glassformer.convert.rotary import dynamic_length, read_rotary, write_rotary
from glassformer.convert.settings import Count, Joint, Only, Setting, Unused, Values
from glassformer.convert.table import Same, Split

BLOCK = "encoder.blocks.{}"
LAYER = "model.layers.{}"
GLOBAL, LOCAL = "full_attention", "sliding_attention"
GLOBAL_BASE, LOCAL_BASE = 160000.0, 10000.0


def _read_layers(values: Values) -> dict[str, Any]:
    """Which layers look everywhere; older files tell only every how many."""
    kinds = values.get("layer_types")
    if kinds is None:
        return {"global_every": values.get("global_attn_every_n_layers", 3)}
    every = next((layer for layer, kind in enumerate(kinds) if layer and kind == GLOBAL), max(len(kinds), 1))
    regular = [LOCAL if layer % every else GLOBAL for layer in range(len(kinds))]
    if kinds != regular:
        raise CheckpointError(
            "layer_types must be full_attention at every n-th layer, the first included", got=str(kinds)
        )
    return {"global_every": every}


def _write_layers(config: ModelConfig) -> dict[str, Any]:
    windows = [block.self_attention.body.window for block in config.output_stack.blocks]
    return {"layer_types": [GLOBAL if window is None else LOCAL for window in windows]}


def _write_reach(config: ModelConfig) -> dict[str, Any]:
    """They count the whole window, we count to one side."""
    windows = [block.self_attention.body.window for block in config.output_stack.blocks]
    reach = next((window for window in windows if window is not None), None)
    return {} if reach is None else {"local_attention": 2 * reach}


def _read_rotary(values: Values) -> dict[str, Any]:
    """Older files name the two bases and one stretch for all layers, later ones a table for each kind of layer."""
    tables = values.get("rope_parameters") or {}
    strange = sorted(tables.keys() - {GLOBAL, LOCAL})
    if strange:  # transformers reads past it
        raise CheckpointError(
            f"rope_parameters must be a table for {GLOBAL} and one for {LOCAL}", got=f"{strange[0]} as well"
        )
    global_base = values.get("global_rope_theta", GLOBAL_BASE)
    local_base = values.get("local_rope_theta", LOCAL_BASE)
    bases = {GLOBAL: global_base, LOCAL: global_base if local_base is None else local_base}
    longest = values.get("max_position_embeddings", 8192)
    found = {
        kind: read_rotary(
            {**(tables.get(kind) or {}), **(values.get("rope_scaling") or {})}, base=base, longest=longest
        )
        for kind, base in bases.items()
    }
    if any(one.stretch is not None and getattr(one.stretch, "truncate", True) is False for one in found.values()):
        raise CheckpointError("truncate must be true: transformers does not read it here", got="False")
    return {
        "global_base": found[GLOBAL].base, "local_base": found[LOCAL].base,
        "global_stretch": found[GLOBAL].stretch, "local_stretch": found[LOCAL].stretch,
    }  # fmt: skip


def _write_rotary(config: ModelConfig) -> dict[str, Any]:
    found = {GLOBAL: RotaryConfig(base=GLOBAL_BASE), LOCAL: RotaryConfig(base=LOCAL_BASE)}
    for block in config.output_stack.blocks:
        attention = block.self_attention.body
        if attention.rotary is not None:
            found[GLOBAL if attention.window is None else LOCAL] = attention.rotary
    length = dynamic_length(*found.values())
    longest = {} if length is None else {"max_position_embeddings": length}
    return {"rope_parameters": {kind: write_rotary(one) for kind, one in found.items()}, **longest}


def _read_activation(values: Values) -> dict[str, Any]:
    """One activation inside and one in the head, which must be the same here."""
    inside = Setting("hidden_activation", "activation", "", "gelu", ACTIVATIONS).read(values)
    head = Setting("classifier_activation", "activation", "", "gelu", ACTIVATIONS).read(values)
    if inside != head:
        raise CheckpointError(
            "classifier_activation must be the hidden_activation", got=f"{head['activation']}, {inside['activation']}"
        )
    return inside


def _write_activation(config: ModelConfig) -> dict[str, Any]:
    word = Setting(
        "hidden_activation", "activation", "encoder.blocks.0.feed_forward.body.activation", "gelu", ACTIVATIONS
    ).write(config)
    return {**word, "classifier_activation": word["hidden_activation"]}


_MODERNBERT = Family(
    name="modernbert",
    prefix="model.",
    heads=("head.", "decoder."),
    free_length=True,
    classes={(True, False): "ModernBertForMaskedLM", (False, False): "ModernBertModel"},
    presence=(Presence("vocabulary_head", "head.dense.weight", absent=False),),
    settings=(
        *SHARED,
        Setting("vocab_size", "vocabulary", "encoder.embed.vocabulary", 50368),
        Setting("hidden_size", "width", "encoder.width", 768),
        Count("num_hidden_layers", "layers", "encoder.blocks", 22),
        Setting("num_attention_heads", "heads", "encoder.blocks.0.self_attention.body.heads", 12),
        Setting("intermediate_size", "feed_forward", "encoder.blocks.0.feed_forward.body.width", 1152),
        Setting("norm_eps", "epsilon", "encoder.embed.norm.epsilon", 1e-5),
        Setting("embedding_dropout", "embed_dropout", "encoder.embed.dropout", 0.0),
        Setting("attention_dropout", "attention_dropout", "encoder.blocks.0.self_attention.body.dropout", 0.0),
        Setting("mlp_dropout", "dropout", "encoder.blocks.0.feed_forward.body.dropout", 0.0),
        Setting("tie_word_embeddings", "tied", "head?.tied", True),
        Joint(("hidden_activation", "classifier_activation"), _read_activation, _write_activation),
        Joint(("layer_types", "global_attn_every_n_layers"), _read_layers, _write_layers),
        Joint(("local_attention",), lambda values: {"reach": values.get("local_attention", 128) // 2}, _write_reach),
        Joint(
            ("rope_parameters", "global_rope_theta", "local_rope_theta", "rope_scaling", "max_position_embeddings"),
            _read_rotary,
            _write_rotary,
        ),
        ONE_STACK,
        Only("attention_bias", (False,), "its attention has no biases here"),
        Only("mlp_bias", (False,), "its feed-forward network has no biases here"),
        Only("norm_bias", (False,), "its norms have no bias here"),
        Only("classifier_bias", (False,), "its head's transform has no bias here"),
        Only("decoder_bias", (True,), "its vocabulary scores have a bias here"),
        Only("position_embedding_type", ("absolute", "rope", None), "its positions are rotary"),
        Unused(("classifier_pooling", "classifier_dropout"), "about heads that are not read"),
        Unused(
            ("deterministic_flash_attn", "reference_compile", "repad_logits_with_grad", "sparse_prediction",
             "sparse_pred_ignore_index", "layer_norm_eps"),
            "says how it is computed, not what",
        ),
    ),
    tensors=(
        Same("head.weight", "decoder.weight"),
        Same("head.bias", "decoder.bias"),
        Same("head.dense.*", "head.dense.*"),
        Same("head.norm.*", "head.norm.*"),
        Same("encoder.embed.word.weight", "model.embeddings.tok_embeddings.weight", copies=("decoder.weight",)),
        Same("encoder.embed.norm.*", "model.embeddings.norm.*"),
        Split(
            f"{BLOCK}.self_attention.body.query.weight",
            f"{LAYER}.attn.Wqkv.weight",
            and_then=(f"{BLOCK}.self_attention.body.key.weight", f"{BLOCK}.self_attention.body.value.weight"),
        ),
        Same(f"{BLOCK}.self_attention.body.output.*", f"{LAYER}.attn.Wo.*"),
        Same(f"{BLOCK}.self_attention.norm.*", f"{LAYER}.attn_norm.*"),
        Split(
            f"{BLOCK}.feed_forward.body.gate.weight",
            f"{LAYER}.mlp.Wi.weight",
            and_then=(f"{BLOCK}.feed_forward.body.hidden.weight",),
        ),
        Same(f"{BLOCK}.feed_forward.body.output.*", f"{LAYER}.mlp.Wo.*"),
        Same(f"{BLOCK}.feed_forward.norm.*", f"{LAYER}.mlp_norm.*"),
        Same("encoder.norm.*", "model.final_norm.*"),
    ),
)  # fmt: skip

_OF_TEXT = (
    Same("sentence_head.output.*", "classifier.*"),
    Same("sentence_head.pooler.*", "head.dense.*"),
    Same("sentence_head.norm.*", "head.norm.*"),
)
_OF_TOKENS = (
    Same("token_head.output.*", "classifier.*"),
    Same("token_head.dense.*", "head.dense.*"),
    Same("token_head.norm.*", "head.norm.*"),
)
_HEADS = ("head.", "classifier.")
_POOLINGS = (("cls", "pooler"), ("mean", "mean_pooler"))
_TEXT_SETTINGS = (
    dropout_row("classifier_dropout", "sentence_dropout", 0.0),
    Setting("classifier_pooling", "sentence_pooling", "sentence_head.pooling", "cls", _POOLINGS),
)
_TOKEN_SETTINGS = (dropout_row("classifier_dropout", "token_dropout", 0.0),)
_MARKS = ("classifier.weight", "head.dense.weight")

MODERNBERT = with_label_heads(
    _MODERNBERT,
    "ModernBert",
    LabelHead("sentence labels", _OF_TEXT, _TEXT_SETTINGS, heads=_HEADS, marks=_MARKS),
    LabelHead("candidates", _OF_TEXT, _TEXT_SETTINGS, heads=_HEADS),
    LabelHead("token labels", _OF_TOKENS, _TOKEN_SETTINGS, heads=_HEADS),
    LabelHead("span", _OF_TOKENS, _TOKEN_SETTINGS, heads=_HEADS),
    poolings=("pooler", "mean_pooler"),
)
