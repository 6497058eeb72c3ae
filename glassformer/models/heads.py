"""From states to answers.

B sentences · S tokens · W width · V vocabulary · L labels
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.config import TEXTS, SentenceHeadConfig, TokenHeadConfig, VocabularyHeadConfig
from glassformer.models.crf import Crf
from glassformer.models.inputs import Inputs
from glassformer.models.words import WordScores
from glassformer.parts.dropout import Dropout, DropoutKey
from glassformer.parts.feed_forward import ACTIVATIONS
from glassformer.parts.norm import build_norm
from glassformer.parts.projection import Product
from glassformer.parts.tap import tap, wanted, watcher


class VocabularyHead(nn.Module):
    """A score for each token of the vocabulary. With `tied`, the rows are the word vectors themselves."""

    def __init__(self, config: VocabularyHeadConfig, width: int, vocabulary: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width, bias=config.transform_bias) if config.transform else None
        self.activation = ACTIVATIONS[config.activation]
        self.norm = build_norm(config.norm, width)
        self.weight = None if config.tied else nn.Parameter(torch.empty(vocabulary, width))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if config.bias else None
        self.scale = width**-0.5 if config.scaled else 1.0
        self.product: Product = F.linear
        self.taps = (
            *(("hidden", "activated") if config.transform else ()),
            "logits",
            "log_probabilities",
            "probabilities",
        )

    def compared(self, states: Tensor) -> Tensor:
        """States [..., W] to the vectors [..., W] that are compared with those of the vocabulary."""
        if self.dense is not None:
            hidden = tap(self, "hidden", self.dense(states))
            states = self.norm(tap(self, "activated", self.activation(hidden)))
        return states if self.scale == 1.0 else states * self.scale

    def forward(self, states: Tensor, table: Tensor) -> Tensor:
        """States [..., W] and the word vectors [V, W] to logits [..., V]."""
        states = self.compared(states)
        logits = tap(self, "logits", self.product(states, table if self.weight is None else self.weight, self.bias))
        if wanted(self, "log_probabilities", "probabilities"):
            tap(self, "probabilities", tap(self, "log_probabilities", logits.log_softmax(dim=-1)).exp())
        return logits  # [..., V]

    def own_logits(self, states: Tensor, table: Tensor) -> Tensor:
        """The same logits, for a caller who writes to them: a copy only where a watcher has them too."""
        logits = self(states, table)
        return logits if watcher.get() is None else logits.clone()  # [..., V]


class SentenceHead(nn.Module):
    """From one vector for the sentence to label scores, through a pooler or directly. The vector is the state of the
    first token that is not padding, or of all such tokens the mean of the states, or the largest number of each
    channel. For a pair of texts u and v there are four: their means, |u − v| and u · v (Conneau et al. 2017, §3.1).
    """

    def __init__(self, config: SentenceHeadConfig, width: int, vocabulary: int = 0) -> None:
        super().__init__()
        self.vector_name, self.vector = config.vector, VECTORS.get(config.vector)
        self.reads_first_alone = self.vector is first_real
        self.pooler = nn.Linear(width, width, bias=config.pooler_bias) if config.has_pooler else None
        self.activation = ACTIVATIONS[config.activation]
        self.norm = build_norm(config.norm, width)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(config.vectors * width, config.labels) if config.labels else None
        self.words = WordScores(vocabulary, config.words, config.labels) if config.words else None
        self.taps = (
            *(TEXTS if self.vector is None else ()),
            self.vector_name,
            *(("pooled",) if config.has_pooler else ()),
            *(("encoded",) if config.words else ()),
            *(("logits",) if config.labels else ()),
            *(("log_probabilities", "probabilities") if config.probabilities else ()),
        )
        self.several = config.several

    def pooled(self, states: Tensor, real: Tensor | None, segments: Tensor | None) -> Tensor:
        """States [B, S, W] to what enters the last layer: [B, W], or [B, 4·W] of pairs, whose texts are the segments 0
        and 1.
        """
        if self.vector is None:
            of_texts = zip(TEXTS, texts_of(states.shape[:2], real, segments, states.device), strict=True)
            first, second = (tap(self, name, mean_of_real(states, each)) for name, each in of_texts)  # [B, W]
            vectors = (first, second, (first - second).abs(), first * second)
            return tap(self, self.vector_name, torch.cat(vectors, dim=1))  # [B, 4·W]
        pooled = tap(self, self.vector_name, self.vector(states, real))  # [B, W]
        if self.pooler is not None:
            pooled = self.norm(tap(self, "pooled", self.activation(self.pooler(pooled))))
        return pooled

    def forward(self, states: Tensor, inputs: Inputs, *, first_alone: bool = False) -> Tensor:
        """States [B, S, W], or [B, 1, W] of the `first_alone`, to label scores [B, L]; to the pooled vector [B, W]
        without labels.
        """
        pooled = self.pooled(states, None if first_alone else inputs.real, inputs.segments)  # [B, W], or [B, 4·W]
        if self.output is None:
            return pooled
        logits = self.output(self.dropout(pooled, inputs.dropout_key))  # [B, L]
        if self.words is not None:
            logits = tap(self, "encoded", logits) + self.words(inputs)  # [B, L]
        logits = tap(self, "logits", logits)
        if wanted(self, "log_probabilities", "probabilities"):
            logarithms = F.logsigmoid(logits) if self.several else logits.log_softmax(dim=-1)  # [B, L]
            tap(self, "probabilities", tap(self, "log_probabilities", logarithms).exp())
        return logits


class TokenHead(nn.Module):
    """Label scores for each token (Devlin et al. 2019, §4.2 and §5.3). With `crf`, its layer scores whole sequences of
    labels from them.
    """

    def __init__(self, config: TokenHeadConfig, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width, bias=config.transform_bias) if config.transform else None
        self.activation = ACTIVATIONS[config.activation]
        self.norm = build_norm(config.norm, width)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, config.labels)
        self.crf = Crf(config.labels) if config.crf else None
        self.spans = config.spans
        self.taps = (
            *(("hidden", "activated") if config.transform else ()),
            "logits",
            *(("masked",) if config.spans else ()),
            "log_probabilities",
            "probabilities",
        )

    def forward(self, states: Tensor, dropout_key: DropoutKey | None, labelled: Tensor | None = None) -> Tensor:
        """States [B, S, W] to label scores [B, S, L]. Where somebody looks, a CRF shows how it goes through the tokens
        that are `labelled`, [B, S] bool, and a softmax over tokens leaves out the others; None = all.
        """
        if self.dense is not None:
            hidden = tap(self, "hidden", self.dense(states))
            states = self.norm(tap(self, "activated", self.activation(hidden)))
        logits = tap(self, "logits", self.output(self.dropout(states, dropout_key)))  # [B, S, L]
        crf = self.crf if self.crf is not None and wanted(self.crf, *self.crf.taps) else None
        if labelled is None and (self.spans or crf is not None):
            labelled = torch.ones_like(logits[..., 0], dtype=torch.bool)  # [B, S]
        if wanted(self, "masked", "log_probabilities", "probabilities"):
            logarithms = logits.log_softmax(dim=-1)  # [B, S, L]
            if self.spans and labelled is not None:
                masked = tap(self, "masked", logits.masked_fill(~labelled[..., None], -torch.inf))  # [B, S, 2]
                logarithms = masked.log_softmax(dim=1)  # [B, S, 2]
            tap(self, "probabilities", tap(self, "log_probabilities", logarithms).exp())
        if crf is not None and labelled is not None:
            crf.show(logits, labelled)
        return logits


def first_real(states: Tensor, real: Tensor | None) -> Tensor:
    """The state of each sentence's first token that is no padding: [B, S, W] and [B, S] to [B, W]."""
    if real is None:
        return states[:, 0]  # [B, W]
    sentences = torch.arange(states.shape[0], device=states.device)
    return states[sentences, first_real_index(real, states.shape[0], states.device)]  # [B, W]


