"""The labelled texts and words that `glassformer embed compare` reads, and notes on them before the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from glassformer.base.errors import DataError
from glassformer.base.wrapping import printable
from glassformer.cli.terminal.screen import note

if TYPE_CHECKING:
    from glassformer.data.readers.lines import OnBad
    from glassformer.scoring.score import Integers

# The names of labels that a note lists.
_NAMED = 5


class Example(NamedTuple):
    """What vectors are made of, its file and line, and its labels: one of a text, one for each word of a sentence."""

    values: dict[str, object]
    where: str
    labels: Sequence[str]


def groups_of(examples: Sequence[Example]) -> Integers:
    """Which labels must stay together, [E] from 0: those of a sentence, and of copies of a text."""
    import numpy as np

    first: dict[str, int] = {}
    of_text = [first.setdefault(repr(sorted(each.values.items())), len(first)) for each in examples]
    if len(first) < len(examples):
        note(f"{len(examples) - len(first):,} of {len(examples):,} texts repeat another: copies stay in one fold")
    return np.repeat(of_text, [len(each.labels) for each in examples])


def texts_of(files: Sequence[Path], text: str, label: str, bad: OnBad) -> list[Example]:
    """The texts of tables, each with its label; a row that cannot be used goes to `bad`."""
    from glassformer.data.readers.lines import of_each
    from glassformer.data.readers.rows import read_table
    from glassformer.tasks.rows import label_of, text_of

    found = []
    for row in of_each(files, lambda path: read_table(path, [text, label], bad=bad), bad):
        try:
            said, its = text_of(row.values[text], row.where), label_of(row.values[label], row.where)
        except DataError as error:
            bad(error.about(row.where, row.own))
            continue
        found.append(Example({"text": said}, row.where, [its]))
    return found


def words_of(files: Sequence[Path], words: str | None, tags: str | None, bad: OnBad) -> list[Example]:
    """The sentences of files of tagged words, with the tag of each word; one that cannot be used goes to `bad`."""
    from glassformer.data.readers.lines import of_each
    from glassformer.tasks.labels.tag.records import sentence_of, tagged_rows
    from glassformer.tasks.labels.tag.settings import TagData

    found, data = [], TagData(words=words, tags=tags)
    for row in of_each(files, lambda path: tagged_rows(path, data, bad=bad, tagged=True), bad):
        try:
            its = sentence_of(row.values, row.where).tags or ()
        except DataError as error:
            bad(error.about(row.where, row.own))
            continue
        found.append(Example(dict(row.values), row.where, its))
    return found


def drawn(examples: list[Example], rows: int, seed: int) -> list[Example]:
    """The texts that are read: all, or a random sample with that many labels."""
    import numpy as np

    sizes = np.array([len(each.labels) for each in examples], np.int64)
    if sizes.sum() <= rows:
        return examples
    order = np.random.default_rng(seed).permutation(len(sizes))
    enough = order[: max(1, int((sizes[order].cumsum() <= rows).sum()))]
    note(f"{int(sizes[enough].sum()):,} of {int(sizes.sum()):,} labels were drawn at random (--rows)")
    return [examples[number] for number in sorted(enough.tolist())]


def tell_of_labels(examples: Sequence[Example], kept: Sequence[Example], folds: int) -> None:
    """Notes on labels that were not drawn, that are too rare for the folds, and that may be measurements."""
    found = Counter(label for each in kept for label in each.labels)
    gone = sorted({label for each in examples for label in each.labels} - found.keys())
    if gone:
        note(f"no row of {_listed(gone)} was drawn: {'they are' if len(gone) > 1 else 'it is'} left out (--rows)")
    rare = sorted(label for label, count in found.items() if count < folds)
    if rare:
        note(f"fewer examples than the {folds} folds, so that some folds have none to predict: {_listed(rare)}")
    if any(_is_fraction(label) for label in found):
        note("numbers as labels are treated as names: 0.9 is no nearer to 1 than 0.1")


def _listed(labels: Sequence[str]) -> str:
    shown = ", ".join(printable(repr(label)[:40]) for label in labels[:_NAMED])
    more = f" and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
    return f"{'label' if len(labels) == 1 else f'{len(labels):,} labels'} {shown}{more}"


def _is_fraction(label: str) -> bool:
    try:
        return not float(label).is_integer()
    except (ValueError, OverflowError):
        return False
