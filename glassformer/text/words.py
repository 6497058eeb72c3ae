"""The words of a text, and the tokens of words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers.pre_tokenizers import BertPreTokenizer

from glassformer.text.parts import parts_of
from glassformer.text.tokenizer import Tokenizer

Span = tuple[int, int]

# Words that are encoded together: the library needs some hundred times the memory of a word.
TOGETHER = 1 << 14


class WordTokens(NamedTuple):
    """The tokens of all words, which of them begin a word, and the words without a token of their own."""

    ids: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    unread: Sequence[int] = ()


def find_words(text: str) -> list[Span]:
    """The characters of each word: between blanks, punctuation apart, as BERT's basic tokenizer cuts."""
    cut, found = BertPreTokenizer(), list[Span]()
    for begin, part in parts_of(text):
        found += [(begin + start, begin + end) for word, (start, end) in cut.pre_tokenize_str(part) if word.strip()]
    return found


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
    """Each word by itself as tokens, with the blank before it where there is one, so that each has tokens of its own. A
    word that the tokenizer turns into no token, such as a control character, is read as the unknown token.
    """
    instead = next((id_ for id_ in (tokenizer.unknown_id, tokenizer.mask_id, tokenizer.pad_id) if id_ is not None), 0)
    ids, first, count = [np.zeros(0, np.int32)], np.zeros(len(words), np.int64), 0
    unread: list[int] = []
    for begin in range(0, len(words), TOGETHER):
        some = words[begin : begin + TOGETHER]
        parts = [(" " if start and text[start - 1].isspace() else "") + text[start:end] for start, end in some]
        own, word_of = tokenizer.word_ids(parts)
        without = np.flatnonzero(np.bincount(word_of, minlength=len(some)) == 0)
        unread += (begin + without).tolist()
        places = word_of.searchsorted(without)
        own, word_of = np.insert(own, places, instead), np.insert(word_of, places, without)
        first[begin : begin + len(some)] = count + word_of.searchsorted(np.arange(len(some)))
        ids.append(own)
        count += len(own)
    return WordTokens(np.concatenate(ids), first, unread)
