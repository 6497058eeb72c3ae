"""T5 of Hugging Face: `transformers.models.t5`, version 1.0 and version 1.1 (gated, untied)."""

from typing import Any

from glassformer.config import ModelConfig
from glassformer.convert.family import ACTIVATIONS, SHARED, Family, Presence
from glassformer.convert.settings import Count, Joint, Only, Setting, Unused, Values
from glassformer.convert.table import Ignore, Same, attention

_PATH = "encoder.blocks.0.feed_forward.body.activation"


def _read_feed_forward(values: Values) -> dict[str, Any]:
    """`relu`, `gated-silu` …; `gated-gelu` means the tanh form, as in transformers, for history's sake."""
    said = str(values.get("feed_forward_proj", "relu"))
    word = "gelu_new" if said == "gated-gelu" else said.removeprefix("gated-")
    key = "dense_act_fn" if "dense_act_fn" in values else "feed_forward_proj"
    named = Setting(key, "activation", _PATH, "relu", ACTIVATIONS)
    return {
        "gated": values.get("is_gated_act", said.startswith("gated-")),
        **named.read({key: values.get("dense_act_fn", word)}),
    }


def _write_feed_forward(config: ModelConfig) -> dict[str, Any]:
    assert config.encoder is not None
    sublayer = config.encoder.blocks[0].feed_forward
    assert sublayer is not None
    word = Setting("word", "activation", _PATH, "relu", ACTIVATIONS).write(config)["word"]
    if sublayer.body.gated:
        # Bare `gated-gelu` is already taken by the tanh form, so the exact one goes by its other name.
        word = {"gelu_new": "gated-gelu", "gelu": "gated-gelu_python"}.get(word, f"gated-{word}")
    return {"feed_forward_proj": word}


def _write_head(config: ModelConfig) -> dict[str, Any]:
    if config.head is None:
        return {}
    return {"tie_word_embeddings": config.head.tied, "scale_decoder_outputs": config.head.scaled}


def _stack(side: str, last: int) -> tuple[Same, ...]:
    """One side's rows; `last` is the number of the feed-forward sublayer in a layer."""
    block, layer = f"{side}.blocks.{{}}", f"{side}.block.{{}}.layer"
    feed_forward, gate = f"{layer}.{last}.DenseReluDense", f"{block}.feed_forward.body.gate.weight"
    return (
        *attention(f"{block}.self_attention", f"{layer}.0.SelfAttention", "qkvo"),
        Same(f"{block}.self_attention.norm.*", f"{layer}.0.layer_norm.*"),
        *attention(f"{block}.cross_attention", f"{layer}.1.EncDecAttention", "qkvo"),
        Same(f"{block}.cross_attention.norm.*", f"{layer}.1.layer_norm.*"),
        Same(f"{block}.feed_forward.body.hidden.weight", f"{feed_forward}.wi.weight", without=gate),
        Same(f"{block}.feed_forward.body.hidden.weight", f"{feed_forward}.wi_1.weight", needs=gate),
        Same(gate, f"{feed_forward}.wi_0.weight"),
        Same(f"{block}.feed_forward.body.output.weight", f"{feed_forward}.wo.weight"),
        Same(f"{block}.feed_forward.norm.weight", f"{layer}.{last}.layer_norm.weight"),
        Same(f"{side}.relative_bias.weight", f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
        Same(f"{side}.norm.weight", f"{side}.final_layer_norm.weight"),
    )


T5 = Family(
    name="t5",
    classes={(True, False): "T5ForConditionalGeneration", (False, False): "T5Model"},
    presence=(Presence("tied", "lm_head.weight", there=False, absent=True),),
    settings=(
        *SHARED,
        Setting("vocab_size", "vocabulary", "encoder.embed.vocabulary", 32128),
        Setting("d_model", "width", "encoder.width", 512),
        Setting("d_kv", "query_size", "encoder.blocks.0.self_attention.body.query_size", 64),
        Setting("d_ff", "feed_forward", "encoder.blocks.0.feed_forward.body.width", 2048),
        Count("num_layers", "layers", "encoder.blocks", 6),
        Count("num_decoder_layers", "decoder_layers", "decoder.blocks", None),
        Setting("num_heads", "heads", "encoder.blocks.0.self_attention.body.heads", 8),
        Setting("relative_attention_num_buckets", "buckets", "encoder.relative_bias.buckets", 32),
        Setting("relative_attention_max_distance", "max_distance", "encoder.relative_bias.max_distance", 128),
        Setting("layer_norm_epsilon", "epsilon", "encoder.norm.epsilon", 1e-6),
        Setting("dropout_rate", "dropout", "encoder.embed.dropout", 0.1),
        Joint(("feed_forward_proj", "dense_act_fn", "is_gated_act"), _read_feed_forward, _write_feed_forward),
        Joint(
            ("scale_decoder_outputs", "tie_word_embeddings"),
            # Today's files say whether the last states are scaled, older ones imply it by what they say of tying.
            lambda said: {"scaled_head": said.get("scale_decoder_outputs", said.get("tie_word_embeddings", True))},
            _write_head,
        ),
        Only("is_encoder_decoder", (True,), "it has two stacks"),
        Only("is_decoder", (False,), "it has two stacks"),
        Unused(("n_positions",), "relative positions have no table that could end"),
        Unused(("classifier_dropout",), "about heads that are not read"),
    ),
    tensors=(
        Same("head.weight", "lm_head.weight"),
        Same(
            "encoder.embed.word.weight",
            "shared.weight",
            copies=("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"),
        ),
        *_stack("encoder", last=1),
        *_stack("decoder", last=2),
        Ignore(
            "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
            "looking at the memory knows no distances; transformers leaves it aside as well",
        ),
    ),
)
