"""How likely a text is under a masked-word model: the verb `score` (Salazar et al. 2020).

N scored tokens of a batch · V vocabulary
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

from glassformer.base.errors import DataError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.predictor import TOKEN_BY_TOKEN, Context, Predictor
from glassformer.tasks.rows import Axis, Row, located, make_row
from glassformer.tasks.words.guesses import check_guesses, log_probabilities
from glassformer.tasks.writing.scored import Scored, ScoredToken
from glassformer.text.tokenizer import Encoding, Tokenizer
from glassformer.text.windows import Window, text_room, windows


class Whole(NamedTuple):
    """A text, its tokens, each token to score with the window that answers for it, and the number of windows."""

    text: str
    encoding: Encoding
    places: list[tuple[int, Window]]
    cut: int


class PseudoLikelihood(Predictor[Whole, Scored]):
    """A row for each token of a text, with this token masked."""

    longest = TOKEN_BY_TOKEN

    axes: ClassVar[Mapping[str, Axis]] = {"token": "scored"}

    def __init__(self, tokenizer: Tokenizer, *, max_text_tokens: int | None) -> None:
        self.tokenizer, self.max_text_tokens = tokenizer, max_text_tokens

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        check_guesses(model, tokenizer)
        return cls(tokenizer, max_text_tokens=text_room(sum(tokenizer.frame), context.length))

    def example(self, values: Mapping[str, object], where: str) -> Whole:
        text = str(values["text"])
        encoding = self.tokenizer.encode(text, special=False)
        spans = windows(len(encoding), self.max_text_tokens)
        places = [
            (at, window) for window in spans for at in range(window.first, window.last) if not encoding.masked_words[at]
        ]
        if not places:
            raise DataError(located(where, "a text to score needs words"), got=repr(text[:40]))
        return Whole(text, encoding, places, len(spans))

    def rows(self, example: Whole) -> Iterator[Row]:
        for place, window in example.places:
            row = make_row(example.encoding, window, self.tokenizer, [place])
            ids, (at,) = list(row.ids), row.scored_at
            masked = list(row.masked_words or [False] * len(ids))
            answer, ids[at], masked[at] = ids[at], self.tokenizer.mask_id or 0, True
            yield replace(row, ids=ids, masked_words=masked, labels={"token": [answer]})

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, float]]:
        for batch, found in log_probabilities(model, batches):
            right = found.gather(1, batch.labels["token"].cpu()[:, None])[:, 0]  # [N]
            yield from zip(batch.row_ids.tolist(), right.tolist(), strict=True)

    def merge(self, example: Whole, found: Sequence[float]) -> Scored:
        encoding = example.encoding
        tokens = tuple(
            ScoredToken(encoding.tokens[at], self.tokenizer.text(encoding.ids[at]), *encoding.offsets[at], logarithm)
            for (at, _), logarithm in zip(example.places, found, strict=True)
        )
        return Scored(example.text, tokens, example.cut)
