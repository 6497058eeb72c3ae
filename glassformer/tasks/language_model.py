"""Language modelling: each token is told from those before it (Radford et al. 2019).

B rows · S tokens of a row · N = B·S · V vocabulary · W width · R measured rows · n measured tokens of a batch
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.data.batch import Integers
from glassformer.data.corrupt import IGNORED
from glassformer.data.order import Order
from glassformer.data.settings import CorpusSection, DataSection
from glassformer.data.split import Split
from glassformer.errors import ConfigError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.blocked_cross_entropy import blocked_cross_entropy
from glassformer.tasks.corpus import CorpusTask
from glassformer.tasks.measure import Measure, Reals
from glassformer.tasks.next_tokens import NEXT, NextTokens
from glassformer.tasks.score import THIS_MODEL, Scores, Unigram, compared
from glassformer.tasks.task import Preparation, Source, TaskSection, evaluating
from glassformer.tasks.trigram import Trigram
from glassformer.text.special import GPT2

# Rows of one forward pass in evaluation, and tokens whose vocabulary scores are in memory together.
_ROWS, _TOGETHER = 32, 512
# Trigrams are counted in memory, about 60 bytes each at most.
_MOST_COUNTED = 20_000_000
# Rows whose tokens are read together.
_AT_ONCE = 4096


class LanguageModelSection(TaskSection):
    """A task without random choices and without settings."""

    name: Literal["language-model"] = "language-model"


class LanguageModel(CorpusTask):
    """The probability of each token of a text after those before it; rows are packed without padding."""

    Section = LanguageModelSection
    special: ClassVar = GPT2
    weights: ClassVar[Mapping[str, float]] = {NEXT: 1.0}
    best = "-loss"
    baseline_names = ("unigram", "trigram")
    fits_baselines = True
    of_tokens = ("loss", "perplexity", "accuracy")
    section: LanguageModelSection

    def __init__(self, section: LanguageModelSection, unigram: Unigram, bytes_of: Integers | None) -> None:
        self.section, self.unigram, self.bytes_of = section, unigram, bytes_of

    @classmethod
    def compared_by(cls, section: LanguageModelSection) -> str:
        """Bits per byte: losses per token are of different tokens where vocabularies differ."""
        return "-bits_per_byte"

    @classmethod
    def check_data(cls, data: DataSection) -> None:
        """Raise ConfigError for rows that are not packed."""
        if isinstance(data, CorpusSection) and not data.pack:
            raise ConfigError(
                "the rows of a language model are packed",
                got="data.pack = false",
                do="leave it out; with data.document_mask = true the documents of a row do not see each other",
            )

    @classmethod
    def check_body(cls, section: LanguageModelSection, body: ModelConfig) -> None:
        """Raise ConfigError unless the model is a decoder with a vocabulary head."""
        check_writes(body)

    @classmethod
    def prepared(cls, section: LanguageModelSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        """Rows of full length, a token beyond what is read of them."""
        corpus, data, tokenizer = cls.stores(preparation), preparation.data, preparation.tokenizer
        assert isinstance(data, CorpusSection)
        found = {split: NextTokens(store, tokenizer, data) for split, store in corpus.stores.items()}
        sources: dict[Split, Source] = {split: source for split, source in found.items() if len(source)}
        counts = preparation.facts.get("unigram_counts")
        unigram = found["train"].unigram() if counts is None else Unigram(np.array(counts, np.int64))
        return cls(section, unigram, tokenizer.byte_counts), sources

    def model(self, body: ModelConfig) -> ModelConfig:
        """The body unchanged: its vocabulary head is trained."""
        return body

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """The sum of the cross-entropies of all tokens."""
        states = model(batch.inputs, heads=()).states  # [B, S, W]
        head = model.head
        assert head is not None
        table = model.word_table if head.weight is None else head.weight  # [V, W]
        compared_states = head.compared(states).flatten(0, 1)  # [N, W]
        return {NEXT: blocked_cross_entropy(compared_states, table, head.bias, batch.labels[NEXT].flatten())}

    # ------------------------------------------------------------------ measuring

    @property
    def baseline_loss(self) -> float:
        """The entropy of the text's tokens: the loss of knowing only how frequent each of them is."""
        return self.unigram.entropy

    def facts(self) -> dict[str, Any]:
        """How frequent each token of the training text is."""
        return {"unigram_counts": self.unigram.counts.tolist()}

    def evaluate(self, model: Transformer, source: NextTokens, *, limit: int | None = None) -> Scores:
        """Loss, perplexity, bits per byte and accuracy, beside the tokens' frequencies; intervals over rows."""
        mine, unigram = [], []
        for batch, _ in held_out(source, limit):
            mine.append(self._of_rows(batch, *_compared(model, batch)))
            unigram.append(self._of_rows(batch, *self._by_frequency(batch)))
        return self._scores(np.concatenate(mine)).beside(self.unigram.name, self._scores(np.concatenate(unigram)))

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        """With the scores of somebody who counts which token followed which two in the training text."""
        stream = stream_of(train, _MOST_COUNTED)
        log(f"counting which token follows which two, in {len(stream):,} tokens")
        trigram = Trigram(stream, len(self.unigram.counts))
        rows = [self._of_rows(batch, *_after_two(trigram, batch)) for batch, _ in held_out(source, limit)]
        return scores.beside(trigram.name, self._scores(np.concatenate(rows), guesses=False))

    def _by_frequency(self, batch: Batch) -> tuple[Reals, Reals]:
        labels = batch.labels[NEXT].numpy()
        labels = labels[labels != IGNORED]  # [n]
        losses = -np.log(self.unigram.probability(labels))
        return losses, (labels == self.unigram.counts.argmax()).astype(np.float64)

    def _of_rows(self, batch: Batch, losses: Reals, right: Reals) -> Reals:
        """For each row of a batch the sums of losses, of right guesses, of tokens and of bytes, [B, 4]; the losses and
        guesses of its tokens are given, [n] each.
        """
        labels = batch.labels[NEXT].numpy()
        asked = labels != IGNORED  # [B, S]
        rows = np.nonzero(asked)[0]  # [n]
        sizes = np.zeros(len(losses)) if self.bytes_of is None else self.bytes_of[labels[asked]]
        each = (losses, right, np.ones(len(losses)), sizes)
        return np.stack([np.bincount(rows, values, len(labels)) for values in each], axis=1)  # [B, 4]

    def _scores(self, rows: Reals, *, guesses: bool = True) -> Scores:
        """What follows from the sums of rows [R, 4]; without `guesses` no accuracy."""
        counts_bytes = self.bytes_of is not None

        def scores(sums: Reals) -> Mapping[str, Reals]:
            loss = sums[..., 0] / sums[..., 2]
            found = {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0))}
            if counts_bytes:  # a sample of rows may hold ends of texts alone, which have no bytes
                bits, size = sums[..., 0] / math.log(2), sums[..., 3]
                found["bits_per_byte"] = np.divide(bits, size, out=np.full(np.shape(size), np.nan), where=size > 0)
            return found | ({"accuracy": sums[..., 1] / sums[..., 2]} if guesses else {})

        measure = Measure(rows, scores)
        count = int(measure.sums[2])
        return Scores(count, "tokens", {THIS_MODEL: measure.values()}, measures={THIS_MODEL: measure})


