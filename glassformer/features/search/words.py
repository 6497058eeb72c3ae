"""The words of an index: which texts have a word and how often, on disk, and their BM25 scores for a question.

N texts · V different words · P pairs of a word and a text that has it
"""

import hashlib
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

import numpy as np
import numpy.typing as npt

from glassformer.base.json_text import parse_json
from glassformer.features.search.nearest import Integers, candidates, ordered
from glassformer.text.words import UNSPACED, marks

Doubles = npt.NDArray[np.float64]
Counted = Literal["words.npy", "pairs.npy", "lengths.npy"]
WORDS: Counted = "words.npy"
PAIRS: Counted = "pairs.npy"
LENGTHS: Counted = "lengths.npy"
# The usual constants of BM25: how soon more of a word counts no more, and how much the length of a text counts.
_K1, _B = 1.5, 0.75
# The letters of the beginning of a word, and the words that are counted together.
_BEGINNING, _TOGETHER = 5, 1 << 20
# Letters in a row whose pairs are words too: of scripts without blanks, and of Korean, whose endings join the word.
_IN_PAIRS = re.compile(f"[{UNSPACED}]+|[\uac00-\ud7a3]+")
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# What is seen of no letter: soft hyphens, joiners, zero-width blanks; and the dot that small letters of İ have.
_UNSEEN = re.compile("[\u00ad\u0307\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def words_of(text: str) -> list[str]:
    """The words of a text without capitals: letters, marks, digits and _ in a row (Unicode, NFKC, casefold). After a
    longer word than five letters come its first five, which its other forms share. Where words are written without
    blanks between them, each two letters in a row are one, and each Chinese character; of Korean words too.
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        words = _word().findall(text)
        return [each for word in words for each in (word, word[:_BEGINNING])[: 1 + (len(word) > _BEGINNING)]]
    text = _IN_PAIRS.sub(r" \g<0> ", _UNSEEN.sub("", text).replace("ı", "i"))
    return [each for word in _word().findall(text) for each in _ways(word)]


def _ways(word: str) -> list[str]:
    if len(word) == 1 or not _IN_PAIRS.match(word):
        return [word, word[:_BEGINNING]][: 1 + (len(word) > _BEGINNING)]
    pairs = [word[at : at + 2] for at in range(len(word) - 1)]
    if not "\uac00" <= word[0] <= "\ud7a3":
        return [*_CHINESE.findall(word), *pairs]
    return [word, *pairs] if len(word) > 2 else [word]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"[\w{marks()}]+")


@lru_cache(1 << 17)
def _key(word: str) -> int:
    """The word as a number of 64 bits, the same in every process."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little", signed=True)


def write_words(texts: Path, folder: Path, advance: Callable[[int], object] = lambda more: None) -> tuple[int, int]:
    """Count the words of texts, one JSON object a line, and write them into a folder, in memory that grows only
    with how many different words there are, and by 4 bytes a text; returns V and P. Without any word: 0 and no file.
    `advance` is called with how many more texts are counted.

    words.npy [2, V] int64: the words as numbers, rising, and where the pairs of each end; pairs.npy [P, 2] int32: a
    text and how often it has the word; lengths.npy [N] int32: how many words a text has.
    """
    words, of = np.zeros(0, np.int64), np.zeros(0, np.int64)  # [V], and how many texts have each
    lengths = [np.zeros(0, np.int32)]
    with TemporaryFile(dir=folder) as file:
        for keys, pairs, its in _counted(texts):
            np.save(file, keys)
            np.save(file, pairs)
            new, times = np.unique(keys, return_counts=True)
            words, place = np.unique(np.concatenate([words, new]), return_inverse=True)
            of = np.bincount(place, np.concatenate([of, times]), len(words)).astype(np.int64)
            lengths.append(its)
            advance(len(its))
        if not len(words):
            return 0, 0
        np.save(folder / WORDS, np.stack([words, of.cumsum()]))
        np.save(folder / LENGTHS, np.concatenate(lengths))
        free = of.cumsum() - of  # where the next pair of each word goes
        count = int(of.sum())
        written = np.lib.format.open_memmap(folder / PAIRS, "w+", "<i4", (count, 2), version=(1, 0))
        file.seek(0)
        for _ in lengths[1:]:
            keys, pairs = np.load(file), np.load(file)
            new, first, times = np.unique(keys, return_index=True, return_counts=True)
            at = words.searchsorted(new)
            written[np.repeat(free[at] - first, times) + np.arange(len(keys))] = pairs
            free[at] += times
        written.flush()
    return len(words), count


