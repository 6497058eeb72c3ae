"""Shared by all tasks that write: which models can, their first and last tokens, requests to the decoding loop, and
words as they are decided.
"""

import hashlib
from abc import abstractmethod
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import torch

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.decode.loop import decode
from glassformer.decode.record import Recorder
from glassformer.decode.request import Hypothesis, Request
from glassformer.decode.settings import DecodeSettings, SearchDefaults, SpecialIds
from glassformer.decode.step import Step, StreamedText, Wanted
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.runtime.matrices import laid_out
from glassformer.runtime.threads import own_threads
from glassformer.tasks.passes import in_threads, own_threads_are_faster
from glassformer.tasks.predictor import Context, Example, Prediction, Predictor, precision
from glassformer.tasks.writing.settings import StreamSection
from glassformer.text.tokenizer import Tokenizer

Steps = Callable[[Iterator[Request]], Iterator[Step]]
"""Requests to the steps that answer them."""


class Writer(Predictor[Example, Prediction]):
    """What writes an answer, token by token (`decode/`)."""

    in_one_pass = False
    settings: DecodeSettings
    writes: ClassVar[str]

    def stream(self, model: Transformer, example: Example, *, fast: bool = False) -> Generator[str, None, Prediction]:
        """The characters of an answer as soon as no later token can change them; returns it. Raises ConfigError for
        several answers.
        """
        if self.settings.n_best > 1:
            raise ConfigError(
                f"only a single {self.writes} can be streamed",
                got=f"n_best = {self.settings.n_best}",
                do="leave n_best out",
            )
        return self.words(model, example, fast=fast)

    @abstractmethod
    def wanted(self, model: Transformer) -> Wanted:
        """What it asks of the decoding loop."""

    def steps(
        self, model: Transformer, requests: Iterable[Request], *, slots: int, recorder: Recorder | None = None
    ) -> Iterator[Step]:
        return decode(model, requests, replace(self.wanted(model), slots=slots, recorder=recorder))

    @abstractmethod
    def words(self, model: Transformer, example: Example, *, fast: bool) -> Generator[str, None, Prediction]:
        """The same, of a single answer."""


def check_writes(model: ModelConfig) -> None:
    if model.decoder is None or model.encoder is not None or model.head is None:
        raise ConfigError(
            "a language model is a decoder with a vocabulary head",
            got=f"the family {model.family}" if model.head is not None else f"a {model.family} model without it",
            do="choose gpt2 or llama: glassformer train language-model TEXT.txt",
        )


def check_translates(model: ModelConfig) -> None:
    if model.encoder is None or model.decoder is None or model.head is None:
        raise ConfigError(
            "a translation needs an encoder, a decoder and a vocabulary head",
            got=f"the family {model.family}",
            do="choose marian, vaswani2017, tensor2tensor, bart or t5: glassformer train translate PAIRS",
        )


def special_ids(tokenizer: Tokenizer, default: SearchDefaults | None = None) -> SpecialIds:
    """The tokens with which the decoder of an encoder–decoder starts and stops, and padding, which is never written:
    the imported model's, else the vocabulary's. Raises ConfigError.
    """
    if default is not None and default.ids is not None:
        return default.ids
    start = next((id_ for id_ in (tokenizer.begin_id, tokenizer.pad_id, tokenizer.first_id) if id_ is not None), None)
    _, after = tokenizer.frame_ids
    if start is None or not after:
        raise ConfigError(
            "a translation needs tokens with which it starts and ends",
            got="a tokenizer without padding, or whose texts have no last token",
            do="leave tokenizer.file out: a suitable one is learned",
        )
    never = () if tokenizer.pad_id is None or tokenizer.pad_id in after else (tokenizer.pad_id,)
    return SpecialIds(start, (after[-1],), never)


def special_ids_of(tokenizer: Tokenizer, default: SearchDefaults | None) -> SpecialIds:
    """The tokens that begin and end a text: the imported model's, else the vocabulary's. Raises ConfigError."""
    if default is not None and default.ids is not None:
        return default.ids
    end = tokenizer.end_id
    begin = next((id_ for id_ in (tokenizer.begin_id, end, tokenizer.first_id) if id_ is not None), None)
    if begin is None:
        raise ConfigError(
            "a token with which a text begins is needed",
            got="a tokenizer without one",
            do="give its role in special_tokens_map.json (bos_token), or train with another tokenizer",
        )
    never = tuple(id_ for id_ in (tokenizer.pad_id,) if id_ is not None and id_ != end)
    return SpecialIds(begin, () if end is None else (end,), never)


