"""RoBERTa of Hugging Face: `transformers.models.roberta`."""

from dataclasses import replace
from typing import Any

from glassformer.config import ModelConfig
from glassformer.convert.bert import BODY_SETTINGS, BODY_TENSORS, OF_TEXT, TEXT_DROPOUT, head_rows, token_heads
from glassformer.convert.family import Family, LabelHead, Presence, dropout_as, with_label_heads, without
from glassformer.convert.settings import Joint, Setting, Values
from glassformer.convert.table import Ignore, Same


def _read_positions(values: Values) -> dict[str, Any]:
    """The rows up to the padding token's own are never looked up; theirs are counted within the table."""
    offset = values.get("pad_token_id", 1) + 1
    return {"max_length": values.get("max_position_embeddings", 512) - offset, "position_offset": offset}


def _write_positions(config: ModelConfig) -> dict[str, Any]:
    position = config.output_stack.embed.position
    return {"max_position_embeddings": position.max_length + position.offset, "pad_token_id": position.offset - 1}


_ROBERTA = Family(
    name="roberta",
    prefix="roberta.",
    heads=("lm_head.",),
    classes={(True, False): "RobertaForMaskedLM", (False, False): "RobertaModel"},
    presence=(
        Presence("vocabulary_head", "lm_head.dense.weight", absent=False),
        Presence("sentence_labels", "roberta.pooler.dense.weight", there=0),
    ),
    settings=(
        *without(BODY_SETTINGS, "pad_token_id"),
        Setting("vocab_size", "vocabulary", "encoder.embed.vocabulary", 50265),
        Joint(("max_position_embeddings", "pad_token_id"), _read_positions, _write_positions),
    ),
    tensors=(
        *head_rows("lm_head.decoder", "lm_head.bias"),
        Same("head.dense.*", "lm_head.dense.*"),
        Same("head.norm.*", "lm_head.layer_norm.*"),
        Same(
            "encoder.embed.word.weight", "roberta.embeddings.word_embeddings.weight", copies=("lm_head.decoder.weight",)
        ),
        *(replace(row, theirs=row.theirs.replace("bert.", "roberta.", 1)) for row in BODY_TENSORS),
    ),
)

_LABELS, _DENSE = "classifier.out_proj.weight", "classifier.dense.weight"
_CLASSIFIER = (
    Same("sentence_head.output.*", "classifier.out_proj.*"),
    Same("sentence_head.pooler.*", "classifier.dense.*"),
    Ignore("roberta.pooler.dense.*", "the classifier's own dense layer is computed with, not this"),
)

ROBERTA = with_label_heads(
    _ROBERTA,
    "Roberta",
    LabelHead("sentence labels", _CLASSIFIER, TEXT_DROPOUT, labels=_LABELS, marks=(_LABELS, _DENSE)),
    LabelHead("candidates", OF_TEXT, (dropout_as("hidden_dropout_prob", "sentence_dropout"),)),
    *token_heads("roberta.pooler.dense.*"),
)
