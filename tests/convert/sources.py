"""Tiny models that `transformers` itself made and saved, one for each class that we read."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from glassformer.convert import Imported, write_huggingface

_ENCODER = {
    "vocab_size": 23,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
}
_DISTILBERT = {
    "vocab_size": 23,
    "dim": 12,
    "n_layers": 2,
    "n_heads": 3,
    "hidden_dim": 20,
    "max_position_embeddings": 16,
}
_MODERNBERT = {**_ENCODER, "num_hidden_layers": 4, "pad_token_id": 0, "local_attention": 4}
_GPT2 = {
    "vocab_size": 23,
    "n_embd": 12,
    "n_layer": 2,
    "n_head": 3,
    "n_positions": 16,
    "eos_token_id": 1,
    "bos_token_id": 1,
}
_BOTH = {
    "vocab_size": 23,
    "d_model": 12,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 16,
    "pad_token_id": 0,
    "decoder_start_token_id": 2,
}
_T5 = {"vocab_size": 23, "d_model": 12, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 3, "d_kv": 5, "d_ff": 20}

_LABELS = {"id2label": {0: "bad", 1: "fair", 2: "good"}, "label2id": {"bad": 0, "fair": 1, "good": 2}}
SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "BertForPreTraining": ("Bert", _ENCODER),
    "BertForMaskedLM": ("Bert", _ENCODER),
    "BertForNextSentencePrediction": ("Bert", _ENCODER),
    "BertForSequenceClassification": ("Bert", {**_ENCODER, **_LABELS}),
    "BertForTokenClassification": ("Bert", {**_ENCODER, **_LABELS}),
    "BertForQuestionAnswering": ("Bert", _ENCODER),
    "BertForMultipleChoice": ("Bert", _ENCODER),
    "BertModel": ("Bert", _ENCODER),
    "DistilBertForMaskedLM": ("DistilBert", _DISTILBERT),
    "DistilBertForSequenceClassification": ("DistilBert", {**_DISTILBERT, **_LABELS}),
    "DistilBertForTokenClassification": ("DistilBert", {**_DISTILBERT, **_LABELS}),
    "DistilBertForQuestionAnswering": ("DistilBert", _DISTILBERT),
    "DistilBertForMultipleChoice": ("DistilBert", _DISTILBERT),
    "DistilBertModel": ("DistilBert", _DISTILBERT),
    "RobertaForMaskedLM": ("Roberta", _ENCODER),
    "RobertaForSequenceClassification": ("Roberta", {**_ENCODER, **_LABELS}),
    "RobertaForTokenClassification": ("Roberta", {**_ENCODER, **_LABELS}),
    "RobertaForQuestionAnswering": ("Roberta", _ENCODER),
    "RobertaForMultipleChoice": ("Roberta", _ENCODER),
    "RobertaModel": ("Roberta", _ENCODER),
    "ModernBertForMaskedLM": ("ModernBert", _MODERNBERT),
    "ModernBertForSequenceClassification": ("ModernBert", {**_MODERNBERT, **_LABELS}),
    "ModernBertForTokenClassification": ("ModernBert", {**_MODERNBERT, **_LABELS}),
    "ModernBertForQuestionAnswering": ("ModernBert", _MODERNBERT),
    "ModernBertForMultipleChoice": ("ModernBert", _MODERNBERT),
    "ModernBertModel": ("ModernBert", _MODERNBERT),
    "GPT2LMHeadModel": ("GPT2", _GPT2),
    "GPT2Model": ("GPT2", _GPT2),
    "LlamaForCausalLM": ("Llama", {**_ENCODER, "num_key_value_heads": 1}),
    "LlamaModel": ("Llama", {**_ENCODER, "num_key_value_heads": 1}),
    "MarianMTModel": ("Marian", _BOTH),
    "BartForConditionalGeneration": ("Bart", _BOTH),
    "BartModel": ("Bart", _BOTH),
    "T5ForConditionalGeneration": ("T5", _T5),
    "T5Model": ("T5", _T5),
}

# Classes that are read as another one.
_AS_LLAMA = {name: (name.removesuffix("ForCausalLM"), {**_ENCODER, "num_key_value_heads": 1})
             for name in ("MistralForCausalLM", "Qwen2ForCausalLM")}  # fmt: skip


def save(name: str, folder: Path, *, shards: str = "1GB", **settings: Any) -> nn.Module:
    """Make a model of this class with random weights, save it as `transformers` does, and give it back."""
    config_name, known = (SOURCES | _AS_LLAMA)[name]
    with random_from(3):
        config = getattr(transformers, f"{config_name}Config")(**{**known, **settings})
        model: nn.Module = getattr(transformers, name)(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:  # not Marian's sines
                    parameter.normal_(0.0, 0.5)
    model.eval()
    model.save_pretrained(folder, max_shard_size=shards)  # type: ignore[operator]  # a class by its name
    return model


def send_out(found: Imported, folder: Path) -> None:
    """Write what was read, with all that comes with the numbers."""
    report = found.report
    write_huggingface(
        folder, found.config, found.state, found.tokenizer,
        token_settings=report.token_settings, generation=report.generation, use=report.use, length=report.length,
    )  # fmt: skip


@contextmanager
def random_from(seed: int) -> Iterator[None]:
    """torch's own generator from a known place, put back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def tensors_of(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder with one file."""
    return load_file(folder / "model.safetensors")


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], None]) -> None:
    """Rewrite a folder's tensors."""
    tensors = tensors_of(folder)
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def change_settings(folder: Path, **settings: Any) -> None:
    """Rewrite some of a folder's settings; `...` takes one away."""
    path = folder / "config.json"
    values = {**json.loads(path.read_text()), **settings}
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not ...}))
