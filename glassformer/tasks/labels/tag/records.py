"""Sentences with tags from files: words and their tags, or texts with spans of characters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.base.errors import DataError, MissingColumnError
from glassformer.data.readers.conll import conll_rows, joined
from glassformer.data.readers.lines import OnBad
from glassformer.data.readers.named_rows import Row, no_column
from glassformer.data.readers.rows import read_table
from glassformer.data.readers.table_format import TableFormat, conll_format, find_format, table_kind
from glassformer.scoring.bio import TagSpan, tags_of
from glassformer.tasks.labels.tag.settings import TagData
from glassformer.tasks.rows import label_of, located, text_of
from glassformer.text.words import Span, align_words, find_words


class Sentence(NamedTuple):
    """A text, its words [start, end), and their tags where known. `given`: the words were given with the text."""

    text: str
    words: tuple[Span, ...]
    tags: tuple[str, ...] | None = None
    given: bool = False


def tagged_format(path: Path) -> TableFormat:
    """Words in columns, unless the name says JSON lines or Parquet; raises DataError for .csv, which has no tags."""
    kind = table_kind(path)
    if kind == "csv":
        raise DataError(
            f"{path} must be words in columns or JSON Lines",
            got="a .csv",
            do='write a word and its tag on each line (.conll), or {"words": [...], "tags": [...]} (.jsonl)',
        )
    return find_format(path) if kind in ("jsonl", "parquet") else conll_format(path)


def tagged_rows(path: Path, data: TagData, *, bad: OnBad, tagged: bool) -> Iterator[Row]:
    """The rows of a file: `text`, `words`, `offsets`, `tags`, `spans`; with `tagged`, one without tags is bad."""
    if tagged_format(path).kind == "conll":
        for row in conll_rows(path, words=data.words, tags=data.tags if tagged else None, bad=bad):
            if tagged and "tags" not in row.values:
                raise MissingColumnError(f"{row.where} must have a column of tags", got="one column, the words")
            yield row
        return
    yield from sentence_rows(read_table(path, bad=bad), data, bad=bad, tagged=tagged)


def sentence_rows(rows: Iterable[Row], data: TagData, *, bad: OnBad, tagged: bool) -> Iterator[Row]:
    """The same for the rows of a table that names its columns; without `tagged` with their `id`, if any."""
    names = {"text": data.text, "words": data.words or "words", "tags": data.tags or "tags", "spans": data.spans}
    for row in rows:
        own = {"id": row.values["id"]} if "id" in row.values and not tagged else {}
        values = {role: row.values[name] for role, name in names.items() if row.values.get(name) is not None}
        if "words" not in values and "text" not in values:
            bad(no_column(row.where, names["text"], row.values).about(row.where, row.own))
        elif tagged and ("tags" if "words" in values else "spans") not in values:
            missing = names["tags" if "words" in values else "spans"]
            fault = no_column(row.where, missing, row.values)
            if missing == names["spans"]:
                do = f'give "{missing}": [] for a text without any; --set data.spans=NAME names another column'
                fault = MissingColumnError(fault.wanted, got=fault.got, do=do)
            bad(fault.about(row.where, row.own))
        else:
            yield Row({**_with_text(values), **own}, row.where, row.own)


def _with_text(values: dict[str, object]) -> dict[str, object]:
    """With a text where only words are there: what a tokenizer learns from, and what decides the split."""
    words = values.get("words")
    if "text" in values or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return {"text": "", **values}
    text, offsets = joined(words)
    return {**values, "text": text, "offsets": offsets}


def sentence_of(values: Mapping[str, object], where: str) -> Sentence:
    """The sentence of a row; raises DataError, with file and line, for any other row."""
    if "words" not in values:
        text = text_of(values.get("text"), where)
        found = find_words(text)
        if not found:
            raise DataError(located(where, "a text must hold words"), got=repr(text)[:60])
        tags = _from_spans(text, found, values["spans"], where) if "spans" in values else None
        return Sentence(text, tuple(found), tags)
    words = values["words"]
    if not isinstance(words, list) or not words:
        raise DataError(located(where, "the words must be a list of at least one"), got=repr(words)[:60])
    if blank := [word for word in words if not isinstance(word, str) or not word.strip()]:
        raise DataError(located(where, "each word must be a text"), got=repr(blank[0])[:60])
    text, offsets = _placed(values, words, where)
    return Sentence(text, tuple(offsets), _labels(values.get("tags"), len(words), where), given=True)


def _placed(values: Mapping[str, Any], words: Sequence[str], where: str) -> tuple[str, list[Span]]:
    if "offsets" in values:
        return values["text"], values["offsets"]
    if not values.get("text"):
        return joined(words)
    text = text_of(values["text"], where)
    offsets = align_words(text, words)
    if offsets is None:
        raise DataError(located(where, "the words must occur in the text in this order"), got=text[:60])
    return text, offsets


def _labels(tags: object, words: int, where: str) -> tuple[str, ...] | None:
    if tags is None:
        return None
    if not isinstance(tags, list) or len(tags) != words:
        got = f"{len(tags)} tags for {words} words" if isinstance(tags, list) else repr(tags)[:60]
        raise DataError(located(where, "each word must have a tag"), got=got)
    return tuple(label_of(tag, where) for tag in tags)


def _from_spans(text: str, words: Sequence[Span], spans: object, where: str) -> tuple[str, ...]:
    """BIO tags from spans of characters, which may have blanks at their ends."""
    if not isinstance(spans, list):
        raise DataError(located(where, "spans must be a list"), got=repr(spans)[:60])
    begins = {start: number for number, (start, _) in enumerate(words)}
    ends = {end: number for number, (_, end) in enumerate(words)}
    found: list[TagSpan] = []
    for span in spans:
        start, end, label = _read(span, len(text), where)
        inner = text[start:end]
        start, end = start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())
        if not inner.strip():
            raise DataError(located(where, "a span must hold a word"), got=f"blanks, {inner[:40]!r}")
        if start not in begins or end not in ends:
            raise DataError(
                located(where, "a span must begin and end with a word"),
                got=f"{text[max(start - 8, 0) : start]}[{text[start:end][:40]}]{text[end : end + 8]}",
                do="words are split at blanks and punctuation; for other words give words and tags",
            )
        found.append(TagSpan(label, begins[start], ends[end] + 1))
    found.sort(key=lambda span: span.start)
    for one, other in pairwise(found):
        if other.start < one.end:
            raise DataError(
                located(where, "spans must not overlap"),
                got=f"{one.label} and {other.label} at {text[words[other.start][0] : words[other.start][1]]!r}"[:80],
            )
    return tuple(tags_of(found, len(words)))


def _read(span: object, length: int, where: str) -> tuple[int, int, str]:
    if not isinstance(span, dict) or not {"start", "end", "label"} <= span.keys():
        raise DataError(located(where, 'a span must have "start", "end" and "label"'), got=repr(span)[:60])
    start, end = span["start"], span["end"]
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (start, end)):
        raise DataError(located(where, "a span must begin and end at a character's number"), got=repr(span)[:60])
    if not 0 <= start < end <= length:
        raise DataError(
            located(where, f"a span must lie in its text of {length:,} characters"), got=f"{start:,} to {end:,}"
        )
    return start, end, label_of(span["label"], where)
