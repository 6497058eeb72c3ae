"""Questions about passages: SQuAD's nested JSON as rows of a table, and where an answer is in its passage.

The format is that of SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018): data → paragraphs → qas → answers.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.base.errors import DataError
from glassformer.base.json_text import parse_json
from glassformer.data.readers.lines import OnBad, read_lines, stop
from glassformer.data.readers.named_rows import Row, half_character, no_column, no_json

# The columns that such a file has as a table.
COLUMNS = ("id", "question", "context", "answers")
# Characters around a stated offset in which an answer is looked for that does not stand there.
NEAR = 20

_SHAPE = 'JSON as SQuAD has it: {"data": [{"paragraphs": [{"context": "...", "qas": [...]}]}]}'
_PART = 1 << 20


class StatedAnswer(NamedTuple):
    """An answer as a row states it: its text, and the character where it starts, None where the row does not say."""

    text: str
    start: int | None


def squad_rows(
    path: Path, columns: Sequence[str] = (), *, optional: Sequence[str] = (), bad: OnBad = stop
) -> Iterator[Row]:
    """A row for each question; rows of one passage share its string. The file is read as a whole. Raises DataError for
    damaged JSON; what cannot be used goes to `bad` with its place (`data[3].paragraphs[2].qas[0]`).
    """
    for paragraph, place in _paragraphs(path, bad):
        context, questions = paragraph.get("context"), paragraph.get("qas")
        if not isinstance(questions, list):
            bad(DataError(f"{place} must have a list qas", got=repr(questions)[:60]).about(place, paragraph))
            continue
        for number, question in enumerate(questions):
            where = f"{place}.qas[{number}]"
            if not isinstance(question, dict):
                bad(_no_object(where, question))
                continue
            where = f"{where} (id {str(question['id'])[:40]})" if "id" in question else where
            values = {name: question[name] for name in ("id", "question", "answers") if name in question}
            values["context"] = context
            own = {**question, "context": context}
            if question.get("is_impossible") is True and values.setdefault("answers", []):
                bad(DataError(f"{where} must have answers or be impossible", got="both").about(where, own))
                continue
            if missing := [column for column in columns if column not in values]:
                bad(no_column(where, missing[0], values).about(where, own))
            elif half := half_character([values.get("question"), context]):
                bad(DataError(f"{where} must be text", got=f"{half!r}, half of a character").about(where, own))
            else:
                asked = [*columns, *(name for name in optional if name in values)] if columns else values
                yield Row({name: values[name] for name in asked}, where, own)


def _paragraphs(path: Path, bad: OnBad) -> Iterator[tuple[Mapping[str, Any], str]]:
    try:
        whole = parse_json(_text_of(path), marked=True)
    except ValueError as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise no_json(f"{path}{line}", error) from None
    articles = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(articles, list):
        do = "write other JSON with one object per line, as .jsonl"
        raise DataError(f"{path} must be {_SHAPE}", got="no list under data", do=do)
    for number, article in enumerate(articles):
        where = f"{path}, data[{number}]"
        if not isinstance(article, dict):
            bad(_no_object(where, article))
            continue
        paragraphs = article.get("paragraphs")
        if not isinstance(paragraphs, list):
            bad(DataError(f"{where} must have a list paragraphs", got=repr(paragraphs)[:60]).about(where, article))
            continue
        for place, paragraph in enumerate(paragraphs):
            if isinstance(paragraph, dict):
                yield paragraph, f"{where}.paragraphs[{place}]"
            else:
                bad(_no_object(f"{where}.paragraphs[{place}]", paragraph))


def _no_object(where: str, value: object) -> DataError:
    return DataError(f"{where} must be a JSON object", got=repr(value)[:60]).about(where, value)


def _text_of(path: Path) -> str:
    parts: list[str] = []
    number = 1
    for part in read_lines(path, longest=_PART):  # a line of any length
        parts.append("\n" * (part.number - number) + part.text)
        number = part.number
    return "".join(parts)


def stated_answers(value: object, where: str) -> tuple[StatedAnswer, ...]:
    """The answers of a row, lists or JSON of {"text", "start" or "answer_start"}, or none. Raises DataError."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = parse_json(value)
        except ValueError:
            value = [value]
    if isinstance(value, Mapping):
        texts, starts = value.get("text"), value.get("answer_start", value.get("start"))
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            value = [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]
        else:
            value = [value]
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise _no_answers(where, value)
    return tuple(_stated(each, where) for each in value)


def _stated(value: object, where: str) -> StatedAnswer:
    text, start = value, None
    if isinstance(value, Mapping):
        text, start = value.get("text"), value.get("start", value.get("answer_start"))
    if not isinstance(text, str) or not text.strip():
        raise _no_answers(where, value)
    if start is not None and (not isinstance(start, int) or isinstance(start, bool)):
        raise _no_answers(where, value)
    return StatedAnswer(text, start)


def _no_answers(where: str, value: object) -> DataError:
    return DataError(
        f"{where}: answers must be texts of the passage" if where else "answers must be texts of the passage",
        got=repr(value)[:60],
        do='write [{"text": "...", "start": 17}], counted in characters from 0, and [] where there is no answer',
    )


def placed(context: str, answer: StatedAnswer) -> int | None:
    """Where an answer starts: where it says, else within NEAR characters, else where its text occurs once; or None."""
    text, start = answer
    if start is not None and start >= 0:
        if context.startswith(text, start):
            return start
        around = range(max(0, start - NEAR), start + NEAR + 1)
        if near := [place for place in around if context.startswith(text, place)]:
            return min(near, key=lambda place: abs(place - start))
    first = context.find(text)
    return first if first >= 0 and context.find(text, first + 1) < 0 else None
