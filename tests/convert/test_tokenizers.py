"""The tokenizer goes out beside the weights, and `transformers` cuts text as ours does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import transformers

from glassformer.convert import read_huggingface, write_huggingface
from glassformer.text.train import train_tokenizer
from tests.contracts.families import Row

Kind = Literal["wordpiece", "unigram", "bpe"]
TEXTS = ["She likes summer better than winter.", "The quick brown fox jumps over the lazy dog; it never rests!"]


@pytest.mark.parametrize(("kind", "family"), [("wordpiece", "bert"), ("unigram", "distilbert"), ("bpe", "gpt2")])
def test_both_sides_cut_alike(kind: Kind, family: str, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(kind, TEXTS * 20, vocabulary=320)
    model = Row(family, family, {"vocabulary": tokenizer.vocabulary_size}).model()
    write_huggingface(tmp_path, model.config, model.state_dict(), tokenizer)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert theirs(text)["input_ids"] == tokenizer.encode(text).ids
    assert theirs.mask_token == tokenizer.special.mask
    assert theirs.pad_token_id == tokenizer.pad_id
    assert theirs.model_max_length == 16
    again = read_huggingface(tmp_path)
    assert again.tokenizer is not None
    assert again.tokenizer.special == tokenizer.special
    assert again.tokenizer.fingerprint == tokenizer.fingerprint
    assert again.report.tokens.get("pad_token_id") == tokenizer.pad_id
