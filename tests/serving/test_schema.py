"""Requests made at random from the OpenAPI document, valid and not: each is answered, or refused in a sentence."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starlette.testclient import TestClient

from glassformer.api.model import Model
from tests.serving.servers import LOCAL, served_by
from tests.talkers import talking
from tests.translators import translating

LIMITS: dict[str, Any] = {"new_tokens": 6, "beams": 2, "records": 3, "tokens": 64}


@pytest.fixture(scope="module")
def small(untrained: dict[str, Model]) -> Iterator[TestClient]:
    """Models of a few thousand weights for most verbs."""
    models = {**untrained, "talker": talking(), "translator": translating()}
    with TestClient(served_by(models, **LIMITS), base_url=LOCAL) as client:
        yield client


def test_the_document_is_whole(small: TestClient) -> None:
    """Each reference in it leads somewhere, and each route of the page is in it."""
    document = small.get("/openapi.json").json()
    text = small.get("/openapi.json").text
    named = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert named == set(document["components"]["schemas"])
    page = small.get("/docs").text
    assert "http" not in page  # it needs nothing from elsewhere
    assert all(path in page for path in document["paths"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("valid", [True, False])
def test_requests_at_random_are_answered_or_refused(small: TestClient, valid: bool) -> None:
    import schemathesis
    from schemathesis.generation import GenerationMode

    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    schema = schemathesis.openapi.from_dict(small.get("/openapi.json").json())
    statuses = set()
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if not valid and not operation.body:
            continue  # there is nothing to send

        @settings(
            max_examples=5, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            try:
                content = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
            except TypeError:  # no body
                content = b""
            answer = small.request(case.method, case.formatted_path, content=content)
            statuses.add(answer.status_code)
            assert answer.status_code in (200, 400, 404, 405, 413), answer.text
            if answer.status_code != 200:
                assert answer.json()["error"]["wanted"]

        ask()
    assert 400 in statuses
    assert (200 in statuses) == valid
