"""Training tokenizers: WordPiece, byte-level BPE, unigram, whole words."""

import json
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Literal

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from glassformer.base.errors import DataError, TokenizerError, did_you_mean
from glassformer.text.library import refusing, special_tokens, with_template
from glassformer.text.special import BERT, ROBERTA, SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import parts_of

# Scripts with thousands of letters would fill the vocabulary; BERT's trainer keeps as many.
LIMIT = 1000

# Larger texts are kept on disk, not in memory.
_IN_MEMORY = 64 << 20


@contextmanager
def read_twice(texts: Iterable[str]) -> Iterator[tuple[Counter[str], Iterator[str]]]:
    """The letters of the texts with their counts, and the texts for a second pass."""
    letters: Counter[str] = Counter()
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
        for text in texts:
            letters.update(text)
            kept.write(json.dumps(text).encode() + b"\n")
        kept.seek(0)
        yield letters, (json.loads(line) for line in kept)


def inner_letters(letters: Counter[str], backend: tokenizers.Tokenizer) -> list[str]:
    """The letters that can stand inside a word, as the tokenizer writes them, most frequent first."""
    inner: Counter[str] = Counter()
    for letter, count in letters.items():
        word = backend.normalizer.normalize_str(f"a{letter}a")
        if len(backend.pre_tokenizer.pre_tokenize_str(word)) == 1:
            for written in word[1:-1]:
                inner[written] += count
    return sorted(sorted(inner), key=lambda letter: -inner[letter])[:LIMIT]


# WordPiece encodes a longer word as one unknown token, so that nothing can be learned from it.
LONGEST_WORD = 100
# The other kinds cut any word; a longer word is cut into parts of this many characters for training.
LONGEST_STRETCH = 1000

# Characters that every tokenizer here takes for a space: between them, no word is longer than the text.
_BLANK = " \t\n\r"


def _stretches(longest: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![^{_BLANK}])[^{_BLANK}]{{{longest + 1},}}")


_MANY_LETTERS, _VERY_MANY = _stretches(LONGEST_WORD), _stretches(LONGEST_STRETCH)


class LongWords:
    """Takes the words of more than LONGEST_WORD characters out of texts, and counts them."""

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self.left_out = 0
        self._backend = backend

    def parts(self, text: str) -> list[str]:
        return [_MANY_LETTERS.sub(self._without, text)]

    def _without(self, found: re.Match[str]) -> str:
        stretch = found[0]
        normal = self._backend.normalizer.normalize_str(stretch)
        words = [word for word, _ in self._backend.pre_tokenizer.pre_tokenize_str(normal)]
        short = [word for word in words if len(word) <= LONGEST_WORD]
        self.left_out += len(words) - len(short)
        return stretch if len(short) == len(words) else " ".join(short)


def cut(text: str) -> list[str]:
    """The text in parts, so that nothing without a space is longer than LONGEST_STRETCH characters."""
    parts, begin = [], 0
    for found in _VERY_MANY.finditer(text):
        for end in range(found.start() + LONGEST_STRETCH, found.end(), LONGEST_STRETCH):
            parts.append(text[begin:end])
            begin = end
    return [*parts, text[begin:]]


Kind = Literal["wordpiece", "bpe", "unigram", "words"]

USUAL_SPECIAL: dict[str, SpecialTokens] = {"wordpiece": BERT, "bpe": ROBERTA, "unigram": ROBERTA, "words": BERT}


