"""Texts of any length as tokens, encoded in parts: the library needs some fifty times the memory of a text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers

    from glassformer.text.tokenizer import Tokenizer

# Characters of a part, and parts that are encoded together, on all cores.
PART, TOGETHER = 1 << 16, 8
_BETWEEN_WORDS = re.compile(r"(?<=\S)\s")


def encoded_parts(tokenizer: Tokenizer, text: str) -> Iterator[tuple[int, tokenizers.Encoding]]:
    """The place of each part of a text, and the library's encoding of it, whose ids need `unalias`."""
    left = parts_of(text)
    while parts := list(islice(left, TOGETHER)):
        raw = tokenizer.raw_batch([part for _, part in parts])
        yield from zip((begin for begin, _ in parts), raw, strict=True)


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
