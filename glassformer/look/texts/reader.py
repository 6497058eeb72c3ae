"""Texts as the rows that a model reads in a trace, each with its tokens as people read them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import torch

from glassformer.base.errors import ConfigError, DataError
from glassformer.config import ModelConfig
from glassformer.data.batches.corrupt import IGNORED
from glassformer.look.texts.verbs import Verbs
from glassformer.look.trace.cell import word_at
from glassformer.models.inputs import Inputs
from glassformer.saved.artefact import Artefact
from glassformer.tasks.rows import Row, collate
from glassformer.text.tokenizer import Encoding, Tokenizer

Ids = tuple[int, ...]
SPAN = ("start", "end")


@dataclass(frozen=True)
class Given:
    """Texts to trace, with their second texts or targets, or the candidates of one; or `target_ids`."""

    texts: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    target_ids: tuple[Ids, ...] | None = None

    @property
    def firsts(self) -> tuple[str, ...]:
        """The first text of each row: the only text once for each of its candidates."""
        return self.texts if self.choices is None else self.texts * len(self.choices)

    @property
    def others(self) -> tuple[str, ...] | None:
        """The second text of each row, None where rows have one text."""
        return self.seconds if self.choices is None else self.choices


class Line(NamedTuple):
    """One row, and its tokens as people read them."""

    row: Row
    words: list[str]


@dataclass(frozen=True)
class Reader:
    """How one model reads texts. `limit`: tokens that the answering stack numbers; `length`: the longest row learned;
    None for any. `begins`: a decoder's first token, None if neither model nor tokenizer names one.
    """

    config: ModelConfig
    tokenizer: Tokenizer
    device: torch.device
    limit: int | None
    length: int | None
    labels: tuple[str, ...]
    begins: int | None
    verbs: Verbs

    @classmethod
    def of(cls, model: Artefact) -> Self:
        """For a saved model; raises TokenizerError for one without a tokenizer."""
        config, target = model.config, model.tokenizer.target
        vocabulary, head = config.output_stack.embed.vocabulary, config.token_head
        starts = (model.token_settings.get("decoder_start_token_id"), target.begin_id, target.pad_id)
        return cls(
            config=config, tokenizer=model.tokenizer, device=model.device, limit=model.module.output_stack.max_length,
            length=model.row_tokens, labels=SPAN if head is not None and head.spans else model.labels,
            begins=next((id_ for id_ in starts if isinstance(id_, int) and 0 <= id_ < vocabulary), None),
            verbs=Verbs(model),
        )  # fmt: skip

    @property
    def two_stacks(self) -> bool:
        """Whether a decoder reads a target while it looks at what an encoder has read."""
        return self.config.encoder is not None and self.config.decoder is not None

    @property
    def closing(self) -> dict[str, int]:
        """The id of the token that closes a text, by side: of a side whose tokenizer has one."""
        sides = {"inputs": self.tokenizer, "decoder_inputs": self.tokenizer.target}
        found = {side: one.end_id if one.separator_id is None else one.separator_id for side, one in sides.items()}
        return {side: id_ for side, id_ in found.items() if id_ is not None}

    @property
    def start(self) -> int:
        """The token that a decoder starts with; raises ConfigError where neither model nor tokenizer names one."""
        if self.begins is not None:
            return self.begins
        got = "a model whose settings and tokenizer name none"
        do = "use glassformer.trace(model.module, Inputs(ids=source), Inputs(ids=target))"
        raise ConfigError("a target begins with the decoder's start token", got=got, do=do)

    @cached_property
    def _opening(self) -> Ids:
        return () if self.tokenizer.frame_ids[0] else self.verbs.opening

    def opening(self, count: int) -> Ids:
        """The ids before a row besides the tokenizer's own; none where no room is left, as in `generate`."""
        fits = self.limit is None or len(self._opening) + count <= self.limit
        return self._opening if fits else ()

    def lines(self, given: Given) -> tuple[list[Line], list[Line] | None]:
        """The rows of the only stack, or of the encoder, and those of the decoder of an encoder–decoder. Without
        targets an encoder–decoder reads its own translations. Raises ConfigError for one that does not translate, and
        for tokens of a target of another model; DataError for a text of only blanks, for no text, for tokens that are
        none, and where there are not as many second texts as first ones.
        """
        texts, others = given.firsts, given.others
        if not texts:
            raise DataError("at least one text is needed", got="none")
        if others is not None and len(others) != len(texts):
            wanted = "target for each source" if self.two_stacks else "second text for each first one"
            raise DataError(f"there must be one {wanted}", got=f"{len(texts)} and {len(others)}")
        if given.target_ids is not None:
            if self.config.decoder is None or given.others is not None:
                got = f"the family {self.config.family}, an encoder" if given.others is None else "a target as text too"
                raise ConfigError("target_ids are what a decoder reads", got=got, do="leave one of them out")
            rows, vocabulary = given.target_ids or (), self.config.output_stack.embed.vocabulary
            if len(rows) != len(given.firsts):
                got = f"{len(rows)} for {len(given.firsts)} texts"
                raise DataError("there must be target tokens for each text", got=got)
            for row in rows:
                strange = next((each for each in row if not 0 <= each < vocabulary), None)
                if strange is not None or not row:
                    got = "none" if strange is None else str(strange)
                    raise DataError(f"target tokens are numbers from 0 to {vocabulary - 1}, at least one", got=got)
                if self.limit is not None and len(row) > self.limit:
                    raise DataError(f"a target has at most {self.limit} tokens", got=str(len(row)))
            targets = [self.written(ids) for ids in given.target_ids]
            return ([self.line(one) for one in texts], targets) if self.two_stacks else (targets, None)
        if self.two_stacks:
            first = [self.line(one) for one in texts]
            if others is not None:
                return first, [self.target(two) for two in others]
            own = self.verbs.targets([line.row for line in first], self.start)
            return first, [self.written(ids) for ids in own]
        if others is None:
            return [self.line(one) for one in texts], None
        return [self.pair(one, two) for one, two in zip(texts, others, strict=True)], None

    def line(self, text: str) -> Line:
        """A whole text as one row; raises DataError for blanks."""
        encoding = self.encoded(text)
        if self.verbs.tags:
            (row,) = self.verbs.tagged(text)
            return Line(row, shown(self.tokenizer, row.ids))
        before, after = self.tokenizer.frame_ids
        if opening := self.opening(len(before) + len(encoding) + len(after)):
            before = opening
        masked = [*[False] * len(before), *encoding.masked_words, *[False] * len(after)]
        words = [
            token if hidden else word
            for token, word, hidden in zip(
                encoding.tokens, shown(self.tokenizer, encoding.ids), encoding.masked_words, strict=True
            )
        ]
        return Line(
            Row(ids=[*before, *encoding.ids, *after], masked_words=masked if any(masked) else None),
            [*shown(self.tokenizer, before), *words, *shown(self.tokenizer, after)],
        )

    def pair(self, text: str, other: str) -> Line:
        """A text and a second one as one row; raises DataError where the first is only blanks."""
        texts = self.encoded(text).ids, self.tokenizer.encode(other, special=False).ids
        ids, segments = list(self.tokenizer.pair_frame_ids[0]), [0] * len(self.tokenizer.pair_frame_ids[0])
        for number, its in enumerate(texts):
            part = [*its, *self.tokenizer.pair_frame_ids[number + 1]]
            ids += part
            segments += [number] * len(part)
        has_segments = self.config.output_stack.embed.segments > 1
        return Line(Row(ids=ids, segments=segments if has_segments else None), shown(self.tokenizer, ids))

    def encoded(self, text: str) -> Encoding:
        """The tokens of a text; raises DataError where it has none."""
        encoding = self.tokenizer.encode(text, special=False)
        if not len(encoding):
            raise DataError("a text with at least one word is needed", got=repr(text))
        return encoding

    def target(self, text: str) -> Line:
        """What the decoder reads while it predicts this target: the start token, then all tokens but the last. Each
        place predicts the token after it, the last one the end of the target. A target without words is the start token
        alone. Raises ConfigError for a model whose start token is not known.
        """
        tokenizer = self.tokenizer.target
        before, after = tokenizer.frame_ids
        whole = [*before, *tokenizer.encode(text, special=False).ids, *after]
        return self.written([self.start, *(whole[:-1] if after else whole)])

    def written(self, ids: Sequence[int]) -> Line:
        return Line(Row(ids=list(ids)), shown(self.tokenizer.target, ids))

    def masked(self, rows: Sequence[Row]) -> dict[int, list[int]]:
        """The masked places of each row that has any, of a model that guesses masked words."""
        if self.config.encoder is None or self.config.decoder is not None or self.config.head is None:
            return {}
        found = {
            sentence: [place for place, hides in enumerate(row.masked_words) if hides]
            for sentence, row in enumerate(rows)
            if row.masked_words is not None
        }
        return {sentence: places for sentence, places in found.items() if places}

    def inputs(self, first: Sequence[Row], second: Sequence[Row] | None) -> tuple[Inputs, Inputs | None]:
        """The rows of the only stack or the encoder as one batch, and those of the decoder, if there are two."""
        inputs = collate(first, pad_id=self.tokenizer.pad_id or 0).inputs
        labels = [label for row in first for label in row.labels.values()]
        if len(labels) == len(first):  # rows read word by word: a label at the first token of each
            asked = torch.zeros(inputs.shape, dtype=torch.bool)
            for number, (row, label) in enumerate(zip(first, labels, strict=True)):
                asked[number, : len(row.ids)] = torch.tensor(label) != IGNORED
            inputs = replace(inputs, labelled=asked)
        if second is None:
            return inputs.to(self.device), None
        target = collate(second, pad_id=self.tokenizer.target.pad_id or 0).inputs
        return inputs.to(self.device), target.to(self.device)


def shown(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    """Tokens as people read them; a row of the table that is no token, by its number."""
    return [word_at(tokenizer.shown, id_) for id_ in ids]
