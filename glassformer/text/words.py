"""The words of a text, and the tokens of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers.pre_tokenizers import BertPreTokenizer

from glassformer.text.tokenizer import Tokenizer

Span = tuple[int, int]


class WordTokens(NamedTuple):
    """The tokens of all words of a text, and which of them is the first of each word."""

    ids: list[int]
    first: npt.NDArray[np.int64]


def find_words(text: str) -> list[Span]:
    """The characters [start, end) of each word: text between blanks, with each punctuation mark a word of its own, as
    BERT's tokenizer cuts it before it looks into its vocabulary (Devlin et al. 2019).
    """
    return [span for word, span in BertPreTokenizer().pre_tokenize_str(text) if word.strip()]


def align_words(text: str, words: Sequence[str]) -> list[Span] | None:
    """The characters [start, end) of each word where they stand in the text in this order; None where they do not."""
    found, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            return None
        at = start + len(word)
        found.append((start, at))
    return found


def word_tokens(tokenizer: Tokenizer, text: str, words: Sequence[Span]) -> WordTokens:
    """Each word by itself as tokens, with the blank before it where there is one, so that each has tokens of its own.

    A word that the tokenizer turns into no token, such as a control character, is read as the unknown token.
    """
    parts = [(" " if start and text[start - 1].isspace() else "") + text[start:end] for start, end in words]
    raw = tokenizer.raw_words(parts)
    instead = next((id_ for id_ in (tokenizer.unknown_id, tokenizer.mask_id, tokenizer.pad_id) if id_ is not None), 0)
    ids: list[int] = []
    first = np.zeros(len(words), np.int64)
    for number, own in enumerate(raw):
        first[number] = len(ids)
        ids += own or [instead]
    return WordTokens(tokenizer.unalias(ids), first)
