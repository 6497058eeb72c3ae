"""What tasks share that read one text or a pair of texts and answer from the sentence head (Devlin et al. 2019, §4.1).

B rows · L outputs of the sentence head
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import torch

from glassformer.base.errors import ConfigError, DataError
from glassformer.config import ModelConfig
from glassformer.models.families.heads import sentence_head_of
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import widened
from glassformer.scoring.score import Reals
from glassformer.tasks.predictor import Prediction
from glassformer.tasks.records import RecordTask
from glassformer.tasks.rows import Row, check_columns, located, text_of
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_rows

# Numbers of all predictions that are in memory together: 128 MiB of float64.
_NUMBERS = 1 << 24


class Texts(NamedTuple):
    text: str
    pair: str | None


class HasTexts(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def pair(self) -> str | None: ...


AnyTexts = TypeVar("AnyTexts", bound=HasTexts)


class TextPairTask(RecordTask[AnyTexts, Prediction]):
    """One answer for a text or a pair. A long text has several windows, which share a weight of 1."""

    section: Any
    sample = ("A text that you want to classify.",)
    sample_option = "--pair"

    def __init__(
        self, section: Any, tokenizer: Tokenizer, *, length: int | None, segments: bool, pairs: bool | None = None
    ) -> None:
        self.section, self.tokenizer, self.length, self.segments = section, tokenizer, length, segments
        self.pairs = pairs  # whether it was trained on pairs, None where that is not known
        self.read_ahead = min(self.read_ahead, max(_NUMBERS // self.outputs, 1))

    @property
    def outputs(self) -> int:
        return 1

    def texts(self, values: Mapping[str, object], where: str) -> Texts:
        """The texts of a record; raises DataError for an empty one, and for a pair where single texts are known."""
        if self.pairs is not None and self.pairs != ("pair" in values):
            raise DataError(
                located(where, f"the model was trained on {'pairs of texts' if self.pairs else 'single texts'}"),
                got="a pair" if "pair" in values else "one text",
                do="give the second text with --pair" if self.pairs else "leave --pair out",
            )
        pair = text_of(values["pair"], where, "pair") if "pair" in values else None
        return Texts(text_of(values["text"], where), pair)

    @classmethod
    def columns(cls, data: Any) -> dict[str, str]:
        return check_columns({"text": data.text, "pair": data.pair, "label": data.label})

    def rows_with(self, example: AnyTexts, labels: Mapping[str, Any], weight: float = 1.0) -> Iterator[Row]:
        cut = text_rows(self.tokenizer, example.text, example.pair, length=self.length)
        for ids, segments in cut:
            yield Row(ids=ids, segments=segments if self.segments else None, labels=labels, weight=weight / len(cut))

    @classmethod
    def check_body(cls, section: Any, body: ModelConfig) -> None:
        check_encoder(body, "a text is classified by an encoder")

    def model(self, body: ModelConfig) -> ModelConfig:
        head = sentence_head_of(
            body,
            labels=self.outputs,
            pooling=self.section.pooling,
            dropout=self.section.dropout,
            several=getattr(self.section, "several", False),
        )
        return body.model_copy(update={"sentence_head": head, "head": None})

    def logits(self, model: Transformer, batch: Batch) -> torch.Tensor:
        """The outputs of the sentence head, of at least float32. [B, L]"""
        logits = model(batch.inputs, heads=("sentence_head",)).sentence_logits  # [B, L]
        assert logits is not None
        return widened(logits)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Reals]]:
        for batch in batches:
            yield from zip(batch.row_ids.tolist(), self.logits(model, batch).double().cpu().numpy(), strict=True)


def check_encoder(body: ModelConfig, wanted: str) -> None:
    if body.encoder is None or body.decoder is not None:
        raise ConfigError(wanted, got=f"the family {body.family}", do="choose bert or modernbert")


def two_segments(config: ModelConfig) -> bool:
    """Whether a model tells the two texts of a pair apart by their segments."""
    return config.encoder is not None and config.encoder.embed.segments > 1
