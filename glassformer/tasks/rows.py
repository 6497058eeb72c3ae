"""Rows of tokens: single, as a task makes them, and in batches, as a model reads them. What a record may hold in each
role, of which rows are made: refused with file and line.

B rows · S tokens of a row, padding included · N tokens whose vocabulary scores are asked for · M most labels of a set
"""

from __future__ import annotations

import math
import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from glassformer.base.errors import ConfigError, DataError, NotFiniteError
from glassformer.base.json_text import parse_json
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.readers.rows import Columns, names_of
from glassformer.text.tokenizer import Encoding, Tokenizer
from glassformer.text.windows import Window

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.inputs import Batch

Axis = Literal["row", "set", "scored", "token"]
# Rows of a batch, and tokens of each; where a decoder reads them too, those of the source and those of the target.
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One sequence for the model. A long text has several, one for each window; a choice one for each candidate.
    `masked_words` marks masked words, `scored_at` the tokens of the row whose vocabulary scores are asked for. `labels`
    has for each loss one value for the row, a set of them (their numbers, in any order), one for each token of
    `scored_at`, or one for each token. The windows of one text share a `weight` of 1.
    """

    ids: Sequence[int]
    segments: Sequence[int] | None = None
    masked_words: Sequence[bool] | None = None
    scored_at: Sequence[int] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0


def make_row(encoding: Encoding, window: Window, tokenizer: Tokenizer, scored_at: Sequence[int] = ()) -> Row:
    """A window of a text between the special tokens; `scored_at` counts from the beginning of the text."""
    before, after = tokenizer.frame_ids
    start, end = window.start, window.end
    masked = encoding.masked_words[start:end]
    return Row(
        ids=[*before, *encoding.ids[start:end], *after],
        masked_words=[*[False] * len(before), *masked, *[False] * len(after)] if any(masked) else None,
        scored_at=[place - start + len(before) for place in scored_at],
    )


def collate(
    rows: Sequence[Row],
    *,
    pad_id: int,
    axes: Mapping[str, Axis] | None = None,
    shape: Shape | None = None,
    scored: int | None = None,
    most: int | None = None,
) -> Batch:
    """Rows as a batch. `axes` says for each loss what its labels belong to; without it the batch has no labels. Without
    a `shape` the rows are padded to the longest, and there is no mask where nothing was padded. With a shape (B, S) the
    batch is padded with copies of the last row, which have weight 0 and no labels. `scored` is the number of tokens to
    score in each row, and `most` the most labels of a set: they then are the same for all batches of one shape.
    """
    import torch  # not at the top: an answer may need no torch

    from glassformer.models.inputs import Batch, Inputs

    count, length = shape if shape is not None else (len(rows), max(len(row.ids) for row in rows))
    filled = [*rows, *[rows[-1]] * (count - len(rows))]
    sizes = np.array([len(row.ids) for row in filled])
    real = np.arange(length) < sizes[:, None]  # [B, S]
    weights = torch.tensor([row.weight for row in rows] + [0.0] * (count - len(rows)))  # [B]
    ids = _side_by_side([row.ids for row in filled], length, pad_id)
    segments, masked = None, None
    if any(row.segments is not None for row in rows):
        segments = _side_by_side([row.segments or [0] * len(row.ids) for row in filled], length, 0)
    if any(row.masked_words is not None for row in rows):
        masked = _side_by_side([row.masked_words or [False] * len(row.ids) for row in filled], length, 0).bool()
    scored_at = [index * length + place for index, row in enumerate(rows) for place in row.scored_at]
    room = len(scored_at) if scored is None else count * scored
    labels, counts = {}, {}
    if axes and (others := {name for row in rows for name in row.labels} - axes.keys()):
        raise ConfigError("labels of a row are named as the losses in axes", got=min(others), do=", ".join(axes))
    for name, axis in (axes or {}).items():
        labels[name] = _labels(rows, name, axis, count, length, room, most)
        counts[name] = math.fsum(count_of(row, name, axis) for row in rows)
    return Batch(
        inputs=Inputs(
            ids=ids,
            real=None if shape is None and real.all() else torch.from_numpy(real),
            segments=segments,
            masked_words=masked,
        ),
        labels=labels,
        counts=counts,
        row_ids=torch.arange(count, dtype=torch.int32),
        weights=weights,
        tokens=sum(len(row.ids) for row in rows if row.weight),
        scored_at=torch.tensor([*scored_at, *[0] * (room - len(scored_at))], dtype=torch.int64) if room else None,
    )


def count_of(row: Row, name: str, axis: Axis) -> float:
    """The sum of the weights of a row's labels of one loss: of the very float32 numbers that weigh the losses."""
    weight = float(np.float32(row.weight))
    if axis == "scored":
        return float(len(row.scored_at))
    if axis == "row":
        label = row.labels.get(name, IGNORED)
        return weight * (isinstance(label, float) or label != IGNORED)  # a number to predict may be -100
    if axis == "set":
        return weight * (name in row.labels)
    labels = row.labels.get(name, ())
    if isinstance(labels, array):  # of many rows numpy's set-up would be most of the time
        return weight * (len(labels) - labels.count(IGNORED))
    return weight * np.count_nonzero(np.asarray(labels) != IGNORED)


