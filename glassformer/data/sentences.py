"""Where sentences begin: good enough to part a document for next-sentence pairs."""

from __future__ import annotations

import re

_START = re.compile(
    r"""
    \n\s*                        # a new line
    |
    (?P<mark>[.!?…]+)            # or the end of a sentence,
    ["'”’»)\]]*                  #   its closing quotes,
    \s+                          #   and a blank,
    (?=["'“‘«(\[]*[A-Z0-9])      #   before a capital or a number
    """,
    re.VERBOSE,
)

# After a title or a single letter a full stop ends no sentence.
_NO_END = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Mt|Messrs|vs|No)|\b[A-Z])$")


def sentence_starts(text: str) -> list[int]:
    """Characters where a sentence begins, in order; the first is the first that is no blank.

    A sentence begins on a new line, and after a full stop, question or exclamation mark (and closing quotes) that a
    capital or a number follows.
    """
    first = len(text) - len(text.lstrip())
    starts = [first] if first < len(text) else []
    for found in _START.finditer(text, first):
        abbreviated = found["mark"] == "." and _NO_END.search(text, max(0, found.start() - 8), found.start())
        if not abbreviated and found.end() < len(text):
            starts.append(found.end())
    return starts