def train_tokenizer(
    kind: Kind,
    texts: Iterable[str],
    *,
    vocabulary: int,
    lowercase: bool = True,
    leading_blank: bool = False,
    special: SpecialTokens | None = None,
    marks: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Tokenizer:
    """A tokenizer of at most `vocabulary` tokens, the special ones included, learned from texts.

    There are more tokens where fewer could not write the text: each letter that occurs is a token (wordpiece), and each
    of the 256 bytes (bpe).
    The same texts give the same tokenizer, except for unigram: the library sums its scores in the order of a hash
    table, so that they differ a little between runs, and one of two about equally useful tokens may be kept.
    With `leading_blank` (bpe alone) a blank is written before each text and left out where ids are decoded, so that the
    first word of a text has the tokens that it has inside one.
    `special` defaults to the kind's usual tokens ([CLS] … for wordpiece and words, <s> … for bpe and unigram);
    `SpecialTokens()` asks for none. `marks` are further special tokens, the last of the vocabulary. `advance` is called
    with the number of characters of each text as it is read.
    WordPiece leaves out words of more than 100 characters, which it could not cut either: `note` gets a sentence with
    their number. BPE and unigram cut words of more than 1000 characters into parts of 1000.
    Raises DataError when there is no text, TokenizerError when the vocabulary is too small.
    """
    if kind not in USUAL_SPECIAL:
        raise TokenizerError("a kind of tokenizer is needed", got=repr(kind), do=did_you_mean(kind, USUAL_SPECIAL))
    special = USUAL_SPECIAL[kind] if special is None else special
    least = len(list(special)) + len(marks) + 1
    if vocabulary < least:
        raise TokenizerError(f"a vocabulary of at least {least} tokens is needed", got=str(vocabulary))
    if leading_blank and kind != "bpe":
        raise TokenizerError("a blank before each text needs a bpe tokenizer", got=kind, do="leave leading_blank out")
    if kind in ("wordpiece", "unigram") and special.unknown is None:
        raise TokenizerError(f"a {kind} tokenizer needs a token for unknown words", got="none")
    reading = _Reading(texts, advance)
    learned = replace(special, pad=None) if special.pad_is_last else special

    def refusal(message: str) -> TokenizerError:
        return TokenizerError(f"a {kind} tokenizer of {vocabulary} tokens", got=message)

    try:
        with refusing(refusal):
            train = partial(_bpe, leading_blank=True) if leading_blank else _TRAINERS[kind]
            backend = train(reading, vocabulary - len(marks) - (learned != special), lowercase, learned)
            if marks:
                backend.add_special_tokens([AddedToken(each, normalized=False, special=True) for each in marks])
            if special.pad is not None and learned != special:
                backend.add_special_tokens([AddedToken(special.pad, normalized=False, special=True)])
    except TokenizerError:
        if reading.has_words:
            raise
    if not reading.has_words:
        raise DataError("a tokenizer needs text to learn from", got="no words", do="check the files of the recipe")
    if reading.left_out and note is not None:
        note(
            f"{reading.left_out:,} words of more than {LONGEST_WORD} characters were left out when learning the "
            "vocabulary: the tokenizer writes each of them as one unknown token"
        )
    return Tokenizer(backend.to_str(), special)


class _Reading:
    """The texts as they are read, with progress, and whether they contain words. A long text is read in parts that
    begin between two words: the library needs some seventy times the memory of each. `parts` gives what to learn from
    of a text; `left_out` counts the words that it has removed.
    """

    def __init__(self, texts: Iterable[str], advance: Callable[[int], None] | None) -> None:
        self.texts, self.advance, self.has_words, self.left_out = texts, advance, False, 0
        self.parts: Callable[[str], list[str]] = cut

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            for _, stretch in parts_of(text):
                for part in self.parts(stretch):
                    self.has_words = self.has_words or (bool(part) and not part.isspace())
                    yield part
            if self.advance is not None:
                self.advance(len(text))


def _wordpiece(texts: _Reading, vocabulary: int, lowercase: bool, special: SpecialTokens) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.WordPiece(unk_token=special.unknown, max_input_chars_per_word=LONGEST_WORD))
    # BERT's own default leaves out accents with the capitals, and with them the vowels of Hindi and the tones of Thai.
    backend.normalizer = bert = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    long_words = LongWords(backend)
    texts.parts = long_words.parts
    with read_twice(texts) as (letters, again):
        texts.left_out = long_words.left_out
        if any(unicodedata.normalize("NFD", letter) != letter or unicodedata.combining(letter) for letter in letters):
            # é may be one character or two; without such letters transformers' class for BERT can read the vocabulary.
            backend.normalizer = normalizers.Sequence([normalizers.NFC(), bert])
        inner = [f"##{letter}" for letter in inner_letters(letters, backend)]
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocabulary,
            special_tokens=[*special, *inner],
            limit_alphabet=LIMIT,
            continuing_subword_prefix="##",
            show_progress=False,
        )
        backend.train_from_iterator(again, trainer)
    return with_template(_without_added(backend, set(inner)), special, segments=True)


def _without_added(backend: tokenizers.Tokenizer, ordinary: set[str]) -> tokenizers.Tokenizer:
    """The tokenizer with these added tokens as ordinary ones: they were added only to determine their ids."""
    settings = json.loads(backend.to_str())
    settings["added_tokens"] = [token for token in settings["added_tokens"] if token["content"] not in ordinary]
    return tokenizers.Tokenizer.from_str(json.dumps(settings))


def _bpe(
    texts: _Reading, vocabulary: int, lowercase: bool, special: SpecialTokens, *, leading_blank: bool = False
) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.BPE())
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=leading_blank)
    backend.pre_tokenizer, backend.decoder = by_bytes, decoders.ByteLevel()
    if leading_blank:
        # In a sequence: transformers 4 sets add_prefix_space of a ByteLevel that stands alone to its own default.
        backend.pre_tokenizer = pre_tokenizers.Sequence([by_bytes])
        backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special_tokens(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),  # every byte, so that no text is unknown
        show_progress=False,
    )
    backend.train_from_iterator(iter(texts), trainer)
    return with_template(backend, special, segments=False, byte_level=True)


def _unigram(texts: _Reading, vocabulary: int, lowercase: bool, special: SpecialTokens) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.Unigram())
    steps = [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    backend.normalizer = normalizers.Sequence(steps + ([normalizers.Lowercase()] if lowercase else []))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary, special_tokens=special_tokens(special), unk_token=special.unknown, show_progress=False
    )
    backend.train_from_iterator(iter(texts), trainer)
    return with_template(backend, special, segments=False)


def _words(texts: _Reading, vocabulary: int, lowercase: bool, special: SpecialTokens) -> tokenizers.Tokenizer:
    texts.parts = lambda text: [text]  # words are only counted, however long they are
    backend = tokenizers.Tokenizer(models.WordLevel(unk_token=special.unknown or ""))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(vocab_size=vocabulary, special_tokens=list(special), show_progress=False)
    backend.train_from_iterator(iter(texts), trainer)
    return with_template(backend, special, segments=True)


_TRAINERS = {"wordpiece": _wordpiece, "bpe": _bpe, "unigram": _unigram, "words": _words}