def _side_by_side(rows: Sequence[Sequence[int]], length: int, fill: int) -> Tensor:
    import torch

    table = np.full((len(rows), length), fill, np.int64)  # [B, S]
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return torch.from_numpy(table)


def _labels(rows: Sequence[Row], name: str, axis: Axis, count: int, length: int, room: int, most: int | None) -> Tensor:
    """The labels of one loss, with IGNORED where there is none: [B], [B, M], [N] or [B, S]."""
    import torch

    if axis == "row":
        values = [row.labels.get(name, IGNORED) for row in rows]
        return torch.tensor([*values, *[IGNORED] * (count - len(rows))])  # [B]
    if axis == "scored":
        flat = [label for row in rows for label in row.labels[name]]
        return torch.tensor([*flat, *[IGNORED] * (room - len(flat))], dtype=torch.int64)  # [N]
    missing: list[int] = []
    values = [*(row.labels.get(name, missing) for row in rows), *[missing] * (count - len(rows))]
    if axis == "set":
        length = max(map(len, values)) if most is None else most
    return _side_by_side(values, length, IGNORED)


def located(where: str, sentence: str) -> str:
    return f"{where}: {sentence}" if where else sentence


def not_finite(wanted: str, text: str) -> NotFiniteError:
    do = "its training diverged: train it again with a lower learning rate"
    return NotFiniteError(wanted, got=f"NaN for {text[:40]!r}", do=do)


def known_label(value: object, numbers: Mapping[str, int], where: str) -> int:
    number = numbers.get(label_of(value, where))
    if number is None:
        shown = ", ".join(list(numbers)[:10]) + (" …" if len(numbers) > 10 else "")
        raise DataError(
            located(where, "a label must be one of those of the training records"),
            got=repr(value)[:60],
            do=f"known: {shown}"[:300],
        )
    return number


def label_of(value: object, where: str) -> str:
    """A label as a string, in the Unicode form NFC. Raises DataError for an empty one, NaN, and a list."""
    if isinstance(value, bool):
        return str(value).lower()  # as JSON writes it, and most tables
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):  # what pandas writes where there is none
            raise DataError(located(where, "a label must be a word or a number"), got=repr(value))
        value = int(value) if value == int(value) else float(value)
    if isinstance(value, str | int | float) and str(value).strip():
        return unicodedata.normalize("NFC", str(value).strip())
    do = "where a text has several labels, set task.several = true" if isinstance(value, list) else ""
    raise DataError(located(where, "a label must be a word or a number"), got=repr(value)[:60], do=do)


def labels_of(value: object, where: str, separator: str) -> list[str]:
    """The labels of a list, or of a string in which they are separated; none in an empty one. A list may be written as
    JSON in its cell, as answers in a table are. Raises DataError.
    """
    if isinstance(value, str) and value.strip()[:1] == "[":
        with suppress(ValueError):
            value = parse_json(value)
    if isinstance(value, str):
        return [label_of(part, where) for part in value.split(separator) if part.strip()]
    if not isinstance(value, list):
        raise DataError(located(where, "labels must be a list, or words in one cell"), got=repr(value)[:60])
    return [label_of(each, where) for each in value]


def text_of(value: object, where: str, role: str = "text") -> str:
    """A text of a record; raises DataError for an empty one and for a value that is not a text."""
    if isinstance(value, str) and value.strip():
        return value
    raise DataError(located(where, f"the {role} must hold words"), got=repr(value)[:60])


def check_columns(columns: Mapping[str, Columns | None]) -> dict[str, Columns]:
    """The columns that are asked for; raises ConfigError when two roles name the same one."""
    named = {role: column for role, column in columns.items() if column is not None}
    names = names_of(named)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        roles = [role for role, of in named.items() for name in ([of] if isinstance(of, str) else of) if name == twice]
        raise ConfigError(
            "each column has one role", got=f"column {twice!r} as {' and '.join(roles)}", do="name different columns"
        )
    return named
