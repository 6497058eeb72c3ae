"""Bodies that would take seconds to check keep no other client waiting: they are refused, or the first error is found
and no other.
"""

import json
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from glassformer.base.settings import Settings
from glassformer.run.serving.forms import forms
from glassformer.run.serving.openai import ChatRequest, EmbeddingsRequest

REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("v1/english/fill", {"texts": ["a [MASK]"] * 70_001}, 413, "70,000 values"),
    ("v1/english/fill", {f"k{number}": 1 for number in range(101)}, 413, "100 names"),
    ("v1/chat/chat", {"records": [{"turns": [{"role": "a", "content": "b"}] * 30_000}]}, 413, "70,000 values"),
    ("v1/embeddings", {"model": "sentences", "input": [5] * 70_000}, 413, "70,000 values"),
    ("v1/writer/generate", {"texts": ["a"], "forbidden": [f"x{number}" for number in range(1025)]}, 413, "forbidden"),
    ("v1/writer/generate", {"texts": ["a"], "stop": ["x" * 65_537]}, 413, "stop"),
    ("v1/english/fill", {"texts": ["a [MASK]"], "expect": ["x" * 65_537]}, 413, "expect"),
    ("tokenize", {"model": "english", "texts": ["a"] * 1025}, 413, "1,024 records"),
    ("tokenize", {"model": "english", "texts": ["the cat " * 40_000]}, 413, "65,536 tokens"),
    # A second of the processor to read, and then few tokens or none.
    ("v1/sentences/embed", {"texts": [" " * 3_900_000]}, 413, "262,144 characters"),
    ("v1/sentences/embed", {"texts": ["a" * 3_900_000]}, 413, "262,144 characters"),
    ("v1/sentences/embed", {"texts": [" " * 250_000] * 15}, 413, "1,048,576 characters"),
    ("v1/chat/chat", {"records": [{"turns": ["a", " " * 300_000, "b"]}]}, 413, "262,144 characters"),
    ("v1/embeddings", {"model": "sentences", "input": " " * 3_900_000}, 413, "262,144 characters"),
    ("tokenize", {"model": "english", "texts": [" " * 1_100_000]}, 413, "1,048,576 characters"),
    ("tokenize", {"model": "english", "texts": ["\ud800"]}, 400, "UTF-8"),
    ("v1/embeddings", {"model": "english" * 100_000, "input": "a"}, 404, "no model"),
    ("v1/english/fill", {"e" * 1_000_000: 1}, 400, "no setting"),
    ("v1/sentences/embed", {"texts": ["a"], "strategy": ["l" * 60_000]}, 400, "no strategy"),
    ("v1/sentences/embed", {"texts": ["a"], "strategy": ["concat:0" + ",0" * 100]}, 400, "no strategy"),
    ("v1/sentences/embed", {"texts": ["a b c"] * 1000, "strategy": ["0", "1", "2", "3", "4", "5", "last", "sum-all"],
                            "pooling": ["mean", "max", "first"]}, 413, "4,000,000 numbers"),
    ("v1/english/fill", {"texts": ["[MASK] " * 100] * 12, "top": 1000}, 413, "4,000,000 numbers"),
    ("v1/sentences/embed", {"texts": ["a"], "strategy": ["mix:/etc/passwd"]}, 400, "no file is read"),
    ("v1/embeddings", {"model": "sentences", "input": "a", "strategy": "mix:/etc/passwd"}, 400, "no file is read"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "word"), REFUSED)
def test_what_asks_for_too_much_is_refused_in_a_short_sentence(
    client: TestClient, path: str, body: dict[str, Any], status: int, word: str
) -> None:
    answer = client.post(f"/{path}", content=json.dumps(body))
    assert (answer.status_code, word in answer.json()["error"]["message"]) == (status, True), answer.text[:300]
    assert len(answer.content) < 20_000


WRONG: list[tuple[type[Settings], dict[str, Any]]] = [
    (forms()["fill"].body, {"texts": [1] * 1000}),
    (forms()["fill"].body, {"records": [{}] * 1000}),
    (forms()["generate"].body, {"texts": ["a"], "stop": [1] * 1000}),
    (ChatRequest, {"model": "chat", "messages": [{}] * 1000}),
    (forms()["chat"].body, {"records": [{"turns": [1] * 1000}]}),
    (EmbeddingsRequest, {"model": "sentences", "input": [True] * 1000}),
    (EmbeddingsRequest, {"model": "sentences", "input": [[True]] * 1000}),
]


@pytest.mark.parametrize(("kind", "body"), WRONG)
def test_checking_ends_at_the_first_error(kind: type[Settings], body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        kind.model_validate_json(json.dumps(body))
    assert refused.value.error_count() < 10
