"""The five architectures: our encoder–decoder, and LSTM and GRU with and without attention.

B rows · S tokens of the source · T tokens of the target · V vocabulary · W width · L layers · H = W units
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from experiments.writing.models import parameters
from glassformer.base.errors import ConfigError
from glassformer.decode.loop import decode
from glassformer.decode.request import Request, SpecialIds
from glassformer.decode.settings import DecodeSettings
from glassformer.models.families.marian import marian
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build

# Begins each target.
BEGIN = 0
ARMS = ("transformer", "lstm", "lstm, attention", "gru", "gru, attention")
# How far the numbers of parameters may be apart.
NEAR = 0.03


class Architecture(Protocol):
    """What is trained, asked and timed."""

    def words(self, ids: Tensor) -> Tensor:
        """The word vectors of tokens: [B, S] -> [B, S, W]."""
        ...

    def logits(self, source: Tensor, target: Tensor) -> Tensor:
        """Of each token of the target after those before it; the source as word vectors: [B, S, W], [B, T] ->
        [B, T, V].
        """
        ...

    def write(self, source: Tensor, count: int) -> Tensor:
        """So many tokens for each source, the likeliest one each time: [B, S] -> [B, count]."""
        ...


class Ours(nn.Module):
    """Our encoder–decoder with Marian's parts, tied word vectors."""

    def __init__(self, vocabulary: int, width: int, layers: int, *, longest: int) -> None:
        super().__init__()
        config = marian(
            size="tiny",
            vocabulary=vocabulary,
            layers=layers,
            width=width,
            heads=max(1, width // 32),
            feed_forward=4 * width,
            max_length=longest,
            dropout=0.0,
        )
        self.body = build(config)

    def words(self, ids: Tensor) -> Tensor:
        return self.body.word_table[ids]

    def logits(self, source: Tensor, target: Tensor) -> Tensor:
        found = self.body(Inputs(vectors=source), Inputs(ids=shifted(target))).logits
        assert found is not None
        return found

    def write(self, source: Tensor, count: int) -> Tensor:
        settings = DecodeSettings(max_tokens=count)
        requests = [Request(number, source=ids) for number, ids in enumerate(source.tolist())]
        found = torch.zeros(len(requests), count, dtype=torch.int64)
        ids = SpecialIds(begin=BEGIN, end=())
        for step in decode(self.body, requests, settings, ids=ids, slots=len(requests)):
            for finished in step.finished:
                answer = finished.hypotheses[0].ids
                found[finished.number, : len(answer)] = torch.tensor(answer)
        return found


class Recurrent(nn.Module):
    """A bidirectional encoder and a decoder that begins with its last states (Sutskever et al. 2014); with `attention`
    each output is also the mean of the source's states that it fits (Luong et al. 2015, the "general" score).
    """

    def __init__(self, kind: str, vocabulary: int, width: int, layers: int, *, attention: bool) -> None:
        super().__init__()
        cell = {"lstm": nn.LSTM, "gru": nn.GRU}[kind]
        self.embed = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        self.encoder = cell(width, width // 2, layers, batch_first=True, bidirectional=True)
        self.decoder = cell(width, width, layers, batch_first=True)
        self.score = nn.Linear(width, width, bias=False) if attention else None
        self.mixed = nn.Linear(2 * width, width, bias=False) if attention else None
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.layers, self.lstm = layers, kind == "lstm"

    def words(self, ids: Tensor) -> Tensor:
        return self.embed(ids)

    def logits(self, source: Tensor, target: Tensor) -> Tensor:
        memory, state = self._read(source)
        return self._told(self.decoder(self.embed(shifted(target)), state)[0], memory)

    def write(self, source: Tensor, count: int) -> Tensor:
        memory, state = self._read(self.embed(source))
        last, found = torch.full((len(source), 1), BEGIN), []
        for _ in range(count):
            out, state = self.decoder(self.embed(last), state)  # [B, 1, W]
            last = self._told(out, memory).argmax(dim=-1)  # [B, 1]
            found.append(last)
        return torch.cat(found, dim=1)

    def _read(self, source: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor] | Tensor]:
        """The states of the source [B, S, W], and those that the decoder begins with, [L, B, W] each."""
        memory, last = self.encoder(source)

        def joined(state: Tensor) -> Tensor:  # [2·L, B, W/2]
            both = state.unflatten(0, (self.layers, 2))  # [L, 2, B, W/2]
            return torch.cat([both[:, 0], both[:, 1]], dim=-1).contiguous()  # [L, B, W]

        return memory, (joined(last[0]), joined(last[1])) if self.lstm else joined(last)

    def _told(self, out: Tensor, memory: Tensor) -> Tensor:
        if self.score is not None and self.mixed is not None:
            weights = (self.score(out) @ memory.mT).softmax(dim=-1)  # [B, T, S]
            out = torch.tanh(self.mixed(torch.cat([weights @ memory, out], dim=-1)))  # [B, T, W]
        return nn.functional.linear(out, self.embed.weight, self.bias)  # [B, T, V]


def shifted(target: Tensor) -> Tensor:
    """What the decoder reads: the target one later, behind the token that begins. [B, T] -> [B, T]"""
    begin = torch.full_like(target[:, :1], BEGIN)
    return torch.cat([begin, target[:, :-1]], dim=1)


def made(arm: str, vocabulary: int, width: int, layers: int, *, longest: int, seed: int) -> nn.Module:
    """An architecture: ours of this width, the others of that with which they have as many parameters."""
    torch.manual_seed(seed)
    ours = Ours(vocabulary, width, layers, longest=longest)
    if arm == ARMS[0]:
        return ours
    kind, _, attends = arm.partition(", ")

    def of(size: int) -> nn.Module:
        return Recurrent(kind, vocabulary, size, layers, attention=bool(attends))

    found = _nearest(of, parameters(ours), range(16, 4 * width, 2))
    if abs(parameters(found) - parameters(ours)) > NEAR * parameters(ours):
        raise ConfigError(f"about {parameters(ours):,} parameters are needed", got=f"{parameters(found):,}")
    return found


def _nearest(of: Callable[[int], nn.Module], wanted: int, sizes: range) -> nn.Module:
    """Of all sizes the one with the number of parameters nearest to what is wanted; more units are more parameters."""
    low, high = 0, len(sizes) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if parameters(of(sizes[middle])) < wanted else (low, middle)
    near = [of(sizes[each]) for each in (max(0, low - 1), low)]
    return min(near, key=lambda module: abs(parameters(module) - wanted))
