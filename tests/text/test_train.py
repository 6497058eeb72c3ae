"""Training tokenizers: repeatable, bounded, with progress, and clear about what cannot be done."""

from __future__ import annotations

from typing import cast

import pytest

from glassformer.errors import DataError, TokenizerError
from glassformer.text.special import SpecialTokens
from glassformer.text.train import Kind, train_tokenizer

KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram", "words")
TEXTS = [f"The {colour} {animal} sees {number} Trees." for number in range(9) for colour in ("red", "grey", "green")
         for animal in ("fox", "dog", "horse", "frog")]  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unigram"])  # its sums run in any order
def test_the_same_texts_give_the_same_tokenizer(kind: Kind) -> None:
    first, second = (train_tokenizer(kind, iter(TEXTS), vocabulary=300) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.vocabulary_size <= 300
    assert first.vocabulary_size > len(list(first.special))


@pytest.mark.parametrize("kind", KINDS)
def test_lowercase_is_a_choice(kind: Kind) -> None:
    lowered = train_tokenizer(kind, TEXTS, vocabulary=300, lowercase=True)
    cased = train_tokenizer(kind, TEXTS, vocabulary=300, lowercase=False)
    assert lowered.encode("THE FOX").ids == lowered.encode("the fox").ids
    assert cased.encode("THE FOX").ids != cased.encode("the fox").ids


def test_progress_counts_the_characters() -> None:
    seen: list[int] = []
    train_tokenizer("wordpiece", TEXTS, vocabulary=100, progress=seen.append)
    assert seen == [len(text) for text in TEXTS]


def test_frequent_words_are_one_piece() -> None:
    tokenizer = train_tokenizer("wordpiece", TEXTS, vocabulary=300)
    assert tokenizer.encode("the green frog", special=False).pieces == ["the", "green", "frog"]
    rare = tokenizer.encode("the greens", special=False)
    assert rare.pieces == ["the", "green", "##s"]
    assert rare.words == [0, 1, 1]


def test_what_cannot_be_trained_is_said() -> None:
    with pytest.raises(TokenizerError, match="did you mean 'wordpiece'"):
        train_tokenizer(cast(Kind, "wordpeice"), TEXTS, vocabulary=100)
    with pytest.raises(TokenizerError, match="at least 6 pieces is needed; got 5"):
        train_tokenizer("wordpiece", TEXTS, vocabulary=5)
    with pytest.raises(TokenizerError, match="needs a piece for unknown words"):
        train_tokenizer("unigram", TEXTS, vocabulary=100, special=SpecialTokens())
    with pytest.raises(TokenizerError, match=r"a unigram tokenizer of 12 pieces; got .*not large enough"):
        train_tokenizer("unigram", TEXTS, vocabulary=12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", "  \n"]])
def test_no_words_no_tokenizer(kind: Kind, texts: list[str]) -> None:
    with pytest.raises(DataError, match="needs text to learn from; got no words"):
        train_tokenizer(kind, texts, vocabulary=300)


def test_an_error_while_reading_stays_what_it_is() -> None:
    def broken() -> object:
        yield "some words"
        raise DataError("notes.txt, line 2 must be UTF-8 text")

    with pytest.raises(DataError, match=r"notes\.txt, line 2"):
        train_tokenizer("wordpiece", broken(), vocabulary=100)  # type: ignore[arg-type]
