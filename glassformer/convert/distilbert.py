"""DistilBERT of Hugging Face: `transformers.models.distilbert`."""

from glassformer.convert.bert import OF_SPAN, OF_TOKENS
from glassformer.convert.family import (
    ACTIVATIONS,
    ONE_STACK,
    SHARED,
    Family,
    LabelHead,
    Presence,
    dropout_as,
    dropout_row,
    with_label_heads,
)
from glassformer.convert.settings import Count, Only, Setting, Unused
from glassformer.convert.table import Ignore, Same, attention

BLOCK = "encoder.blocks.{}"
LAYER = "distilbert.transformer.layer.{}"

_DISTILBERT = Family(
    name="distilbert",
    prefix="distilbert.",
    heads=("vocab_",),
    classes={(True, False): "DistilBertForMaskedLM", (False, False): "DistilBertModel"},
    presence=(Presence("vocabulary_head", "vocab_transform.weight", absent=False),),
    settings=(
        *SHARED,
        Setting("vocab_size", "vocabulary", "encoder.embed.vocabulary", 30522),
        Setting("dim", "width", "encoder.width", 768),
        Count("n_layers", "layers", "encoder.blocks", 6),
        Setting("n_heads", "heads", "encoder.blocks.0.self_attention.body.heads", 12),
        Setting("hidden_dim", "feed_forward", "encoder.blocks.0.feed_forward.body.width", 3072),
        Setting("activation", "activation", "encoder.blocks.0.feed_forward.body.activation", "gelu", ACTIVATIONS),
        Setting("max_position_embeddings", "max_length", "encoder.embed.position.max_length", 512),
        Setting("dropout", "dropout", "encoder.embed.dropout", 0.1),
        Setting("attention_dropout", "attention_dropout", "encoder.blocks.0.self_attention.body.dropout", 0.1),
        Setting("tie_word_embeddings", "tied", "head?.tied", True),
        Unused(("sinusoidal_pos_embds",), "says how the position table was drawn; the table itself is stored"),
        Unused(("tie_weights_",), "an old word for what tie_word_embeddings says"),
        Unused(("qa_dropout", "seq_classif_dropout"), "about heads that are not read"),
        Only("is_decoder", (False,), "an encoder looks both ways"),
        ONE_STACK,
    ),
    tensors=(
        Same("head.weight", "vocab_projector.weight"),
        Same("head.bias", "vocab_projector.bias"),
        Same("head.dense.*", "vocab_transform.*"),
        Same("head.norm.*", "vocab_layer_norm.*"),
        Same(
            "encoder.embed.word.weight",
            "distilbert.embeddings.word_embeddings.weight",
            copies=("vocab_projector.weight",),
        ),
        Same("encoder.embed.position.weight", "distilbert.embeddings.position_embeddings.weight"),
        Same("encoder.embed.norm.*", "distilbert.embeddings.LayerNorm.*"),
        *attention(f"{BLOCK}.self_attention", f"{LAYER}.attention", ("q_lin", "k_lin", "v_lin", "out_lin")),
        Same(f"{BLOCK}.self_attention.norm.*", f"{LAYER}.sa_layer_norm.*"),
        Same(f"{BLOCK}.feed_forward.body.hidden.*", f"{LAYER}.ffn.lin1.*"),
        Same(f"{BLOCK}.feed_forward.body.output.*", f"{LAYER}.ffn.lin2.*"),
        Same(f"{BLOCK}.feed_forward.norm.*", f"{LAYER}.output_layer_norm.*"),
        Ignore("distilbert.embeddings.position_ids", "0, 1, 2 … are counted, not stored"),
    ),
)

_OF_TEXT = (Same("sentence_head.output.*", "classifier.*"), Same("sentence_head.pooler.*", "pre_classifier.*"))
_HEADS, _MARKS = ("classifier.", "pre_classifier."), ("classifier.weight", "pre_classifier.weight")
_TEXT_DROPOUT = (dropout_row("seq_classif_dropout", "sentence_dropout", 0.2),)
_SPAN, _SPAN_DROPOUT = "qa_outputs.weight", (dropout_row("qa_dropout", "token_dropout", 0.1),)

DISTILBERT = with_label_heads(
    _DISTILBERT,
    "DistilBert",
    LabelHead("sentence labels", _OF_TEXT, _TEXT_DROPOUT, heads=_HEADS, marks=_MARKS),
    LabelHead("candidates", _OF_TEXT, _TEXT_DROPOUT, heads=_HEADS),
    LabelHead("token labels", OF_TOKENS, (dropout_as("dropout", "token_dropout"),), marks=("classifier.weight",)),
    LabelHead("span", OF_SPAN, _SPAN_DROPOUT, labels=_SPAN, heads=("qa_outputs.",), marks=(_SPAN,)),
)
