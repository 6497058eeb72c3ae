"""DistilBERT of Hugging Face: `transformers.models.distilbert`."""

from dataclasses import replace

from glassformer.convert.family import (
    ACTIVATIONS,
    ONE_STACK,
    SHARED,
    Family,
    Presence,
    dropout_as,
    dropout_row,
    with_label_head,
)
from glassformer.convert.settings import Count, Only, Setting, Unused
from glassformer.convert.table import Ignore, Same

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
        Same(f"{BLOCK}.self_attention.body.query.*", f"{LAYER}.attention.q_lin.*"),
        Same(f"{BLOCK}.self_attention.body.key.*", f"{LAYER}.attention.k_lin.*"),
        Same(f"{BLOCK}.self_attention.body.value.*", f"{LAYER}.attention.v_lin.*"),
        Same(f"{BLOCK}.self_attention.body.output.*", f"{LAYER}.attention.out_lin.*"),
        Same(f"{BLOCK}.self_attention.norm.*", f"{LAYER}.sa_layer_norm.*"),
        Same(f"{BLOCK}.feed_forward.body.hidden.*", f"{LAYER}.ffn.lin1.*"),
        Same(f"{BLOCK}.feed_forward.body.output.*", f"{LAYER}.ffn.lin2.*"),
        Same(f"{BLOCK}.feed_forward.norm.*", f"{LAYER}.output_layer_norm.*"),
        Ignore("distilbert.embeddings.position_ids", "0, 1, 2 … are counted, not stored"),
    ),
)

_POOLER = (Same("sentence_head.output.*", "classifier.*"), Same("sentence_head.pooler.*", "pre_classifier.*"))

DISTILBERT = replace(
    _DISTILBERT,
    label_heads={
        "sentence labels": with_label_head(
            _DISTILBERT, "sentence labels", "DistilBertForSequenceClassification", *_POOLER,
            labels="classifier.weight", heads=("classifier.", "pre_classifier."),
            marks=("classifier.weight", "pre_classifier.weight"),
            settings=(dropout_row("seq_classif_dropout", "sentence_dropout", 0.2),),
        ),
        "candidates": with_label_head(
            _DISTILBERT, "candidates", "DistilBertForMultipleChoice", *_POOLER,
            labels="classifier.weight", heads=("classifier.", "pre_classifier."),
            settings=(dropout_row("seq_classif_dropout", "sentence_dropout", 0.2),),
        ),
        "token labels": with_label_head(
            _DISTILBERT, "token labels", "DistilBertForTokenClassification",
            Same("token_head.output.*", "classifier.*"),
            labels="classifier.weight", heads=("classifier.",), marks=("classifier.weight",),
            settings=(dropout_as("dropout", "token_dropout"),),
        ),
        "span": with_label_head(
            _DISTILBERT, "span", "DistilBertForQuestionAnswering",
            Same("token_head.output.*", "qa_outputs.*"),
            labels="qa_outputs.weight", heads=("qa_outputs.",), marks=("qa_outputs.weight",),
            settings=(dropout_row("qa_dropout", "token_dropout", 0.1),),
        ),
    },
)  # fmt: skip
