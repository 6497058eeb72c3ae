"""Texts of any length as tokens, encoded in parts, and words and their tokens: the library needs some fifty times the
memory of a text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers.pre_tokenizers import BertPreTokenizer

from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

# Characters of a part, and parts that are encoded together, on all cores.
PART, TOGETHER = 1 << 16, 8
# Ways to write a word of which no more are listed.
_MOST = 1_000
# The letters of scripts that are written without blanks between words, as a class of a pattern: Thai and Lao, Myanmar,
# Khmer, kana, Chinese.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_BETWEEN_WORDS = re.compile(r"(?<=\S)\s")


@cache
def marks() -> str:
    """The characters that belong to a letter before them. Patterns of Python do not count them as letters of words."""
    return "".join(each for each in map(chr, range(0x300, 0x1F000)) if unicodedata.category(each)[0] == "M")


def encoded_parts(tokenizer: Tokenizer, text: str) -> Iterator[tuple[int, tokenizers.Encoding]]:
    """The place of each part of a text, and the library's encoding of it, whose ids need `unalias`."""
    left = parts_of(text)
    while parts := list(islice(left, TOGETHER)):
        raw = tokenizer.raw_batch([part for _, part in parts])
        yield from zip((begin for begin, _ in parts), raw, strict=True)


def spellings(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, ...]]:
    """All sequences of tokens that write the same letters as these, up to a thousand; the shortest ones first. Of
    several words of WordPiece, whose tokens write no blanks, these tokens alone.
    """
    before = str((tokenizer.settings.get("model") or {}).get("continuing_subword_prefix") or "")
    if before and not all(tokenizer.token(id_).startswith(before) for id_ in ids[1:]):
        return [tuple(ids)]
    longest = max(map(len, tokenizer.vocabulary()))
    letters = "".join(tokenizer.token(id_).removeprefix(before if place else "") for place, id_ in enumerate(ids))
    tokens_from: list[list[tuple[int, int]]] = []  # the ends of the tokens that begin at each letter, and their ids
    for at in range(len(letters)):
        ends = range(at + 1, min(at + longest, len(letters)) + 1)
        ids_at = ((end, tokenizer.id((before if at else "") + letters[at:end])) for end in ends)
        tokens_from.append([(end, id_) for end, id_ in ids_at if id_ is not None])
    least = [*[math.inf] * len(letters), 0.0]  # the fewest tokens from each letter to the end
    for at in reversed(range(len(letters))):
        least[at] = 1 + min((least[end] for end, _ in tokens_from[at]), default=math.inf)
    found: list[tuple[int, ...]] = []
    begun: list[tuple[float, int, tuple[int, ...]]] = [(least[0], 0, ())]
    while begun and len(found) < _MOST:
        _, left, known = heappop(begun)
        if -left == len(letters):
            found.append(known)
            continue
        for end, id_ in tokens_from[-left]:
            if least[end] < math.inf:
                heappush(begun, (len(known) + 1 + least[end], -end, (*known, id_)))
    return found


def ids_of(tokenizer: Tokenizer, text: str) -> array[int]:
    """The ids of a text, without special tokens around it, in memory of a few times its own."""
    ids = array("i")
    for _, raw in encoded_parts(tokenizer, text):
        ids.extend(tokenizer.unalias(raw.ids))
    return ids


def parts_of(text: str) -> Iterator[tuple[int, str]]:
    """The text in parts that begin between two words, each with its place; without blanks for long, anywhere."""
    begin = 0
    while len(text) - begin > 2 * PART:
        between = _BETWEEN_WORDS.search(text, begin + PART, begin + 2 * PART)
        end = begin + PART if between is None else between.start()
        yield begin, text[begin:end]
        begin = end
    yield begin, text[begin:]


Span = tuple[int, int]

# Words that are encoded together: the library needs some hundred times the memory of a word.
WORDS_TOGETHER = 1 << 14


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


# The cases of words: no capital, a capital first, capitals alone, any other mixture.
CASES = 4


def case_of(word: str) -> int:
    """The number of a word's case, of CASES."""
    if word == word.lower():
        return 0
    if word[1:] == word[1:].lower():
        return 1
    return 2 if word == word.upper() else 3


def word_tokens(tokenizer: Tokenizer, text: str, words: Sequence[Span]) -> WordTokens:
    """Each word by itself as tokens, with the blank before it where there is one, so that each has tokens of its own. A
    word that the tokenizer turns into no token, such as a control character, is read as the unknown token.
    """
    instead = next((id_ for id_ in (tokenizer.unknown_id, tokenizer.mask_id, tokenizer.pad_id) if id_ is not None), 0)
    ids, first, count = [np.zeros(0, np.int32)], np.zeros(len(words), np.int64), 0
    unread: list[int] = []
    for begin in range(0, len(words), WORDS_TOGETHER):
        some = words[begin : begin + WORDS_TOGETHER]
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
