"""A translation as its words are decided."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import torch

from glassformer.base.errors import ConfigError
from glassformer.decode.loop import Step
from glassformer.decode.request import Hypothesis, Request
from glassformer.decode.stream import StreamedText, stream
from glassformer.models.transformer import Transformer
from glassformer.tasks.predict import precision
from glassformer.tasks.writing.pair_source import TextPair
from glassformer.tasks.writing.translation import Translation
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import number_of


def stream_translation(
    translator: Translator, model: Transformer, example: TextPair, *, fast: bool = False
) -> Generator[str, None, Translation]:
    """The characters of a translation as soon as no later token can change them, in bfloat16 arithmetic when `fast`.

    Joined they are the text of the `Translation` that the generator returns. Sentences are written one after another.
    Raises ConfigError where several translations are asked for.
    """
    if translator.settings.n_best > 1:
        raise ConfigError(
            "the words of one translation can be shown as they are decided",
            got=f"n_best = {translator.settings.n_best}",
            do="leave n_best out",
        )
    return _words(translator, model, example, fast=fast)


def _words(
    translator: Translator, model: Transformer, example: TextPair, *, fast: bool
) -> Generator[str, None, Translation]:
    steps = translator.steps(model, _requests(translator, model, example), slots=1)
    parts = stream(in_precision(steps, model, fast=fast), translator.text_of, stop=translator.settings.stop)
    sentences, end = translator.sentences(example.text), 0
    found: list[list[Hypothesis]] = []
    for sentence in sentences:
        if between := example.text[end : sentence.start]:
            yield between
        found.append((yield from of_sentence(parts)))
        end = sentence.end
    if sentences and end < len(example.text):
        yield example.text[end:]
    return translator.merge(example, found)


def _requests(translator: Translator, model: Transformer, example: TextPair) -> Iterator[Request]:
    """What is asked for each sentence."""
    limit = model.output_stack.max_length
    for row in translator.rows(example):
        yield translator.request(number_of(row.ids), row.ids, translator.most_for(row.ids, limit))


def in_precision(steps: Iterator[Step], model: Transformer, *, fast: bool) -> Iterator[Step]:
    """The same steps; who reads them computes in a precision of their own between two of them."""
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
