"""What goes into a model, and what comes out; and a batch of rows with what is to be learned from them.

B sentences · S tokens · Q query tokens · K key or memory tokens · W width · V vocabulary · L labels
N scored positions
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.base.errors import ShapeError
from glassformer.parts.cache import KeyValueCache
from glassformer.parts.dropout import DropoutKey


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """One batch of tokens. Only `ids` (or `vectors` in their place) is needed; the rest is derived or absent.

    ids [B, S] int64 · vectors [B, S, W] · real [B, S] bool, False = padding · positions [B or 1, S] int64
    (default: counted over the real tokens) · segments [B, S] int64 · masked_words [B, S] bool, True = a masked word ·
    documents [B, S] int64, equal = same document, for the mask · may_look [B or 1, Q, K] bool, True = may look,
    one more mask on top of the model's own (K: with those in the cache) · dropout_key chooses dropout, in training ·
    labelled [B, S] bool, True = a token whose label is asked for; it changes nothing but what a CRF shows of itself.
    """

    ids: Tensor | None = None
    vectors: Tensor | None = None
    real: Tensor | None = None
    positions: Tensor | None = None
    segments: Tensor | None = None
    masked_words: Tensor | None = None
    documents: Tensor | None = None
    may_look: Tensor | None = None
    labelled: Tensor | None = None
    dropout_key: DropoutKey | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Sentences and tokens; raises ShapeError."""
        name, given, axes = ("vectors", self.vectors, "BSW") if self.ids is None else ("ids", self.ids, "BS")
        if given is None:
            raise ShapeError("a model needs ids or vectors", got="neither")
        if not isinstance(given, Tensor):
            raise ShapeError(f"inputs.{name} must be a tensor", got=type(given).__name__)
        if self.ids is not None and given.dtype not in (torch.int32, torch.int64):
            raise ShapeError("inputs.ids must be of type int32 or int64", got=str(given.dtype))
        if given.dim() != len(axes):
            do = f"one sentence is a batch of one: {name}[None]"
            raise ShapeError(f"inputs.{name} must be [{', '.join(axes)}]", got=str(list(given.shape)), do=do)
        return given.shape[0], given.shape[1]

    @property
    def device(self) -> torch.device:
        given = self.ids if self.ids is not None else self.vectors
        assert given is not None
        return given.device

    @property
    def facts(self) -> dict[str, Tensor]:
        """What masks depend on for each token, [B, S], by name; only what was given."""
        named = {
            "real": self.real,
            "masked_words": self.masked_words,
            "segments": self.segments,
            "documents": self.documents,
        }
        return {name: fact for name, fact in named.items() if fact is not None}

    def check(self, *, keys: int | None = None) -> None:
        """Refuse tensors whose shapes do not fit together. `keys`: with those in a cache; None = there is none. Raises
        ShapeError.
        """
        batch, tokens = self.shape
        for name in ("real", "positions", "segments", "masked_words", "documents", "labelled"):
            tensor: Tensor | None = getattr(self, name)
            shared = name == "positions" and tensor is not None and tensor.shape == (1, tokens)
            if tensor is not None and tensor.shape != (batch, tokens) and not shared:
                raise ShapeError(f"inputs.{name} must be {[batch, tokens]} like the ids", got=str(list(tensor.shape)))
        mask, keys = self.may_look, tokens if keys is None else keys
        if mask is not None and mask.shape not in ((batch, tokens, keys), (1, tokens, keys)):
            raise ShapeError(
                f"inputs.may_look must be [{batch} or 1, {tokens}, {keys}]: who looks, at whom",
                got=str(list(mask.shape)),
            )

    def check_numbers(self, *, vocabulary: int, segments: int) -> None:
        """Refuse ids and segments that a model has no row for; it reads them all, so only what people give is asked.
        Raises ShapeError.
        """
        for name, tensor, rows in (("ids", self.ids, vocabulary), ("segments", self.segments, segments)):
            if tensor is not None and tensor.numel() and rows:
                least, largest = (int(number) for number in tensor.aminmax())
                if least < 0 or largest >= rows:
                    raise ShapeError(
                        f"inputs.{name} must be from 0 to {rows - 1}", got=str(least if least < 0 else largest)
                    )

    def to(self, device: torch.device | str) -> Inputs:
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        key = self.dropout_key
        key = None if key is None else DropoutKey(key.seed.to(device), key.rows.to(device))
        return replace(self, **moved, dropout_key=key)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows that go through the model together, and the labels of each loss by its name.

    `labels`: class indices or numbers at the tokens `scored_at` [N], one for each row [B], or one for each token
    [B, S]; -100 where nothing is asked. `scored_at` are flat indices into B·S, [N], or [B, A] where as many tokens of
    each row are scored, N = B·A. `counts`: by loss, the sum of the weights of its labels, known before the forward
    pass; where they are this batch's share of an epoch's instead, `present` has its own. `row_ids` [B] int32 number the
    rows within their step, so that dropout treats each row as its own however the step is cut into parts. `weights` [B]
    float32; a row of weight 0 only fills the shape. `tokens` counts what is no padding. `decoder_inputs` feed the
    decoder of an encoder–decoder. `rows_of_each`: so many rows, one after the other, belong together, as the candidates
    of a choice do.
    """

    inputs: Inputs
    labels: Mapping[str, Tensor]
    counts: Mapping[str, float]
    row_ids: Tensor
    weights: Tensor
    tokens: int
    present: Mapping[str, float] | None = None
    scored_at: Tensor | None = None
    decoder_inputs: Inputs | None = None
    rows_of_each: int = 1

    def to(self, device: torch.device) -> Batch:
        return replace(
            self,
            inputs=self.inputs.to(device),
            labels={name: labels.to(device) for name, labels in self.labels.items()},
            row_ids=self.row_ids.to(device),
            weights=self.weights.to(device),
            scored_at=None if self.scored_at is None else self.scored_at.to(device),
            decoder_inputs=None if self.decoder_inputs is None else self.decoder_inputs.to(device),
        )

    def with_dropout_key(self, seed: Tensor) -> Batch:
        """The same with the source of its dropout: `seed` is an int32 scalar that belongs to the step."""
        return replace(self, inputs=replace(self.inputs, dropout_key=DropoutKey(seed, self.row_ids)))

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """All tensors with a name each, to be written to a file."""
        for side, inputs in (("inputs", self.inputs), ("decoder_inputs", self.decoder_inputs)):
            for name, value in vars(inputs).items() if inputs is not None else ():
                if isinstance(value, Tensor):
                    yield f"{side}.{name}", value
        for name, labels in self.labels.items():
            yield f"labels.{name}", labels
        for name in ("row_ids", "weights", "scored_at"):
            value = getattr(self, name)
            if value is not None:
                yield name, value


@dataclass(frozen=True, kw_only=True)
class Output:
    """states [B, S, W] · logits [B, S, V], or [N, V] at scored positions · memory [B, K, W] · `cache` as given.

    sentence_logits [B, L]; of a sentence head without labels, what it has instead: the pooled vector [B, W].
    token_logits [B, S, L] of a token head. cross_scores [B, H, S, K] of the decoder's last cross-attention, H heads.
    What was not asked for is None.
    """

    states: Tensor
    logits: Tensor | None = None
    sentence_logits: Tensor | None = None
    token_logits: Tensor | None = None
    memory: Tensor | None = None
    cache: KeyValueCache | None = None
    cross_scores: Tensor | None = None
