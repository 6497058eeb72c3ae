"""Translation: an encoder reads the source, a decoder writes the target token by token (Vaswani et al. 2017).

B rows · R rows of the source · S tokens of the source · T tokens of the target · V vocabulary · N = B·T
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Texts
from glassformer.data.readers.files import files_for, files_of
from glassformer.data.readers.lines import OnBad
from glassformer.data.readers.pair_checks import check_pairs
from glassformer.data.readers.parallel import SOURCE, TARGET, pair_columns, read_parallel, unread_note
from glassformer.data.readers.rows import Columns
from glassformer.data.settings import RecordSection
from glassformer.data.stores.split import Split, shared, text_hash
from glassformer.decode.asked import search_settings
from glassformer.decode.options import WritingOptions
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.tasks.predictor import evaluating, predict
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation, Source, silent
from glassformer.tasks.writing.pair_source import PairSource, TextPair, TextPairs, pair_of, target_losses
from glassformer.tasks.writing.target_task import TargetTask
from glassformer.tasks.writing.translate.scores import (
    TargetWords,
    different_sources,
    scores_of_translations,
)
from glassformer.tasks.writing.translate.settings import TranslateData, TranslateSection
from glassformer.tasks.writing.translator import Translator


def table_note(data: TranslateData, path: Path) -> str:
    """How a table of pairs is written, and which of its columns are not read, in one line."""
    unread = unread_columns(data, path)
    return f"{path.name}: {Translate.format_of(data, path)}{'; ' if unread else ''}{unread}"


def unread_columns(data: TranslateData, path: Path) -> str:
    """Which columns of a table of pairs are not read, in words; "" where it has no others."""
    return unread_note(Translate.columns_in(data, path), Translate.format_of(data, path))


def read_pairs(
    data: TranslateData, records: Iterable[tuple[Split, Record]], bad: OnBad, log: Callable[[str], None]
) -> dict[Split, TextPairs]:
    """The pairs of each split without those with a problem in `data.remove`; raises DataError where none is left."""
    found: dict[Split, TextPairs] = {}
    places = Texts()
    hashes: dict[Split, list[int]] = {}
    for split, record in records:
        blank = not (str(record.values["text"]).strip() and str(record.values["target"]).strip())
        if not (blank and "empty" in data.remove):
            try:
                pair_of(record.values, record.where)
            except DataError as error:
                own = dict(record.values) if record.own is None else record.own
                bad(error.about(record.where, own))
                continue
        into = found.setdefault(split, TextPairs(Texts(), Texts()))
        into.sources.append(str(record.values["text"]))
        into.targets.append(str(record.values["target"]))
        hashes.setdefault(split, []).append(text_hash(str(record.values["text"])))
        if split == "train":
            places.append(record.where)
    if "train" in found:
        report = check_pairs(found["train"].sources, found["train"].targets, places)
        if any(report.count(problem) for problem in report.flags):
            log(report.table(data.remove))
        kept = np.flatnonzero(report.kept(data.remove))
        if len(kept) < len(places):
            found["train"] = TextPairs(*(Texts(side[n] for n in kept.tolist()) for side in found["train"].sides))
    if "train" not in found or not len(found["train"]):
        raise DataError("training needs pairs", got="none that can be used", do="check the files and columns")
    known = np.array(hashes["train"], np.uint64)
    for split in found:
        if split != "train" and (repeated := shared(known, np.array(hashes[split], np.uint64))):
            log(f"{repeated:,} of the {split} pairs have the source of a training pair: their scores are too high")
    return found


class Translate(TargetTask):
    """The probability of each token of a translation, given the source and the translation's tokens before it."""

    Section: ClassVar[type[TaskSection]] = TranslateSection
    Data: ClassVar[type[RecordSection]] = TranslateData
    roles = ("text", "target")
    verbs: ClassVar[Mapping[str, str]] = {"head": "translate"}
    of_imported = "both"
    baseline_names: ClassVar[tuple[str, ...]] = ("unigram", "copy_source")
    of_tokens: ClassVar[tuple[str, ...]] = ("loss", "perplexity")
    section: TranslateSection
    frequent: TargetWords | None = None  # counted where there are training pairs

    def searching(self, beams: int) -> Translator:
        """The translator, with this many beams; an imported model with its own search settings."""
        if self.search is not None:
            search = self.search.settings
        else:
            penalty = None if beams == 1 else self.section.length_penalty
            search = search_settings(WritingOptions(beams=beams, length_penalty=penalty))
        return Translator(self.tokenizer, length=self.length, search=search, default=self.search)

    @classmethod
    def columns_in(cls, data: TranslateData, path: Path) -> Mapping[str, Columns]:
        return pair_columns(cls.columns(data), path)

    @classmethod
    def records(cls, data: TranslateData, files: Sequence[str], bad: OnBad) -> Iterator[Record]:
        """The pairs of tables, or of parallel files. Raises DataError, and ConfigError where a file lacks its other."""
        held_out = bool(data.validation_files) and files == data.validation_files
        targets = data.validation_target_files if held_out else data.target_files
        if not data.target_files and not targets:
            yield from super().records(data, files, bad)
            return
        sides = files_of(files), files_of(targets) if targets else ()
        if len(sides[0]) != len(sides[1]):
            key = "data.validation_target_files" if held_out else "data.target_files"
            raise ConfigError(
                f"each file of sources needs one of targets in {key}", got=f"{len(sides[0])} and {len(sides[1])}"
            )
        for source, target in zip(*sides, strict=True):
            for row in read_parallel(source, target, bad=bad):
                if row.values[SOURCE] or row.values[TARGET]:  # lines that are empty in both files are no pair
                    yield Record({"text": row.values[SOURCE], "target": row.values[TARGET]}, row.where)

    @classmethod
    def split_text(cls, record: Record) -> str:
        return str(record.values["text"])

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, preparation.log
        assert isinstance(data, TranslateData)
        task = cls.untrained(section, preparation)
        if not data.target_files:
            for path in files_for(data, [*data.files, *data.validation_files]):
                with suppress(DataError):  # which is reported where the file is read
                    if not preparation.measuring or unread_columns(data, path):
                        log(table_note(data, path))
        tell = silent if preparation.measuring else log
        found = read_pairs(data, cls._split(data, preparation.shares, bad), bad, tell)
        facts = preparation.facts.get("target_words")
        task.frequent = TargetWords(facts) if facts else TargetWords.of(zip(*found["train"].sides, strict=True))
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
        losses = target_losses(model, source, self.unigram, limit, never=self.translator.ids.never)
        texts, _ = different_sources(source, losses)
        with evaluating(model) as fast:
            pairs = (TextPair(text) for text in texts)
            found = list(predict(self.searching(beams), model, pairs, fast=fast, engine=self.engine))
        texts = [each.translation for each in found]
        scores = scores_of_translations(source, losses, texts, self.unigram, self.frequent)
        accuracy = float(losses.right.sum() / losses.tokens.sum())
        of = {**scores.of, THIS_MODEL: {**scores.of[THIS_MODEL], "accuracy": accuracy}}
        return replace(scores, of=of, report={**scores.report, "pairs_left_out": source.left_out})
