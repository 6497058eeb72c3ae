"""Pairs of a source and a target text as tokens, several of them in each row, and how likely the targets are.

E pairs · R rows · B rows of a batch · S tokens of the source · T tokens of the target · n tokens of a batch
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from glassformer.data.batches.batch import Flat, Integers, Order, Texts, key_of
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pack_pairs import PackedPairs, choose_rooms, pack_pairs
from glassformer.data.readers.parallel import TARGET
from glassformer.data.stores.split import Split
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared_in_parts
from glassformer.scoring.score import THIS_MODEL, Reals, Scores, Unigram, perplexity
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.rows import Shape, text_of
from glassformer.text.tokenizer import Tokenizer

# Pairs that are tokenized together.
_TOGETHER = 4096


class TextPair(NamedTuple):
    text: str
    target: str | None = None


class TextPairs(Sequence[TextPair]):
    """Many of them, in the memory of their letters."""

    def __init__(self, sources: Texts, targets: Texts) -> None:
        self.sources, self.targets = sources, targets

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def sides(self) -> tuple[Texts, Texts]:
        return self.sources, self.targets

    def __getitem__(self, number: int) -> TextPair:  # type: ignore[override]  # no slices: nobody asks for them
        return TextPair(self.sources[number], self.targets[number])


class PairSource:
    """Pairs in rows of few shapes, each a document to itself; the decoder reads `start`, then the target."""

    rows_of_each = 1
    total_counts = None  # a step is divided by its own tokens

    def __init__(
        self, pairs: TextPairs, tokenizer: Tokenizer, *, start: int, longest: int, losses: Iterable[str] = (TARGET,)
    ) -> None:
        both = tokenizer, tokenizer.target
        self._losses = tuple(losses)
        self.examples, self._start, self._pads = pairs, start, [each.pad_id or 0 for each in both]
        self._sides = tuple(_tokens(each, texts) for each, texts in zip(both, pairs.sides, strict=True))
        lengths = np.stack([side.lengths for side in self._sides], axis=1)  # [E, 2]
        digest = hashlib.sha256(repr([tokenizer.fingerprint, start, longest]).encode())
        for side in self._sides:
            digest.update(side.values.tobytes())
            digest.update(side.offsets.tobytes())
        self.fingerprint = digest.hexdigest()
        self.packed: PackedPairs = pack_pairs(lengths, choose_rooms(lengths, longest), key=key_of(self.fingerprint, 0))

    def __len__(self) -> int:
        return len(self.packed.members)

    @property
    def left_out(self) -> int:
        return len(self.packed.left_out)

    @property
    def lengths(self) -> Integers:
        """The tokens of the source and of the target of each row, padding included, [R, 2]."""
        return self.packed.shapes[self.packed.shape_of]

    @cached_property
    def padding(self) -> float:
        kept = np.setdiff1d(np.arange(len(self.examples)), self.packed.left_out)
        tokens = sum(int(side.lengths[kept].sum()) for side in self._sides)
        return 1 - tokens / max(1, sum(self.packed.filled))

    @property
    def targets(self) -> Flat:
        return self._sides[1]

    @property
    def target_tokens(self) -> npt.NDArray[np.int32]:
        return self._sides[1].values

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        rows, sources, targets = shape
        filled = np.concatenate([examples, np.repeat(examples[-1:], rows - len(examples))])
        members, row, _ = self.packed.members.joined(filled)
        pairs = members.astype(np.int64)
        # Padding of the source is a document of its own; padding of the target belongs to the first: it has something
        # to look at, and nobody looks back at it.
        encoder = side_by_side(self._sides[0], pairs, row, (rows, sources), fill=(self._pads[0], -1))
        decoder = side_by_side(self._sides[1], pairs, row, (rows, targets), fill=(IGNORED, 0))
        decoder.ids[len(examples) :] = IGNORED
        shifted = np.where(decoder.ids == IGNORED, self._pads[1], decoder.ids)  # [B, T]
        shifted[:, 1:] = shifted[:, :-1].copy()
        shifted[decoder.positions == 0] = self._start
        tokens = int((decoder.ids != IGNORED).sum())
        return Batch(
            inputs=encoder.inputs(),
            decoder_inputs=decoder._replace(ids=shifted).inputs(),
            labels={TARGET: torch.from_numpy(decoder.ids)},
            counts=dict.fromkeys(self._losses, float(tokens)),
            row_ids=torch.arange(rows, dtype=torch.int32),
            weights=torch.from_numpy((np.arange(rows) < len(examples)).astype(np.float32)),
            tokens=tokens,
        )


class PackedSide(NamedTuple):
    """Tokens of several texts in each row, each [B, S]: the number of a token's text is its document."""

    ids: Integers
    documents: Integers
    positions: Integers

    def inputs(self) -> Inputs:
        return Inputs(
            ids=torch.from_numpy(self.ids),
            documents=torch.from_numpy(self.documents),
            positions=torch.from_numpy(self.positions),
        )


def side_by_side(
    tokens: Flat, chosen: Integers, row: Integers, shape: tuple[int, int], *, fill: tuple[int, int]
) -> PackedSide:
    """These texts row by row [C], positions anew for each text; `fill`: id and document of padding."""
    values, of, position = tokens.joined(chosen)  # [n], [n], [n]
    ends = tokens.lengths[chosen].cumsum()
    begins = np.concatenate([[0], ends[:-1]])  # of each text among all
    first = np.searchsorted(row, row)  # of its row
    within = np.arange(len(chosen)) - first  # number of each text in its row
    column = position + (begins - begins[first])[of]  # [n]
    ids, documents = (np.full(shape, each, np.int64) for each in fill)  # [B, S], [B, S]
    positions = np.broadcast_to(np.arange(shape[1]), shape).copy()  # [B, S], those of padding as in its row
    at = row[of], column
    ids[at], documents[at], positions[at] = values, within[of], position
    return PackedSide(ids, documents, positions)


