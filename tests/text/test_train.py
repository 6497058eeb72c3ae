"""Training tokenizers: repeatable, bounded, with progress, and clear about what cannot be done."""

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.base.errors import DataError, TokenizerError
from glassformer.text import words as words_of_text
from glassformer.text.load import load_tokenizer
from glassformer.text.special import MARIAN, SpecialTokens
from glassformer.text.train import LONGEST_STRETCH, LONGEST_WORD, Kind, _Reading, cut, train_tokenizer
from tests.refusals import refused

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
    train_tokenizer("wordpiece", TEXTS, vocabulary=100, advance=seen.append)
    assert seen == [len(text) for text in TEXTS]


def test_frequent_words_are_one_token() -> None:
    tokenizer = train_tokenizer("wordpiece", TEXTS, vocabulary=300)
    assert tokenizer.encode("the green frog", special=False).tokens == ["the", "green", "frog"]
    rare = tokenizer.encode("the greens", special=False)
    assert rare.tokens == ["the", "green", "##s"]
    assert rare.words == [0, 1, 1]


def test_what_cannot_be_trained_is_said() -> None:
    with refused(TokenizerError, got="'wordpeice'", do="'wordpiece'"):
        train_tokenizer(cast(Kind, "wordpeice"), TEXTS, vocabulary=100)
    with refused(TokenizerError, wanted="6", got="5"):
        train_tokenizer("wordpiece", TEXTS, vocabulary=5)
    with refused(TokenizerError, wanted="unigram", got="none"):
        train_tokenizer("unigram", TEXTS, vocabulary=100, special=SpecialTokens())
    with refused(TokenizerError, wanted=("unigram", "12")):
        train_tokenizer("unigram", TEXTS, vocabulary=12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", "  \n"]])
def test_no_words_no_tokenizer(kind: Kind, texts: list[str]) -> None:
    with refused(DataError, wanted="tokenizer", got="no words"):
        train_tokenizer(kind, texts, vocabulary=300)


def test_an_error_while_reading_stays_what_it_is() -> None:
    def broken() -> object:
        yield "some words"
        raise DataError("notes.txt, line 2 must be UTF-8 text")

    with refused(DataError, wanted="notes.txt, line 2"):
        train_tokenizer("wordpiece", broken(), vocabulary=100)  # type: ignore[arg-type]  # texts that fail


def test_wordpiece_leaves_out_words_that_it_cannot_cut() -> None:
    notes: list[str] = []
    usual = train_tokenizer("wordpiece", TEXTS, vocabulary=300, note=notes.append)
    assert notes == []
    for long in ("red" * 34, "the-" + "x" * 500 + "-fox", "\x1d".join("x" * 101)):
        text = " ".join(["The", long, "The", long])
        kept = "The the - - fox The the - - fox" if "-" in long else "The The"
        notes.clear()
        learned = train_tokenizer("wordpiece", [*TEXTS, text], vocabulary=300, note=notes.append)
        assert learned.fingerprint == train_tokenizer("wordpiece", [*TEXTS, kept], vocabulary=300).fingerprint
        assert len(notes) == 1
        assert notes[0].startswith("2 ")
        assert str(LONGEST_WORD) in notes[0]
        assert learned.encode("red" * 34, special=False).ids == [usual.unknown_id]
    notes.clear()
    train_tokenizer("wordpiece", [*TEXTS, "x" * LONGEST_WORD], vocabulary=300, note=notes.append)
    assert notes == []


def test_text_of_long_words_alone_has_nothing_to_learn_from() -> None:
    with pytest.raises(DataError):
        train_tokenizer("wordpiece", ["x" * 5000], vocabulary=300)
    assert "x" * 5000 in train_tokenizer("words", ["x" * 5000], vocabulary=300).vocabulary()


@given(
    st.lists(st.tuples(st.integers(0, 3 * LONGEST_STRETCH), st.sampled_from([" ", "\n", "\t", "。", ""])), max_size=5)
)
def test_long_stretches_are_cut_and_nothing_is_lost(stretches: list[tuple[int, str]]) -> None:
    text = "".join("x" * length + end for length, end in stretches)
    parts = cut(text)
    assert "".join(parts) == text
    assert all(len(word) <= LONGEST_STRETCH for part in parts for word in part.split())
    if all(len(word) <= LONGEST_STRETCH for word in text.split()):
        assert parts == [text]


PROGRAM = """
import random
from glassformer.text.train import train_tokenizer
draw = random.Random(0)
blob = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(1_000_000))
for kind in ("wordpiece", "bpe"):
    train_tokenizer(kind, ["The fox sees the dog. " * 9, blob], vocabulary=300).encode(blob)
"""


@pytest.mark.long
def test_a_word_of_a_million_letters_takes_no_square_of_time() -> None:
    """About 4 s; the square of a million letters took many minutes."""
    path = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=path, timeout=600)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "words"])  # unigram differs from run to run
def test_a_long_text_is_learned_from_in_parts_as_the_whole_is(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole the library takes some seventy times its memory: 2 GB of a text of 30 MB."""
    text = "She likes, unquestionably,\n  her summer of 1987 better (than the winter).  " * 40
    whole = train_tokenizer(kind, [text], vocabulary=300)
    monkeypatch.setattr(words_of_text, "PART", 50)
    assert max(map(len, _Reading([text], None))) <= 100
    assert train_tokenizer(kind, [text], vocabulary=300).fingerprint == whole.fingerprint


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_a_tokenizer_without_a_first_token_closes_its_texts(kind: Kind, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(kind, TEXTS, vocabulary=300, lowercase=False, special=MARIAN)
    again = load_tokenizer(tokenizer.save(tmp_path))
    for each in (tokenizer, again):
        assert each.frame_ids == ((), (each.end_id,))
        assert each.pair_frame_ids == ((), (), (each.end_id,)) or each.pair_frame_ids[1] == (each.end_id,)
        ids = each.encode(TEXTS[0]).ids
        assert each.decode(ids[:-1]) == each.decode(ids)
        assert each.pad_id not in ids
    assert again.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
