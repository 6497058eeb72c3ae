"""A teacher's vectors of sentences, learned in addition to masked words: by an encoder of any width and any tokenizer,
from text without labels (Reimers & Gurevych 2020).

B sentences or passages · S tokens of one · T width of the teacher
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig, SentenceHeadConfig
from glassformer.config.model import Pooling
from glassformer.data.batches.pack import BucketedRows, BucketOrder, Frame, choose_lengths
from glassformer.data.batches.passages import passages
from glassformer.models.heads import VECTORS as POOLED
from glassformer.models.heads import mean_of_real
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import DropoutKey
from glassformer.scoring.score import widened
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.passes import most_tokens
from glassformer.tasks.task import Source, Task
from glassformer.text.tokenizer import Tokenizer

VECTORS = "sentence_vectors"
# The numbers of the sentences in their step, by which dropout draws: the same however a step is cut into parts.
_PLACES = "sentence_places"
# Tokens of a sentence and of a passage: longer ones are cut into equal parts; shorter ones than the least are left out.
_LONGEST, _PASSAGE, _LEAST, _LENGTHS = 64, 128, 4, 6


@dataclass(frozen=True)
class SentenceTeacher:
    """An encoder with its tokenizer, the most tokens that it reads, whether it computes in bfloat16, and how its own
    vectors of texts are pooled.
    """

    module: Transformer
    tokenizer: Tokenizer
    length: int
    fast: bool
    pooling: Pooling = "mean"

    @torch.no_grad()
    def vectors(self, texts: Sequence[str]) -> Tensor:
        """The pooled states of the tokens of each text, special tokens included [B, T]."""
        found = self.tokenizer.raw_batch(texts, special=True)
        ids = [self.tokenizer.unalias(each.ids)[: self.length] for each in found]
        # In passes that stay in the caches of the processor, as for predictions: 192 passages take 28 % less time.
        device = next(self.module.parameters()).device
        rows = max(1, most_tokens(device.type) // max(map(len, ids)))
        return torch.cat([self._of_pass(ids[start : start + rows], device) for start in range(0, len(ids), rows)])

    def _of_pass(self, ids: Sequence[Sequence[int]], device: torch.device) -> Tensor:
        """[B, T]"""
        sizes = torch.tensor([len(row) for row in ids])  # [B]
        width, fill = int(sizes.max()), self.tokenizer.pad_id or 0
        filled = np.full((len(ids), width), fill)  # [B, S]
        for line, row in zip(filled, ids, strict=True):
            line[: len(row)] = row
        inputs = Inputs(ids=torch.from_numpy(filled), real=torch.arange(width) < sizes[:, None]).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.fast):
            states = self.module(inputs, heads=()).states  # [B, S, T]
        return POOLED.get(self.pooling, mean_of_real)(states.float(), inputs.real).cpu()  # [B, T]


class SentenceVectorsFeed(TaskFeed):
    """A task's batches on running text, with `sentences` sentences of that text in each step, or passages where a share
    of the sentences is `joined` to the one before. The student's mean of the tokens' states, through one linear layer,
    learns the teacher's: the loss is 1 − their cosine.
    """

    def __init__(
        self, task: Task, source: Source, teacher: SentenceTeacher, tokenizer: Tokenizer, *,
        share: float, hard: float, sentences: int, batch: int, tokens: int | None, seed: int, joined: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(task, source, batch=batch, tokens=tokens, seed=seed)
        store = getattr(getattr(source, "text", None), "store", None)
        if store is None:
            raise ConfigError("sentence vectors are learned from running text", got=f"the task {self.name}")
        self.weights = {name: hard * weight for name, weight in self.weights.items() if hard} | {VECTORS: share}
        self.frozen = {"teacher": teacher.module}
        self._teacher, self._tokenizer = teacher, tokenizer
        begins, pad_id = passages(store, joined, seed), tokenizer.pad_id or 0
        self._rows_of = BucketedRows(
            store, _PASSAGE if joined else _LONGEST, frame=Frame.encoder(tokenizer), pad_id=pad_id,
            begins=begins, least=_LEAST,
        )  # fmt: skip
        self._sizes = choose_lengths(self._rows_of.lengths, sentences, _LENGTHS)
        bucket_of = np.searchsorted(self._sizes, self._rows_of.lengths)
        self._sentences = BucketOrder(bucket_of, sentences, fingerprint=source.fingerprint, seed=seed)

    @property
    def baseline_loss(self) -> None:
        return None

    @property
    def shapes(self) -> int:
        return super().shapes * len(self._sizes)

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        """As the task's; `decoder_inputs` are the sentences, whose labels are the teacher's vectors [B, T], zeros for
        those that fill the last batch of a length. Each sentence of an epoch counts the same.
        """
        batch = super().batch(step, part, parts)
        numbers, _ = self._sentences.of_step(step)
        size = int(self._sentences.rows[0])
        length = int(self._sizes[self._sentences.bucket_of_step(step)])
        places = np.array_split(np.arange(size), parts)[part]  # [B]
        mine, count = numbers[places % len(numbers)], int((places < len(numbers)).sum())
        rows = self._rows_of.rows(mine, length)
        ids = torch.from_numpy(rows.ids)
        sentences = Inputs(ids=ids, real=torch.from_numpy(rows.real), positions=torch.from_numpy(rows.positions))
        texts = self._tokenizer.decode_batch(
            [row[real].tolist() for row, real in zip(rows.ids, rows.real, strict=True)]
        )
        vectors = torch.zeros(len(mine), self._teacher.module.config.output_stack.width)
        if count:
            vectors[:count] = self._teacher.vectors(texts[:count])
        usual = len(self._rows_of) / self._sentences.slots * len(mine)
        return replace(
            batch,
            labels={**batch.labels, VECTORS: vectors, _PLACES: torch.from_numpy(places.astype(np.int32))},
            counts={**batch.counts, VECTORS: usual},
            present={**(batch.counts if batch.present is None else batch.present), VECTORS: float(count)},
            decoder_inputs=sentences,
        )

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        found = super().losses(model, replace(batch, decoder_inputs=None))
        sentences = batch.decoder_inputs
        assert sentences is not None
        key = batch.inputs.dropout_key
        if key is not None:
            sentences = replace(sentences, dropout_key=DropoutKey(key.seed, batch.labels[_PLACES]))
        own = widened(model(sentences, heads=("sentence_head",)).sentence_logits)  # [B, T]
        labels = batch.labels[VECTORS].to(own.dtype)  # [B, T]
        apart = (1 - F.cosine_similarity(own, labels, dim=-1)) * labels.any(dim=-1)  # [B]
        return {name: loss for name, loss in {**found, VECTORS: apart.sum()}.items() if name in self.weights}


def with_vectors_head(config: ModelConfig, width: int) -> ModelConfig:
    """A student with the layer that maps the mean of its states to a teacher's vectors of this width."""
    return config.model_copy(update={"sentence_head": SentenceHeadConfig(labels=width, pooling="mean")})


def without_vectors_head(module: Transformer) -> Transformer:
    """The student as it is saved."""
    found = Transformer(module.config.model_copy(update={"sentence_head": None})).to(module.word_table)
    found.load_state_dict(
        {name: of for name, of in module.state_dict().items() if not name.startswith("sentence_head.")}
    )
    return found.eval()