def first_real_index(real: Tensor | None, sentences: int, device: torch.device) -> Tensor:
    """The index of each sentence's first token that is no padding, [B]."""
    if real is None:
        return torch.zeros(sentences, dtype=torch.int64, device=device)  # [B]
    return real.int().argmax(dim=1)  # [B]


def mean_of_real(states: Tensor, real: Tensor | None) -> Tensor:
    """The mean of each sentence's states, without padding: [B, S, W] and [B, S] to [B, W]."""
    if real is None:
        return states.mean(dim=1)  # [B, W]
    weights = real.to(states.dtype)  # [B, S]
    return (states * weights[..., None]).sum(dim=1) / weights.sum(dim=1, keepdim=True).clamp(min=1)  # [B, W]


def texts_of(
    shape: tuple[int, ...], real: Tensor | None, segments: Tensor | None, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Which tokens are of the first text of each pair, and which of the second: segments 0 and 1, no padding. [B, S]"""
    second = torch.zeros(shape, dtype=torch.bool, device=device) if segments is None else segments == 1  # [B, S]
    return (~second, second) if real is None else (~second & real, second & real)  # [B, S]


def max_of_real(states: Tensor, real: Tensor | None) -> Tensor:
    """The largest number of each channel in a sentence's states, without padding: [B, S, W] and [B, S] to [B, W]."""
    if real is not None:
        states = states.masked_fill(~real[..., None], -torch.inf)
    return states.amax(dim=1)  # [B, W]


VECTORS: dict[str, Callable[[Tensor, Tensor | None], Tensor]] = {
    "first": first_real,
    "mean": mean_of_real,
    "max": max_of_real,
}
