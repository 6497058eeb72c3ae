"""Scores of saved translations, the same way for every system."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.translation.plan import Texts
from glassformer.scoring.score import Interval, Measure
from glassformer.tasks.writing.translate.scores import References

# BLEU as most papers on multi30k have it: of tokens in lower case.
TOKENS = "bleu of tokens, lower case"
# Words as Moses' tokenizer cuts French captions: punctuation apart, but inside of numbers and of words with a hyphen;
# an elided article or pronoun apart from its word (l' homme).
_WORD = re.compile(r"\w+['’](?=\w)|\w+(?:[-.,]\w+)*|[^\w\s]")


def cut(text: str) -> str:
    """The words of a text with blanks between them."""
    return " ".join(_WORD.findall(text))


class Scores:
    """The references of one test set, and the scores of translations against them."""

    def __init__(self, test: Texts) -> None:
        self._references = References(test.references)
        self._cut = References(
            [[cut(text) for text in each] for each in test.references], metrics=("bleu",), words="none", lowercase=True
        )
        self.signatures = {**self._references.signatures, TOKENS: self._cut.signatures["bleu"]}

    def measures(self, translations: Sequence[str]) -> tuple[Measure, Measure]:
        """BLEU, chrF and TER of the texts, and BLEU of their tokens."""
        return self._references.measure(translations), self._cut.measure([cut(text) for text in translations])

    def of(self, translations: Sequence[str]) -> dict[str, dict[str, float]]:
        """Each score with its 95 % interval."""
        whole, tokens = self.measures(translations)
        return plain({**whole.intervals(), TOKENS: tokens.intervals()["bleu"]})

    def compared(self, translations: Sequence[str], other: Sequence[str]) -> dict[str, dict[str, float]]:
        """Each score minus that of other translations, with the 95 % interval of the paired bootstrap."""
        mine, others = self.measures(translations), self.measures(other)
        return plain({**mine[0].compared(others[0]), TOKENS: mine[1].compared(others[1])["bleu"]})

    def bleu(self, translations: Sequence[str]) -> float:
        """BLEU alone."""
        return self._references.measure(translations).values()["bleu"]


def plain(found: Mapping[str, Interval]) -> dict[str, dict[str, Any]]:
    """Intervals as plain values, for JSON."""
    return {name: interval._asdict() for name, interval in found.items()}
