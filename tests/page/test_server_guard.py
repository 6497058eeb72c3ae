"""Who may ask the server, how much, and for how long; each refusal is one of our sentences."""

import asyncio
import base64
import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from glassformer.bundled.texts import slides_model
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import Desk
from glassformer.page.server.guard import HEADERS, Guard
from glassformer.page.server.offers import Models, Offer
from glassformer.run.serving.guard import MOST_BYTES, hostname
from tests.page.serving import HOST, SENTENCES, TOKEN, Page, desk_of, run, served


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with served(desk_of()) as page:
        yield page


ROUTES = [
    "",
    "script/core.js",
    "script/core.css",
    "api/models",
    "api/tour",
    "api/models/slides/vocabulary",
    "api/models/slides/weights",
    f"api/runs/{'0' * 32}",
    f"api/runs/{'0' * 32}/numbers",
    f"api/runs/{'0' * 32}/explain",
    "api/nothing",
]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("token", ["", "another", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "%2e%2e", "ä"])
def test_without_the_token_there_is_nothing(page: Page, path: str, token: str) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        answer = page.client.request(method, f"/{token}/{path}" if token else f"/{path}")
        page.error(answer, 403)
        assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "127.0.0.2", "[::]"],
)
def test_another_host_is_refused(page: Page, host: str) -> None:
    for path in ROUTES:
        page.error(page.client.get(f"/{TOKEN}/{path}", headers={"Host": host}), 403)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:9", "[::1]:8000", "LOCALHOST"])
def test_every_name_of_this_machine_is_answered(page: Page, host: str) -> None:
    assert page.client.get(f"/{TOKEN}/", headers={"Host": host}).status_code == 200
    assert page.client.get(f"/{TOKEN}/", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", f"{HOST}0", "https://127.0.0.1:8000", "http://localhost:8000"]
)
def test_another_origin_is_refused(page: Page, origin: str) -> None:
    for path in ROUTES:
        page.error(page.client.get(f"/{TOKEN}/{path}", headers={"Origin": origin}), 403)
    body = json.dumps({"model": "slides", "texts": SENTENCES})
    page.error(page.client.post(f"/{TOKEN}/api/runs", content=body, headers={"Origin": origin}), 403)


def test_hosts_that_are_no_hosts() -> None:
    assert [hostname(host) for host in ("a/b", "a b", "a:x", "a:99999", "[::1", "a:0", "a#b", "a?b", "a\\b")] == [
        None
    ] * 9


@pytest.mark.parametrize("path", ["", "api/models", "api/nothing"])
def test_every_answer_has_the_headers_that_protect_the_page(page: Page, path: str) -> None:
    answers = [page.get(path), page.client.get(f"/{path}"), page.client.get(f"/{TOKEN}/{path}", headers={"Host": "x"})]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'self'" in HEADERS["Content-Security-Policy"]


def test_a_page_carries_no_script_of_its_own(page: Page) -> None:
    text = page.get("").text
    assert '<script type="module" src="script/core.js"></script>' in text
    assert text.count("<script") == 1
    assert page.get("script/core.js").headers["content-type"].startswith("text/javascript")
    assert page.get("script/core.css").headers["content-type"].startswith("text/css")


def test_what_comes_with_the_page_is_what_the_page_would_ask_for_and_no_script() -> None:
    name = "</script><!--<script>"
    desk = Desk(Models([Offer(name, slides_model(), SENTENCES)], device="cpu"))
    start = Asked(model=name, texts=SENTENCES[:2])
    desk.begin(start)
    with served(desk, start) as page:
        text = page.get("").text
        found = dict(re.findall(r'<script type="application/json" id="(\w+)">([^<]*)</script>', text))
        ((block, numbers),) = re.findall(
            r'<script type="application/octet-stream" id="(\w+)">([\w+/=]*)</script>', text
        )
        assert text.count("<script") == text.count("</script") == 2 + len(found)
        sent = {**found, block: base64.b64decode(numbers)}
        assert set(sent) == {"models", "run", "vocabulary", "numbers"}
        assert json.loads(sent["models"]) == page.get("api/models").json()
        assert json.loads(sent["run"]) == page.post(start.model_dump_json()).json()
        assert json.loads(sent["vocabulary"]) == page.get(f"api/models/{quote(name, safe='')}/vocabulary").json()
        assert sent["numbers"] == page.get(f"api/runs/{start.key}/numbers").content


