"""Measuring a model on data that it was not trained on, compared with baselines."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from glassformer.answering.engines.choice import AUTO, TORCH, engine_of, known_of
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.paths import refuse_no_path
from glassformer.data.readers.files import files_for
from glassformer.data.readers.rows import named, read_table
from glassformer.data.readers.table_format import find_format, is_number, names_columns
from glassformer.data.settings import CorpusSection, DataSection, RecordSection
from glassformer.data.stores.corpus import fingerprint_of
from glassformer.data.stores.split import Split
from glassformer.run.learned import first_names, learned_from
from glassformer.run.probe import with_frozen_probe
from glassformer.saved.artefact import Artefact
from glassformer.scoring.baselines import repeated
from glassformer.scoring.score import Scores
from glassformer.tasks import TASKS, task_of
from glassformer.tasks.predictor import precision
from glassformer.tasks.task import Preparation, Source, Task, silent
from glassformer.training.progress import NoProgress, Progress

# Rows of a model that has not been trained here, where no length is known.
_LENGTH = 128
ROLES = ("text", "pair", "choices", "label", "answers", "words", "tags", "target")
"""Settings of `[data]` that name columns."""
# Settings of the training text that a file to measure on does not have.
_NOT_MEASURED = ("target_files", "validation_target_files", "remove")
# From so many labels on, an evaluation has at most so many scores in memory, and measures no fewer records than these.
_MANY_LABELS, _NUMBERS, _FEWEST = 500, 20_000_000, 1000


def evaluate(
    model: Artefact,
    files: Sequence[str | Path] = (),
    *,
    split: Split | None = None,
    columns: Mapping[str, Any] | None = None,
    baselines: bool = True,
    repeats: bool = True,
    rejects: str | Path | None = None,
    progress: Progress | None = None,
) -> Scores:
    """The scores of the model's task, and of the baselines; without those that are fitted on the training data where
    `baselines` is False, or where this cannot be read again. `repeats`: count the records of files with the text of a
    training record, and note them. `rejects` is a file for records that cannot be used, which
    are left out then.

    On all of `files`; without files, on the held-out `split` (validation by default) of the data that the model was
    trained on, found again by its hash. `columns` are settings of the data section, for tables whose columns have other
    names than those of the training files. A model without a task is measured by masked words, one that translates by
    its translations.
    Raises DataError when the files cannot be read, ConfigError when nothing was held out, or for a model that cannot do
    the task.
    """
    for path in files:
        refuse_no_path(path, DataError)
    progress = NoProgress() if progress is None else progress
    section = model.measured_as
    kind = task_of(section.name, model.config)
    kind.check_body(section, model.config)
    if files and split is not None:
        raise ConfigError(
            "a split is a part of the text that the model was trained on",
            got=f"files together with the split {split}",
            do="leave one of them out: files are measured whole",
        )
    split = split or "validation"
    data = _named_files(model, kind.Data(), files, columns or {}) if files else _own_text(model, split)
    if files and _begins_with_a_record(model, data):
        data = data.model_copy(update={"header": "no"})
    if files and (known := learned_from(model, files_for(data, data.files))):
        progress.note(
            f"{first_names(known)}: {_called(model)} was trained on this text, so these scores also measure what it "
            "remembers; without files, evaluate uses the held-out text"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows deletes no mapped file
        shares = data.shares
        cache = (None if files else _tokens_of_the_run(model, data, shares, progress)) or Path(folder)
        guesses_words = model.config.head is not None and (isinstance(data, CorpusSection) or data.reads == "pairs")
        if guesses_words and "unigram_counts" not in model.metrics:
            progress.note(
                "the unigram baseline is counted on the measured text: that of the training text is not known"
            )
        preparation = Preparation(
            data=_with_rejects(data, rejects), tokenizer=model.tokenizer, body=model.config, cache=cache,
            shares=shares, seed=data.seed, facts=model.metrics, log=progress.note, stage=progress.reading,
            measuring=True, search=model.search[0], templates=model.templates,
        )  # fmt: skip
        task, sources = kind.prepared(section, preparation)
        source = sources.get("train" if files else split)
        if source is None:
            raise DataError(
                f"held-out text is needed to measure on (split {split})", got="no document", do="name files"
            )
        if left_out := getattr(source, "left_out", 0):  # pairs, which cannot be cut into rows
            there = len(getattr(source, "examples", ()))
            progress.note(
                f"{left_out:,} of {there:,} pairs are not measured: they have a side of more than data.length = "
                f"{data.length} tokens"
            )
        limit = _affordable(model, source, progress)
        with precision(model.device, fast=model.fast):
            scores = _measured(model, task, source, limit)
            if baselines and isinstance(data, RecordSection):
                of = model.source, model.recipe, task
                scores = with_frozen_probe(
                    scores, *of, lambda its, on: its.evaluate(on.to(model.device), source, limit=limit), progress.note
                )
        fits = task.fits_baselines or isinstance(data, RecordSection)
        counted = repeats and bool(files or data.validation_files) and isinstance(data, RecordSection)
        if not (baselines or counted) or model.task is None or not fits:
            return scores
        shown = progress if baselines and task.fits_baselines else NoProgress()
        train = _training_source(model, preparation, shown) if files else sources.get("train")
        if train is None:
            return scores
        if counted:
            _note_repeats(model, task, train, source, progress)
        return task.with_baselines(scores, train, source, limit=limit, log=progress.note) if baselines else scores


def _measured(model: Artefact, task: Task, source: Source, limit: int | None) -> Scores:
    """The scores, computed by the model's `engine`; the report names one that was asked for or is not torch."""
    known = known_of(model)
    known.answered = TORCH
    scores = task.answered_by(engine_of(model)).evaluate(model.module, source, limit=limit)
    if known.answered == TORCH and model.engine in (AUTO, TORCH):
        return scores
    return replace(scores, report={**scores.report, "engine": known.answered})


