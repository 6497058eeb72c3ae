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
from glassformer.artefact.words import MaskedWords
from glassformer.config import DataSection, TaskSection
from glassformer.data.corpus import Shares, fingerprint_of, on_bad, prepare
from glassformer.data.given import read_all_given
from glassformer.data.lines import Skipped, left_out
from glassformer.data.split import Side
from glassformer.errors import ConfigError, DataError
from glassformer.tasks.hidden import StandingMasks
from glassformer.tasks.masked_lm import MaskedLM
from glassformer.tasks.metrics import Unigram

if TYPE_CHECKING:
    from glassformer.artefact.model import Model

# Rows of a model that has not been trained here, where no length is known.
_LENGTH = 128


def evaluate(
    model: Model, files: Sequence[str | Path] = (), *, side: Side | None = None, witness: Witness | None = None
) -> dict[str, float]:
    """Loss, perplexity and accuracy at hidden words, and the same of the unigram baseline.

    All of `files`; without files, the held-out documents of the text that the model was trained on, found again by
    their hash: those of `side`, validation unless told. Raises DataError when the files cannot be read, ConfigError
    when nothing was held out, or for a model that does not guess hidden words.
    """
    witness = Silent() if witness is None else witness
    MaskedWords(model.module, model.tokenizer, None)  # which refuses a model that cannot guess
    if files and side is not None:
        raise ConfigError(
            "a side is a part of the text that the model was trained on",
            got=f"files together with the side {side}",
            do="leave one of them out: all of the files is measured",
        )
    side = side or "validation"
    settings = model.task or TaskSection()
    data = _given_files(model, files) if files else _own_text(model, side)
    unigram = _unigram(model)
    if settings.given:
        bad = on_bad(data)
        examples = read_all_given(data.files if files else data.validation_files, text=data.text, bad=bad)
        if isinstance(bad, Skipped) and bad.count:
            witness.note(left_out(bad.count, bad.first[0]))
        task = MaskedLM(StandingMasks(examples, model.tokenizer), baselines=[] if unigram is None else [unigram])
        return _measured(model, task)
    with tempfile.TemporaryDirectory() as folder, witness.reading("cutting the text into pieces", 0) as progress:
        shares = {"validation": data.validation, "test": data.test}
        left = None if files else _left_by_the_run(model, data, shares, witness)
        corpus = prepare(data, model.tokenizer, left or folder, shares=shares, progress=progress)
        store = corpus.stores["train" if files else side]
        if not store.documents:
            raise DataError(f"held-out text is needed to measure on (side {side})", got="no document", do="name files")
        if unigram is None:
            witness.note("the unigram baseline is counted on the measured text: the training text's is not known")
            unigram = Unigram.count(store.ids, model.tokenizer.vocabulary_size)
        return _measured(model, held_out_task(data, settings, store, model.tokenizer, unigram))


def _measured(model: Model, task: MaskedLM) -> dict[str, float]:
    with precision(model.device, fast=model.fast):
        return task.evaluate(model.module)


def _given_files(model: Model, files: Sequence[str | Path]) -> DataSection:
    """All of these files, cut as the model's own text was."""
    limit = model.config.output_stack.max_length or _LENGTH
    return (model.data or DataSection()).model_copy(
        update={
            "files": tuple(map(str, files)),
            "validation_files": (),
            "validation": 0.0,
            "test": 0.0,
            "length": min(model.length or _LENGTH, limit),
        }
    )


def _own_text(model: Model, side: Side) -> DataSection:
    """The text the model was trained on, with what was held out of it."""
    data = model.data
    if data is None:
        raise ConfigError(
            "files to measure on are needed", got="none", do="the model does not know the text it was trained on"
        )
    by_hash = {"validation": data.validation, "test": data.test, "train": 1.0}[side]
    masks_stand_in_it = model.task is not None and model.task.given  # then nothing is held out by hash
    if not data.validation_files and (masks_stand_in_it or not by_hash):
        other = next((name for name in ("validation", "test") if getattr(data, name) and not masks_stand_in_it), None)
        raise ConfigError(
            "held-out text is needed" if other is None else f"held-out text of the side {side} is needed",
            got=f"a model that was trained on all of its text{'' if other is None else f' but the side {other}'}",
            do="name files" if other is None else f"ask for the side {other}, or name files",
        )
    return data


def _left_by_the_run(model: Model, data: DataSection, shares: Shares, witness: Witness) -> Path | None:
    """Where the run that made the model has left this text as pieces. Tells when it is another text by now."""
    fingerprint = fingerprint_of(data, model.tokenizer, shares)
    if model.metrics.get("text_fingerprint") not in (None, fingerprint):
        witness.note("the text is not the one the model was trained on: what is held out now may have been learned")
    if data.cache is not None:
        return Path(data.cache)
    left = None if model.source is None else model.source / "tokens"
    # Another text would be cut anew and left there: a model that is only measured stays as it is.
    return left if left is not None and (left / fingerprint[:16]).is_dir() else None


def _unigram(model: Model) -> Unigram | None:
    """How frequent each piece was in the training text, where that is known."""
    counts = model.metrics.get("unigram_counts")
    return None if counts is None else Unigram(np.array(counts, np.int64))
