"""What the page on serving shows under its first request is what a server answers."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

LIMITS = re.compile(r"^\| [^|]+ \| (`\w+`(?:, `\w+`)?) \| [\d,;: ]+ \|", re.MULTILINE)
ANSWERED = re.compile(r"^```sh\n(curl [^\n]*)\n```\n\n```json\n(.*?)^```", re.MULTILINE | re.DOTALL)


def rounded(value: Any) -> Any:
    """With four digits, as the page has them."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return (
        [rounded(each) for each in value]
        if isinstance(value, list)
        else round(value, 4)
        if isinstance(value, float)
        else value
    )


def test_the_first_request_is_answered_as_the_page_shows(client: TestClient, repository: Path) -> None:
    page = (repository / "docs" / "do" / "serving.md").read_text(encoding="utf-8")
    ((command, shown),) = ANSWERED.findall(page)
    _, address, _, body = shlex.split(command)
    answer = client.post(address.removeprefix("http://127.0.0.1:8000"), content=body)
    assert rounded(answer.json()) == json.loads(shown)


def test_the_page_has_the_limits_of_info(client: TestClient, repository: Path) -> None:
    page = (repository / "docs" / "do" / "serving.md").read_text(encoding="utf-8")
    named = [name for cell in LIMITS.findall(page) for name in re.findall(r"\w+", cell)]
    limits = client.get("/info").json()["limits"]
    assert sorted(named) == sorted(limits)
    for row in LIMITS.finditer(page):
        shown = {int(number.replace(",", "")) for number in re.findall(r"[\d,]+", row[0].split("|")[3])}
        assert {int(limits[name]) for name in re.findall(r"\w+", row[1])} <= shown
