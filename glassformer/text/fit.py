"""Does this tokenizer belong to this model? Refused before a wrong word is ever looked up."""

from __future__ import annotations

from glassformer.errors import TokenizerError
from glassformer.text.tokenizer import MASK, Tokenizer

# Models often round their vocabulary up so that matrices have a handy size; more than this is another vocabulary.
ROUNDING = 128


def check_fit(tokenizer: Tokenizer, vocabulary: int) -> None:
    """Refuse a tokenizer whose pieces are not the rows of a model's word table of `vocabulary` rows.

    The model may have up to 127 rows more than there are pieces. Raises TokenizerError.
    """
    size = tokenizer.vocabulary_size
    if not size <= vocabulary < size + ROUNDING:
        raise TokenizerError(
            f"model and tokenizer must belong together: the model knows {vocabulary} pieces",
            got=f"a tokenizer of {size}",
            do="load the tokenizer that was saved with the model, or train a model for this one",
        )


def check_mask(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that cannot hide words: raises TokenizerError."""
    if MASK not in tokenizer.encode(MASK, special=False).pieces and tokenizer.mask_id is None:
        raise TokenizerError(
            "masked words need a tokenizer with a mask",
            got=f"one without it ({tokenizer.vocabulary_size} pieces)",
            do="train a wordpiece, bpe, unigram or words tokenizer, or add a mask to this one",
        )
