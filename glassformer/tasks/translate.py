"""Translation: an encoder reads the source, a decoder writes the target token by token (Vaswani et al. 2017).

B rows · R rows of the source · S tokens of the source · T tokens of the target · V vocabulary · N = B·T
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from glassformer.config import ModelConfig
from glassformer.data.corrupt import IGNORED
from glassformer.data.files import files_of
from glassformer.data.lines import OnBad
from glassformer.data.order import Order
from glassformer.data.parallel import TARGET
from glassformer.data.settings import TranslateData
from glassformer.data.split import Split
from glassformer.errors import ConfigError, DataError
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.tasks.blocked_cross_entropy import blocked_cross_entropy
from glassformer.tasks.pair_records import (
    format_of,
    log_rows,
    pair_columns,
    pair_of,
    pair_records,
    read_pairs,
)
from glassformer.tasks.pair_source import PairSource, TextPair
from glassformer.tasks.records import Record, RecordTask
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.score import THIS_MODEL, Scores, Tally, Unigram, compared
from glassformer.tasks.task import Context, Preparation, Source, TaskSection, evaluating
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows

# Rows that are measured together.
_ROWS = 32
# Tokens whose vocabulary scores are in memory together when a model is measured.
_TOGETHER = 512
# Tokens of a translation for each token of its source, and beside these.
_LONGER, _MORE = 2, 8


class TranslateSection(TaskSection):
    """`label_smoothing` is the share of the target probability that all tokens of the vocabulary get alike (Szegedy et
    al. 2016).
    """

    found: ClassVar[tuple[str, ...]] = ()
    name: Literal["translate"] = "translate"
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)


class Translation(NamedTuple):
    """A text and its translation. `windows`: in so many parts the text was read."""

    text: str
    translation: str
    windows: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return self._asdict()


class Translate(RecordTask[TextPair, Translation]):
    """The probability of each token of the target, given the source and the target's tokens before it.

    Learned by teacher forcing: the decoder reads the right target, shifted by one.
    """

    Section = TranslateSection
    Data = TranslateData
    special: ClassVar = MARIAN
    weights: ClassVar[Mapping[str, float]] = {TARGET: 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {TARGET: "token"}
    best = "-loss"
    section: TranslateSection

    def __init__(
        self,
        section: TranslateSection,
        tokenizer: Tokenizer,
        *,
        length: int | None,
        unigram: Unigram | None = None,
    ) -> None:
        self.section, self.tokenizer, self.length, self.unigram = section, tokenizer, length, unigram
        self.start, self.end = start_and_end(tokenizer)

    # ------------------------------------------------------------------ records

    @classmethod
    def columns(cls, data: TranslateData) -> dict[str, str]:
        """Source and target."""
        return pair_columns(data)

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
        """Both sides share one vocabulary."""
        return str(record.values["text"]), str(record.values["target"])

    def example(self, values: Mapping[str, object], where: str) -> TextPair:
        """A source, and its target where it is known."""
        return pair_of(values, where)

    def rows(self, example: TextPair) -> list[Row]:
        """The source in windows, which do not overlap: each is translated by itself."""
        return [Row(ids=ids) for ids, _ in text_rows(self.tokenizer, example.text, length=self.length)]

    def known_by(self, example: TextPair) -> str:
        """The source."""
        return example.text

    # ------------------------------------------------------------------ training

    @classmethod
    def check_body(cls, section: TranslateSection, body: ModelConfig) -> None:
        """Raise ConfigError unless the model has an encoder, a decoder and a vocabulary head."""
        if body.encoder is None or body.decoder is None or body.head is None:
            raise ConfigError(
                "a translation needs an encoder, a decoder and a vocabulary head",
                got=f"the family {body.family}",
                do="choose marian, vaswani2017, tensor2tensor, bart or t5: glassformer train translate PAIRS",
            )

    @classmethod
    def from_records(cls, section: TranslateSection, preparation: Preparation, records: Sequence[Record]) -> Self:
        """Nothing is determined by the records."""
        return cls(section, preparation.tokenizer, length=preparation.data.length)

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, preparation.log
        assert isinstance(data, TranslateData)
        task = cls.from_records(section, preparation, [])
        if not preparation.measuring and not data.target_files:
            for path in files_of([*data.files, *data.validation_files], text=data.text, tables=True):
                log(f"{path.name}: {format_of(data, path)}")
        quiet = preparation.measuring
        found = read_pairs(data, cls._split(data, preparation.shares, bad), bad, _nothing if quiet else log)
        sources = {
            split: PairSource(pairs, preparation.tokenizer, start=task.start, longest=data.length)
            for split, pairs in found.items()
        }
        if not len(sources["train"]):
            raise DataError(
                f"training needs pairs of at most data.length = {data.length} tokens on each side",
                got=f"{len(found['train']):,} longer ones",
                do="raise data.length",
            )
        task.unigram = unigram_of(preparation, sources["train"])
        if not preparation.measuring:
            log_rows(sources, data.length, log)
        return task, {split: source for split, source in sources.items() if len(source)}

    def model(self, body: ModelConfig) -> ModelConfig:
        """The body unchanged: its vocabulary head is trained."""
        return body

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """The sum of the smoothed cross-entropies of the target's tokens."""
        states = model(batch.inputs, batch.decoder_inputs, heads=()).states  # [B, T, W]
        head = model.head
        assert head is not None
        table = model.word_table if head.weight is None else head.weight  # [V, W]
        return {
            TARGET: blocked_cross_entropy(
                head.compared(states).flatten(0, 1),  # [N, W]
                table,
                head.bias,
                batch.labels[TARGET].flatten(),  # [N]
                smoothing=self.section.label_smoothing,
            )
        }

    # ------------------------------------------------------------------ measuring

    @property
    def baseline_loss(self) -> float | None:
        """The entropy of the targets' tokens: the loss of knowing only how frequent each of them is."""
        return None if self.unigram is None else self.unigram.entropy

    def facts(self) -> dict[str, Any]:
        """How frequent each token of the training targets is."""
        return {} if self.unigram is None else {"unigram_counts": self.unigram.counts.tolist()}

    def evaluate(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Loss, perplexity and accuracy of the target's tokens after the right ones before them, without smoothing,
        beside those of the tokens' frequencies.
        """
        tally, its = Tally(), Tally()
        device = next(model.parameters()).device
        with evaluating(model):
            for batch in measured_rows(source, limit):
                labels = batch.labels[TARGET].flatten()  # [N]
                asked = labels != IGNORED
                moved = batch.to(device)
                states = model(moved.inputs, moved.decoder_inputs, heads=()).states.flatten(0, 1)[asked.to(device)]
                assert model.head is not None
                for some, right in zip(states.split(_TOGETHER), labels[asked].split(_TOGETHER), strict=True):
                    tally.add(*compared(model.head(some, model.word_table), right.to(device)))
                if self.unigram is not None:
                    none = np.zeros(0, np.int64)
                    losses, guessed = self.unigram.guess(none, none, labels[asked].numpy())
                    its.add(torch.from_numpy(losses), torch.from_numpy(guessed))
        others = {} if self.unigram is None else {self.unigram.name: its.scores()}
        return Scores(tally.targets, "tokens", {THIS_MODEL: tally.scores(), **others})

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        """Nothing is fitted."""
        return scores

    def scores(self, pairs: Sequence[tuple[TextPair, Translation]]) -> Scores:
        """Scores of whole translations: none yet."""
        raise NotImplementedError

    # ------------------------------------------------------------------ for an existing model

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For a model that was trained to translate; raises ConfigError for another one."""
        section = context.section if isinstance(context.section, TranslateSection) else TranslateSection()
        cls.check_body(section, model.config)
        return cls(section, tokenizer, length=context.length)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[int]]]:
        """For each row the likeliest token after another."""
        for batch in batches:
            found = self._greedy(model, batch.inputs)
            yield from zip(batch.row_ids.tolist(), found, strict=True)

    def _greedy(self, model: Transformer, inputs: Inputs) -> list[list[int]]:
        rows, length = inputs.shape
        ids = torch.full((rows, 1), self.start, device=inputs.device)  # [B, 1]
        done = torch.zeros(rows, dtype=torch.bool, device=inputs.device)  # [B]
        most, memory = _LONGER * length + _MORE, None
        if (limit := model.config.output_stack.max_length) is not None:
            most = min(most, limit)
        for _ in range(most):
            output = model(inputs, Inputs(ids=ids), memory=memory, heads=())
            memory = output.memory
            assert model.head is not None
            best = model.head(output.states[:, -1], model.word_table).argmax(dim=-1)  # [B]
            ids = torch.cat([ids, best.where(~done, self.end)[:, None]], dim=1)  # [B, T]
            done = done | (best == self.end)
            if bool(done.all()):
                break
        return [row[1 : row.index(self.end, 1)] if self.end in row[1:] else row[1:] for row in ids.tolist()]

    def merge(self, example: TextPair, found: Sequence[list[int]]) -> Translation:
        """The translations of the windows, one after the other."""
        parts = [self.tokenizer.decode(ids).strip() for ids in found]
        return Translation(example.text, " ".join(part for part in parts if part), len(found))


