"""Predicting masked words: the verb `fill`.

n masked words of one row · N of all rows of a batch · V vocabulary
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from glassformer.base.errors import DataError
from glassformer.base.plain import counted
from glassformer.base.shown import Grid, Part, Share, line
from glassformer.tasks.answered import Answered
from glassformer.tasks.answered import Guess as Likely
from glassformer.tasks.predictor import TOKEN_BY_TOKEN, Context, Predictor
from glassformer.tasks.rows import Axis, Row, located, make_row, not_finite
from glassformer.tasks.words.guesses import check_guesses, expected_tokens, log_probabilities, scored_in_each
from glassformer.text.token_text import marked
from glassformer.text.tokenizer import MASK, Encoding, Tokenizer
from glassformer.text.windows import Window, text_room, windows

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch
    from glassformer.models.transformer import Transformer

Reals = npt.NDArray[np.floating[Any]]
# Masked words next to each other in one table, at most, and the columns that each needs for its numbers and bars.
TOGETHER, NUMBERS = 3, 28
# What other tools write for a masked word.
_MEANT = re.compile(r"[\[<]mask[\]>]|_{3,9}", re.IGNORECASE)


@dataclass(frozen=True)
class Guess:
    """A `word` as texts write it, its `token` in the vocabulary. `joins`: it continues a word, as "ing" does."""

    word: str
    token: str
    probability: float
    joins: bool = False


def _cells(guess: Guess) -> tuple[str, str, Share]:
    word = f"…{guess.word}" if guess.joins and guess.word.isalnum() else marked(guess.word)
    return word, f"{guess.probability:.1%}", Share(guess.probability)


@dataclass(frozen=True)
class MaskedWord:
    """A masked word, its characters [start, end) of the text that was given, and the best predictions, best first."""

    start: int
    end: int
    guesses: tuple[Guess, ...]


@dataclass(frozen=True)
class Piece:
    """A token of an expected word, with its probability and rank (from 1) where all of the word's tokens are masked."""

    token: str
    probability: float
    rank: int


@dataclass(frozen=True)
class Expected:
    """A word that was hidden, as the tokens that it has in the vocabulary."""

    word: str
    tokens: tuple[Piece, ...]


