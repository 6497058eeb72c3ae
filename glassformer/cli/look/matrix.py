from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.cli.terminal.options import HTML, SEED, Json, Notes
from glassformer.cli.terminal.screen import record
from glassformer.cli.terminal.texts import texts_to_explain
from glassformer.text.tokenizer import MASK

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.parts.activity import ActivityMatrix, NothingToSee, Reading

# The post masks one word of nine.
_SHARE = 0.11
# The matrix has as many numbers as the square of this.
_MOST_WORDS = 512
_WIDTH, _LONGEST_WORD = 80, 12
_FEATURES = ("random", "printed")
_READINGS = {
    "code": "as in the post's code, a word sees only itself",
    "stated": "as its text states, a word sees itself and those before it, never a masked word",
    "pairs": "as its text says elsewhere, a word sees every word that is not masked",
}


def matrix(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="A text; - reads texts from standard input, one per line.", show_default=False
        ),
    ],
    hide: Annotated[
        float | None,
        typer.Option(
            "--hide",
            min=0,
            max=1,
            help="Share of the words to mask at random (at least one word).  "
            f"[default: {_SHARE}, or none where {MASK} is in the text]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help=SEED)] = 0,
    reading: Annotated[
        str, typer.Option("--reading", help="Which words a word sees: code, stated or pairs.")
    ] = "stated",
    word_vectors: Annotated[
        str, typer.Option("--word-vectors", help="Word vectors: random, or those printed in the post (nine words).")
    ] = "random",
    width: Annotated[
        int | None, typer.Option("--width", min=1, max=4096, help="Width of a random vector.  [default: 2]")
    ] = None,
    nothing_to_see: Annotated[
        str, typer.Option("--nothing-to-see", help="A word that may see no word: it sees itself, or its row is zero.")
    ] = "itself",
    notes: Notes = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            writable=True,
            help=HTML,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the "masked word activity matrix" of the mask-matrix post for a text, step by step, in the post's order:
    words, masked words, word vectors, zeros, products of all pairs, forbidden cells, softmax, result. A reading says
    which cells are forbidden: the post's code and its text differ.
    """
    for option, value, known in (
        ("--reading", reading, tuple(_READINGS)),
        ("--word-vectors", word_vectors, _FEATURES),
        ("--nothing-to-see", nothing_to_see, ("itself", "zero")),
    ):
        if value not in known:
            raise ConfigError(
                f"{option} must be one of {', '.join(known)}", got=repr(value), do=did_you_mean(value, known)
            )
    texts = tuple(texts_to_explain([text]))
    if html is not None and len(texts) > 1:
        raise DataError("--html draws one text", got=str(len(texts)), do="give one text")
    for count, each in enumerate(texts):
        shown = _shown(
            each, hide, seed, word_vectors, width, cast("Reading", reading), cast("NothingToSee", nothing_to_see)
        )
        if html is not None:
            shown.write_page(html)
        if json:
            record(shown.to_dict(), sys.stdout)
            continue
        if count:
            print()
        for line in shown.lines(_width()):
            print(line)
        if notes:
            _print_notes()


@dataclass(frozen=True)
class _Shown:
    """All steps for one text; `masked_words` are the positions of those chosen at random or written [MASK]."""

    words: tuple[str, ...]
    masked_words: tuple[int, ...]
    share: float
    seed: int
    source: str
    features: Tensor
    matrix: ActivityMatrix

    @property
    def seen(self) -> tuple[str, ...]:
        return tuple(MASK if place in self.masked_words else word for place, word in enumerate(self.words))

    def to_dict(self) -> dict[str, Any]:
        matrix = self.matrix
        return {
            "words": self.words,
            "masked_words": self.masked_words,
            "seen": self.seen,
            "seed": self.seed,
            "features_from": self.source,
            "features": self.features.tolist(),
            "reading": matrix.reading,
            "mask": matrix.mask,
            "nothing_to_see": matrix.rule,
            "without_keys": matrix.without_keys,
            **{name: step.tolist() for name, step in matrix.steps.items()},
        }

    def write_page(self, path: Path) -> None:
        from glassformer.page.matrix_page import write_matrix_page

        write_matrix_page(path, self.words, self.masked_words, self.features, self.matrix, overwrite=True)

    def lines(self, width: int) -> Iterator[str]:
        matrix, count = self.matrix, len(self.words)
        shape = f"[{count}, {count}]"
        words = tuple(_printable(word) for word in self.words)
        labels = tuple(
            f"({word})" if place in self.masked_words and MASK not in word else word for place, word in enumerate(words)
        )
        masked = f"{len(self.masked_words)} of {count}"
        chosen = f"{masked}, drawn with seed {self.seed}" if self.share else f"{masked}, as written"
        drawn = f"torch.randn with seed {self.seed}" if self.source == "random" else "as printed in the post"
        yield f"1. words, split at spaces: {count}"
        yield from _flowing(words, width)
        yield from ("", f"2. words replaced by {MASK}: {chosen}")
        yield from _flowing([_printable(word) for word in self.seen], width)
        yield from ("", f"3. features {list(self.features.shape)}: one vector for each word, {drawn}")
        yield from _table(labels, None, self.features, width)
        for title, tensor in (
            (f"4. empty {shape}: a matrix of zeros", matrix.empty),
            (f"5. pairs {shape}: row i is features · features[i]", matrix.pairs),
            (f"6. masked {shape}: −∞ where row i must not see column j", matrix.masked),
            (f"7. weights {shape}: softmax of each row", matrix.weights),
            (f"8. result {shape}: row by row laid into the empty matrix", matrix.result),
        ):
            yield from ("", title)
            if title[0] == "6":
                yield from _flowing(f"reading {matrix.reading}: {_READINGS[matrix.reading]}".split(), width)
            yield from _table(labels, labels, tensor, width)
        for place in matrix.without_keys:
            outcome = "it sees itself" if matrix.rule == "itself" else "its row is zero"
            yield f"   word {place}, {_cut(labels[place], _LONGEST_WORD)}, may see no word: {outcome}"


def _shown(
    text: str, hide: float | None, seed: int, source: str, width: int | None, reading: Reading, rule: NothingToSee
) -> _Shown:
    import torch  # not at the top: --help must not import torch

    from glassformer.bundled.texts import quick_brown_fox
    from glassformer.parts.activity import activity_matrix

    words = tuple(text.split())
    if not 1 <= len(words) <= _MOST_WORDS:
        do = "give a shorter text" if words else "write one in quotes"
        raise DataError(f"a text must have 1 to {_MOST_WORDS} words", got=str(len(words)), do=do)
    share = (0.0 if MASK in text else _SHARE) if hide is None else hide
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(words), generator=random).tolist()
    count = max(1, round(share * len(words))) if share else 0
    masked_words = tuple(sorted({*order[:count], *(place for place, word in enumerate(words) if MASK in word)}))
    if source == "random":
        features = torch.randn((len(words), width or 2), generator=random)
    else:
        features = torch.tensor(quick_brown_fox().features)
        if width is not None:
            raise ConfigError("the printed vectors have their own width", got=f"--width {width}", do="leave it out")
        if len(features) != len(words):
            raise DataError(
                f"--word-vectors printed has vectors for {len(features)} words", got=f"a text of {len(words)}",
                do="leave it out, or give as many words",
            )  # fmt: skip
    found = activity_matrix(features, masked_words, reading=reading, nothing_to_see=rule)
    return _Shown(words, masked_words, share, seed, source, features, found)


def _table(labels: Sequence[str], heads: Sequence[str] | None, matrix: Tensor, width: int) -> Iterator[str]:
    """A row of numbers for each label; columns that do not fit beside one another go into a further block."""
    rows = [[_number(value) for value in row] for row in matrix.tolist()]
    side = max(_size(_cut(label, _LONGEST_WORD)) for label in labels)
    cell = max(len(text) for row in rows for text in row)
    if heads is not None:
        cell = max(cell, min(max(map(_size, heads)), 7))
    fitting = max(1, (width - 2 - side) // (cell + 1))
    for first in range(0, len(rows[0]), fitting):
        if first:
            yield ""
        if heads is not None:
            yield f"  {' ' * side}" + "".join(
                f" {_cut(head, cell, right=True)}" for head in heads[first : first + fitting]
            )
        for label, row in zip(labels, rows, strict=True):
            shown = _cut(label, side) if _size(label) > side else label + " " * (side - _size(label))
            yield f"  {shown}" + "".join(f" {text.rjust(cell)}" for text in row[first : first + fitting])


def _number(value: float) -> str:
    """As the post prints it: four decimals, a whole number without."""
    from glassformer.look.formulas.explanation import number

    whole = not math.isfinite(value) or value == int(value)
    return number(value) if whole or abs(value) >= 1e4 else f"{value:.4f}".replace("-", "−")


def _width() -> int:
    """The columns of the terminal; in a pipe those that COLUMNS asks for, as `explain` does, else 80."""
    return max(40, shutil.get_terminal_size((_WIDTH, 24)).columns)


def _flowing(words: Sequence[str], width: int) -> Iterator[str]:
    line = ""
    for word in words:
        shown = _cut(word, width - 3)
        if line and 3 + _size(line) + 1 + _size(shown) > width:
            yield f"   {line}"
            line = ""
        line = f"{line} {shown}" if line else shown
    yield f"   {line}"


def _printable(word: str) -> str:
    """A word with its control characters as escapes, which a terminal does not obey."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in word)


def _size(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _cut(text: str, width: int, *, right: bool = False) -> str:
    """A text in at most this many columns, its cut end marked; to the right of exactly this many."""
    from rich.cells import set_cell_size

    text = text if _size(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
    return " " * (width - _size(text)) + text if right else text


def _print_notes() -> None:
    from glassformer.bundled.texts import notes_about

    for each in notes_about("verb.matrix"):
        print()
        for line in _flowing(f"Note {each}".split(), _width()):
            print(line)
