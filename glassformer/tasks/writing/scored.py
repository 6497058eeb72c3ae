"""Texts whose tokens were given probabilities: what the verb `score` answers."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from glassformer.base.shown import Grid, Part, Share, Words, bold, line
from glassformer.scoring.score import perplexity
from glassformer.tasks.answered import Answered, Guess
from glassformer.text.token_text import marked


@dataclass(frozen=True)
class ScoredToken:
    """A token as the vocabulary writes it, its text, its characters [start, end), and its log-probability."""

    token: str
    text: str
    start: int
    end: int
    log_probability: float

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)


class _ScoredTokens(Answered):
    measure: ClassVar[str] = "log-probability"
    tokens: tuple[ScoredToken, ...]

    @property
    def total(self) -> float:
        """Sum of the tokens' log-probabilities; nearer to 0 is likelier."""
        return math.fsum(token.log_probability for token in self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(−total / tokens), comparable between texts of different lengths."""
        return perplexity(-self.total / len(self.tokens))

    @property
    def says(self) -> str:
        return ""

    @property
    def place_names(self) -> list[str]:
        return [token.text.strip() or token.token for token in self.tokens]

    @property
    def places(self) -> list[list[Guess]]:
        return [[(token.text.strip() or token.token, token.probability)] for token in self.tokens]

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        found = vars(self)
        yield line(str(found["text"]), style="dim")
        if "target" in found:
            yield line(str(found["target"]), style="answer")
        rows = tuple(
            (marked(each.text), f"{each.probability:.2%}", Share(each.probability), f"{each.log_probability:.3f}")
            for each in self.tokens
        )
        yield Grid(("token", "probability", "", "log-probability"), rows)
        yield line(
            f"{self.measure} ",
            bold(f"{self.total:.3f}"),
            f" over {len(self.tokens)} tokens, perplexity ",
            bold(f"{self.perplexity:.2f}"),
            *self.rate(),
            after=True,
        )

    def rate(self) -> tuple[Words, ...]:
        return ()

    def to_dict(self) -> dict[str, Any]:
        tokens = [asdict(token) for token in self.tokens]
        return {**vars(self), "tokens": tokens, "total": self.total, "perplexity": self.perplexity}


@dataclass(frozen=True)
class Scored(_ScoredTokens):
    """Pseudo-log-likelihood of a text: the sum over its tokens, each masked in turn (Salazar et al. 2020)."""

    measure: ClassVar[str] = "pseudo-log-likelihood"

    text: str
    tokens: tuple[ScoredToken, ...]
    windows: int = 1


@dataclass(frozen=True)
class ScoredPair(_ScoredTokens):
    """A text and a translation of it: the logarithm of the probability of each token of the translation after the right
    ones before it, and after the last of them that of the end, which counts as a token.
    """

    text: str
    target: str
    tokens: tuple[ScoredToken, ...]
    windows: int = 1


@dataclass(frozen=True)
class ScoredText(_ScoredTokens):
    """A text and the logarithm of the probability of each token after those before it. `bytes` of the text, in UTF-8,
    are those of the scored tokens; None where tokens do not write all of a text.
    """

    text: str
    tokens: tuple[ScoredToken, ...]
    windows: int = 1
    bytes: int | None = None

    @property
    def bits_per_byte(self) -> float | None:
        """−total / bytes as binary logarithms: comparable between models with different tokens."""
        return -self.total / math.log(2) / self.bytes if self.bytes else None

    def rate(self) -> tuple[Words, ...]:
        return () if self.bits_per_byte is None else (", ", bold(f"{self.bits_per_byte:.3f}"), " bits per byte")

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "bits_per_byte": self.bits_per_byte}
