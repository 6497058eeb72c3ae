"""What tokens stand for: the texts of a text's tokens, one after the other, are the text again, byte for byte."""

import re

import pytest

from glassformer.text.token_text import BLANK, Spelling
from glassformer.text.train import train_tokenizer

SENTENCES = ("She likes summer better, été comme hiver.", "Les garçons  jouent\nà l'été <ici>.", "d'accord 2 · 3") * 4
UNSEEN = ("日本 été", "a\tb\n c", "naïve 🙂 garçon", "  two  blanks ")


def written(texts: list[str]) -> bytes:
    """The bytes of tokens' texts."""
    parts = re.split("<0x([0-9A-F]{2})>", "".join(texts))
    return b"".join(bytes([int(part, 16)]) if place % 2 else part.encode() for place, part in enumerate(parts))


@pytest.mark.parametrize("text", [*SENTENCES[:3], *UNSEEN])
def test_the_tokens_of_a_text_are_its_bytes(text: str) -> None:
    tokenizer = train_tokenizer("bpe", SENTENCES, vocabulary=300, lowercase=False)
    ids = tokenizer.encode(text, special=False).ids
    assert written([tokenizer.text(id_) for id_ in ids]) == text.encode()


def test_half_a_letter_is_a_byte_and_a_blank_can_be_seen() -> None:
    tokenizer = train_tokenizer("bpe", SENTENCES, vocabulary=300, lowercase=False)
    ids = tokenizer.encode("日 été", special=False).ids
    assert [tokenizer.text(id_) for id_ in ids][:3] == ["<0xE6>", "<0x97>", "<0xA5>"]
    assert all(word.isprintable() and " " not in word for word in tokenizer.shown)
    for id_, word in enumerate(tokenizer.shown):
        assert (BLANK in word) == (" " in tokenizer.text(id_))
    assert [tokenizer.text(id_) for id_ in sorted(tokenizer.special_ids)] == [
        tokenizer.token(id_) for id_ in sorted(tokenizer.special_ids)
    ]


def test_vocabularies_that_write_letters_keep_them() -> None:
    pieces = train_tokenizer("unigram", SENTENCES, vocabulary=60, lowercase=False)
    ids = pieces.encode(SENTENCES[0], special=False).ids
    assert "".join(pieces.text(id_) for id_ in ids).strip() == SENTENCES[0]
    words = train_tokenizer("wordpiece", SENTENCES, vocabulary=80)
    assert words.shown == words.vocabulary()


def test_a_byte_of_byte_fallback_is_one_byte() -> None:
    blanks = {"type": "Replace", "pattern": {"String": BLANK}, "content": " "}
    spelling = Spelling.of({"decoder": {"type": "Sequence", "decoders": [blanks, {"type": "ByteFallback"}]}})
    assert [spelling.byte_count(token) for token in ("<0xE2>", f"{BLANK}cat", "é", "<0xZZ>")] == [1, 4, 2, 6]
    assert Spelling.of({"decoder": blanks}).byte_count("<0xE2>") == 6  # of a vocabulary where it is a word
