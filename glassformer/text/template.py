"""The special tokens that a tokenizer puts around a text."""

import tokenizers
from tokenizers import AddedToken, processors
from tokenizers.processors import PostProcessor

from glassformer.text.special import SpecialTokens


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


def special_tokens(special: SpecialTokens) -> list[AddedToken]:
    """The special tokens as the library needs them; a mask absorbs the space before it, as " likes" would."""
    return [AddedToken(token, lstrip=token == special.mask, normalized=False, special=True) for token in special]
