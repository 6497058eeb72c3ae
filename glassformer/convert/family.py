"""What one family's table holds, and the rows that all families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import HeadUse, ModelConfig
from glassformer.convert.settings import Joint, Only, Setting, SettingRow, Unused, Values, at
from glassformer.convert.table import Same, TensorRow


@dataclass(frozen=True)
class Presence:
    """A keyword that is read from the tensors: `there` when one of that name is stored, else `absent`. `there = None`
    means the number of the tensor's rows; `absent = None` leaves the keyword unset.
    """

    ours: str
    theirs: str
    there: bool | int | None = True
    absent: bool | None = None


# From a model, its tensors under their names and the token that its decoder begins with, to other tensors.
ChangeOfStart = Callable[[ModelConfig, Mapping[str, Tensor], int], dict[str, Tensor]]


@dataclass(frozen=True)
class Family:
    """One family of Hugging Face: its settings, its tensors, and what its classes are called.

    `prefix` stands before the body's tensors unless the body was saved alone; `heads` begin the names of the
    other tensors. `classes` names the class to write, by (a vocabulary head?, sentence labels?).
    `renamed` pairs old endings of tensor names with today's. `label_heads` are the tables of the classes that give
    labels, by what these answer (labels for a text and a number share one); such a table says so in `answers`, and
    `marks` are tensors by which its folder is known where no class is named. `poolings` are those that its class
    computes. `free_length`: positions have no table that could end, and max_position_embeddings only says how long a
    text the model is for. `fold` changes their tensors so that the decoder begins with a vector of zeros instead of
    that of a token; `unfold` undoes it.
    """

    name: str
    settings: tuple[SettingRow, ...]
    tensors: tuple[TensorRow, ...]
    classes: Mapping[tuple[bool, bool], str]
    prefix: str = ""
    heads: tuple[str, ...] = ()
    presence: tuple[Presence, ...] = ()
    renamed: tuple[tuple[str, str], ...] = field(default=())
    label_heads: Mapping[HeadUse, Family] = field(default_factory=dict)
    answers: HeadUse | None = None
    marks: tuple[str, ...] = ()
    poolings: tuple[str, ...] = ("pooler",)
    free_length: bool = False
    fold: ChangeOfStart | None = None
    unfold: ChangeOfStart | None = None

    def today(self, name: str) -> str:
        """A tensor's name as it is written today."""
        for old, new in self.renamed:
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name

    def bare(self, config: ModelConfig) -> bool:
        """Whether this model is written as a body alone, without the prefix."""
        return bool(self.prefix) and config.head is None and not _labels(config)

    def class_of(self, config: ModelConfig) -> str:
        """The class of transformers that this model is written for; raises ConfigError when there is none."""
        heads = config.head is not None, bool(_labels(config))
        if heads not in self.classes:
            raise ConfigError(
                f"Hugging Face's {self.name} must have a class with the heads of this model",
                got=f"{'a' if heads[0] else 'no'} vocabulary head and "
                f"{'a' if heads[1] else 'no'} {'sentence' if config.token_head is None else 'token'} head",
                do=f"it has {', '.join(self.classes.values())}",
            )
        return self.classes[heads]


@dataclass(frozen=True)
class LabelHead:
    """A class that gives labels: the rows of its head come before those of the body, and take the place of rows for the
    same parameter or the same setting. `labels` is the tensor whose rows are the labels; `heads` and `marks` are those
    of `Family`.
    """

    answers: HeadUse
    tensors: tuple[TensorRow, ...]
    settings: tuple[SettingRow, ...] = ()
    labels: str = "classifier.weight"
    heads: tuple[str, ...] = ("classifier.",)
    marks: tuple[str, ...] = ()


_CLASSES: dict[HeadUse, str] = {
    "sentence labels": "ForSequenceClassification",
    "candidates": "ForMultipleChoice",
    "token labels": "ForTokenClassification",
    "span": "ForQuestionAnswering",
}


def with_label_heads(family: Family, name: str, *heads: LabelHead, poolings: tuple[str, ...] = ("pooler",)) -> Family:
    """The family with the tables of its classes that give labels; `name` begins the names of these classes."""
    tables: dict[HeadUse, Family] = {}
    for head in heads:
        ours = "token_labels" if head.answers in ("token labels", "span") else "sentence_labels"
        filled = {row.ours for row in head.tensors if isinstance(row, Same)}
        used = {key for row in head.settings for key in row.keys}
        body = (row for row in family.tensors if not isinstance(row, Same) or row.ours not in filled)
        tables[head.answers] = replace(
            family,
            answers=head.answers,
            heads=head.heads,
            classes={(False, True): f"{name}{_CLASSES[head.answers]}"},
            presence=(Presence(ours, head.labels, there=None), Presence("vocabulary_head", head.labels, there=False)),
            settings=(*without(family.settings, *used), *head.settings),
            tensors=(*head.tensors, *body),
            marks=head.marks,
            poolings=poolings,
        )
    return replace(family, label_heads=tables)


