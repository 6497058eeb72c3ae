"""How likely a text is under a masked-word model: the verb `score` (Salazar et al. 2020).

N scored tokens of a batch · V vocabulary
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from glassformer.errors import DataError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.fill import check_guesses, log_probabilities, text_tokens
from glassformer.tasks.rows import Axis, Row, make_row
from glassformer.tasks.task import Context, Predictor
from glassformer.text.tokenizer import Encoding, Tokenizer
from glassformer.text.windows import Window, windows


@dataclass(frozen=True)
class ScoredToken:
    """A token of a text as the vocabulary writes it, its own text, and the logarithm of the probability the model gives
    it when it is masked.

    `start` and `end` are characters [start, end) of the text that was given.
    """

    token: str
    text: str
    start: int
    end: int
    log_probability: float

    @property
    def probability(self) -> float:
        """The probability, between 0 and 1."""
        return math.exp(self.log_probability)


@dataclass(frozen=True)
class Scored:
    """Pseudo-log-likelihood of a text: the sum over its tokens, each masked in turn (Salazar et al. 2020)."""

    text: str
    tokens: tuple[ScoredToken, ...]
    windows: int = 1

    @property
    def total(self) -> float:
        """Sum of the tokens' log-probabilities; nearer to 0 is likelier."""
        return math.fsum(token.log_probability for token in self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(−total / tokens): the effective number of tokens that the model chooses from, comparable between
        lengths.
        """
        return math.exp(-self.total / len(self.tokens)) if self.tokens else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and strings, for JSON."""
        return {**asdict(self), "total": self.total, "perplexity": self.perplexity}


class Whole(NamedTuple):
    """A text, its tokens, each token to score with the window that answers for it, and the number of windows."""

    text: str
    encoding: Encoding
    places: list[tuple[int, Window]]
    cut: int


class PseudoLikelihood(Predictor[Whole, Scored]):
    """A row for each token of a text, with this token masked."""

    axes: ClassVar[Mapping[str, Axis]] = {"token": "scored"}

    def __init__(self, tokenizer: Tokenizer, *, max_text_tokens: int | None) -> None:
        self.tokenizer, self.max_text_tokens = tokenizer, max_text_tokens

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For an encoder with a vocabulary head; raises ConfigError for another model."""
        check_guesses(model, tokenizer)
        return cls(tokenizer, max_text_tokens=text_tokens(tokenizer, context.length))

    def example(self, values: Mapping[str, object], where: str) -> Whole:
        """The text of a record; raises DataError for a text of only blanks."""
        text = str(values["text"])
        encoding = self.tokenizer.encode(text, special=False)
        spans = windows(len(encoding), self.max_text_tokens)
        places = [
            (at, window) for window in spans for at in range(window.first, window.last) if not encoding.masked_words[at]
        ]
        if not places:
            wanted = "a text to score needs words"
            raise DataError(f"{where}: {wanted}" if where else wanted, got=repr(text[:40]))
        return Whole(text, encoding, places, len(spans))

    def rows(self, example: Whole) -> Iterator[Row]:
        """The text once for each of its tokens."""
        for place, window in example.places:
            row = make_row(example.encoding, window, self.tokenizer, [place])
            ids, (at,) = list(row.ids), row.scored_at
            masked = list(row.masked_words or [False] * len(ids))
            answer, ids[at], masked[at] = ids[at], self.tokenizer.mask_id or 0, True
            yield replace(row, ids=ids, masked_words=masked, labels={"token": [answer]})

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, float]]:
        """The log-probability of the token that is masked in each row."""
        for batch, found in log_probabilities(model, batches):
            right = found.gather(1, batch.labels["token"].cpu()[:, None])[:, 0]  # [N]
            yield from zip(batch.row_ids.tolist(), right.tolist(), strict=True)

    def merge(self, example: Whole, found: Sequence[float]) -> Scored:
        """The tokens of the text with their log-probabilities."""
        encoding = example.encoding
        tokens = tuple(
            ScoredToken(
                encoding.tokens[place],
                self.tokenizer.text(encoding.ids[place]),
                *encoding.offsets[place],
                log_probability,
            )
            for (place, _), log_probability in zip(example.places, found, strict=True)
        )
        return Scored(example.text, tokens, example.cut)
