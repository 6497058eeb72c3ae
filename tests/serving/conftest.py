"""Servers of the bundled models, and of small ones of each task, in this process."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

import glassformer as gf
from glassformer.api.model import Model
from tests.run.heads import TAGS, model_for
from tests.serving.servers import LOCAL, served_by

BUNDLED = ("english", "sentences", "next-sentence", "en-fr", "writer", "chat")


@pytest.fixture(scope="session")
def bundled() -> dict[str, Model]:
    return {name: gf.load(name, device="cpu", engine="torch") for name in BUNDLED}


@pytest.fixture(scope="session")
def untrained() -> dict[str, Model]:
    return {
        "chooser": model_for("choose", {}),
        "tagger": model_for("tag", {"labels": TAGS}),
        "reader": model_for("answer", {}),
        "classifier": model_for("classify", {"labels": ("a", "b", "c")}),
    }


@pytest.fixture(scope="session")
def client(bundled: dict[str, Model], untrained: dict[str, Model]) -> Iterator[TestClient]:
    with TestClient(served_by({**bundled, **untrained}), base_url=LOCAL) as client:
        yield client


@pytest.fixture
def ask(client: TestClient) -> Any:
    """What a verb answers, by the names of a model and the verb, and the body."""

    def asked(model: str, verb: str, **body: object) -> list[dict[str, Any]]:
        answer = client.post(f"/v1/{model}/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["answers"])

    return asked