def dropout_row(key: str, ours: str, default: float) -> Setting:
    """The dropout before the labels, under a key of its own."""
    return Setting(key, ours, f"{ours.removesuffix('_dropout')}_head.dropout", default)


def dropout_as(key: str, ours: str, *, own: str = "") -> Joint:
    """The dropout before the labels where it is said by `own`, or else is that of the body under `key`."""

    def read(values: Values) -> dict[str, Any]:
        said = values.get(own) if own else None
        return {ours: values.get(key, 0.1) if said is None else said}

    def write(config: ModelConfig) -> dict[str, Any]:
        return {own: at(config, f"{ours.removesuffix('_dropout')}_head.dropout")} if own else {}

    return Joint((own,) if own else (), read, write)


def without(rows: tuple[SettingRow, ...], *keys: str) -> tuple[SettingRow, ...]:
    """The rows, where these keys are no longer among those that say nothing."""
    return tuple(
        replace(row, keys=tuple(key for key in row.keys if key not in keys)) if isinstance(row, Unused) else row
        for row in rows
    )


def _labels(config: ModelConfig) -> int:
    head = config.sentence_head or config.token_head
    return 0 if head is None else head.labels


# Of several of their words for one of ours, the first is written. `gelu_fast` and `gelu_accurate` are the tanh form as
# well: √(2/π) is rounded to ten digits in the one, which changes the twelfth digit of a value.
ACTIVATIONS = (
    ("gelu", "gelu"),
    ("gelu_python", "gelu"),
    ("gelu_new", "gelu_tanh"),
    ("gelu_pytorch_tanh", "gelu_tanh"),
    ("gelu_fast", "gelu_tanh"),
    ("gelu_accurate", "gelu_tanh"),
    ("relu", "relu"),
    ("silu", "silu"),
    ("swish", "silu"),
    ("tanh", "tanh"),
    ("relu2", "relu2"),
    ("quick_gelu", "quick_gelu"),
    ("gelu_10", "gelu_10"),
    ("mish", "mish"),
)

BOOKKEEPING = Unused(
    ("_name_or_path", "_num_labels", "transformers_version", "torchscript", "use_cache", "use_bfloat16",
     "gradient_checkpointing", "chunk_size_feed_forward", "output_attentions", "output_hidden_states", "output_past",
     "output_scores", "return_dict", "return_dict_in_generate", "id2label", "label2id", "problem_type",
     "finetuning_task", "task_specific_params", "tokenizer_class", "transformers.js_config", "author", "summary_type",
     "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout", "prefix"),
    "bookkeeping, or about heads that are not read",
)  # fmt: skip

CLASS = Unused(
    ("architectures", "model_type", "dtype", "torch_dtype"), "what the table and the tensors say", reported=False
)

DRAWING = Unused(
    ("initializer_range", "initializer_factor", "initializer_cutoff_factor", "init_std"),
    "says only how fresh weights are drawn",
)

TOKEN_SETTINGS = Unused(
    ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id", "mask_token_id", "unk_token_id",
     "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id"),
    "tokens with a role; kept with the model",
    reported=False,
)  # fmt: skip

# All that transformers takes for generation from a config.json, apart from the tokens with a role.
GENERATION = Unused(
    ("assistant_confidence_threshold", "assistant_early_exit", "bad_words_ids", "begin_suppress_tokens",
     "cache_implementation", "constraints", "diversity_penalty", "do_sample", "dola_layers", "early_stopping",
     "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff",
     "exponential_decay_length_penalty", "force_bos_token_to_be_generated", "force_words_ids", "forced_decoder_ids",
     "guidance_scale", "length_penalty", "low_memory", "max_length", "max_matching_ngram_size", "max_new_tokens",
     "max_time", "min_length", "min_new_tokens", "min_p", "no_repeat_ngram_size", "num_assistant_tokens",
     "num_assistant_tokens_schedule", "num_beam_groups", "num_beams", "num_return_sequences", "penalty_alpha",
     "prompt_lookup_num_tokens", "remove_invalid_values", "renormalize_logits", "repetition_penalty", "sequence_bias",
     "stop_strings", "suppress_tokens", "temperature", "token_healing", "top_h", "top_k", "top_p", "typical_p",
     "watermarking_config"),
    "says how to search for a text, not how to score one; kept with the settings of generation",
)  # fmt: skip

WHOLE = Only("pruned_heads", ({}, None), "all layers have all their heads here")
ONE_STACK = Only("is_encoder_decoder", (False,), "it has one stack")

SHARED = (WHOLE, CLASS, BOOKKEEPING, DRAWING, TOKEN_SETTINGS, GENERATION)