PATHS = [
    "../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/pyproject.toml",
    "explorer.js",
    "script",
    "script/",
    "script/core.js/",
    "script/core.js%00",
    "script/../explorer.js",
    "explorer.css",
    "script/%2e%2e%2fexplorer.js",
    "./script/core.css/../../../x",
    "//explorer.js",
    "built/explorer.js",
    "api",
    "api/",
    "api/models/",
    "api/models/..",
    "api/models/slides",
    "docs",
    "openapi.json",
    "redoc",
    "favicon.ico",
    "x" * 3000,
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", PATHS)
def test_paths_that_are_none_lead_nowhere(page: Page, path: str) -> None:
    # A path with dots may lead out of the token's folder, or to the page itself: never to a file.
    answer = page.client.get(f"{HOST}/{TOKEN}/{path}")
    assert answer.status_code in (403, 404), answer.text
    page.error(answer, answer.status_code)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", ""), ("GET", "api/runs"), ("PUT", "api/runs"), ("DELETE", "api/models")]
)
def test_other_methods_are_refused(page: Page, method: str, path: str) -> None:
    page.error(page.client.request(method, f"/{TOKEN}/{path}"), 405)


# --------------------------------------------------------------------------- how much, how long


def test_a_large_body_is_refused_before_it_is_read(page: Page) -> None:
    for size in (MOST_BYTES + 1, 10 * MOST_BYTES):
        assert str(f"{MOST_BYTES:,}") in page.error(page.post(b" " * size), 413)["wanted"]
    headers = {"Content-Length": "9" * 30}
    page.error(page.client.post(f"/{TOKEN}/api/runs", content=b"{}", headers=headers), 413)


class Client:
    """One request over ASGI: what it sends and what it gets."""

    def __init__(self, *messages: Message, path: str = f"/{TOKEN}/", host: str = "localhost") -> None:
        self.scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", host.encode())],
        }
        self.messages, self.got = list(messages), list[Message]()

    async def receive(self) -> Message:
        if not self.messages:
            await asyncio.Event().wait()
        return self.messages.pop(0)

    async def send(self, message: Message) -> None:
        self.got.append(message)

    async def ask(self, guard: Guard) -> Any:
        await guard(self.scope, self.receive, self.send)
        return None if not self.got else self.got[0]["status"]


BEGUN: Message = {"type": "http.request", "body": b"{", "more_body": True}
WHOLE: Message = {"type": "http.request", "body": b"", "more_body": False}
GONE: Message = {"type": "http.disconnect"}


class Slow:
    """An application that answers when it is let, and knows whether it was stopped."""

    def __init__(self) -> None:
        self.let, self.stopped = asyncio.Event(), False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.stopped = True
            raise
        await PlainTextResponse("done")(scope, receive, send)


def test_a_body_that_does_not_end_is_given_up() -> None:
    client = Client(BEGUN)
    assert run(client.ask(Guard(Slow(), TOKEN, seconds_to_read=0.05))) == 504
    endless = Client(*[{"type": "http.request", "body": b" " * 300_000, "more_body": True}] * 9)
    assert run(endless.ask(Guard(Slow(), TOKEN))) == 413
    assert len(endless.messages) == 5


def test_an_answer_that_takes_too_long_is_stopped() -> None:
    async def scene() -> None:
        slow = Slow()
        assert await Client(WHOLE).ask(Guard(slow, TOKEN, seconds_to_answer=0.05)) == 504
        assert slow.stopped

    run(scene())


def test_nothing_is_done_for_one_who_has_gone() -> None:
    async def scene() -> None:
        slow = Slow()
        guard = Guard(slow, TOKEN)
        assert await Client(WHOLE, GONE).ask(guard) is None
        assert slow.stopped
        assert await Client(BEGUN, GONE).ask(guard) is None
        assert guard.at_once == 0

    run(scene())


def test_so_many_at_once_and_no_more() -> None:
    async def scene() -> None:
        slow = Slow()
        guard = Guard(slow, TOKEN, most_at_once=3)
        waiting = [asyncio.ensure_future(Client(WHOLE).ask(guard)) for _ in range(3)]
        await asyncio.sleep(0)
        refused = Client(WHOLE)
        assert await refused.ask(guard) == 503
        assert (b"retry-after", b"1") in refused.got[0]["headers"]
        slow.let.set()
        assert await asyncio.gather(*waiting) == [200] * 3
        assert guard.at_once == 0

    run(scene())


def test_an_error_of_ours_is_reported_in_a_sentence(logged: list[logging.LogRecord]) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    client = Client(WHOLE)
    assert run(client.ask(Guard(broken, TOKEN))) == 500
    assert b"ZeroDivisionError" in client.got[1]["body"]
    assert b"Traceback" not in client.got[1]["body"]
    assert any("ZeroDivisionError" in logging.Formatter().format(record) for record in logged)


def test_a_web_socket_is_closed() -> None:
    client = Client()
    client.scope = {**client.scope, "type": "websocket"}
    run(Guard(Slow(), TOKEN)(client.scope, client.receive, client.send))
    assert client.got == [{"type": "websocket.close", "code": 1008}]
