"""Tiny decoders with random weights that chat, in float64."""

from typing import Any

import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.models.families import gpt2, llama
from glassformer.models.transformer import build
from glassformer.tasks.writing.chat.settings import ChatSection
from glassformer.text.chat_template import MARKS, ChatTemplates, own_templates
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.writers import TEXTS

READ = 48


def with_marks() -> Tokenizer:
    """A vocabulary with tokens for roles."""
    marks = tuple(MARKS.values())
    return train_tokenizer("bpe", TEXTS, vocabulary=290, lowercase=False, special=GPT2, marks=marks)


def talking(family: str = "llama", *, templates: ChatTemplates | None = None, length: int = READ) -> gf.Model:
    """A model that has learned nothing, as if it had been trained to chat: its largest logits are far apart."""
    tokenizer = with_marks()
    sizes: dict[str, Any] = {
        "layers": 2,
        "width": 16,
        "heads": 2,
        "feed_forward": 32,
        "vocabulary": tokenizer.vocabulary_size,
    }
    config = gpt2(**sizes, max_length=length, dropout=0.0) if family == "gpt2" else llama(**sizes)
    module = build(config, seed=1).double().eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(6.0)
    return Model(module, tokenizer, task=ChatSection(), length=length, templates=templates or own_templates(tokenizer))
