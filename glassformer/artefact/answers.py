"""What a model says about a text. Places are characters [start, end) of the text that was given."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Guess:
    """A piece for a hidden word: `word` as it reads in a text, `piece` as the vocabulary has it.

    `joins`: it goes on the word before it, as "ing" does.
    """

    word: str
    piece: str
    probability: float
    joins: bool = False


@dataclass(frozen=True)
class Hidden:
    """A hidden word, its place in the text, and the best guesses, best first."""

    start: int
    end: int
    guesses: tuple[Guess, ...]


@dataclass(frozen=True)
class Filled:
    """A text with hidden words. `filled` has the best guess in each place; `windows` is above 1 for a long text."""

    text: str
    filled: str
    masks: tuple[Hidden, ...]
    windows: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class ScoredPiece:
    """A piece of a text and the logarithm of the probability the model gives it when it is hidden."""

    piece: str
    start: int
    end: int
    log_probability: float

    @property
    def probability(self) -> float:
        """The same between 0 and 1."""
        return math.exp(self.log_probability)


@dataclass(frozen=True)
class Scored:
    """Pseudo-log-likelihood of a text: the sum over its pieces, each hidden in turn (Salazar et al. 2020)."""

    text: str
    pieces: tuple[ScoredPiece, ...]
    windows: int = 1

    @property
    def total(self) -> float:
        """Sum of the pieces' log-probabilities; nearer to 0 is likelier."""
        return math.fsum(piece.log_probability for piece in self.pieces)

    @property
    def perplexity(self) -> float:
        """exp(−total / pieces): between how many pieces the model hesitates; independent of the text's length."""
        return math.exp(-self.total / len(self.pieces)) if self.pieces else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON."""
        return {**asdict(self), "total": self.total, "perplexity": self.perplexity}