def opening_of(tokenizer: Tokenizer, context: Context) -> tuple[int, ...]:
    """What precedes a text: the tokenizer's tokens, or for a model of streams the token between two texts."""
    before, _ = tokenizer.frame_ids
    if before or tokenizer.begin_id is None or not isinstance(context.section, StreamSection):
        return before
    return (tokenizer.begin_id,)


def room_of(model: Transformer, context: Context) -> int | None:
    """The most tokens that the model reads at once; None for any number."""
    limits = [limit for limit in (model.output_stack.max_length, context.length) if limit is not None]
    return min(limits, default=None)


def tokens_of(batch: Batch) -> Iterator[tuple[int, ...]]:
    ids = batch.inputs.ids
    assert ids is not None
    rows: list[list[int]] = ids.tolist()
    lengths = [len(row) for row in rows] if batch.inputs.real is None else batch.inputs.real.sum(dim=1).tolist()
    return (tuple(row[:length]) for row, length in zip(rows, lengths, strict=True))


def number_of(tokens: Sequence[int]) -> int:
    """The number of a request: a hash of its tokens, so that the samples of a text are the same wherever it occurs."""
    return int.from_bytes(hashlib.sha256(array("q", tokens).tobytes()).digest()[:8], "little") >> 1


def answered(
    batches: Iterator[Batch],
    request: Callable[[tuple[int, ...]], Request],
    steps: Steps,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The best answers to each row; rows with the same tokens, and so one number of a request, are answered once."""
    waiting: dict[int, list[int]] = {}

    def requests() -> Iterator[Request]:
        for batch in batches:
            for row, ids in zip(batch.row_ids.tolist(), tokens_of(batch), strict=True):
                asked = request(ids)
                waiting.setdefault(asked.number, []).append(row)
                if len(waiting[asked.number]) == 1:
                    yield asked

    for step in steps(requests()):
        for finished in step.finished:
            for row in waiting.pop(finished.number):
                yield row, finished.hypotheses


# Requests of a part that a thread answers by itself, at most; and so many that two parts of them are not too small: of
# 32 rows a step takes a third longer for each row than of 128.
_PART, _LEAST = 256, 128


def divided(
    model: Transformer, slots: int, looks: bool, steps: Callable[[Iterator[Request], int], Iterator[Step]]
) -> Steps:
    """As `steps` with so many slots, but of many requests each thread answers parts alone; which parts these are does
    not depend on the number of threads, and neither do the answers. One that `looks` at attention is not divided: what
    watches it belongs to one thread.
    """
    if looks or model.word_table.device.type != "cpu" or not model.writes_itself:
        return lambda asked: steps(asked, slots)

    def answered(asked: Iterator[Request]) -> Iterator[Step]:
        requests = list(asked)
        if len(requests) < _LEAST or not own_threads_are_faster(model.word_table.shape[1]):
            yield from steps(iter(requests), slots)
            return
        size = -(-len(requests) // max(2, -(-len(requests) // _PART)))
        fast = torch.is_autocast_enabled("cpu")

        def work(parts: Iterable[range]) -> Iterator[tuple[int, Step]]:
            for part in parts:
                with torch.inference_mode(), precision(torch.device("cpu"), fast=fast):
                    for step in steps(iter(requests[part.start : part.stop]), min(slots, size)):
                        if step.finished:
                            yield part.start, Step(step.finished)

        parts = [range(first, min(first + size, len(requests))) for first in range(0, len(requests), size)]
        threads = torch.get_num_threads()
        # One for what is measured too: as many as each product has. And laid out here, else the first thread that comes
        # to it would do so for all of them, at any moment.
        with own_threads(1), laid_out(model):
            yield from (step for _, step in in_threads(work, parts, threads))

    return answered


def in_precision(steps: Iterator[Step], model: Transformer, *, fast: bool) -> Iterator[Step]:
    """The same steps; the caller computes in its own precision between two of them."""
    device = next(model.parameters()).device
    while True:
        with torch.inference_mode(), precision(device, fast=fast):
            step = next(steps, None)
        if step is None:
            return
        yield step


def of_sentence(parts: Iterator[StreamedText]) -> Generator[str, None, list[Hypothesis]]:
    """The characters of the next sentence without blanks around them; returns its translations."""
    begun = ""  # blanks that may be the last characters
    while True:
        part = next(parts)
        text = begun + part.text
        words = text.rstrip()
        begun = text[len(words) :]
        if words:
            yield words
        if part.finished is not None:
            return part.finished.hypotheses
