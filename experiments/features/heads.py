"""Heads that give each word a tag from its frozen vector: a linear layer, and a BiLSTM of two layers with one on top.

E sentences · N words of all sentences · n words of a batch · F numbers of a vector · K layers in it · W numbers of a
layer · T tags
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_sequence

EPOCHS, BATCH = 5, 32
# Of the BiLSTM, in each direction.
STATES, DEPTH = 128, 2
LINEAR, RECURRENT = "linear", "BiLSTM"

Integers = npt.NDArray[np.int64]


class Mixing(nn.Module):
    """γ · Σ softmax(s)ₖ · layerₖ (Peters et al. 2018, eq. 1), learned with the head; equal shares at first."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(layers))  # [K]
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, vectors: Tensor) -> Tensor:
        """The layers of words side by side [n, K·W] to one [n, W]."""
        layers = vectors.unflatten(1, (len(self.shares), -1))  # [n, K, W]
        return self.scale * torch.einsum("k,nkw->nw", self.shares.softmax(dim=0), layers)


class Head(nn.Module):
    """Scores of tags for packed sentences, which have no padding: a sentence is read as it is alone."""

    def __init__(self, kind: str, width: int, tags: int, *, mixed: int = 0) -> None:
        """`width` is that of a vector F; `mixed` the number of layers in it where their mix is learned, else 0."""
        super().__init__()
        self.mixing = Mixing(mixed) if mixed else None
        width = width // mixed if mixed else width
        self.recurrent = nn.LSTM(width, STATES, DEPTH, bidirectional=True) if kind == RECURRENT else None
        self.output = nn.Linear(2 * STATES if self.recurrent else width, tags)

    def forward(self, words: PackedSequence) -> Tensor:
        """[n, F] in the order of the pack to [n, T]."""
        if self.mixing is not None:
            words = words._replace(data=self.mixing(words.data))  # [n, W]
        if self.recurrent is not None:
            words, _ = self.recurrent(words)  # [n, 2 · STATES]
        scores: Tensor = self.output(words.data)  # [n, T]
        return scores


def learn(
    kind: str,
    vectors: Tensor,
    lengths: Sequence[int],
    tags: Tensor,
    *,
    count: int,
    rate: float,
    seed: int,
    mixed: int = 0,
    epochs: int = EPOCHS,
) -> Head:
    """A head that has learned the `tags` [N], from 0 to `count` - 1, of the `vectors` [N, F] of sentences with so many
    words each, `lengths` [E].

    Adam; the learning rate falls from `rate` to 0 in a straight line; batches are of sentences of like length.
    """
    torch.manual_seed(seed)
    head = Head(kind, vectors.shape[1], count, mixed=mixed)
    optimizer = torch.optim.Adam(head.parameters(), lr=rate)
    steps = epochs * -(-len(lengths) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    of_sentence, right = vectors.split(list(lengths)), tags.split(list(lengths))
    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        for batch in batches(lengths, generator):
            scores = head(_packed([of_sentence[number] for number in batch]))  # [n, T]
            loss = F.cross_entropy(scores, _packed([right[number] for number in batch]).data)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return head


def batches(lengths: Sequence[int], generator: np.random.Generator) -> Iterator[Integers]:
    """The numbers of the sentences of each batch: sentences of like length, otherwise drawn, in an order that is."""
    drawn = generator.permutation(len(lengths))
    order = drawn[np.argsort(np.array(lengths)[drawn], kind="stable")]
    cut = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    for number in generator.permutation(len(cut)):
        yield cut[number]


@torch.no_grad()
def likeliest(head: Head, vectors: Tensor, lengths: Sequence[int]) -> Tensor:
    """The likeliest tag of each word, [N]."""
    of_sentence, places = vectors.split(list(lengths)), torch.arange(len(vectors)).split(list(lengths))
    found = torch.empty(len(vectors), dtype=torch.long)
    for batch in batches(lengths, np.random.default_rng(0)):
        scores = head(_packed([of_sentence[number] for number in batch]))  # [n, T]
        found[_packed([places[number] for number in batch]).data] = scores.argmax(dim=1)
    return found


def _packed(sentences: Sequence[Tensor]) -> Any:
    return pack_sequence(list(sentences), enforce_sorted=False)
