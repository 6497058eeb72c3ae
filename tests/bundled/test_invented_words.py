"""How many of the 3,000 most frequent English words the bundled `en-fr` answers with words that do not exist.

`english_words.txt` has these words, the most frequent first: counted in the English side of Tatoeba's training pairs.
"""

import gzip
import os
import re
from pathlib import Path

import pytest

import glassformer as gf

PAIRS = Path(os.environ.get("GLASSFORMER_DATA", "../shared/data")) / "tatoeba_en_fr" / "train.tsv.gz"
WORD = re.compile(r"[^\W\d_]+")


@pytest.mark.long
@pytest.mark.skipif(
    not PAIRS.exists(), reason="the words that exist are counted in Tatoeba's pairs, which are not here"
)
@pytest.mark.parametrize("end", ["", ".", "!", "?"])
@pytest.mark.parametrize("capital", [False, True])
def test_no_translation_of_a_frequent_word_is_invented(*, capital: bool, end: str) -> None:
    words = (Path(__file__).parent / "english_words.txt").read_text().split()
    with gzip.open(PAIRS, "rt", encoding="utf-8") as lines:
        known = {
            word for line in lines for word in WORD.findall(line.lower())
        }  # of both languages: names stay as they are
    answers = gf.load("en-fr").translate([(word.capitalize() if capital else word) + end for word in words])
    assert len(words) == len(answers) == 3000
    invented = [
        word
        for word, answer in zip(words, answers, strict=True)
        if set(WORD.findall(answer.translation.lower())) - known
    ]
    # It has learned each of these words in six of these forms; not without a capital before ! and ?.
    assert len(invented) <= (10 if end in "!?" and end and not capital else 0)
    copied = sum(word == answer.translation.lower().strip(".!? ") for word, answer in zip(words, answers, strict=True))
    assert copied <= 230  # names, and words that both languages have