def held_out(source: NextTokens, limit: int | None) -> Iterator[tuple[Batch, Integers]]:
    """All rows of a source, or a fixed choice of `limit` of them, with their numbers."""
    order, count = Order(len(source), _ROWS, source.fingerprint, 0), min(limit or len(source), len(source))
    for number in range(math.ceil(count / _ROWS)):
        numbers = order.of_epoch(0, number)[: count - number * _ROWS]
        yield source.batch(numbers, np.zeros_like(numbers), shape=(len(numbers), source.lengths)), numbers


def _compared(model: Transformer, batch: Batch) -> tuple[Reals, Reals]:
    """The loss of each label of a batch, and whether its logit is the largest: [n], [n]."""
    head = model.head
    assert head is not None
    device = next(model.parameters()).device
    labels = batch.labels[NEXT].flatten().to(device)  # [N]
    asked = labels != IGNORED
    with evaluating(model):
        states = model(batch.to(device).inputs, heads=()).states.flatten(0, 1)[asked]  # [n, W]
        found = [
            compared(head(some, model.word_table), right)
            for some, right in zip(states.split(_TOGETHER), labels[asked].split(_TOGETHER), strict=True)
        ]
    losses, right = (torch.cat(each).cpu().double().numpy() for each in zip(*found, strict=True))
    return losses, right


def _after_two(trigram: Trigram, batch: Batch) -> tuple[Reals, Reals]:
    """What `_compared` gives, for a trigram; which token it would guess is not worked out."""
    assert batch.inputs.ids is not None
    ids, labels = batch.inputs.ids.numpy(), batch.labels[NEXT].numpy()  # [B, S]
    before = np.concatenate([np.full_like(ids[:, :1], -1), ids[:, :-1]], axis=1)  # [B, S]
    asked = labels != IGNORED
    losses = -np.log(trigram.probability(before[asked], ids[asked], labels[asked]))  # [n]
    return losses, np.zeros(len(losses))


def stream_of(source: NextTokens, limit: int) -> Integers:
    """The first tokens of the stream that the rows are cut from, about `limit` of them."""
    parts: list[Integers] = []
    numbers = np.arange(min(len(source), max(1, limit // source.lengths)))
    for some in np.array_split(numbers, -(-len(numbers) // _AT_ONCE)):
        rows = source.text.rows(some)
        parts += [rows.ids[:1, :1].ravel()] if not parts else []
        parts.append(rows.ids[:, 1:][rows.real[:, 1:]])
    return np.concatenate(parts)


def check_writes(model: ModelConfig) -> None:
    """Raise ConfigError unless the model is a decoder alone with a vocabulary head."""
    if model.decoder is None or model.encoder is not None or model.head is None:
        raise ConfigError(
            "a language model is a decoder with a vocabulary head",
            got=f"the family {model.family}" if model.head is not None else f"a {model.family} model without it",
            do="choose gpt2 or llama: glassformer train language-model TEXT.txt",
        )
