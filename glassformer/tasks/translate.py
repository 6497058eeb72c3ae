"""Translation: an encoder reads the source, a decoder writes the target token by token (Vaswani et al. 2017).

B rows · R rows of the source · S tokens of the source · T tokens of the target · V vocabulary · N = B·T
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.data.files import files_of
from glassformer.data.lines import OnBad
from glassformer.data.parallel import TARGET
from glassformer.data.settings import RecordSection, TranslateData
from glassformer.data.split import Split
from glassformer.decode.defaults import SearchDefaults
from glassformer.decode.options import BEAMS, LENGTH_PENALTY
from glassformer.decode.request import Hypothesis
from glassformer.decode.settings import LengthPenalty
from glassformer.errors import DataError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.alignment_loss import ALIGNMENT, loss_of_links
from glassformer.tasks.blocked_cross_entropy import blocked_cross_entropy
from glassformer.tasks.pair_records import (
    columns_of,
    log_rows,
    pair_of,
    pair_records,
    read_pairs,
    table_told,
    unread_columns,
)
from glassformer.tasks.pair_source import PairSource, TextPair
from glassformer.tasks.predict import predict
from glassformer.tasks.records import Record, RecordTask
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.score import THIS_MODEL, Scores, Unigram
from glassformer.tasks.task import Context, Preparation, Source, TaskSection, evaluating
from glassformer.tasks.translation import Translation
from glassformer.tasks.translation_baselines import TargetWords, copied
from glassformer.tasks.translation_evaluation import (
    COPY,
    different_sources,
    scores_of_translations,
    target_losses,
    token_scores,
)
from glassformer.tasks.translation_scores import References, System, translation_scores
from glassformer.tasks.translator import Translator, check_translates, special_ids
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer


class TranslateSection(TaskSection):
    """`label_smoothing` is the share of the target probability that all tokens of the vocabulary get alike (Szegedy et
    al. 2016). `best`: the score on validation pairs by which the best model is kept, and by which `train.patience`
    stops. Translations are searched with `beams` hypotheses and the `length_penalty` of Wu et al. (2016, eq. 14).
    `alignment` is the weight of the loss by which one head of the decoder's last block learns which words belong
    together, λ of Garg et al. (2019, §4.2); 0 = none does.
    """

    found: ClassVar[tuple[str, ...]] = ()
    name: Literal["translate"] = "translate"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    best: Literal["loss", "bleu"] = "loss"
    beams: int = Field(default=BEAMS, ge=1, le=1000)
    length_penalty: LengthPenalty = LENGTH_PENALTY
    alignment: float = Field(default=0.0, ge=0, le=1)


class Translate(RecordTask[TextPair, Translation]):
    """The probability of each token of the target, given the source and the target's tokens before it.

    Learned by teacher forcing: the decoder reads the right target, shifted by one.
    """

    Section: ClassVar[type[TaskSection]] = TranslateSection
    Data: ClassVar[type[RecordSection]] = TranslateData
    special: ClassVar = MARIAN
    weights: ClassVar[Mapping[str, float]] = {TARGET: 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {TARGET: "token"}
    two_sided = True
    in_one_pass = False
    fits_baselines = False
    baseline_names: ClassVar[tuple[str, ...]] = ("unigram", "copy_source")
    best = "-loss"
    shares = ()
    of_tokens: ClassVar[tuple[str, ...]] = ("loss", "perplexity")
    section: TranslateSection
    frequent: TargetWords | None

    def __init__(
        self,
        section: TranslateSection,
        tokenizer: Tokenizer,
        *,
        length: int | None,
        search: SearchDefaults | None = None,
    ) -> None:
        self.section, self.tokenizer, self.length, self.search = section, tokenizer, length, search
        self.translator = self.searching(section.beams)
        self.unigram, self.frequent = Unigram(np.zeros(1, np.int64)), None  # counted where there are training pairs

    def searching(self, beams: int) -> Translator:
        """What translates with so many beams; an imported model as it is searched by default."""
        if self.search is not None:
            own = {"search": self.search.settings}
            ids = self.search.ids or special_ids(self.tokenizer.target)
            return Translator(self.tokenizer, length=self.length, ids=ids, options=own, default=self.search)
        search = {"beams": beams, **({} if beams == 1 else {"length_penalty": self.section.length_penalty})}
        ids = special_ids(self.tokenizer.target)
        return Translator(self.tokenizer, length=self.length, ids=ids, options=search)

    @classmethod
    def best_of(cls, section: TranslateSection) -> str:
        """The score by which the best model is kept."""
        return "bleu" if section.best == "bleu" else cls.best

    @classmethod
    def weights_of(cls, section: TranslateSection) -> Mapping[str, float]:
        """Of the tokens of the target, and of the links of words where a head learns them."""
        return {**cls.weights, **({ALIGNMENT: section.alignment} if section.alignment else {})}

    @classmethod
    def compared_by(cls, section: TranslateSection) -> str:
        """BLEU: losses per token are of different tokens where vocabularies differ."""
        return "bleu"

    # ------------------------------------------------------------------ records

    @classmethod
    def columns(cls, data: TranslateData) -> dict[str, str]:
        """Source and target."""
        return columns_of(data)

    @classmethod
    def records(cls, data: TranslateData, files: Sequence[str], bad: OnBad) -> Iterator[Record]:
        """The pairs of tables, or of parallel files."""
        return pair_records(data, files, bad)

    @classmethod
    def split_text(cls, record: Record) -> str:
        """The source: all translations of a text are in one split."""
        return str(record.values["text"])

    @classmethod
    def texts_of(cls, record: Record) -> tuple[str, ...]:
        """Source and target."""
        return str(record.values["text"]), str(record.values["target"])

    def example(self, values: Mapping[str, object], where: str) -> TextPair:
        """A source, and its target where it is known."""
        return pair_of(values, where)

    def rows(self, example: TextPair) -> Iterator[Row]:
        """A row for each part of the source."""
        return self.translator.rows(example)

    def known_by(self, example: TextPair) -> str:
        """The source."""
        return example.text

    # ------------------------------------------------------------------ training

    @classmethod
    def check_body(cls, section: TranslateSection, body: ModelConfig) -> None:
        """Raise ConfigError unless the model has an encoder, a decoder and a vocabulary head."""
        check_translates(body)

    @classmethod
    def from_records(
        cls,
        section: TranslateSection,
        preparation: Preparation,
        records: Sequence[Record],
        held_out: Sequence[Record] = (),
    ) -> Self:
        """Nothing is determined by the records."""
        return cls(section, preparation.tokenizer, length=preparation.data.length, search=preparation.search)

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, preparation.log
        assert isinstance(data, TranslateData)
        task = cls.from_records(section, preparation, [])
        if not data.target_files:
            for path in files_of([*data.files, *data.validation_files], text=data.text, tables=True):
                if not preparation.measuring or unread_columns(data, path):
                    log(table_told(data, path))
        tell = _nothing if preparation.measuring else log
        found = read_pairs(data, cls._split(data, preparation.shares, bad), bad, tell)
        begin, losses = task.translator.ids.begin, cls.weights_of(section)
        sources = {
            split: PairSource(pairs, preparation.tokenizer, start=begin, longest=data.length, losses=losses)
            for split, pairs in found.items()
        }
        if not len(sources["train"]):
            raise DataError(
                f"pairs of at most data.length = {data.length} tokens on each side are needed",
                got=f"{len(found['train']):,} longer ones",
                do="" if preparation.measuring else "raise data.length",
            )
        task.unigram = unigram_of(preparation, sources["train"])
        task.frequent = frequent_words(preparation, sources["train"])
        log_rows(sources, data.length, tell)
        return task, {split: source for split, source in sources.items() if len(source)}

    def model(self, body: ModelConfig) -> ModelConfig:
        """The body unchanged: its vocabulary head is trained."""
        return body

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """The sum of the smoothed cross-entropies of the target's tokens, and that of the links of words where a head
        learns them.
        """
        cross_scores: list[Tensor] | None = [] if self.section.alignment else None
        states = model(batch.inputs, batch.decoder_inputs, heads=(), cross_scores=cross_scores).states  # [B, T, W]
        head = model.head
        assert head is not None
        table = model.word_table if head.weight is None else head.weight  # [V, W]
        losses = {
            TARGET: blocked_cross_entropy(
                head.compared(states).flatten(0, 1),  # [N, W]
                table,
                head.bias,
                batch.labels[TARGET].flatten(),  # [N]
                smoothing=self.section.label_smoothing,
                never=self.translator.ids.never,
            )
        }
        if cross_scores is not None:
            losses[ALIGNMENT] = loss_of_links(cross_scores[0], batch, batch.labels[TARGET], self.tokenizer)
        return losses

    # ------------------------------------------------------------------ measuring

    @property
    def baseline_loss(self) -> float:
        """The loss, smoothed as in training, of knowing only how frequent each token of the targets is."""
        counts, share = self.unigram.counts, self.section.label_smoothing
        of_each = -np.log(self.unigram.probability(np.arange(len(counts))))  # [V]
        possible = np.delete(of_each, self.translator.ids.never)
        return float((1 - share) * of_each @ counts / counts.sum() + share * possible.mean())

    def facts(self) -> dict[str, Any]:
        """How frequent each token of the training targets is, and which words most of them have."""
        words = {} if self.frequent is None else {"target_words": self.frequent.facts()}
        return {"unigram_counts": self.unigram.counts.tolist(), **words}

    def evaluate(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """BLEU, chrF and TER of its translations, loss, perplexity and accuracy of the target's tokens, beside copied
        sources and the frequent words of the training targets.
        """
        return self._measured(model, source, limit, beams=self.section.beams)

    def evaluate_in_training(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Loss, perplexity and accuracy of the target's tokens; where the best model is chosen by BLEU, also that of
        greedy translations.
        """
        if self.section.best == "bleu":
            return self._measured(model, source, limit, beams=1)
        return token_scores(target_losses(model, source, self.unigram, limit), self.unigram)

    def _measured(self, model: Transformer, source: PairSource, limit: int | None, *, beams: int) -> Scores:
        losses = target_losses(model, source, self.unigram, limit)
        texts, _ = different_sources(source, losses)
        with evaluating(model):
            fast = torch.is_autocast_enabled(next(model.parameters()).device.type)
            found = list(predict(self.searching(beams), model, (TextPair(text) for text in texts), fast=fast))
        scores = scores_of_translations(
            source, losses, [each.translation for each in found], self.unigram, self.frequent
        )
        accuracy = float(losses.right.sum() / losses.tokens.sum())
        of = {**scores.of, THIS_MODEL: {**scores.of[THIS_MODEL], "accuracy": accuracy}}
        return replace(scores, of=of, report={**scores.report, "pairs_left_out": source.left_out})

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        """Nothing is fitted."""
        return scores

    def scores(self, pairs: Sequence[tuple[TextPair, Translation]]) -> Scores:
        """BLEU, chrF and TER of translations, beside copied sources."""
        sources = [example.text for example, _ in pairs]
        references = References([[example.target or ""] for example, _ in pairs])
        mine = System([found.translation for _, found in pairs])
        return translation_scores(sources, references, mine, {COPY: System(copied(sources))})

    # ------------------------------------------------------------------ for an existing model

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For a model that was trained to translate; raises ConfigError for another one."""
        section = context.section if isinstance(context.section, TranslateSection) else TranslateSection()
        cls.check_body(section, model.config)
        return cls(section, tokenizer, length=context.length, search=context.search)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The best translations of each row."""
        return self.translator.predict(model, batches)

    def merge(self, example: TextPair, found: Sequence[list[Hypothesis]]) -> Translation:
        """The translations of the sentences in their places."""
        return self.translator.merge(example, found)


def unigram_of(preparation: Preparation, source: PairSource) -> Unigram:
    """How frequent each token of the training targets is: as it was saved, else counted."""
    counts = preparation.facts.get("unigram_counts")
    if counts is not None:
        return Unigram(np.array(counts, np.int64))
    return Unigram.count(source.target_tokens, preparation.tokenizer.target.vocabulary_size)


def frequent_words(preparation: Preparation, source: PairSource) -> TargetWords:
    """The words of most training targets: as they were saved, else counted."""
    facts = preparation.facts.get("target_words")
    return TargetWords(facts) if facts is not None else TargetWords.of(zip(*source.examples.sides, strict=True))


def _nothing(message: str) -> None:
    """What would be logged about data to learn from."""
