"""Words outside a vocabulary of whole words that has no token for unknown ones."""

from collections.abc import Sequence

import tokenizers
from tokenizers import models

from glassformer.base.errors import TokenizerError
from glassformer.text.library import refusing


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
