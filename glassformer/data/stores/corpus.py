"""From the files of a recipe to tokenized stores for training, validation and test."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

import numpy as np

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError, DataError, from_system
from glassformer.base.json_text import read_sealed_json, sealed_json
from glassformer.data.readers.files import files_for
from glassformer.data.readers.lines import OnBad, Skipped, left_out, of_each, stop_unless
from glassformer.data.readers.read import Document, Documents, read
from glassformer.data.readers.table_format import table_kind
from glassformer.data.settings import CorpusSection, DataSection, RecordSection
from glassformer.data.stores.split import (
    SPLITS,
    Repeats,
    Split,
    hash_fraction,
    parted,
    repeats,
    shared,
    split_of,
    text_hash,
)
from glassformer.data.stores.store import Placed, TokenStore, damaged, write_stores
from glassformer.text.tokenizer import Tokenizer

Shares = Mapping[str, float]

# A part of the fingerprint, which determines the order of the rows. It does not follow the format of the store, so that
# a new format keeps the order.
_HASHED_AS = 2
# The file next to the stores that lists the documents left out of them.
_SKIPPED = "skipped.json"


@dataclass(frozen=True)
class Corpus:
    """Tokenized text by split; `leaked`: held-out documents that are in the training text too."""

    stores: Mapping[Split, TokenStore]
    shares: Shares
    repeats: Repeats
    leaked: int
    skipped: int
    first_skipped: tuple[str, ...]
    files_skipped: int = 0

    def notes(self) -> list[str]:
        notes = []
        if end := self.shares.get("end"):
            notes.append(f"the last {end:.0%} of the text is held out, not whole documents")
        if self.repeats.repeated:
            notes.append(str(self.repeats))
        if self.leaked:
            notes.append(f"in the training text too: {number_of(self.leaked, 'document')} of the held-out text")
        if self.skipped:
            notes.append(left_out(self.skipped, self.files_skipped, self.first_skipped[0]))
        return notes


_BY_LINE = "make a document of each line with --set data.documents=line, "
# How a text is divided into more documents, by how it is divided now.
_MORE: dict[Documents, str] = {
    "blank-line": f"a document ends at a blank line: {_BY_LINE}",
    "file": f"each file is one document: {_BY_LINE}",
    "line": "",
}


def resolve_shares(section: CorpusSection) -> dict[str, float]:
    """The shares to split documents by, larger than asked for where a split would be empty; for a small text the share
    at its end. Raises DataError for too few documents, ConfigError for an end next to other held-out text.
    """
    shares = {"validation": 0.0 if section.validation_files else section.validation, "test": section.test}
    if section.end and (section.validation_files or section.test):
        got = "data.end, and data.test or validation files"
        raise ConfigError("the end of the text is held out, and nothing else", got=got, do="leave one of them out")
    if section.end:
        return {**shares, "validation": 0.0, "end": section.end}
    sizes: dict[float, int] = {}
    documents = _measured(_documents(section.files, section, on_bad(section)), section.seed, sizes)
    few: TooFewError | None = None
    raised = shares
    try:
        raised = shares_for(documents, shares, seed=section.seed)
    except TooFewError as error:
        few = error
    if few is None and raised == shares:
        return shares
    if shares["validation"] and not shares["test"] and _end_is_better(section, raised, sizes, few=few is not None):
        return {"validation": 0.0, "test": 0.0, "end": max(shares["validation"], _END)}
    if few is None:
        return raised
    raise DataError(
        few.wanted,
        got=few.got,
        do=f"{_MORE[section.documents]}hold out nothing with --validation 0, or name a file with --validation-file",
    )


class TooFewError(DataError):
    """There are too few texts to split."""


def shares_for(texts: Iterable[str], shares: Shares, *, seed: int) -> dict[str, float]:
    """The shares to split texts by, others than asked for where a split would be empty; raises TooFewError."""
    missing: set[str] = {name for name, share in shares.items() if share > 0} | {"train"}
    splits = len(missing)
    places: set[float] = set()
    for text in texts:
        place = hash_fraction(text_hash(text), seed)
        places.add(place)
        missing.discard(split_of(place, shares))
        if not missing:
            return dict(shares)
    if len(places) < splits:
        raise TooFewError(
            f"a split into {splits} splits needs at least {splits} different texts",
            got=str(len(places)),
            do="hold out nothing with --validation 0, or name a file with --validation-file",
        )
    return _changed_shares(sorted(places), shares)


# The share of a small text that is held out at its end, and the largest that may be held out as a whole document.
_END, _LARGE = 0.1, 0.2
# The characters of a text of which an end can be held out.
_SMALLEST = 200


def _measured(documents: Iterable[Document], seed: int, sizes: dict[float, int]) -> Iterator[str]:
    """The texts of documents; counts the characters of each by its hash fraction."""
    place = 0.0
    for document in documents:
        if not document.continued:
            place = hash_fraction(text_hash(document.text), seed)
            yield document.text
        sizes[place] = sizes.get(place, 0) + len(document.text)


def _end_is_better(section: CorpusSection, raised: Shares, sizes: Mapping[float, int], *, few: bool) -> bool:
    """Whether the end of the text is held out: whole documents would be a large part of it, or are too few."""
    total = sum(sizes.values())
    held_out = sum(size for place, size in sizes.items() if place < raised["validation"])
    if total < _SMALLEST or not (few or held_out > _LARGE * total):
        return False
    count = sum(not each.continued for each in _documents(section.files, section, on_bad(section)))
    return count == len(sizes)  # of documents that repeat others, the end is learned too


def training_texts(section: CorpusSection, shares: Shares) -> Iterator[str]:
    for placed in _with_splits(section, shares, on_bad(section)):
        if placed.name == "train":
            yield placed.document.text


def prepare(
    section: CorpusSection,
    tokenizer: Tokenizer,
    cache: str | Path,
    *,
    shares: Shares | None = None,
    advance: Callable[[int], None] | None = None,
) -> Corpus:
    """Tokenize the files of a recipe, or open stores of the same text and settings in `cache`. Raises DataError."""
    shares = resolve_shares(section) if shares is None else dict(shares)
    bad = on_bad(section)
    fingerprint = fingerprint_of(section, tokenizer, shares)
    directory = Path(cache) / fingerprint[:16]

    def report(folder: Path) -> None:
        found = bad if isinstance(bad, Skipped) else Skipped()
        counted = {"count": found.count, "files": found.files, "first": found.first}
        (folder / _SKIPPED).write_text(sealed_json(counted), encoding="utf-8")

    stores = write_stores(
        _with_splits(section, shares, bad),
        tokenizer,
        directory,
        names=SPLITS,
        fingerprint=fingerprint,
        advance=advance,
        at_end=report,
    )
    if not stores["train"].documents:
        raise DataError("training needs text", got="no document with words in it")
    try:
        skipped = read_sealed_json(directory / _SKIPPED)
    except (OSError, ValueError) as error:
        raise damaged(directory, f"no readable {_SKIPPED} ({error})") from None
    return Corpus(
        stores=stores,
        shares=shares,
        repeats=repeats(np.concatenate([store.hashes for store in stores.values()])),
        leaked=shared(stores["train"].hashes, stores["validation"].hashes),
        skipped=skipped["count"],
        first_skipped=tuple(skipped["first"]),
        files_skipped=skipped.get("files", 0),  # not in stores of earlier versions
    )


def on_bad(section: DataSection) -> OnBad:
    """The handler for rows that cannot be used: stop or skip, as the recipe says."""
    if section.on_bad_row == "skip":
        return Skipped()
    if isinstance(section, RecordSection):
        return stop_unless("rejects") if section.rejects is None else Skipped()
    return stop_unless("on_bad_row")


def _documents(paths: Iterable[str], section: CorpusSection, bad: OnBad) -> Iterator[Document]:
    def documents(path: Path) -> Iterator[Document]:
        return read(path, text=section.text, documents=section.documents, bad=bad)

    yield from of_each(files_for(section, paths), documents, bad)


def _with_splits(section: CorpusSection, shares: Shares, bad: OnBad) -> Iterator[Placed]:
    """Each document with its split; later parts of a document have the split of its first part."""
    if end := shares.get("end", 0.0):
        handlers = chain([on_bad(section)], repeat(bad))  # the first reading only counts
        for split, document in parted(lambda: _documents(section.files, section, next(handlers)), end):
            yield Placed(split, text_hash(document.text), document)
        return
    name, hashed = "train", 0
    for document in _documents(section.files, section, bad):
        if not document.continued:
            hashed = text_hash(document.text)
            name = split_of(hash_fraction(hashed, section.seed), shares)
        yield Placed(name, hashed, document)
    for document in _documents(section.validation_files, section, bad) if section.validation_files else ():
        yield Placed("validation", text_hash(document.text), document)


def _changed_shares(places: list[float], shares: Shares) -> dict[str, float]:
    """Shares that give each wanted split at least one text, from the sorted hash fractions of all texts."""
    validation, test = shares["validation"], shares["test"]
    held = bisect_left(places, validation)
    kept = min(max(held, validation > 0), len(places) - 1 - (test > 0))
    if kept != held:
        validation = (places[kept - 1] + places[kept]) / 2
    held = bisect_left(places, validation + test)
    both = min(max(held, kept + (test > 0)), len(places) - 1)
    if both != held:
        test = (places[both - 1] + places[both]) / 2 - validation
    return {"validation": validation, "test": test}


def fingerprint_of(section: CorpusSection, tokenizer: Tokenizer, shares: Shares) -> str:
    """A digest of the files' contents, the tokenizer and the splits; reads the files completely."""
    settings = section.model_dump(include={"text", "documents", "seed", "on_bad_row"})
    files = [
        [[table_kind(path), _digest(path)] for path in (files_for(section, named) if named else ())]
        for named in (section.files, section.validation_files)
    ]
    facts = [_HASHED_AS, tokenizer.fingerprint, settings, dict(shares), files]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with from_system(DataError, f"cannot read {path}"), path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
