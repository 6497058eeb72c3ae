"""Single words and their translations, for `en-fr`: a person's first try is one word, and Tatoeba has sentences."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.results import data_directory
from glassformer.data.readers.lines import read_lines

# Occurrences that a word needs, passes of expectation maximisation, and the least product of the two probabilities of a
# word that occurs less often than FREQUENT: a frequent one gets its best word, however unsure, so that it has one.
LEAST, PASSES, SURE, FREQUENT = 5, 8, 0.03, 15
# How often each pair is written as it is, with a capital, and as a sentence: a person types a word with a capital, and
# then most words are cut into other tokens.
REPEATS, CAPITALS, STOPS = 3, 5, 2
_ENGLISH, WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?"), re.compile(r"[^\W\d_]+")


def sentence_pairs() -> list[list[str]]:
    """The training pairs of tatoeba_en_fr."""
    lines = read_lines(data_directory() / "tatoeba_en_fr" / "train.tsv.gz")
    return [line.text.split("\t")[:2] for line in lines]


def frequent_words(pairs: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """Frequent English words of pairs of sentences, each with the French word that goes best with it."""
    lines = [[side.lower() for side in pair] for pair in pairs]
    return lexicon((_ENGLISH.findall(line[0]) for line in lines), (WORD.findall(line[1]) for line in lines))


def word_pairs() -> str:
    """Pairs of words as `train translate` reads them, from the training pairs of tatoeba_en_fr alone."""
    return "".join(
        f"{english}\t{french}\n" * REPEATS
        + f"{english.capitalize()}\t{french.capitalize()}\n" * CAPITALS
        + f"{english.capitalize()}.\t{french.capitalize()}.\n" * STOPS
        for english, french in frequent_words(sentence_pairs())
    )


def lexicon(sources: Iterable[list[str]], targets: Iterable[list[str]]) -> list[tuple[str, str]]:
    """The word of the targets that goes best with each frequent word of the sources, in both directions.

    IBM model 1 (Brown et al. 1993, §4.2) without an empty word, learned in each direction.
    """
    left, right = _Numbered(sources), _Numbered(targets)
    pairs = [(a, b) for a, b in zip(left.texts, right.texts, strict=True)]
    sentence = np.concatenate([np.full(len(a) * len(b), number) for number, (a, b) in enumerate(pairs)])
    e = np.concatenate([np.repeat(a, len(b)) for a, b in pairs])
    f = np.concatenate([np.tile(b, len(a)) for a, b in pairs])
    cell, entry = np.unique(e * len(right.words) + f, return_inverse=True)
    e_of, f_of = cell // len(right.words), cell % len(right.words)
    there, back = _model_1(entry, sentence, e, f, e_of, f_of), _model_1(entry, sentence, f, e, f_of, e_of)
    # The root: else a word of the targets that occurs once, with a frequent word of the sources, is the best for it.
    order = np.argsort(there * np.sqrt(back))
    best = {int(e_of[at]): (right.words[f_of[at]], there[at] * back[at]) for at in order}
    found = []
    for number, word in enumerate(left.words):
        count, (other, sure) = left.count[word], best[number]
        if count >= FREQUENT or (count >= LEAST and sure >= SURE):
            found.append((word, other))
    return found


class _Numbered:
    def __init__(self, texts: Iterable[list[str]]) -> None:
        read = list(texts)
        self.count = Counter(word for text in read for word in text)
        self.words = list(self.count)
        number = {word: n for n, word in enumerate(self.words)}
        self.texts = [np.array([number[word] for word in text], dtype=np.int64) for text in read]


Numbers = NDArray[np.int64]


def _model_1(
    entry: Numbers, sentence: Numbers, given: Numbers, said: Numbers, given_of: Numbers, said_of: Numbers
) -> NDArray[np.float64]:
    """The probability of each entry's word, given the other one: each word said comes from one word of its sentence."""
    chance = np.ones(len(given_of))
    place = np.unique(sentence * (said.max() + 1) + said, return_inverse=True)[1]
    for _ in range(PASSES):
        share = chance[entry]
        share /= np.bincount(place, share)[place]
        counts = np.bincount(entry, share, len(given_of))
        chance = counts / np.bincount(given_of, counts)[given_of]
    return chance
