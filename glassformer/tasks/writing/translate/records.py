"""Reading pairs of source and target: from tables or parallel files, split, checked and kept as compact texts.

E pairs
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Texts
from glassformer.data.readers.files import files_for, files_of
from glassformer.data.readers.lines import OnBad, of_each
from glassformer.data.readers.pair_checks import check_pairs
from glassformer.data.readers.pair_tables import pair_columns, unread_told
from glassformer.data.readers.parallel import SOURCE, TARGET, read_parallel
from glassformer.data.readers.rows import by_role, names_of, read_table
from glassformer.data.readers.table_format import TableFormat, find_format
from glassformer.data.stores.split import Split, shared, text_hash
from glassformer.tasks.records import Record
from glassformer.tasks.rows import check_columns
from glassformer.tasks.writing.pair_source import TextPairs, pair_of
from glassformer.tasks.writing.translate.settings import TranslateData


def columns_of(data: TranslateData) -> dict[str, str]:
    return check_columns({"text": data.text, "target": data.target})


def format_of(data: TranslateData, path: Path) -> TableFormat:
    return find_format(path, names_of(pair_columns(columns_of(data), path)), header=data.has_header)


def table_told(data: TranslateData, path: Path) -> str:
    """How a table of pairs is written, and which of its columns are not read, in one line."""
    told = unread_columns(data, path)
    return f"{path.name}: {format_of(data, path)}{'; ' if told else ''}{told}"


def unread_columns(data: TranslateData, path: Path) -> str:
    """Which columns of a table of pairs are not read, in words; "" where it has no others."""
    return unread_told(pair_columns(columns_of(data), path), format_of(data, path))


def pair_records(data: TranslateData, files: Sequence[str], bad: OnBad) -> Iterator[Record]:
    """The pairs of tables, or of parallel files; raises DataError, ConfigError where the numbers of files differ."""
    held_out = bool(data.validation_files) and files == data.validation_files
    targets = data.validation_target_files if held_out else data.target_files
    if not data.target_files and not targets:
        yield from of_each(files_for(data, files), lambda path: _of_table(data, path, bad), bad)
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


def _of_table(data: TranslateData, path: Path, bad: OnBad) -> Iterator[Record]:
    columns = pair_columns(columns_of(data), path)
    for row in read_table(path, names_of(columns), format=format_of(data, path), bad=bad):
        yield Record(by_role(row.values, columns), row.where)


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
                bad(error.about(record.where, dict(record.values)))
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