@dataclass(frozen=True)
class Filled(Answered):
    """A text with masked words. `filled` has the best prediction in place of each mask, the best of those that begin a
    word where the mask does; `windows` is above 1 for a long text. `expected` are the words that were hidden, if they
    were given: `text` then has a mask for each of their tokens.
    """

    text: str
    filled: str
    masks: tuple[MaskedWord, ...]
    windows: int = 1
    expected: tuple[Expected, ...] = ()
    said_by = "filled"

    @property
    def place_names(self) -> list[str]:
        several = len(self.masks) > 1
        return [f"{MASK} {number}" if several else MASK for number in range(1, len(self.masks) + 1)]

    @property
    def places(self) -> list[list[Likely]]:
        return [[(guess.word, guess.probability) for guess in mask.guesses] for mask in self.masks]

    @property
    def verdict(self) -> object:
        return [mask.guesses[0].token for mask in self.masks]

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield line(self.text, style="dim")
        cells = [[_cells(guess) for guess in mask.guesses] for mask in self.masks]
        longest = max((cell_len(words) for of_mask in cells for words, *_ in of_mask), default=0)
        together = max(1, min(TOGETHER, width // (max(longest, len(MASK) + 3) + NUMBERS)))
        for first in range(0, len(cells), together):
            some = cells[first : first + together]
            heads = [MASK + (f" {first + number}" if len(cells) > 1 else "") for number, _ in enumerate(some, 1)]
            rows = tuple(
                tuple(cell for of_mask in some for cell in (of_mask[rank] if rank < len(of_mask) else ("", "", "")))
                for rank in range(max(map(len, some)))
            )
            at = range(0, 3 * len(some), 3)
            yield Grid(
                tuple(cell for head in heads for cell in (head, "", "")),
                rows,
                right=tuple(place + 1 for place in at),
                bold=tuple(at),
                bars=tuple(place + 2 for place in at),
            )
        if any(word.startswith("…") for of_mask in cells for word, *_ in of_mask):
            yield line("…: continues the word before it", style="dim")
        for word in self.expected:
            several = f"{len(word.tokens)} tokens, hidden together" if len(word.tokens) > 1 else "1 token"
            yield line(f"expected: {word.word}, {several}", style="bold")
            rows = tuple((each.token, f"{100 * each.probability:.3g}%", f"{each.rank:,}") for each in word.tokens)
            yield Grid(("token", "probability", "rank"), rows, right=(1, 2), bold=(0,))
        yield line(self.filled, style="answer", after=True)

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        return found if self.expected else {name: value for name, value in found.items() if name != "expected"}


class Masked(NamedTuple):
    """`expected` are the ids of the tokens that were hidden; zeros where nobody said which."""

    text: str
    expected: list[int]
    sizes: list[int]
    encoding: Encoding
    places: list[int]
    windows: list[Window]
    cut: int


class Guesses(NamedTuple):
    """The best tokens for each masked word of a row, [n] lists of ids and their probabilities."""

    ids: list[list[int]]
    probabilities: list[list[float]]
    expected: list[float]
    ranks: list[int]
    finite: bool


class Fill(Predictor[Masked, Filled]):
    """The `top` best predictions for each masked word, each predicted independently of the others."""

    longest = TOKEN_BY_TOKEN
    axes: ClassVar[Mapping[str, Axis]] = {"token": "scored"}

    head = "head"

    sample = (f"A text with one {MASK} in it.",)

    def record_of(self, text: str) -> dict[str, object]:
        words = text.split(" ")
        if MASK not in text:
            words[max(range(len(words)), key=lambda place: len(words[place]))] = MASK
        return {"text": " ".join(words)}

    def __init__(
        self, tokenizer: Tokenizer, *, max_text_tokens: int | None, top: int = 5, expect: Sequence[str] | None = None
    ) -> None:
        self.tokenizer, self.max_text_tokens, self.top = tokenizer, max_text_tokens, counted(top, "top")
        self.expect = expect or ()

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        check_guesses(model, tokenizer)
        room = text_room(sum(tokenizer.frame), context.length)
        return cls(tokenizer, max_text_tokens=room, **context.options)

    def example(self, values: Mapping[str, object], where: str) -> Masked:
        text = str(values["text"])
        encoding = self.tokenizer.encode(text, special=False)
        places = [place for place, masked in enumerate(encoding.masked_words) if masked]
        if not places:
            meant = _MEANT.search(text)
            place = f"instead of {meant[0]}" if meant else f"where a word is masked: She {MASK} summer better"
            raise DataError(
                located(where, f"a text to fill needs at least one {MASK}"),
                got=repr(text if len(text) <= 60 else text[:57] + "..."),
                do=f"write {MASK} {place}",
            )
        hidden: list[list[int]] = []
        if self.expect:
            text, hidden = expected_tokens(self.tokenizer, text, self.expect)
            encoding = self.tokenizer.encode(text, special=False)
            places = [place for place, masked in enumerate(encoding.masked_words) if masked]
        all_windows = windows(len(encoding), self.max_text_tokens)
        asked = [window for window in all_windows if _inside(places, window)]
        ids = [id_ for word in hidden for id_ in word] or [0] * len(places)
        return Masked(text, ids, [len(word) for word in hidden], encoding, places, asked, len(all_windows))

    def rows(self, example: Masked) -> Iterator[Row]:
        for window in example.windows:
            inside = _inside(example.places, window)
            at = bisect_left(example.places, window.first)
            answers = example.expected[at : at + len(inside)]
            row = make_row(example.encoding, window, self.tokenizer, inside)
            yield replace(row, labels={"token": answers})

    def numbers(self, example: Masked) -> int:
        """Each guess has a token, a text, an id and a probability."""
        return 4 * self.top * len(example.places)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Guesses]]:
        size = self.tokenizer.vocabulary_size
        for batch, found in log_probabilities(model, batches):
            shares = found[:, :size].exp().numpy()  # [N, V]: rows that only pad the table are no tokens
            guesses = self.guesses(shares, batch.labels["token"].tolist(), scored_in_each(batch))
            yield from zip(batch.row_ids.tolist(), guesses, strict=True)

    def found(self, row: Row, answers: Reals) -> Guesses:
        shares = np.exp(answers - answers.max(axis=1, keepdims=True))  # [n, V]
        shares = (shares / shares.sum(axis=1, keepdims=True))[:, : self.tokenizer.vocabulary_size]
        return next(self.guesses(shares, row.labels["token"], [len(shares)]))

    def guesses(self, shares: Reals, expected: Sequence[int], counts: Sequence[int]) -> Iterator[Guesses]:
        """For each row, from the probabilities [N, V] at all masked words, as many in each row as `counts` says."""
        finite = not bool(np.isnan(shares).any())
        right = shares[np.arange(len(shares)), expected]  # [N]
        ranks = (shares > right[:, None]).sum(axis=1) + 1  # [N]
        shares[:, sorted(self.tokenizer.special_ids)] = -1.0  # special tokens are no guesses
        top = min(self.top, shares.shape[1])
        best = np.sort(np.argpartition(-shares, top - 1, axis=1)[:, :top], axis=1)  # [N, top], by their ids
        order = np.argsort(-np.take_along_axis(shares, best, axis=1), axis=1, kind="stable")  # [N, top]
        best = np.take_along_axis(best, order, axis=1)
        values = np.take_along_axis(shares, best, axis=1)  # [N, top]
        start = 0
        for count in counts:
            mine = slice(start, start := start + count)
            ids, probabilities = best[mine].tolist(), values[mine].tolist()
            yield Guesses(ids, probabilities, right[mine].tolist(), ranks[mine].tolist(), finite)

    def merge(self, example: Masked, found: Sequence[Guesses]) -> Filled:
        """The text with its predictions; a masked word's come from the window that shows most text around it."""
        if not all(each.finite for each in found):
            raise not_finite("a model must give finite numbers to predict with", example.text)
        all_ids = [ids for each in found for ids in each.ids]
        all_probabilities = [probabilities for each in found for probabilities in each.probabilities]
        masks, filled, shift = [], example.text, 0
        seen = list(example.encoding.ids)
        for place, probabilities, ids in zip(example.places, all_probabilities, all_ids, strict=True):
            before = seen[place - 1] if place else None
            shares = [*takewhile(lambda share: share >= 0, probabilities)]  # special tokens come last
            ids = ids[: len(shares)]
            joins = self._join(before, ids)
            tokens = map(self.tokenizer.token, ids)
            guesses = tuple(map(Guess, words_of(self.tokenizer, ids), tokens, shares, joins))
            start, end = example.encoding.offsets[place]
            masks.append(MaskedWord(start, end, guesses))
            head = filled[: start + shift]
            # A mask that is a word of its own is filled with one, or with a sign, not with the rest of a word.
            alone = not head or head[-1].isspace()
            rest = [alone and guess.joins and guess.word.isalnum() for guess in guesses]
            chosen = rest.index(False) if False in rest else 0
            seen[place] = ids[chosen]  # the next guess may continue this word
            head = (head.rstrip() if guesses[chosen].joins else head) + guesses[chosen].word
            filled = head + filled[end + shift :]
            shift = len(head) - end
        expected = zip(
            example.expected,
            (share for each in found for share in each.expected),
            (rank for each in found for rank in each.ranks),
            strict=True,
        )
        pieces = (Piece(self.tokenizer.text(id_), share, rank) for id_, share, rank in expected)
        words = tuple(
            Expected(word, tuple(islice(pieces, size))) for word, size in zip(self.expect, example.sizes, strict=True)
        )
        return Filled(example.text, filled, tuple(masks), example.cut, words)

    def _join(self, before: int | None, ids: Sequence[int]) -> list[bool]:
        """Whether each token continues the word of the one before."""
        if before is None:
            return [False] * len(ids)
        both = [[before], *([before, id_] for id_ in ids)]
        alone, *texts = self.tokenizer.decode_batch(both, skip_special=False)
        return [text.startswith(alone) and not text[len(alone) :].startswith(" ") for text in texts]


def _inside(places: list[int], window: Window) -> list[int]:
    return places[bisect_left(places, window.first) : bisect_left(places, window.last)]


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[str]:
    """The word of each token."""
    for id_, text in zip(ids, tokenizer.decode_batch([[id_] for id_ in ids], skip_special=False), strict=True):
        word = text.strip()
        if "\ufffd" in word:  # no whole letter
            word = tokenizer.text(id_).strip()
        yield word.removeprefix("##") or tokenizer.text(id_) or tokenizer.token(id_)


def best_words(tokenizer: Tokenizer, logits: Tensor) -> list[str]:
    """The likeliest word at each place, [N, V] to N words, of those that `Fill` predicts."""
    scores = logits[:, : tokenizer.vocabulary_size].clone()  # [N, V]: rows that only pad the table are no tokens
    scores[:, sorted(tokenizer.special_ids)] = -math.inf
    return [*words_of(tokenizer, scores.argmax(dim=1).tolist())]
