"""Tasks whose target is written by the decoder of an encoder–decoder: translations, replies. What they learn, and how.

B rows · S tokens of the source · T tokens of the target · V vocabulary · N = B·T · W width
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor

from glassformer.base.errors import DataError
from glassformer.config import ModelConfig
from glassformer.data.readers.parallel import TARGET
from glassformer.data.stores.split import Split
from glassformer.decode.settings import SearchDefaults
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import token_cross_entropy
from glassformer.scoring.score import Scores, Unigram
from glassformer.tasks.tables import Record, TableTask
from glassformer.tasks.task import Preparation, Source
from glassformer.tasks.writing.alignment import ALIGNMENT, loss_of_links
from glassformer.tasks.writing.pair_source import (
    PairSource,
    TextPair,
    TextPairs,
    log_rows,
    target_losses,
    token_scores,
)
from glassformer.tasks.writing.settings import TargetSection
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import check_translates
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer


class TargetTask(TableTask):
    """The probability of each target token, given the source and the right tokens before it (teacher forcing)."""

    special: ClassVar = MARIAN
    two_sided = True
    shares = ()
    section: TargetSection

    def __init__(
        self, section: TargetSection, tokenizer: Tokenizer, *, length: int | None, search: SearchDefaults | None = None
    ) -> None:
        self.section, self.tokenizer, self.length, self.search = section, tokenizer, length, search
        self.translator = self.searching(section.beams)
        self.unigram = Unigram(np.zeros(1, np.int64))  # counted where there are training pairs

    @abstractmethod
    def searching(self, beams: int) -> Translator:
        """The writer, with this many beams."""

    @property
    def weights(self) -> Mapping[str, float]:
        return {TARGET: 1.0, **({ALIGNMENT: self.section.alignment} if self.section.alignment else {})}

    @classmethod
    def texts_of(cls, record: Record) -> tuple[str, ...]:
        return str(record.values["text"]), str(record.values["target"])

    def known_by(self, example: TextPair) -> str:
        return example.text

    @classmethod
    def check_body(cls, section: TargetSection, body: ModelConfig) -> None:
        check_translates(body)

    @classmethod
    def untrained(cls, section: TargetSection, preparation: Preparation) -> Self:
        """The task before its data are read."""
        return cls(section, preparation.tokenizer, length=preparation.data.length, search=preparation.search)

    def _sources(
        self, found: Mapping[Split, TextPairs], preparation: Preparation, what: str, log: Callable[[str], None]
    ) -> dict[Split, Source]:
        """The rows of pairs by split; counts the frequencies of target tokens. `what` names the pairs in an error."""
        data = preparation.data
        begin, losses = self.translator.ids.begin, self.weights
        sources = {
            split: PairSource(pairs, preparation.tokenizer, start=begin, longest=data.length, losses=losses)
            for split, pairs in found.items()
        }
        if not len(sources["train"]):
            raise DataError(
                f"{what} of at most data.length = {data.length} tokens are needed",
                got=f"{len(found['train']):,} longer ones",
                do="" if preparation.measuring else "raise data.length",
            )
        size = preparation.tokenizer.target.vocabulary_size
        self.unigram = Unigram.saved(preparation.facts) or Unigram.count(sources["train"].target_tokens, size)
        shapes = " and ".join(f"{source} + {target}" for source, target in sources["train"].packed.shapes.tolist())
        log_rows(sources, "pairs", shapes, f"with a side of more than data.length = {data.length} tokens", log)
        return {split: source for split, source in sources.items() if len(source)}

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """The smoothed cross-entropies of the target's tokens, and the loss of word links where a head learns them."""
        output = model(batch.inputs, batch.decoder_inputs, heads=(), cross_scores=bool(self.section.alignment))
        smoothing, never = self.section.label_smoothing, self.translator.ids.never
        losses = {
            TARGET: token_cross_entropy(model, output.states, batch.labels[TARGET], smoothing=smoothing, never=never)
        }
        if output.cross_scores is not None:
            losses[ALIGNMENT] = loss_of_links(output.cross_scores, batch, batch.labels[TARGET], self.tokenizer)
        return losses

    @property
    def baseline_loss(self) -> float:
        counts, share = self.unigram.counts, self.section.label_smoothing
        of_each = -np.log(self.unigram.probability(np.arange(len(counts))))  # [V]
        possible = np.delete(of_each, self.translator.ids.never)
        return float((1 - share) * of_each @ counts / counts.sum() + share * possible.mean())

    def facts(self) -> dict[str, Any]:
        return self.unigram.facts

    def evaluate_in_training(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        return token_scores(
            target_losses(model, source, self.unigram, limit, never=self.translator.ids.never), self.unigram
        )
