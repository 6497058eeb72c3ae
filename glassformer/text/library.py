"""Calls into the tokenizers library: whatever it raises becomes a TokenizerError; limits of a `tokenizer.json`, checked
before it can use much memory or time; words that it does not know; the special tokens around a text.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import tokenizers
from tokenizers import AddedToken, models, processors
from tokenizers.processors import PostProcessor

from glassformer.base.errors import GlassformerError, TokenizerError
from glassformer.text.special import SpecialTokens

_LOCK = threading.RLock()
# What the library prints where its code panics, before it raises.
_PANICKED = b"\nthread '"


@contextmanager
def refusing(refusal: Callable[[str], TokenizerError], *, quiet: bool = True) -> Iterator[None]:
    """Turn what the library raises into the TokenizerError that `refusal` makes of its message. The library raises bare
    Exceptions, and a BaseException where its Rust code panics; `quiet` keeps what it prints then from the screen, which
    takes a lock. Our own errors, full memory and interrupts pass through.
    """
    try:
        with _without_panics() if quiet else nullcontext():
            yield
    except (GlassformerError, MemoryError):
        raise
    except BaseException as error:
        if isinstance(error, Exception) or _is_panic(error):
            raise refusal(" ".join(str(error).split())[:300]) from None
        raise


@contextmanager
def _without_panics() -> Iterator[None]:
    """Inside, standard error is kept back; afterwards it is written, but for what begins as a panic does."""
    with _LOCK:
        try:
            sys.stderr.flush()
            screen = os.dup(2)
        except (OSError, ValueError, AttributeError):  # standard error is closed: nothing is printed
            yield
            return
        kept, written = os.pipe()
        os.set_blocking(written, False)  # a panic that is longer than the pipe is cut
        try:
            os.dup2(written, 2)
            yield
        finally:
            os.dup2(screen, 2)
            os.close(written)
            with os.fdopen(kept, "rb") as said, os.fdopen(screen, "wb", 0) as shown:
                if before := said.read().partition(_PANICKED)[0]:
                    shown.write(before)


def _is_panic(error: BaseException) -> bool:
    # The class cannot be imported: Rust makes it when the first panic is raised.
    return type(error).__name__ == "PanicException" and type(error).__module__ == "pyo3_runtime"


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


def cutting_error(
    message: str, backend: tokenizers.Tokenizer, vocabulary: Sequence[str] | None, texts: Sequence[str], mask: str
) -> TokenizerError:
    """The error for refused texts, with what to do; `vocabulary`: None if it has an unknown token."""
    error = TokenizerError("the tokenizer must be able to cut the text", got=message)
    with refusing(lambda _: error):
        return (None if vocabulary is None else _unknown_word(backend, vocabulary, texts, mask)) or error


def _unknown_word(
    backend: tokenizers.Tokenizer, vocabulary: Sequence[str], texts: Sequence[str], mask: str
) -> TokenizerError | None:
    """The error for the first such word in the texts, None for a vocabulary of another kind."""
    if not isinstance(backend.model, models.WordLevel):
        return None
    for text in texts:
        normalizer, cut = backend.normalizer, backend.pre_tokenizer
        words: list[str] = []
        for part in text.split(mask):
            plain = normalizer.normalize_str(part) if normalizer else part
            words += [word for word, _ in cut.pre_tokenize_str(plain)] if cut else [plain]
        for word in words:
            if backend.token_to_id(word) is None:
                return TokenizerError(
                    "each word must be in the vocabulary, which has no token for unknown words",
                    got=repr(word),
                    do=f"use words such as {', '.join(vocabulary[:5])}, or train on your own words: "
                    "glassformer train annotated-masks FILE",
                )
    return None


def with_template(
    backend: tokenizers.Tokenizer, special: SpecialTokens, *, segments: bool, byte_level: bool = False
) -> tokenizers.Tokenizer:
    """The tokenizer with the template `first A separator`, or `A separator` where it has no first token (Marian). With
    `segments` a pair is `first A separator B separator`, numbered 0 and 1 (BERT); without, the separator between the
    two is doubled and all are 0 (RoBERTa).
    """
    steps: list[PostProcessor] = [processors.ByteLevel(trim_offsets=True)] if byte_level else []
    first, separator = special.first, special.separator
    if separator is not None:
        before = [] if first is None else [first]
        pair = [*before, "$A:0", separator]
        pair += ["$B:1", f"{separator}:1"] if segments else [*([separator] if before else []), "$B:0", separator]
        steps.append(
            processors.TemplateProcessing(
                single=[*before, "$A:0", separator],
                pair=pair,
                special_tokens=[(token, backend.token_to_id(token)) for token in (*before, separator)],
            )
        )
    if steps:
        backend.post_processor = steps[0] if len(steps) == 1 else processors.Sequence(steps)
    return backend


def beginning_with(settings: Mapping[str, Any], token: str, id_: int) -> dict[str, Any]:
    """The content of a tokenizer.json with a token before each text, after what it does now."""
    begin = {"SpecialToken": {"id": token, "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    template = {
        "type": "TemplateProcessing",
        "single": [begin, first],
        "pair": [begin, first, second],
        "special_tokens": {token: {"id": token, "ids": [id_], "tokens": [token]}},
    }
    before = settings.get("post_processor")
    steps = [template] if before is None else [before, template]
    return {**settings, "post_processor": {"type": "Sequence", "processors": steps}}


def special_tokens(special: SpecialTokens) -> list[AddedToken]:
    """The special tokens as the library needs them; a mask absorbs the space before it, as " likes" would."""
    return [AddedToken(token, lstrip=token == special.mask, normalized=False, special=True) for token in special]
