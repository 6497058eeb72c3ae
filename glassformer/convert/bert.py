"""BERT of Hugging Face: `transformers.models.bert`."""

from typing import Any

from glassformer.base.errors import CheckpointError
from glassformer.convert.family import (
    ACTIVATIONS,
    ONE_STACK,
    SHARED,
    Family,
    LabelHead,
    Presence,
    dropout_as,
    with_label_heads,
)
from glassformer.convert.settings import Count, Joint, Only, Setting, Unused, Values, at
from glassformer.convert.table import Ignore, Same, attention

BLOCK = "encoder.blocks.{}"
LAYER = "bert.encoder.layer.{}"


def _read_segments(values: Values) -> dict[str, Any]:
    """Theirs always looks up a segment, so there is at least one."""
    segments = values.get("type_vocab_size", 2)
    if segments < 1:
        raise CheckpointError("type_vocab_size must be at least 1: a segment is always looked up", got=str(segments))
    return {"segments": segments}


# What RoBERTa has in common with BERT.
BODY_SETTINGS = (
    *SHARED,
    Setting("hidden_size", "width", "encoder.width", 768),
    Count("num_hidden_layers", "layers", "encoder.blocks", 12),
    Setting("num_attention_heads", "heads", "encoder.blocks.0.self_attention.body.heads", 12),
    Setting("intermediate_size", "feed_forward", "encoder.blocks.0.feed_forward.body.width", 3072),
    Setting("hidden_act", "activation", "encoder.blocks.0.feed_forward.body.activation", "gelu", ACTIVATIONS),
    Joint(("type_vocab_size",), _read_segments, lambda tree: {"type_vocab_size": at(tree, "encoder.embed.segments")}),
    Setting("layer_norm_eps", "epsilon", "encoder.embed.norm.epsilon", 1e-12),
    Setting("hidden_dropout_prob", "dropout", "encoder.embed.dropout", 0.1),
    Setting(
        "attention_probs_dropout_prob", "attention_dropout", "encoder.blocks.0.self_attention.body.dropout", 0.1
    ),
    Only("position_embedding_type", ("absolute", None), "relative positions inside BERT's scores are not built here"),
    Only("is_decoder", (False,), "an encoder looks both ways"),
    ONE_STACK,
    Only("add_cross_attention", (False,), "an encoder has no memory to look at"),
    Setting("tie_word_embeddings", "tied", "head?.tied", True),
    Unused(("classifier_dropout", "pooler_type", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
            "pooler_size_per_head", "directionality"), "about heads that are not read"),
)  # fmt: skip

BODY_TENSORS: tuple[Same | Ignore, ...] = (
    Same("encoder.embed.position.weight", "bert.embeddings.position_embeddings.weight"),
    Same("encoder.embed.segment.weight", "bert.embeddings.token_type_embeddings.weight"),
    Same("encoder.embed.norm.*", "bert.embeddings.LayerNorm.*"),
    *attention(
        f"{BLOCK}.self_attention", f"{LAYER}.attention", ("self.query", "self.key", "self.value", "output.dense")
    ),
    Same(f"{BLOCK}.self_attention.norm.*", f"{LAYER}.attention.output.LayerNorm.*"),
    Same(f"{BLOCK}.feed_forward.body.hidden.*", f"{LAYER}.intermediate.dense.*"),
    Same(f"{BLOCK}.feed_forward.body.output.*", f"{LAYER}.output.dense.*"),
    Same(f"{BLOCK}.feed_forward.norm.*", f"{LAYER}.output.LayerNorm.*"),
    Same("sentence_head.pooler.*", "bert.pooler.dense.*"),
    Ignore("bert.embeddings.position_ids", "0, 1, 2 … are counted, not stored"),
)


def head_rows(decoder: str, bias: str) -> tuple[Same, ...]:
    """The vocabulary's scores. Untied, the two names of the bias are two tensors as well; the decoder's is added."""
    return (
        Same("head.weight", f"{decoder}.weight"),
        Same("head.bias", bias, copies=(f"{decoder}.bias",), without="head.weight"),
        Same("head.bias", f"{decoder}.bias", idle=bias, needs="head.weight"),
    )


_BERT = Family(
    name="bert",
    prefix="bert.",
    heads=("cls.",),
    classes={
        (True, False): "BertForMaskedLM",
        (True, True): "BertForPreTraining",
        (False, True): "BertForNextSentencePrediction",
        (False, False): "BertModel",
    },
    presence=(
        Presence("vocabulary_head", "cls.predictions.transform.dense.weight", absent=False),
        Presence("sentence_labels", "bert.pooler.dense.weight", there=0),
        Presence("sentence_labels", "cls.seq_relationship.weight", there=None),
    ),
    renamed=(("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")),
    settings=(
        *BODY_SETTINGS,
        Setting("vocab_size", "vocabulary", "encoder.embed.vocabulary", 30522),
        Setting("max_position_embeddings", "max_length", "encoder.embed.position.max_length", 512),
    ),
    tensors=(
        *head_rows("cls.predictions.decoder", "cls.predictions.bias"),
        Same("head.dense.*", "cls.predictions.transform.dense.*"),
        Same("head.norm.*", "cls.predictions.transform.LayerNorm.*"),
        Same("sentence_head.output.*", "cls.seq_relationship.*"),
        Same("encoder.embed.word.weight", "bert.embeddings.word_embeddings.weight",
             copies=("cls.predictions.decoder.weight",)),
        *BODY_TENSORS,
    ),
)  # fmt: skip

# A text's labels and its choice are read from the pooler, a token's from its state.
OF_TEXT = (Same("sentence_head.output.*", "classifier.*"),)
OF_TOKENS = (Same("token_head.output.*", "classifier.*"),)
OF_SPAN = (Same("token_head.output.*", "qa_outputs.*"),)
TEXT_DROPOUT = (dropout_as("hidden_dropout_prob", "sentence_dropout", own="classifier_dropout"),)
TOKEN_DROPOUT = (dropout_as("hidden_dropout_prob", "token_dropout", own="classifier_dropout"),)


def token_heads(pooler: str) -> tuple[LabelHead, LabelHead]:
    """The classes that give a label to each token, and the start and the end of an answer: `pooler` is left idle."""
    reason = "this class reads its labels from each token's state and computes nothing with a pooler"
    idle, of_span = Ignore(pooler, reason), "qa_outputs.weight"
    return (
        LabelHead("token labels", (*OF_TOKENS, idle), TOKEN_DROPOUT, marks=("classifier.weight",)),
        LabelHead("span", (*OF_SPAN, idle), labels=of_span, heads=("qa_outputs.",), marks=(of_span,)),
    )


BERT = with_label_heads(
    _BERT,
    "Bert",
    LabelHead("sentence labels", OF_TEXT, TEXT_DROPOUT, marks=("classifier.weight", "bert.pooler.dense.weight")),
    LabelHead("candidates", OF_TEXT, TEXT_DROPOUT),
    *token_heads("bert.pooler.dense.*"),
)
