"""Whether a tokenizer belongs to a model, checked before any word is looked up."""

from glassformer.base.errors import TokenizerError
from glassformer.config import ModelConfig
from glassformer.text.tokenizer import MASK, Tokenizer

# Many models pad their vocabulary to a round size for fast matrices: by fewer rows than 128, or by 2.4 % of the tokens
# (deepseek-llm). A larger difference means another vocabulary.
ROUNDING, SHARE = 128, 1 / 32


def check_compatible(tokenizer: Tokenizer, config: ModelConfig) -> None:
    """Raise TokenizerError unless the tokenizers fit the word tables, which may have up to 127 rows more, or a 32nd."""
    for side, stack in ((tokenizer, config.encoder or config.output_stack), (tokenizer.target, config.output_stack)):
        size, vocabulary = side.vocabulary_size, stack.embed.vocabulary
        if not size <= vocabulary < size + max(ROUNDING, int(SHARE * size)):
            raise TokenizerError(
                f"model and tokenizer must belong together: the model has {vocabulary} tokens",
                got=f"a tokenizer with {size}",
                do="load the tokenizer that was saved with the model, or train a model for this one",
            )


def check_mask(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that cannot mask words: raises TokenizerError."""
    if MASK not in tokenizer.encode(MASK, special=False).tokens and tokenizer.mask_id is None:
        raise TokenizerError(
            "masked words need a tokenizer with a mask",
            got=f"one without it ({tokenizer.vocabulary_size} tokens)",
            do="train a wordpiece, bpe, unigram or words tokenizer, or add a mask to this one",
        )
