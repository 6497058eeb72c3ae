"""Texts to vectors: one pass through the model, however many kinds of vectors are asked for.

B rows · S tokens of a row · W width · F numbers of a vector
P parts of a text: its words, or 1 for the text as a whole
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glassformer.base.errors import DataError, NotFiniteError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.features.pooling import Pooled, Pooler, Reals
from glassformer.features.strategies import WORD, Feature
from glassformer.models.inputs import Batch
from glassformer.models.stack import Stack
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import widened
from glassformer.tasks.labels.tag.records import Sentence, sentence_of
from glassformer.tasks.predictor import Context, Predictor
from glassformer.tasks.rows import Axis, Row, located
from glassformer.text.tokenizer import MASK, Tokenizer
from glassformer.text.windows import text_room, windows
from glassformer.text.words import PART, Span, ids_of, word_tokens

# Numbers of all vectors that are in memory together, and the tokens of a usual row of words.
_NUMBERS, _USUAL = 1 << 25, 64
# Tokens of whole texts that are read ahead: each pass leaves small results between the large tensors that it has freed,
# where those of the next pass do not fit, so that memory grows with the passes until their results are put together.
_AHEAD = 1 << 18
# Texts that are tokenized together.
_TOKENIZED = 64


@dataclass(frozen=True)
class Vectors:
    """The vectors of a text by the name of the feature: [F] of the text as a whole, or [P, F] of its words.

    `offsets` are the characters [start, end) of each word in the text, None of a text as a whole; `windows`: in how
    many parts the text was read; `given`: whether the words were given with the text; `tokens`: how many its vectors
    are made of, without the special ones; `more`: more words of the text follow.
    """

    text: str
    vectors: Mapping[str, Reals]
    offsets: tuple[Span, ...] | None = None
    windows: int = 1
    given: bool = False
    tokens: int = 1
    more: bool = False

    @property
    def empty(self) -> bool:
        """Whether the vectors are made of the special tokens alone."""
        return not self.tokens

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words as they occur in the text, one for each row of vectors; None of a text as a whole."""
        return None if self.offsets is None else tuple(self.text[start:end] for start, end in self.offsets)

    def to_dict(self) -> dict[str, Any]:
        """The text, its words with their characters where it has any, and its vectors as lists: a record of `embed`."""
        words = {} if self.offsets is None else {"words": self.spans(slice(None))}
        return {"text": self.text, **words, **{name: of.tolist() for name, of in self.vectors.items()}}

    def spans(self, some: slice) -> list[dict[str, Any]]:
        """Some of the words with their characters [start, end) in the text."""
        spans = (self.offsets or ())[some]
        return [{"word": self.text[start:end], "start": start, "end": end} for start, end in spans]


class _Windows(Sized, Iterable[Row]):
    """The rows of a text, each made when it is asked for, and how many they are."""

    def __init__(self, count: int, row: Callable[[int], Row]) -> None:
        self._count, self._row = count, row

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return map(self._row, range(self._count))