def start_and_end(tokenizer: Tokenizer) -> tuple[int, int]:
    """The tokens with which a decoder starts and stops; raises ConfigError where there are none."""
    start = next((id_ for id_ in (tokenizer.begin_id, tokenizer.pad_id, tokenizer.first_id) if id_ is not None), None)
    _, after = tokenizer.frame_ids
    if start is None or not after:
        raise ConfigError(
            "a translation needs tokens with which it starts and ends",
            got="a tokenizer without padding, or whose texts have no last token",
            do="leave tokenizer.file out: a fitting one is learned",
        )
    return start, after[-1]


def unigram_of(preparation: Preparation, source: PairSource) -> Unigram:
    """How frequent each token of the training targets is: as it was saved, else counted."""
    counts = preparation.facts.get("unigram_counts")
    if counts is not None:
        return Unigram(np.array(counts, np.int64))
    return Unigram.count(source.target_tokens, preparation.tokenizer.vocabulary_size)


def measured_rows(source: PairSource, limit: int | None) -> Iterator[Batch]:
    """All rows of a source, shape after shape, or so many, always the same, that they hold about `limit` pairs."""
    count = len(source)
    if limit is not None:
        count = min(count, -(-limit * count // len(source.examples)))
    order = Order(len(source), count, source.fingerprint, 0).of_epoch(0, 0)
    lengths = source.lengths[order]  # [R, 2]
    for shape in np.unique(lengths, axis=0):
        rows = order[(lengths == shape).all(axis=1)]
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            yield source.batch(some, np.zeros_like(some), shape=(len(some), *shape.tolist()))


def _nothing(message: str) -> None:
    """What would be logged about data to learn from."""
