"""A model and a tokenizer that do not belong together are refused."""

from contextlib import nullcontext

import pytest
import tokenizers

from glassformer.base.errors import TokenizerError
from glassformer.models.families import bert
from glassformer.text.compatible import check_compatible, check_mask
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.refusals import refused

TEXTS = ("She likes the summer better", "He loves to stay healthy")


@pytest.mark.parametrize(("rows", "fits"), [(0, True), (1, True), (127, True), (128, False), (-1, False)])
def test_only_rounding_may_lie_between_tokens_and_rows(rows: int, fits: bool) -> None:
    tokenizer = train_tokenizer("words", TEXTS, vocabulary=50)
    vocabulary = tokenizer.vocabulary_size + rows
    if fits:
        check_compatible(tokenizer, bert(size="tiny", vocabulary=vocabulary))
    else:
        with refused(TokenizerError, wanted=str(vocabulary), got="15"):
            check_compatible(tokenizer, bert(size="tiny", vocabulary=vocabulary))


@pytest.mark.parametrize(("rows", "fits"), [(249, True), (250, False)])
def test_a_large_vocabulary_may_be_padded_by_a_32nd(rows: int, fits: bool) -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{number}": number for number in range(8_000)}, "w0"))
    with nullcontext() if fits else refused(TokenizerError, wanted=str(8_000 + rows), got="8000"):
        check_compatible(Tokenizer(backend.to_str(), SpecialTokens()), bert(size="tiny", vocabulary=8_000 + rows))


def test_masked_words_need_a_mask() -> None:
    check_mask(train_tokenizer("bpe", TEXTS, vocabulary=300))
    check_mask(train_tokenizer("words", TEXTS, vocabulary=50, special=SpecialTokens()))
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    with refused(TokenizerError, wanted="mask", got="3 tokens"):
        check_mask(Tokenizer(backend.to_str(), SpecialTokens()))
