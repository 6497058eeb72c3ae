"""Very long words in the text that a vocabulary is learned from: base64, minified code, text without spaces.

The library's trainers take time that grows with the square of a word's length.
"""

import re

import tokenizers

# WordPiece encodes a longer word as one unknown token, so that nothing can be learned from it.
LONGEST_WORD = 100
# The other kinds cut any word; a longer word is cut into parts of this many characters for training.
LONGEST_STRETCH = 1000

# Characters that every tokenizer here takes for a space: between them, no word is longer than the text.
_BLANK = " \t\n\r"


def _stretches(longest: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![^{_BLANK}])[^{_BLANK}]{{{longest + 1},}}")


_MANY_LETTERS, _VERY_MANY = _stretches(LONGEST_WORD), _stretches(LONGEST_STRETCH)


class LongWords:
    """Takes the words of more than LONGEST_WORD characters out of texts, and counts them."""

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self.left_out = 0
        self._backend = backend

    def parts(self, text: str) -> list[str]:
        return [_MANY_LETTERS.sub(self._without, text)]

    def _without(self, found: re.Match[str]) -> str:
        stretch = found[0]
        normal = self._backend.normalizer.normalize_str(stretch)
        words = [word for word, _ in self._backend.pre_tokenizer.pre_tokenize_str(normal)]
        short = [word for word in words if len(word) <= LONGEST_WORD]
        self.left_out += len(words) - len(short)
        return stretch if len(short) == len(words) else " ".join(short)


def cut(text: str) -> list[str]:
    """The text in parts, so that nothing without a space is longer than LONGEST_STRETCH characters."""
    parts, begin = [], 0
    for found in _VERY_MANY.finditer(text):
        for end in range(found.start() + LONGEST_STRETCH, found.end(), LONGEST_STRETCH):
            parts.append(text[begin:end])
            begin = end
    return [*parts, text[begin:]]