def _counted(texts: Path) -> Iterator[tuple[Integers, npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
    """Of some texts at a time the pairs, ordered by word, then text: words [P], texts and times [P, 2], lengths."""
    keys, lengths, before = array("q"), array("i"), 0

    def those() -> tuple[Integers, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        its, rows = np.array(keys, np.int64), before + np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((rows, its))
        its, rows = its[order], rows[order]
        begins = np.flatnonzero(np.diff(its, prepend=~its[:1]) | np.diff(rows, prepend=-1))
        times = np.diff(begins, append=len(its))
        return its[begins], np.stack([rows[begins], times], axis=1).astype(np.int32), np.array(lengths, np.int32)

    with texts.open("rb") as file:
        for line in file:
            words = words_of(parse_json(line)["text"])
            keys.extend(map(_key, words))
            lengths.append(len(words))
            if len(keys) >= _TOGETHER:
                yield those()
                keys, lengths, before = array("q"), array("i"), before + len(lengths)
    if lengths:
        yield those()


class Words:
    """The words of an index, of the arrays that `write_words` wrote; raises ValueError unless they fit each other."""

    def __init__(self, words: Integers, pairs: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32]) -> None:
        self._keys, self._ends, self._pairs = words[0], words[1], pairs
        count, rising = len(lengths), bool((words[:, 1:] > words[:, :-1]).all() and words[1, 0] > 0)
        counted = np.zeros(count, np.int64)
        for at in range(0, len(pairs), _TOGETHER):
            rows, times = pairs[at : at + _TOGETHER].T
            rising &= bool((rows >= 0).all() and (rows < count).all() and (times > 0).all())
            if rising:
                counted += np.bincount(rows, times, count).astype(np.int64)
        if not rising or words[1, -1] != len(pairs) or (counted != lengths).any():
            raise ValueError(f"{PAIRS}, which does not match {WORDS} and {LENGTHS}")
        self._slowing = _K1 * (1 - _B + _B * lengths / lengths.mean())  # [N]

    def scores(self, question: str) -> Doubles:
        """The BM25 score [N] of each text: over the words w of the question, f times in a text d and n texts with w,
        Σ ln(1 + (N − n + ½) / (n + ½)) · f · (k₁ + 1) / (f + k₁ · (1 − b + b · |d| / mean |d|)) (Robertson et al. 1995,
        with the idf of Lucene, which is never negative).
        """
        scores = np.zeros(len(self._slowing))
        words = Counter(words_of(question))
        # As older indexes have them: in small letters, without cuts where there are no blanks.
        seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", question))
        words.update({*_word().findall(seen.lower())} - words.keys())
        for word, asked in words.items():
            at = int(self._keys.searchsorted(_key(word)))
            if at == len(self._keys) or self._keys[at] != _key(word):
                continue
            rows, times = self._pairs[self._ends[at - 1] if at else 0 : self._ends[at]].T
            rare = np.log1p((len(scores) - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += asked * rare * times * (_K1 + 1) / (times + self._slowing[rows])
        return scores


def largest(scores: Doubles, top: int) -> tuple[Doubles, Integers]:
    """The `top` largest of scores [N] that are not 0, fewer where there are fewer, and their rows, in the order that
    `ordered` gives them.
    """
    rows = candidates(scores, top)
    rows = rows[scores[rows] > 0]
    return ordered(scores[rows], rows, top)
