"""Translation: an encoder reads the source, a decoder writes the target token by token (Vaswani et al. 2017).

B rows · R rows of the source · S tokens of the source · T tokens of the target · V vocabulary · N = B·T
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import torch

from glassformer.base.errors import DataError
from glassformer.data.readers.files import files_for
from glassformer.data.readers.lines import OnBad
from glassformer.data.settings import RecordSection
from glassformer.data.stores.split import Split
from glassformer.decode.asked import search_settings
from glassformer.decode.options import WritingOptions
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.tasks.predictor import evaluating, predict
from glassformer.tasks.records import Record
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.task import Preparation, Source, silent
from glassformer.tasks.writing.pair_source import PairSource, TextPair, TextPairs, target_losses
from glassformer.tasks.writing.target_task import TargetTask
from glassformer.tasks.writing.translate.records import columns_of, pair_records, read_pairs, table_told, unread_columns
from glassformer.tasks.writing.translate.scores import (
    COPY,
    References,
    System,
    TargetWords,
    different_sources,
    scores_of_translations,
    translation_scores,
)
from glassformer.tasks.writing.translate.settings import TranslateData, TranslateSection
from glassformer.tasks.writing.translation import Translation
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import special_ids


class Translate(TargetTask):
    """The probability of each token of a translation, given the source and the translation's tokens before it."""

    Section: ClassVar[type[TaskSection]] = TranslateSection
    Data: ClassVar[type[RecordSection]] = TranslateData
    verbs: ClassVar[Mapping[str, str]] = {"head": "translate"}
    of_imported = "both"
    fits_baselines = False
    baseline_names: ClassVar[tuple[str, ...]] = ("unigram", "copy_source")
    of_tokens: ClassVar[tuple[str, ...]] = ("loss", "perplexity")
    section: TranslateSection
    frequent: TargetWords | None = None  # counted where there are training pairs

    def searching(self, beams: int) -> Translator:
        """What translates with so many beams; an imported model as it is searched by default."""
        if self.search is not None:
            search, ids = self.search.settings, self.search.ids
        else:
            penalty = None if beams == 1 else self.section.length_penalty
            search, ids = search_settings(WritingOptions(beams=beams, length_penalty=penalty)), None
        ids = ids or special_ids(self.tokenizer.target)
        return Translator(self.tokenizer, length=self.length, ids=ids, search=search, default=self.search)

    @classmethod
    def columns(cls, data: TranslateData) -> dict[str, str]:
        return columns_of(data)

    @classmethod
    def records(cls, data: TranslateData, files: Sequence[str], bad: OnBad) -> Iterator[Record]:
        return pair_records(data, files, bad)

    @classmethod
    def split_text(cls, record: Record) -> str:
        return str(record.values["text"])

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, preparation.log
        assert isinstance(data, TranslateData)
        task = cls.from_records(section, preparation, [])
        if not data.target_files:
            for path in files_for(data, [*data.files, *data.validation_files]):
                with suppress(DataError):  # which is told where the file is read
                    if not preparation.measuring or unread_columns(data, path):
                        log(table_told(data, path))
        tell = silent if preparation.measuring else log
        found = read_pairs(data, cls._split(data, preparation.shares, bad), bad, tell)
        task.frequent = frequent_words(preparation, found["train"])
        return task, task._sources(found, preparation, "pairs", tell)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), **({} if self.frequent is None else {"target_words": self.frequent.facts()})}

    def evaluate(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """BLEU, chrF and TER, loss, perplexity and accuracy, compared with copies and frequent words."""
        return self._measured(model, source, limit, beams=self.section.beams)

    def evaluate_in_training(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Loss, perplexity and accuracy; where BLEU chooses the best model, also that of greedy translations."""
        if self.section.best == "bleu":
            return self._measured(model, source, limit, beams=1)
        return super().evaluate_in_training(model, source, limit=limit)

    def _measured(self, model: Transformer, source: PairSource, limit: int | None, *, beams: int) -> Scores:
        losses = target_losses(model, source, self.unigram, limit)
        texts, _ = different_sources(source, losses)
        with evaluating(model):
            fast = torch.is_autocast_enabled(next(model.parameters()).device.type)
            found = list(predict(self.searching(beams), model, (TextPair(text) for text in texts), fast=fast))
        texts = [each.translation for each in found]
        scores = scores_of_translations(source, losses, texts, self.unigram, self.frequent)
        accuracy = float(losses.right.sum() / losses.tokens.sum())
        of = {**scores.of, THIS_MODEL: {**scores.of[THIS_MODEL], "accuracy": accuracy}}
        return replace(scores, of=of, report={**scores.report, "pairs_left_out": source.left_out})

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        return scores

    def scores(self, pairs: Sequence[tuple[TextPair, Translation]]) -> Scores:
        sources = [example.text for example, _ in pairs]
        references = References([[example.target or ""] for example, _ in pairs])
        mine = System([found.translation for _, found in pairs])
        return translation_scores(sources, references, mine, {COPY: System(sources)})


def frequent_words(preparation: Preparation, pairs: TextPairs) -> TargetWords:
    facts = preparation.facts.get("target_words")
    return TargetWords(facts) if facts is not None else TargetWords.of(zip(*pairs.sides, strict=True))
