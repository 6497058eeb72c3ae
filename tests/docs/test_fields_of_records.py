"""The fields of records are those that the page on records lists."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.cli.look.heads import as_records
from glassformer.look.summaries.head_jobs import heads
from glassformer.look.texts.importance import head_importance
from tests.translators import ENGLISH, FRENCH, translating

PAGE = "docs/reference/records.md"


def listed(page: str, section: str, table: int = 0) -> set[str]:
    """The fields of a table of a section."""
    (text,) = re.findall(rf"^## {re.escape(section)}$(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    rows = text.split("|---|---|\n")[1 + table].split("\n\n")[0].splitlines()
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / PAGE).read_text(encoding="utf-8")


def as_read(found: Any) -> Mapping[str, Any]:
    """A record as a program reads it."""
    record: dict[str, Any] = json.loads(json.dumps(found.to_dict()))
    return record


def test_a_translation_has_the_fields_that_are_listed(page: str) -> None:
    record = as_read(translating().translate(ENGLISH[0], beams=3, n_best=2, max_tokens=6, alignment=True))
    assert record.keys() == listed(page, "The fields of `translate`")
    for token in record["tokens"]:
        assert token.keys() == listed(page, "The fields of `translate`", 1)
    assert record["n_best"][0].keys() == {"translation", "score", "log_probability"}
    assert record["n_best"][0]["translation"] == record["translation"]
    assert all(link.keys() == {"source", "target", "weight"} for link in record["alignment"])
    assert record["log_probability"] == pytest.approx(sum(each["log_probability"] for each in record["tokens"]))


def test_a_head_has_the_fields_that_are_listed(page: str) -> None:
    model = load("english")
    found = heads(model.trace("She likes the summer."))
    (record, *_) = as_records(found, head_importance(model, "She likes the summer."))
    assert record.keys() == listed(page, "The fields of `heads`")
    assert record["lost"].keys() == listed(page, "The fields of `heads`", 1)


def test_a_score_has_the_fields_that_are_listed(page: str) -> None:
    record = as_read(translating().score(ENGLISH[0], FRENCH[0]))
    assert record.keys() == listed(page, "The fields of `score`")
    assert all(token.keys() == listed(page, "The fields of `translate`", 1) for token in record["tokens"])
    *words, end = record["tokens"]
    assert "".join(token["text"] for token in words).strip() == FRENCH[0]
    assert end["start"] == end["end"] == len(FRENCH[0])
    for token in words:
        assert FRENCH[0][token["start"] : token["end"]] == token["text"].strip()
