"""Masked words: guessing hidden ones, and scoring a text by hiding each of its pieces in turn.

n places asked about in one row · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.artefact.answers import Filled, Guess, Hidden, Scored, ScoredPiece
from glassformer.artefact.forward import Row, framed, log_probabilities
from glassformer.text.windows import Window, windows
from glassformer.errors import ConfigError, DataError, NotFiniteError
from glassformer.models.transformer import Transformer
from glassformer.text.fit import check_mask
from glassformer.text.tokenizer import MASK, Encoding, Tokenizer


@dataclass(frozen=True)
class MaskedWords:
    """A model that guesses hidden words, with its tokenizer. `room`: pieces of text it can be shown at once."""

    module: Transformer
    tokenizer: Tokenizer
    room: int | None
    fast: bool = False

    def __post_init__(self) -> None:
        if self.module.encoder is None or self.module.decoder is not None or self.module.head is None:
            raise ConfigError(
                "hidden words need an encoder with a vocabulary head",
                got=f"a {self.module.config.family} model without"
                if self.module.head is None
                else f"a {self.module.config.family} model, which writes from left to right",
                do="train one with: glassformer train masked-lm TEXT.txt",
            )
        check_mask(self.tokenizer)

    def fill(self, texts: Iterable[str], *, top: int) -> Iterator[Filled]:
        """Guesses for each text's hidden words, in order. Raises DataError for a text without [MASK]."""
        if top < 1:
            raise ConfigError("top counts the guesses for a hidden word, from 1 on", got=str(top))
        asked = [_Asked.of(text, self.tokenizer, self.room) for text in texts]
        answers = self._answers(row for each in asked for row in each.rows(self.tokenizer))
        for each in asked:
            found = torch.cat([next(answers) for _ in each.windows])  # [n, V]
            yield self._filled(each, found, top)

    def score(self, texts: Iterable[str]) -> Iterator[Scored]:
        """The pseudo-log-likelihood of each text, in order. Raises DataError for a text of only blanks."""
        for text in texts:
            encoding = self.tokenizer.encode(text, special=False)
            spans = windows(len(encoding), self.room)
            places = [
                (place, span) for span in spans for place in range(span.first, span.last) if not encoding.hidden[place]
            ]
            if not places:
                raise DataError("a text to score needs words", got=repr(text[:40]))
            rows = (self._hiding(encoding, place, span) for place, span in places)
            pieces = tuple(
                ScoredPiece(encoding.pieces[place], *encoding.offsets[place], found[0, encoding.ids[place]].item())
                for (place, _), found in zip(places, self._answers(rows), strict=True)
            )
            yield Scored(text, pieces, len(spans))

    def _answers(self, rows: Iterable[Row]) -> Iterator[Tensor]:
        return log_probabilities(self.module, rows, pad_id=self.tokenizer.pad_id or 0, fast=self.fast)

    def _hiding(self, encoding: Encoding, place: int, span: Window) -> Row:
        ids, hidden = list(encoding.ids), list(encoding.hidden)
        ids[place], hidden[place] = self.tokenizer.mask_id or 0, True
        return framed(replace(encoding, ids=ids, hidden=hidden), span.start, span.end, self.tokenizer, [place])

    def _filled(self, asked: _Asked, found: Tensor, top: int) -> Filled:
        if found.isnan().any():
            raise NotFiniteError(
                "a model must give finite numbers to guess by",
                got=f"NaN for {asked.text[:40]!r}",
                do="its training has broken it: train it again with a lower learning rate",
            )
        words = found[:, : self.tokenizer.vocabulary_size].exp()  # [n, V]: rows that round the table up are no words
        words[:, sorted(self.tokenizer.special_ids)] = -1.0  # nor are the special pieces
        best = words.topk(min(top, words.shape[1]), dim=1)
        masks, filled, shift = [], asked.text, 0
        ids_seen = list(asked.encoding.ids)
        for place, chances, ids in zip(asked.places, best.values.tolist(), best.indices.tolist(), strict=True):
            before = ids_seen[place - 1] if place else None
            guesses = tuple(
                Guess(self._word(id_), self.tokenizer.piece(id_), chance, self._joins(before, id_))
                for id_, chance in zip(ids, chances, strict=True)
                if chance >= 0
            )
            ids_seen[place] = ids[0]  # the next mask goes on from here
            start, end = asked.encoding.offsets[place]
            masks.append(Hidden(start, end, guesses))
            head = filled[: start + shift]
            head = (head.rstrip() if guesses[0].joins else head) + guesses[0].word
            filled = head + filled[end + shift :]
            shift = len(head) - end
        return Filled(asked.text, filled, tuple(masks), asked.cut)

    def _word(self, id_: int) -> str:
        word = self.tokenizer.decode([id_], skip_special=False).strip()
        return word.removeprefix("##") or self.tokenizer.piece(id_)

    def _joins(self, before: int | None, id_: int) -> bool:
        """Whether this piece goes on the word before it."""
        if before is None:
            return False
        alone = self.tokenizer.decode([before], skip_special=False)
        both = self.tokenizer.decode([before, id_], skip_special=False)
        return both.startswith(alone) and not both[len(alone) :].startswith(" ")


@dataclass(frozen=True)
class _Asked:
    """A text with hidden words at `places` (pieces), and the windows that answer for one or more of them.

    `cut` counts all windows of the text, 1 where it is short enough.
    """

    text: str
    encoding: Encoding
    places: list[int]
    windows: list[Window]
    cut: int

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer, room: int | None) -> _Asked:
        encoding = tokenizer.encode(text, special=False)
        places = [place for place, hidden in enumerate(encoding.hidden) if hidden]
        if not places:
            raise DataError(
                f"a text to fill needs at least one {MASK}",
                got=repr(text if len(text) <= 60 else text[:57] + "..."),
                do=f"write {MASK} where a word is hidden: She {MASK} summer better",
            )
        spans = windows(len(encoding), room)
        asked = [span for span in spans if any(span.first <= place < span.last for place in places)]
        return cls(text, encoding, places, asked, len(spans))

    def rows(self, tokenizer: Tokenizer) -> Iterator[Row]:
        for span in self.windows:
            asked = [place for place in self.places if span.first <= place < span.last]
            yield framed(self.encoding, span.start, span.end, tokenizer, asked)