def _with_rejects(data: DataSection, rejects: str | Path | None) -> DataSection:
    """The data with a file of rejects of this measurement where one is named, else without one."""
    if not isinstance(data, RecordSection):
        if rejects is not None:
            raise ConfigError("only records of tables can be set aside", got="running text", do="leave --rejects out")
        return data
    if rejects is None:
        return data.model_copy(update={"rejects": None})
    return data.model_copy(update={"rejects": os.path.abspath(rejects), "on_bad_row": "skip"})


def _affordable(model: Artefact, source: Source, progress: Progress) -> int | None:
    """How many examples to measure where each has a score for each of very many labels; None for all."""
    most = max(_FEWEST, _NUMBERS // max(1, len(model.labels)))
    there = len(getattr(source, "examples", source))
    if there <= most or len(model.labels) < _MANY_LABELS:
        return None
    progress.note(f"{len(model.labels):,} labels: measured on {most:,} of {there:,} records, drawn at random")
    return most


def _training_source(model: Artefact, asked: Preparation, progress: Progress) -> Source | None:
    """The training records of a model, read again for the baselines; a note where that is not possible."""
    try:
        data = _own_text(model, "train")
        again = replace(asked, data=data, shares=data.shares, log=silent)
        return task_of(model.measured_as.name, model.config).prepared(model.measured_as, again)[1]["train"]
    except (ConfigError, DataError) as error:
        progress.note(
            f"no baseline is fitted on the training data, which cannot be read again ({error.got or error.wanted})"
        )
        return None


def _called(model: Artefact) -> str:
    return "the model" if model.source is None else str(model.source)


def _note_repeats(model: Artefact, task: Any, train: Any, source: Any, progress: Progress) -> None:
    if count := repeated(task.known_by, train.examples, source.examples):
        progress.note(
            f"{count:,} of the {len(source.examples):,} records have the text of a training record of "
            f"{_called(model)}: their scores are too high"
        )


def _named_files(
    model: Artefact, usual: DataSection, files: Sequence[str | Path], columns: Mapping[str, Any]
) -> DataSection:
    if unknown := sorted(set(columns) - set(type(usual).model_fields)):
        task = model.measured_as.name
        raise ConfigError(
            f"a table of {task} has the columns {', '.join(TASKS[task].columns or ('text',))}",
            got=f"a column for {unknown[0].removesuffix('_files')}",
            do="leave it out: glassformer evaluate --help names the tasks that have it",
        )
    trained = model.data or usual
    return trained.model_copy(
        update={
            **_by_role(trained, usual, files),
            "files": tuple(map(str, files)),
            "validation_files": (),
            "validation": 0.0,
            "test": 0.0,
            **({"end": 0.0} if "end" in type(usual).model_fields else {}),
            "length": model.row_tokens or _LENGTH,
            **{name: () for name in _NOT_MEASURED if name in type(usual).model_fields},
            **columns,
        }
    )


def _begins_with_a_record(model: Artefact, data: DataSection) -> bool:
    """Whether a table whose columns have numbers begins with a label that the model knows, and so has no header."""
    label = getattr(data, "label", None)
    if (
        not isinstance(data, RecordSection)
        or data.header != "auto"
        or not isinstance(label, str)
        or not is_number(label)
    ):
        return False
    for path in files_for(data, data.files):
        with suppress(DataError):  # which is reported where the table is read
            first = next(read_table(path, [label], format=find_format(path, header=False)), None)
            if first is not None and first.values[label] in model.labels:
                return True
    return False


def _by_role(trained: DataSection, usual: DataSection, files: Sequence[str | Path]) -> dict[str, Any]:
    """Where the training table had numbers and all files names, the columns by their usual names or roles."""
    if not isinstance(trained, RecordSection):
        return {}
    if not all(map(names_columns, files_for(trained, files))):
        return {}
    columns = {role: of for role in ROLES if (of := getattr(trained, role, None)) is not None}
    found = named(columns, {role: getattr(usual, role) or role for role in columns})
    return {role: of for role, of in found.items() if of != columns[role]}


def _own_text(model: Artefact, split: Split) -> DataSection:
    """The data of the training; the rows that it set aside are left out again, and its file of them stays as it is."""
    data = model.data
    if isinstance(data, RecordSection) and data.rejects is not None:
        data = data.model_copy(update={"rejects": None, "on_bad_row": "skip"})
    if data is None:
        raise ConfigError(
            "files to measure on are needed", got="none", do="the model does not know the text it was trained on"
        )
    if data.files and not any(map(os.path.isabs, data.files)):  # so packed: a training run has absolute paths
        raise ConfigError(
            "files to measure on are needed",
            got="none, and the training text is not included with the model",
            do="name files",
        )
    shares = data.shares
    held_out = {"validation": shares["validation"] or shares.get("end", 0.0), "test": data.test, "train": 1.0}[split]
    if not held_out and not (data.validation_files and split == "validation"):
        other = next((name for name in ("validation", "test") if shares[name]), None)
        raise ConfigError(
            "held-out text is needed" if other is None else f"held-out text of the split {split} is needed",
            got=f"a model that was trained on all of its text{'' if other is None else f' but the split {other}'}",
            do="name files" if other is None else f"ask for the split {other}, or name files",
        )
    return data


def _tokens_of_the_run(
    model: Artefact, data: DataSection, shares: Mapping[str, float], progress: Progress
) -> Path | None:
    """The folder in which the training run has kept this text as tokens. Notes when the text has changed since."""
    if not isinstance(data, CorpusSection):
        return None
    fingerprint = fingerprint_of(data, model.tokenizer, shares)
    if model.metrics.get("text_fingerprint") not in (None, fingerprint):
        progress.note("the text has changed since training: the model may have been trained on what is held out now")
    left = None if model.source is None else model.source / "tokens"
    # Another text would be tokenized and written there, but measuring a model must not change its folder.
    return left if left is not None and (left / fingerprint[:16]).is_dir() else None
