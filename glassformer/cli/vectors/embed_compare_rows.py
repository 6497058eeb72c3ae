"""The labelled texts and words that `glassformer embed compare` reads, and notes on them before the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError
from glassformer.base.wrapping import printable
from glassformer.cli.terminal.screen import note

if TYPE_CHECKING:
    from glassformer.data.readers.lines import OnBad
    from glassformer.scoring.score import Integers

# The names of labels that a note lists.
_NAMED = 5


class Examples:
    """What vectors are made of, with the labels of each: one of a text, one for each of its words."""

    def __init__(self) -> None:
        self.records: list[tuple[dict[str, object], str]] = []
        self.labels: list[tuple[str, ...]] = []

    def add(self, values: dict[str, object], where: str, labels: Sequence[str]) -> None:
        self.records.append((values, where))
        self.labels.append(tuple(labels))

    def labels_of(self, numbers: Sequence[int]) -> list[str]:
        """The labels of these texts or sentences, one after the other. [E]"""
        return [label for number in numbers for label in self.labels[number]]

    def groups_of(self, numbers: Sequence[int]) -> Integers:
        """Which labels must stay together, [E] from 0: those of a sentence, and of copies of a text."""
        import numpy as np

        first: dict[str, int] = {}
        of_text = [first.setdefault(repr(sorted(self.records[number][0].items())), len(first)) for number in numbers]
        if len(first) < len(numbers):
            note(f"{len(numbers) - len(first):,} of {len(numbers):,} texts repeat another: copies stay in one fold")
        return np.repeat(of_text, [len(self.labels[number]) for number in numbers])


def texts_of(files: Sequence[Path], text: str, label: str, bad: OnBad) -> Examples:
    """The texts of tables, each with its label; a row that cannot be used goes to `bad`."""
    from glassformer.data.readers.lines import of_each
    from glassformer.data.readers.rows import read_table
    from glassformer.tasks.rows import label_of, text_of

    found = Examples()
    for row in of_each(files, lambda path: read_table(path, [text, label], bad=bad), bad):
        try:
            said, its = text_of(row.values[text], row.where), label_of(row.values[label], row.where)
        except DataError as error:
            bad(error.about(row.where, row.own))
            continue
        found.add({"text": said}, row.where, [its])
    return found


def words_of(files: Sequence[Path], words: str | None, tags: str | None, bad: OnBad) -> Examples:
    """The sentences of files of tagged words, with the tag of each word; one that cannot be used goes to `bad`."""
    from glassformer.data.readers.lines import of_each
    from glassformer.tasks.labels.tag.records import sentence_of, tagged_rows
    from glassformer.tasks.labels.tag.settings import TagData

    found, data = Examples(), TagData(words=words, tags=tags)
    for row in of_each(files, lambda path: tagged_rows(path, data, bad=bad, tagged=True), bad):
        try:
            its = sentence_of(row.values, row.where).tags or ()
        except DataError as error:
            bad(error.about(row.where, row.own))
            continue
        found.add(dict(row.values), row.where, its)
    return found


def drawn(examples: Examples, rows: int, seed: int) -> list[int]:
    """The numbers of the texts that are read: all, or a random sample with that many labels."""
    import numpy as np

    sizes = np.array([len(labels) for labels in examples.labels], np.int64)
    if sizes.sum() <= rows:
        return list(range(len(sizes)))
    order = np.random.default_rng(seed).permutation(len(sizes))
    enough = order[: max(1, int((sizes[order].cumsum() <= rows).sum()))]
    note(f"{int(sizes[enough].sum()):,} of {int(sizes.sum()):,} labels were drawn at random (--rows)")
    return sorted(enough.tolist())


def tell_of_labels(examples: Examples, kept: Sequence[int], folds: int) -> None:
    """Notes on labels that were not drawn, that are too rare for the folds, and that may be measurements."""
    found = Counter(examples.labels_of(kept))
    gone = sorted({label for labels in examples.labels for label in labels} - found.keys())
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
