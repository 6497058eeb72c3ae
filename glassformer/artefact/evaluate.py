"""Measuring a model on text it has not learned from, beside the simple guesses it has to beat."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glassformer.artefact.forward import precision
from glassformer.artefact.prepare import held_out_task
from glassformer.artefact.witness import Silent, Witness
from glassformer.config import DataSection, TaskSection
from glassformer.data.corpus import prepare
from glassformer.data.given import read_given
from glassformer.data.read import files_of
from glassformer.errors import ConfigError, DataError
from glassformer.tasks.hidden import StandingMasks
from glassformer.tasks.masked_lm import MaskedLM
from glassformer.tasks.metrics import Unigram

if TYPE_CHECKING:
    from glassformer.artefact.model import Model

# Rows of a model that has not been trained here, where no length is known.
_LENGTH = 128


def evaluate(
    model: Model, files: Sequence[str | Path] = (), *, side: str = "validation", witness: Witness | None = None
) -> dict[str, float]:
    """Loss, perplexity and accuracy at hidden words, and the same of the unigram baseline.

    All of `files`; without files, the held-out documents of the text that the model was trained on, found again by
    their hash. Raises DataError when the files cannot be read, ConfigError when nothing was held out.
    """
    witness = Silent() if witness is None else witness
    settings = model.task or TaskSection()
    data = _section(model, files, side)
    unigram = _unigram(model)
    if settings.given:
        examples = [example for path in files_of(data.files) for example in read_given(path, text=data.text)]
        baselines = [] if unigram is None else [unigram]
        task = MaskedLM(StandingMasks(examples, model.tokenizer), baselines=baselines)
        with precision(model.device, fast=model.fast):
            return task.evaluate(model.module)
    with tempfile.TemporaryDirectory() as folder, witness.reading("cutting the text into pieces", 0) as progress:
        shares = {"validation": data.validation, "test": data.test}
        corpus = prepare(data, model.tokenizer, data.cache or folder, shares=shares, progress=progress)
        store = corpus.stores["train" if files else side]  # type: ignore[index]
        if not store.documents:
            raise DataError(f"held-out text is needed to measure on (side {side})", got="no document", do="name files")
        if unigram is None:
            witness.note(
                "the unigram baseline is counted on the measured text itself: that of the training text is not known"
            )
            unigram = Unigram.count(store.ids, model.tokenizer.vocabulary_size)
        task = held_out_task(data, settings, store, model.tokenizer, unigram)
        with precision(model.device, fast=model.fast):
            return task.evaluate(model.module)


def _section(model: Model, files: Sequence[str | Path], side: str) -> DataSection:
    """Where the text is: all of the files given, or the side of the model's own text."""
    length = min(limit for limit in (model.length or _LENGTH, model.config.output_stack.max_length or _LENGTH))
    if files:
        known = model.data or DataSection()
        return known.model_copy(
            update={
                "files": tuple(map(str, files)),
                "validation_files": (),
                "validation": 0.0,
                "test": 0.0,
                "length": length,
                "cache": None,
            }
        )
    if model.data is None:
        raise ConfigError(
            "files to measure on are needed", got="none", do="the model does not know the text it was trained on"
        )
    if side == "validation" and not (model.data.validation or model.data.validation_files):
        raise ConfigError("held-out text is needed", got="a model that was trained on all of its text", do="name files")
    return model.data


def _unigram(model: Model) -> Unigram | None:
    """How frequent each piece was in the training text, where that is known."""
    counts = model.metrics.get("unigram_counts")
    return None if counts is None else Unigram(np.array(counts, np.int64))