class VectorsOf(Predictor[Sentence, Vectors]):
    """The vectors of texts, or with `words` of the words of texts, or of the parts that `spans` finds in them.

    The mean and the largest numbers are those of all tokens of a text, its special tokens included, as
    `sentence-transformers` takes them; those of a word, of all its tokens. Of a text that is longer than a row each
    token counts once, in the window that shows most text around it. Where they are `streamed`, the words of a very
    long text come as they are known (`Vectors.more`), so that they are never in memory together.
    """

    axes: ClassVar[Mapping[str, Axis]] = {"part": "token"}

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        features: Sequence[Feature],
        *,
        length: int | None,
        words: bool,
        spans: Callable[[str], Sequence[Span]] | None = None,
    ) -> None:
        self.tokenizer, self.features, self.length = tokenizer, tuple(features), length
        self.words, self.spans = words or spans is not None, spans
        self.stack = stack_of(model)
        self.marks_masks = self.stack.hides or self.stack.embed.zero_word or self.stack.embed.zero_sum
        self.widths = tuple(feature.strategy.width(model_width(model)) for feature in features)
        self.pooler = Pooler(self.features, self.widths)
        self.needed = sorted({layer for feature in features for layer in feature.strategy.layers})
        self.asks = tuple(self.needed)
        each = sum(self.widths) * (_USUAL if words else 1)
        self.read_ahead = min(16_384, max(_NUMBERS // each, 1))
        self.read_ahead_tokens = max(_NUMBERS // sum(self.widths), 1) if words else _AHEAD
        self.numbers_of_token, self.numbers_of_text = (sum(self.widths), 0) if words else (0, sum(self.widths))
        self.unread, self.first_unread = 0, ""  # words for which the tokenizer has no token, and the first of them
        self.streamed, self.special = False, sum(map(len, tokenizer.frame_ids))

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For the options `features` and `words`."""
        options = context.options
        return cls(model, tokenizer, options["features"], length=context.length, words=options["words"])

    def example(self, values: Mapping[str, object], where: str) -> Sentence:
        """A text; where words are asked for, with those given or found in it. Raises DataError for anything but a text,
        for a text without words where words are needed, and for one with masks if the model reads masks as flags.
        """
        text, given = values.get("text"), self.words and self.spans is None  # words come with the text, or in its place
        if not given and not isinstance(text, str):
            raise DataError(located(where, "a text is needed"), got=repr(text)[:60])
        # A blank line has no words, and counts: the number of a text is that of its line.
        blank = "words" not in values and isinstance(text, str) and not text.strip()
        if given and not blank:
            found = sentence_of(values, where)
        else:
            found = Sentence(str(text), () if self.spans is None else tuple(self.spans(str(text))))
        if self.marks_masks and MASK in found.text:
            raise DataError(
                located(where, f"this model gets masks as a separate input: no features of a text with {MASK}"),
                got=repr(found.text)[:60],
            )
        return found

    def given_ids(self, ids: Sequence[int], where: str) -> tuple[Sentence, Iterable[Row]]:
        """A text from its tokens, and its rows, as of the same text."""
        if self.words or not ids or (self.marks_masks and self.tokenizer.mask_id in ids):
            got = "a request for words" if self.words else f"{len(ids)} tokens" if not ids else f"{MASK} among them"
            raise DataError(located(where, "tokens of a text without masks are needed for its vector"), got=got)
        return Sentence(self.tokenizer.decode(ids), ()), self._rows_of(Sentence("", ()), np.array(ids, np.int32))

    def cut(self, examples: Iterable[Sentence]) -> Iterator[tuple[Sentence, Iterable[Row]]]:
        """Each text with its rows; short texts are tokenized together, on all cores."""
        if self.words:
            yield from super().cut(examples)
            return
        for some in _short_together(examples):
            if len(some[0].text) > PART:
                yield some[0], self.rows(some[0])
                continue
            for example, raw in zip(some, self.tokenizer.raw_batch([each.text for each in some]), strict=True):
                ids = self.tokenizer.unalias(raw.ids)
                whole = self._whole(ids)
                yield example, self._rows_of(example, np.array(ids, np.int32)) if whole is None else (whole,)

    def whole(self, example: Sentence) -> Row | None:
        """The only row of a text; None for one that has several, or is too long to be cut at once."""
        return None if len(example.text) > PART else self._whole(self.tokenizer.ids(example.text))

    def _whole(self, ids: list[int]) -> Row | None:
        """The only row of a text whose tokens fit into one, as `rows` makes it; None for another text."""
        before, after = self.tokenizer.frame_ids
        length = len(before) + len(ids) + len(after)
        if not length or (self.length is not None and length > self.length):
            return None
        return Row(ids=array("i", (*before, *ids, *after)), labels={"part": array("i", bytes(4 * length))})

    def rows(self, example: Sentence) -> Iterable[Row]:
        """A row for each window; the label of a token is the number of the part it belongs to."""
        if self.words:
            ids, first, unread = word_tokens(self.tokenizer, example.text, example.words)
            self.unread += len(unread)
            self.first_unread = self.first_unread or (example.text[slice(*example.words[unread[0]])] if unread else "")
            return self._rows_of(example, ids, first.searchsorted(np.arange(len(ids)), side="right") - 1)
        return self._rows_of(example, np.asarray(ids_of(self.tokenizer, example.text), np.int32))

    def _rows_of(
        self, example: Sentence, ids: npt.NDArray[np.int32], parts: npt.NDArray[np.int64] | None = None
    ) -> _Windows:
        """The rows of a text's tokens; `parts` says what part each belongs to, None where the text has one."""
        before, after = (np.array(frame, np.int32) for frame in self.tokenizer.frame_ids)
        nothing = not (example.words if self.words else len(before) + len(after))  # a blank line; no special tokens
        if not len(ids) and nothing:
            return _Windows(0, lambda number: Row(ids=array("i"), labels={}))
        if not len(ids) and self.words:
            raise DataError("a text needs at least one token", got=repr(example.text[:40]))
        cut = windows(len(ids), text_room(len(before) + len(after), self.length))

        def made(number: int) -> Row:
            window = cut[number]
            row = np.concatenate([before, ids[window.start : window.end], after], dtype=np.int32)  # [S]
            marks = np.full(len(row), IGNORED, np.int32)  # [S]
            place = len(before) - window.start
            marks[window.first + place : window.last + place] = (
                0 if parts is None else parts[window.first : window.last]
            )
            if not self.words:  # the special tokens at the two ends of the text
                marks[: len(before)] = 0 if number == 0 else IGNORED
                marks[len(row) - len(after) :] = 0 if number == len(cut) - 1 else IGNORED
            return Row(ids=array("i", row.tobytes()), labels={"part": array("i", marks.tobytes())})

        return _Windows(len(cut), made)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Pooled]]:
        """What each row contributes to its parts."""
        stack = stack_of(model)
        for batch in batches:
            states = self._states(stack, batch)
            with torch.autocast(batch.labels["part"].device.type, enabled=False):
                pool = self.pooler.of_words if self.words else self.pooler.of_texts
                yield from zip(batch.row_ids.tolist(), pool(states, batch.labels["part"]), strict=True)

    def of_states(self, row: Row, states: Callable[[], npt.NDArray[np.float32]]) -> Pooled | None:
        """What a row contributes to its text, from its last states alone."""
        if self.words or self.needed != [len(self.stack.blocks)] or not self.pooler.of_one_layer:
            return None
        return self.pooler.of_last(states(), np.asarray(row.labels["part"]) != IGNORED)

    def of_layers(self, states: Mapping[int, Tensor], real: Tensor) -> Reals:
        """The vectors of whole texts, [B, F], from their states by layer [B, S, W], those of `needed`; `real` [B, S] is
        False for padding. The only feature, or the first.
        """
        parts = torch.where(real, 0, IGNORED)  # [B, S]
        found = (self.merge(Sentence("", ()), [pooled]) for pooled in self.pooler.of_texts(states, parts))
        return np.stack([each.vectors[self.features[0].name] for each in found])

    def _states(self, stack: Stack, batch: Batch) -> dict[int, Tensor]:
        """The layers that are needed, by number, of at least float32."""
        inputs, found = batch.inputs, dict[int, Tensor]()
        if WORD in self.needed:
            assert inputs.ids is not None
            found[WORD] = widened(stack.embed.word(inputs.ids) * stack.embed.scale)  # [B, S, W]
        if self.needed[-1] == WORD:
            return found
        if self.needed == [len(stack.blocks)]:
            return {len(stack.blocks): widened(stack(inputs))}  # [B, S, W]
        for number, layer in enumerate(stack.layers(inputs, last=self.needed[-1])):
            if number in self.needed:
                found[number] = widened(layer)  # [B, S, W]
        return found

    def settle(self, example: Sentence, found: list[Pooled]) -> tuple[Iterable[Vectors], list[Pooled]]:
        """Of a whole text, all windows so far as one; of words that are `streamed`, those that are known: not the last
        one, which may have tokens in the next window.
        """
        if not self.words:
            return (), [self.pooler.together(found)]
        if not self.streamed:
            return (), found
        known = self.pooler.together(found)
        count = len(known.tokens) - 1
        last = Pooled(known.begin + count, known.tokens[count:], [of[count:].copy() for of in known.values], known.rows)
        begun = known._replace(tokens=known.tokens[:count], values=[of[:count] for of in known.values])
        return ([self._checked(example, begun, more=True)] if count else []), [last]

    def merge(self, example: Sentence, found: Sequence[Pooled]) -> Vectors:
        """The vectors of all parts, from those of the windows: a part may have tokens in several."""
        if not found:
            none = {
                feature.name: np.zeros((0, width) if self.words else width, np.float32)
                for feature, width in zip(self.features, self.widths, strict=True)
            }
            return Vectors(example.text, none, () if self.words else None, 0, example.given, 0)
        return self._checked(example, found[0] if len(found) == 1 else self.pooler.together(found))

    def _checked(self, example: Sentence, pooled: Pooled, *, more: bool = False) -> Vectors:
        """The vectors of these parts; raises NotFiniteError for what is no number."""
        counts = pooled.tokens[:, None].astype(pooled.values[0].dtype)
        vectors = {
            feature.name: values / counts if feature.pooling == "mean" else values
            for feature, values in zip(self.features, pooled.values, strict=True)
        }
        for name, of in vectors.items():
            if not np.isfinite(of).all():
                raise NotFiniteError(
                    "a model must give finite numbers to make vectors",
                    got=f"NaN or infinity in {name} of {example.text[:40]!r}",
                    do="its training diverged: train it again with a lower learning rate",
                )
        if self.words:
            offsets = example.words[pooled.begin : pooled.begin + len(pooled.tokens)]
            own = int(pooled.tokens.sum())
            return Vectors(example.text, vectors, offsets, pooled.rows, example.given, own, more)
        whole = {
            feature.name: vectors[feature.name][0] if feature.pooling == "mean" else vectors[feature.name][0].copy()
            for feature in self.features
        }
        return Vectors(example.text, whole, None, pooled.rows, tokens=int(pooled.tokens[0]) - self.special)


def _short_together(examples: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Examples in groups of at most _TOKENIZED texts with at most PART characters, and longer ones each by itself."""
    group: list[Sentence] = []
    characters = 0
    for example in examples:
        if group and (len(group) == _TOKENIZED or characters + len(example.text) > PART):
            yield group
            group, characters = [], 0
        group.append(example)
        characters += len(example.text)
    if group:
        yield group


def stack_of(model: Transformer) -> Stack:
    """The stack whose states are the features: the only one, or the encoder, which reads the text."""
    stack = model.decoder if model.encoder is None else model.encoder
    assert stack is not None
    return stack


def model_width(model: Transformer) -> int:
    """The numbers of a state of this stack."""
    return int(stack_of(model).embed.word.weight.shape[1])


def blocks_of(model: Transformer) -> int:
    """The blocks of this stack."""
    return len(stack_of(model).blocks)


def note_of(model: Transformer, poolings: Iterable[str]) -> str:
    """A note on the features of this model; "" for an encoder."""
    if model.encoder is not None:
        return "" if model.decoder is None else "features are the states of the encoder, which reads the text"
    said = (
        "a token of a decoder depends on itself and the tokens before it: only the last one depends on the whole text"
    )
    if "first" in poolings:
        return f"{said}, and the first (pooling first) only on itself; --pooling last-token takes the last"
    return f"{said} (--pooling last-token takes it)"
