"""Which files a model has learned from: its own, and those of the models that it started from; and which tokens the
texts of a run have that the model to start from does not know.
"""

import filecmp
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import torch

from glassformer.base.errors import DataError, GlassformerError
from glassformer.data.readers.files import files_for
from glassformer.data.settings import DataSection, RecordSection
from glassformer.data.stores.split import text_hash
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_as_saved
from glassformer.tasks.feed import Feed
from glassformer.tasks.tables import TableTask
from glassformer.tasks.task import Task
from glassformer.text.tokenizer import Tokenizer
from glassformer.training.progress import Progress

_NAMED = 4
# Batches that are looked at for unknown tokens, and the share of these that is noted.
_BATCHES, _MANY = 16, 0.03


def learned_from(model: Artefact, files: Iterable[Path]) -> list[Path]:
    """Those of the files that the model, or one of the same task that it started from, has learned from: the same
    files, or copies of them.
    """
    sizes: dict[int, list[Path]] = {}
    for path in _learned(model):
        sizes.setdefault(path.stat().st_size, []).append(path)
    return [
        path
        for path in files
        if any(
            path.samefile(other) or filecmp.cmp(path, other, shallow=False)
            for other in sizes.get(path.stat().st_size, ())
        )
    ]


def first_names(files: Sequence[Path]) -> str:
    """The names of the first files."""
    return f"{', '.join(path.name for path in files[:_NAMED])}{' and more' if len(files) > _NAMED else ''}"


def note_learned(
    start: Artefact, task: type[Task], data: DataSection, shares: Mapping[str, float], progress: Progress
) -> None:
    """Note the files of which records are held out that the model to start from has learned from, else the records of
    other files. Records are chosen by a hash: with the same seed, a larger share has those of a smaller one.
    """
    its, files = start.data, list[Path]()
    if its is not None and data.validation and not (its.seed == data.seed and data.validation <= its.validation):
        files += files_for(data, data.files)
    files += files_for(data, data.validation_files) if data.validation_files else ()
    if known := learned_from(start, files):
        progress.note(
            f"{first_names(known)}: {start.source} was trained on records that are held out now, so the scores are too "
            "high; hold out other ones with --validation-file"
        )
    elif issubclass(task, TableTask) and isinstance(data, RecordSection):
        known_texts = _hashes(start, task)
        held_out = [text_hash(text) in known_texts for text in task.texts_in("validation", data, shares)]
        if count := sum(held_out):
            progress.note(
                f"{count:,} of {len(held_out):,} records that are held out now have the text of a training record of "
                f"{start.source}, so the scores are too high; hold out other ones with --validation-file"
            )


def note_unknown(feed: Feed, tokenizer: Tokenizer, progress: Progress) -> None:
    """Note how many tokens of the texts have none of their own in the vocabulary of the start, where these are many."""
    if tokenizer.unknown_id is None:
        return
    some = [feed.batch(step).inputs for step in range(min(_BATCHES, math.ceil(feed.steps_per_epoch)))]
    ids = [each.ids.flatten() if each.real is None else each.ids[each.real] for each in some if each.ids is not None]
    unknown = torch.cat([row == tokenizer.unknown_id for row in ids]) if ids else torch.zeros(1)
    if (share := float(unknown.double().mean())) >= _MANY:
        token = tokenizer.token(tokenizer.unknown_id)
        progress.note(
            f"{share:.0%} of the tokens of the texts are {token}: the vocabulary of the start has no tokens for them, "
            "and the model cannot tell them apart; start from a model of this language, or without --start"
        )


def _hashes(start: Artefact, task: type[TableTask]) -> set[int]:
    found: set[int] = set()
    for data, files in _data_of(start):
        with suppress(GlassformerError):  # they may have changed since
            data = data.model_copy(update={"files": tuple(map(str, files)), "validation_files": ()})
            found.update(map(text_hash, task.texts_in("train", data, data.shares)))
    return found


def _learned(model: Artefact) -> list[Path]:
    found = list[Path]()
    for data, files in _data_of(model):
        with suppress(DataError):  # they may have changed since
            found += files_for(data, files)
    return found


def _data_of(model: Artefact) -> Iterator[tuple[DataSection, list[Path]]]:
    """The data of the model and of those of its task that it started from, with the files that are still there."""
    known, before = set[Path](), model
    while type(before.task) is type(model.task) and before.data is not None:
        if learned := [path for path in map(Path, before.data.files) if path.exists()]:
            yield before.data, learned
        start = None if before.recipe is None else before.recipe.model.start
        try:
            # A hub is not asked. A run that was made again may have started from one that started from it.
            if start is None or (place := Path(start).resolve()) in known or not place.is_dir():
                break
            known.add(place)
            before = open_as_saved(place, Artefact)
        except (OSError, ValueError, GlassformerError):  # it may be gone, as the files
            break
