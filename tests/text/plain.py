"""Tokenizers as `transformers` makes those of BERT: cut by its normalizer alone."""

import json

from glassformer.text.tokenizer import Tokenizer


def of_bert_alone(tokenizer: Tokenizer) -> Tokenizer:
    """The same without the step before BERT's own that texts with accents have."""
    settings = tokenizer.settings
    settings["normalizer"] = settings["normalizer"].get("normalizers", [settings["normalizer"]])[-1]
    return Tokenizer(json.dumps(settings), tokenizer.special)
