"""Limits of a `tokenizer.json`, checked before it can use much memory or time."""

from collections.abc import Iterator, Mapping
from typing import Any

import tokenizers

from glassformer.base.errors import TokenizerError

# Ids need not be consecutive, but a table with a row for each must not be mostly empty.
_GAPS = 1000
# WordPiece tries every substring of a word: 100 letters are usual, BERT's first code allowed 200.
_LONGEST_WORD = 500
# How many times longer normalizers may make a text by Replace steps.
_GROWTH = 100
# The most special tokens that may be added to a text, or to two.
_ADDED = 100


def check_settings(settings: object) -> dict[str, Any]:
    """The settings of a `tokenizer.json`; raises TokenizerError for those that cost too much time or memory."""
    if not isinstance(settings, dict):
        raise TokenizerError("a tokenizer.json must hold a JSON object", got=type(settings).__name__)
    model = settings.get("model")
    longest = model.get("max_input_chars_per_word") if isinstance(model, dict) else None
    if isinstance(longest, int) and longest > _LONGEST_WORD:
        raise TokenizerError(
            f"max_input_chars_per_word must be at most {_LONGEST_WORD}, as the time grows with its square",
            got=str(longest),
        )
    for part in ("normalizer", "decoder"):
        growth = 1
        for content in _replacements(settings.get(part)):
            growth *= max(1, len(content))
            if growth > _GROWTH:
                raise TokenizerError(
                    f"the {part} may make a text {_GROWTH} times longer at most", got=f"{growth:,} times or more"
                )
    return settings


def _replacements(step: object) -> Iterator[str]:
    """The contents that the Replace steps of a normalizer or decoder insert, at any depth."""
    waiting = [step]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            if at.get("type") == "Replace" and isinstance(at.get("content"), str):
                yield at["content"]
            waiting += [value for value in at.values() if isinstance(value, list)]
        elif isinstance(at, list):
            waiting += at


def check_added(backend: tokenizers.Tokenizer) -> None:
    """Raise TokenizerError for a post-processor that adds too many special tokens or lacks one."""
    if backend.post_processor is None:
        return
    empty = tokenizers.Tokenizer(tokenizers.models.BPE()).encode("")
    added = max(len(backend.post_processor.process(empty, pair)) for pair in (None, empty))
    if added > _ADDED:
        raise TokenizerError(f"at most {_ADDED} special tokens may be added to each text", got=f"{added:,}")


def vocabulary_by_id(backend: tokenizers.Tokenizer, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The tokens by id, "" where an id has none. Raises TokenizerError where two tokens share an id, where more ids are
    empty than there are tokens (and 1000), and where the library gives an added token another id than the file.
    """
    ids = backend.get_vocab(with_added_tokens=True)
    largest = max(ids.values(), default=-1)
    if largest >= 2 * len(ids) + _GAPS:
        raise TokenizerError(f"the ids of {len(ids):,} tokens must have fewer gaps", got=f"the id {largest}")
    by_id: dict[int, str] = {}
    for token, id_ in ids.items():
        if id_ in by_id:
            raise TokenizerError(f"each id must belong to one token, unlike {id_}", got=f"{by_id[id_]!r} and {token!r}")
        by_id[id_] = token
    for added in settings.get("added_tokens") or ():
        token, id_ = added["content"], added["id"]
        if ids.get(token) != id_:
            raise TokenizerError(f"the added token {token!r} must have an id that follows the vocabulary", got=str(id_))
    return tuple(by_id.get(id_, "") for id_ in range(largest + 1))
