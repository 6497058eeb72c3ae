"""BART of Hugging Face: `transformers.models.bart`."""

from glassformer.convert.family import ACTIVATIONS, SHARED, Family
from glassformer.convert.settings import Count, Only, Setting, Unused
from glassformer.convert.table import Ignore, Row, Same, attention

# What Marian has in common with BART.
BODY_SETTINGS = (
    *SHARED,
    Setting("d_model", "width", "encoder.width", 1024),
    Count("encoder_layers", "layers", "encoder.blocks", 12),
    Count("decoder_layers", "decoder_layers", "decoder.blocks", 12),
    Setting("encoder_attention_heads", "heads", "encoder.blocks.0.self_attention.body.heads", 16),
    Setting("decoder_attention_heads", "decoder_heads", "decoder.blocks.0.self_attention.body.heads", 16),
    Setting("encoder_ffn_dim", "feed_forward", "encoder.blocks.0.feed_forward.body.width", 4096),
    Setting("decoder_ffn_dim", "decoder_feed_forward", "decoder.blocks.0.feed_forward.body.width", 4096),
    Setting(
        "activation_function", "activation", "encoder.blocks.0.feed_forward.body.activation", "gelu", ACTIVATIONS
    ),
    Setting("max_position_embeddings", "max_length", "encoder.embed.position.max_length", 1024),
    Setting("scale_embedding", "embed_scaled", "encoder.embed.scaled", False),
    Setting("dropout", "dropout", "encoder.embed.dropout", 0.1),
    Setting("attention_dropout", "attention_dropout", "encoder.blocks.0.self_attention.body.dropout", 0.0),
    Setting("activation_dropout", "activation_dropout", "encoder.blocks.0.feed_forward.body.dropout", 0.0),
    Only("tie_word_embeddings", (True,), "both stacks and the output share one table of word vectors"),
    Only("is_encoder_decoder", (True,), "it has two stacks"),
    Only("is_decoder", (False,), "it has two stacks"),
    Unused(("encoder_layerdrop", "decoder_layerdrop"), "whole layers are dropped in training alone, and never here"),
    Only("normalize_before", (False,), "its norms come after"),
    Only("add_final_layer_norm", (False,), "its stacks end without a norm"),
    Only("add_bias_logits", (False,), "its output bias is a tensor"),
    Only("do_blenderbot_90_layernorm", (False,), "its norms come after"),
    Unused(("extra_pos_embeddings",), "an old word that transformers itself no longer reads"),
    Unused(("num_hidden_layers", "num_attention_heads", "hidden_size"), "other names for the settings above"),
    Unused(("classifier_dropout", "classif_dropout"), "about heads that are not read"),
    Unused(("_flax", "model_parallel", "save_step"), "bookkeeping"),
)  # fmt: skip


def _layers(side: str) -> tuple[Same, ...]:
    block, layer = f"{side}.blocks.{{}}", f"model.{side}.layers.{{}}"
    return (
        *attention(f"{block}.self_attention", f"{layer}.self_attn"),
        Same(f"{block}.self_attention.norm.*", f"{layer}.self_attn_layer_norm.*"),
        *attention(f"{block}.cross_attention", f"{layer}.encoder_attn"),
        Same(f"{block}.cross_attention.norm.*", f"{layer}.encoder_attn_layer_norm.*"),
        Same(f"{block}.feed_forward.body.hidden.*", f"{layer}.fc1.*"),
        Same(f"{block}.feed_forward.body.output.*", f"{layer}.fc2.*"),
        Same(f"{block}.feed_forward.norm.*", f"{layer}.final_layer_norm.*"),
    )


BODY_TENSORS = (
    Same(
        "encoder.embed.word.weight",
        "model.shared.weight",
        copies=("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"),
        without="decoder.embed.word.weight",
    ),
    *_layers("encoder"),
    *_layers("decoder"),
    Row("head.bias", "final_logits_bias"),
)

BART = Family(
    name="bart",
    prefix="model.",
    heads=("lm_head.", "final_logits_bias"),
    classes={(True, False): "BartForConditionalGeneration", (False, False): "BartModel"},
    settings=(
        *BODY_SETTINGS,
        Setting("vocab_size", "vocabulary", "encoder.embed.vocabulary", 50265),
        Only("normalize_embedding", (True,), "a norm follows its embedding"),
        Only("static_position_embeddings", (False,), "its positions are learned"),
    ),
    tensors=(
        *BODY_TENSORS,
        Same("encoder.embed.position.weight", "model.encoder.embed_positions.weight"),
        Same("decoder.embed.position.weight", "model.decoder.embed_positions.weight"),
        Same("encoder.embed.norm.*", "model.encoder.layernorm_embedding.*"),
        Same("decoder.embed.norm.*", "model.decoder.layernorm_embedding.*"),
        Ignore("model.encoder.version", "bookkeeping of fairseq"),
        Ignore("model.decoder.version", "bookkeeping of fairseq"),
    ),
)
