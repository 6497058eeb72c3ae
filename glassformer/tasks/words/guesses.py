"""Guesses at masked words, for the verbs that answer with them.

N scored tokens of a batch · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from glassformer.base.errors import ConfigError, DataError
from glassformer.scoring.score import widened
from glassformer.text.compatible import check_mask
from glassformer.text.tokenizer import MASK, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch
    from glassformer.models.transformer import Transformer


def check_guesses(model: Transformer, tokenizer: Tokenizer) -> None:
    """Raise ConfigError unless a model predicts masked words, TokenizerError for a tokenizer without a mask."""
    config = model.config
    if config.encoder is None or config.decoder is not None or config.head is None:
        raise ConfigError(
            "masked words need an encoder with a vocabulary head",
            got=f"a {config.family} model without"
            + (", which classifies texts" if config.sentence_head is not None else "")
            if config.head is None
            else f"a {config.family} model, which predicts from left to right",
            do="train one with: glassformer train masked-lm TEXT.txt",
        )
    check_mask(tokenizer)


def expected_tokens(tokenizer: Tokenizer, text: str, words: Sequence[str]) -> tuple[str, list[list[int]]]:
    """The text with as many [MASK] for each expected word as it has tokens there, and the ids of these tokens.

    Raises DataError unless there is a word for each [MASK], with tokens that the vocabulary has.
    """
    first, *others = text.replace(tokenizer.special.mask or MASK, MASK).split(MASK)
    if len(others) != len(words):
        got = f"{len(words)} for {len(others)} in {text[:60]!r}"
        raise DataError(f"one expected word is needed for each {MASK}", got=got, do="give one for each, in their order")
    whole, spans = first, []
    for word, after in zip(words, others, strict=True):
        spans.append((len(whole), len(whole) + len(word)))
        whole += word + after
    encoding = tokenizer.encode(whole, special=False)
    at = list(zip(encoding.ids, encoding.offsets, strict=True))
    found = [[id_ for id_, (start, end) in at if start < last and end > first] for first, last in spans]
    for word, ids in zip(words, found, strict=True):
        if not ids or not word.strip() or {*ids} & tokenizer.special_ids:
            raise DataError("an expected word must have tokens in the vocabulary", got=repr(word)[:60])
    masks = [MASK * len(ids) for ids in found]
    return first + "".join(mask + after for mask, after in zip(masks, others, strict=True)), found


def log_probabilities(model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Tensor]]:
    """Each batch with the log-probabilities at its scored tokens, [N, V], at least float32, on the CPU."""
    for batch in batches:
        logits = model(batch.inputs, scored_at=batch.scored_at, heads=("head",)).logits  # [N, V]
        yield batch, widened(logits).log_softmax(dim=-1).cpu()


def scored_in_each(batch: Batch) -> list[int]:
    """How many tokens are scored in each row of a batch; those of one row are adjacent."""
    import torch

    assert batch.scored_at is not None
    rows, length = batch.inputs.shape
    return torch.bincount(batch.scored_at.cpu() // length, minlength=rows).tolist()
