"""Tiny language models with random weights and a vocabulary of byte pairs, in float64."""

import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.models.families import gpt2, llama
from glassformer.models.transformer import build
from glassformer.tasks.writing.language_model.task import LanguageModelSection
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

TEXTS = [
    "She likes the summer better than the winter.\n\nHe loves to cook.",
    "They go hiking quite often — in the mountains; naïve ☃ too.",
    "The quick brown fox jumps over the lazy dog, and 中文 follows.",
]
READ = 32


def byte_pairs() -> Tokenizer:
    """Few merges: a letter of several bytes is several tokens."""
    return train_tokenizer("bpe", TEXTS, vocabulary=280, lowercase=False, special=GPT2)


def writing(family: str = "gpt2", *, seed: int = 1) -> gf.Model:
    """A model that has learned nothing, as if it had been trained to write: its largest logits are far apart."""
    tokenizer = byte_pairs()
    size = tokenizer.vocabulary_size
    if family == "gpt2":
        config = gpt2(layers=2, width=16, heads=2, feed_forward=32, vocabulary=size, max_length=READ, dropout=0.0)
    else:
        config = llama(layers=2, width=16, heads=2, feed_forward=32, vocabulary=size)
    module = build(config, seed=seed).double().eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(6.0)
    return Model(module, tokenizer, task=LanguageModelSection(), length=READ)
