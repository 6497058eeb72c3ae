"""Words that must or must not occur, as the tokenizer spells them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

IdsOf = Callable[[str], Sequence[int]]
Sequences = tuple[tuple[int, ...], ...]


def forced_ids(words: Sequence[str], ids_of: IdsOf) -> Sequences:
    """One spelling of each word: that behind another word."""
    return tuple(dict.fromkeys(_behind(word, ids_of) for word in words))


def forbidden_ids(words: Sequence[str], ids_of: IdsOf) -> Sequences:
    """All spellings of each word: at the beginning of a text, and behind another word. Capitals are others."""
    return tuple(dict.fromkeys(ids for word in words for ids in (tuple(ids_of(word)), _behind(word, ids_of))))


def _behind(word: str, ids_of: IdsOf) -> tuple[int, ...]:
    """The tokens of a word that stands behind another one; its own tokens where the two cannot be told apart."""
    other = tuple(ids_of("a"))
    both = tuple(ids_of(f"a {word}"))
    return both[len(other) :] if both[: len(other)] == other else tuple(ids_of(word))