def _tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> Flat:
    def encoded() -> Iterable[Sequence[int]]:
        waiting: list[str] = []
        for text in texts:
            waiting.append(text)
            if len(waiting) == _TOGETHER:
                yield from (tokenizer.unalias(raw.ids) for raw in tokenizer.raw_batch(waiting, special=True))
                waiting.clear()
        if waiting:
            yield from (tokenizer.unalias(raw.ids) for raw in tokenizer.raw_batch(waiting, special=True))

    return Flat.of(encoded())


def pair_of(values: Mapping[str, object], where: str) -> TextPair:
    """A source, and its target where it is known; raises DataError where one of them is empty."""
    text = text_of(values["text"], where, "source")
    return TextPair(text, text_of(values["target"], where, "target") if "target" in values else None)


def log_rows(sources: Mapping[Split, Any], what: str, shapes: str, too_long: str, log: Callable[[str], None]) -> None:
    """Log the rows of a `PairSource` or a `DialogueSource`: `what` they hold, their shapes, and what is left out."""
    counts = {split: len(source.examples) - source.left_out for split, source in sources.items()}
    held_out = ", ".join(f"{count:,} {split}" for split, count in counts.items() if split != "train")
    train = sources["train"]
    log(
        f"{counts['train']:,} {what} to learn from, {held_out or 'none held out'}; {len(train):,} rows of "
        f"{shapes} tokens, {train.padding:.1%} of them padding"
    )
    if left_out := sum(source.left_out for source in sources.values()):
        log(f"{left_out:,} {what} {too_long} are left out")


# Rows that are measured together.
_ROWS = 32


@dataclass(frozen=True)
class TargetLosses:
    """Of each measured pair [E]: its number in the source, its tokens, the sum of their losses in nats, how many of
    them were the likeliest, and the sum of their losses by their frequencies alone.
    """

    pairs: Integers
    tokens: Reals
    losses: Reals
    right: Reals
    unigram: Reals


def target_losses(
    model: Transformer, source: PairSource, unigram: Unigram, limit: int | None, *, never: Sequence[int]
) -> TargetLosses:
    """The losses after the right tokens, without smoothing, where the tokens of `never` have the probability 0 and are
    not measured; of all pairs, or always the same ones, about `limit`.
    """
    device = next(model.parameters()).device
    sums = np.zeros((4, len(source.examples)))  # tokens, losses, right, unigram
    with evaluating(model):
        for batch, pairs in _rows(source, limit):
            labels = batch.labels[TARGET].flatten()  # [B·T]
            asked = (labels != IGNORED) & ~torch.isin(labels, torch.tensor(list(never), dtype=labels.dtype))
            moved = batch.to(device)
            states = model(moved.inputs, moved.decoder_inputs, heads=()).states.flatten(0, 1)[asked.to(device)]
            its, right = pairs.reshape(-1)[asked.numpy()], labels[asked]  # [n], [n]
            found = compared_in_parts(model, states, right.to(device), never=never)
            frequent, _ = unigram.guess(right.numpy())
            each = [np.ones(len(right)), *(one.double().cpu().numpy() for one in found), frequent]
            for row, values in zip(sums, each, strict=True):
                np.add.at(row, its, values)
    measured = np.flatnonzero(sums[0])
    return TargetLosses(measured, *sums[:, measured])


def token_scores(of: TargetLosses, unigram: Unigram) -> Scores:
    count = float(of.tokens.sum())
    own, other = (float(losses.sum() / count) for losses in (of.losses, of.unigram))
    mine = {"loss": own, "perplexity": perplexity(own), "accuracy": float(of.right.sum() / count)}
    return Scores(
        round(count), "tokens", {THIS_MODEL: mine, unigram.name: {"loss": other, "perplexity": perplexity(other)}}
    )


def measured_pairs(source: PairSource, limit: int | None) -> Integers:
    """The numbers of the pairs that `target_losses` measures, in its order. [E]"""
    found = [
        np.unique(pairs[(batch.labels[TARGET] != IGNORED).view(pairs.shape).numpy()])
        for batch, pairs in _rows(source, limit)
    ]
    return np.unique(np.concatenate(found))


def _rows(source: PairSource, limit: int | None) -> Iterator[tuple[Batch, Any]]:
    """The rows to measure, shape after shape, and the number of the pair of each token of the target [B, T]."""
    count = len(source)
    if limit is not None:
        count = min(count, -(-limit * count // len(source.examples)))
    order = Order(len(source), count, source.fingerprint, 0).of_epoch(0, 0)
    lengths = source.lengths[order]  # [R, 2]
    members = source.packed.members
    for shape in np.unique(lengths, axis=0):
        rows = order[np.all(lengths == shape, axis=1)]
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            batch = source.batch(some, np.zeros_like(some), shape=(len(some), *shape.tolist()))
            assert batch.decoder_inputs is not None
            assert batch.decoder_inputs.documents is not None
            yield batch, members.values[members.offsets[some][:, None] + batch.decoder_inputs.documents.numpy()]
