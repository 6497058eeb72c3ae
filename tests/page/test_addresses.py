"""What page and server agree on: one schema, from which the constants of both are made."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from fastapi.routing import APIRoute

from glassformer.page.server import addresses
from glassformer.page.server.answers import place_of
from glassformer.page.server.app import application
from glassformer.page.server.asked import Asked
from glassformer.page.server.queries import ANSWERS, Query
from tests.page.serving import SENTENCES, TOKEN, desk_of

WEB = Path(__file__).parents[2] / "web"
SCHEMA: dict[str, Any] = {
    name: entry["value"] for name, entry in json.loads((WEB / "addresses.json").read_text(encoding="utf-8")).items()
}


def constants_of_page() -> dict[str, Any]:
    """The constants of the page, read as JSON: a key has quotes there, and no comma stands before a bracket."""
    text = (WEB / "src" / "sources" / "addresses.ts").read_text(encoding="utf-8")
    found = {}
    for name, literal in re.findall(r"^export const (\w+) = (.*?)(?: as const)?;$", text, re.MULTILINE | re.DOTALL):
        quoted = re.sub(r"^(\s*)(\w+):", r'\1"\2":', literal, flags=re.MULTILINE)
        found[name] = json.loads(re.sub(r",(\s*[\]}])", r"\1", quoted))
    return found


def test_page_and_server_have_the_constants_of_the_schema() -> None:
    assert SCHEMA.keys() >= {"RUN_PATH", "QUERIES", "HEADS_AT_ONCE", "ATTENTIONS"}
    assert constants_of_page() == SCHEMA
    own = {name: value for name, value in vars(addresses).items() if name.isupper()}
    assert json.loads(json.dumps(own)) == SCHEMA


class Noted(Query):
    """A query that knows what was read of it."""

    def __getattribute__(self, name: str) -> Any:
        if name in Query.model_fields:
            READ.append(name)
        return super().__getattribute__(name)


READ: list[str] = []


def test_the_server_answers_what_a_page_can_ask_for() -> None:
    app = application(desk_of(), TOKEN, Asked(model="slides", texts=SENTENCES))
    assert "/" + SCHEMA["RUN_PATH"] in {route.path for route in app.routes if isinstance(route, APIRoute)}
    assert ANSWERS.keys() == SCHEMA["QUERIES"].keys()
    for what, (_, make) in ANSWERS.items():
        READ.clear()
        make(MagicMock(), Noted(numbers="inputs.ids:0"))
        assert SCHEMA["QUERIES"][what] == READ, what


@pytest.mark.parametrize(
    ("attention", "place"),
    [
        ("encoder.blocks.3.self_attention", 0),
        ("decoder.blocks.0.self_attention", 1),
        ("decoder.blocks.0.cross_attention", 2),
        ("elsewhere.blocks.0.self_attention", 3),
    ],
)
def test_attentions_come_in_the_order_of_the_schema(attention: str, place: int) -> None:
    assert place_of(attention) == place
