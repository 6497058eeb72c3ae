"""Words that must or must not occur, as the tokenizer spells them."""

import re
from collections.abc import Callable, Sequence

from glassformer.decode.request import ForcedWord

IdsOf = Callable[[str], Sequence[int]]
TextOf = Callable[[Sequence[int]], str]
Sequences = tuple[tuple[int, ...], ...]


def forced_words(words: Sequence[str], ids_of: IdsOf) -> tuple[ForcedWord, ...]:
    """Each word with its tokens behind another word, and those at the beginning of an answer."""
    stripped = dict.fromkeys(word.strip() for word in words)
    return tuple(ForcedWord(_behind(word, ids_of), tuple(ids_of(word)), word) for word in stripped)


def forbidden_ids(words: Sequence[str], ids_of: IdsOf) -> Sequences:
    """Spellings of each word: first in a text, after a word, after a mark without a blank; not capitals."""
    each = ((tuple(ids_of(word)), _behind(word, ids_of), _behind(word, ids_of, "a-")) for word in words)
    return tuple(dict.fromkeys(ids for spellings in each for ids in spellings))


def contains(text: str, word: str) -> bool:
    """Whether a text contains a word, or several, that no letters or digits around it go on with."""
    before, after = (r"\b" if letter.isalnum() else "" for letter in (word[0], word[-1]))
    return re.search(f"{before}{re.escape(word)}{after}", text) is not None


def before_stop(text: str, stop: Sequence[str]) -> str:
    """The text up to the first of the stop strings that occurs in it."""
    return text[: min((at for each in stop if (at := text.find(each)) >= 0), default=len(text))]


def _behind(word: str, ids_of: IdsOf, before: str = "a ") -> tuple[int, ...]:
    """The tokens of a word that stands behind another one; its own tokens where the two cannot be told apart."""
    other = tuple(ids_of(before.strip()))
    both = tuple(ids_of(before + word))
    return both[len(other) :] if both[: len(other)] == other else tuple(ids_of(word))
