"""GPT-2 of Hugging Face: `transformers.models.gpt2`. Its matrices are stored [In, Out]."""

from typing import Any

from glassformer.config import ModelConfig
from glassformer.convert.family import ACTIVATIONS, ONE_STACK, SHARED, Family
from glassformer.convert.settings import Count, Joint, Only, Setting, Unused, at
from glassformer.convert.table import Ignore, Same, Split, Transpose

BLOCK = "decoder.blocks.{}"
LAYER = "transformer.h.{}"


def _write_division(config: ModelConfig) -> dict[str, Any]:
    """A single layer has the number 1, by which nothing changes."""
    divided = config.output_stack.blocks[-1].self_attention.body.divided_by != 1
    return {"scale_attn_by_inverse_layer_idx": divided}


GPT2 = Family(
    name="gpt2",
    prefix="transformer.",
    heads=("lm_head.",),
    classes={(True, False): "GPT2LMHeadModel", (False, False): "GPT2Model"},
    settings=(
        *SHARED,
        Setting("vocab_size", "vocabulary", "decoder.embed.vocabulary", 50257),
        Setting("n_embd", "width", "decoder.width", 768),
        Count("n_layer", "layers", "decoder.blocks", 12),
        Setting("n_head", "heads", "decoder.blocks.0.self_attention.body.heads", 12),
        Setting("n_positions", "max_length", "decoder.embed.position.max_length", 1024),
        Setting(
            "activation_function",
            "activation",
            "decoder.blocks.0.feed_forward.body.activation",
            "gelu_new",
            ACTIVATIONS,
        ),
        Setting("layer_norm_epsilon", "epsilon", "decoder.norm.epsilon", 1e-5),
        Setting("resid_pdrop", "dropout", "decoder.blocks.0.self_attention.dropout", 0.1),
        Setting("embd_pdrop", "embed_dropout", "decoder.embed.dropout", 0.1),
        Setting("attn_pdrop", "attention_dropout", "decoder.blocks.0.self_attention.body.dropout", 0.1),
        Setting("tie_word_embeddings", "tied", "head?.tied", True),
        Joint(
            ("n_inner",),
            lambda values: {"feed_forward": values.get("n_inner") or 4 * values.get("n_embd", 768)},
            lambda config: {"n_inner": at(config, "decoder.blocks.0.feed_forward.body.width")},
        ),
        Setting("scale_attn_weights", "scaled", "decoder.blocks.0.self_attention.body.scaled", True),
        Joint(
            ("scale_attn_by_inverse_layer_idx",),
            lambda values: {"divided_by_layer": values.get("scale_attn_by_inverse_layer_idx", False)},
            _write_division,
        ),
        Only("add_cross_attention", (False,), "a decoder alone has no memory to look at"),
        ONE_STACK,
        Unused(("n_ctx",), "an old word for n_positions"),
        Unused(("reorder_and_upcast_attn",), "says in which precision it is computed, not what"),
    ),
    tensors=(
        Same("head.weight", "lm_head.weight"),
        Same("decoder.embed.word.weight", "transformer.wte.weight", copies=("lm_head.weight",)),
        Same("decoder.embed.position.weight", "transformer.wpe.weight"),
        Split(
            f"{BLOCK}.self_attention.body.query.*",
            f"{LAYER}.attn.c_attn.*",
            and_then=(f"{BLOCK}.self_attention.body.key.*", f"{BLOCK}.self_attention.body.value.*"),
            transposed=True,
        ),
        Transpose(f"{BLOCK}.self_attention.body.output.*", f"{LAYER}.attn.c_proj.*"),
        Same(f"{BLOCK}.self_attention.norm.*", f"{LAYER}.ln_1.*"),
        Transpose(f"{BLOCK}.feed_forward.body.hidden.*", f"{LAYER}.mlp.c_fc.*"),
        Transpose(f"{BLOCK}.feed_forward.body.output.*", f"{LAYER}.mlp.c_proj.*"),
        Same(f"{BLOCK}.feed_forward.norm.*", f"{LAYER}.ln_2.*"),
        Same("decoder.norm.*", "transformer.ln_f.*"),
        Ignore(f"{LAYER}.attn.bias", "the causal mask is made, not stored"),
        Ignore(f"{LAYER}.attn.masked_bias", "the mask's fill is a setting, not a tensor"),
    ),
)
