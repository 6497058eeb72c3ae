"""What comes from outside stays what it is: words that look like code or turn the text round, requests made of chance,
many clients at once.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import tracemalloc
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import slides_model
from glassformer.look.trace.cell import Words
from glassformer.page.page import page as page_of
from glassformer.page.server.app import application
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import Desk
from glassformer.page.server.offers import Models, Offer
from glassformer.run.serving.refusals import STATUS
from tests.look.rows import row_named
from tests.page.serving import ATTENTION, SENTENCES, TOKEN, desk_of, run, served
from tests.page.test_server_browser import serving
from tests.page.watched import at_rest, reach, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = (
    "<img src=x onerror=document.title='broken'>",
    "</script><script>document.title='broken'</script>",
    "<!--",
    "javascript:document.title='broken'",
    "&lt;b&gt;",
    "${document.title='broken'}",
    "a\u202egnp.exe",
    "\u2066\u2069\u200f",
    "\x00\x07\x1b[31m",
    "\ud800",
    "\u0665\u0640",
)
SHOWN = {"a\u202egnp.exe": "a<U+202E>gnp.exe", "\ud800": "<U+D800>", "\x00\x07\x1b[31m": "<U+0000><U+0007><U+001B>[31m"}


def evil_trace() -> Trace:
    """A run whose words, vocabulary and answers are all of the kind that breaks pages."""
    bert = row_named("bert")
    inputs, _ = bert.batch(padding="none")
    sentences, tokens = inputs.shape
    words = [
        [EVIL[(sentence * tokens + place) % len(EVIL)] for place in range(tokens)] for sentence in range(sentences)
    ]
    return trace(
        bert.model(dtype=torch.float32),
        inputs,
        words=Words(inputs=words, vocabulary=list(EVIL) * 9, answers={(0, 0): EVIL[0], (0, 1): EVIL[6]}),
    )


def test_such_words_stay_words_in_the_page(browser: Browser, tmp_path: Path) -> None:
    found = evil_trace()
    for place, title in enumerate((EVIL[0], EVIL[6], EVIL[9])):
        file = tmp_path / f"{place}.html"
        found.to_html(file, title=title)
        file.read_bytes().decode("utf-8")
    wrong: list[str] = []
    with watched(browser, offline=True, idles=True) as page:
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
        for level in ("model", "heads", "head", "block", "tensor", "number"):
            reach(page, file, f"level={level}&tensor={ATTENTION}.weights&cell=0,0,1,1")
            page.wait_for_selector("main canvas, main svg")
            for twin in page.locator("details.twin > summary").all():
                twin.click()
            at_rest(page)  # the rows are made when it is opened
            assert page.locator("img, iframe, object, embed, main script, aside script").count() == 0
            assert "broken" not in page.title()
            text = page.locator("body").inner_text()
            for mark in "\u202e\u2066\x00\x1b":
                assert mark not in text, (level, hex(ord(mark)))
        page.goto(f"{file.as_uri()}#level=block&tensor={ATTENTION}.weights&cell=0,0,1,1")
        page.wait_for_selector(".sentence")
        written = page.locator(".sentence").first.inner_text()
        assert EVIL[0] in written
        assert SHOWN[EVIL[6]] in written
    assert wrong == []


def test_such_words_stay_words_in_a_notebook() -> None:
    found = evil_trace()
    explained = found.explain(f"{ATTENTION}.weights", {"sentence": 0, "head": 0, "query": 1, "key": 1})
    for html in (explained._repr_html_(), getattr(found, "_repr_html_", lambda: "")()):
        assert "<img" not in html
        assert "<script" not in html


def test_the_file_of_such_a_run_holds_no_element_of_its_words() -> None:
    html = page_of(evil_trace(), title=EVIL[1])
    head, _, rest = html.partition("<body>")
    assert "<script" not in head
    assert "onerror" not in rest.partition('<script type="module">')[0]


# --------------------------------------------------------------------------- names of models


@pytest.mark.parametrize("name", ["a/b", "/tmp/a b", "ä b", "a?b#c", "../x", EVIL[0]])
def test_a_model_is_served_under_any_name(name: str) -> None:
    desk = Desk(Models([Offer(name, slides_model(), SENTENCES)], device="cpu"))
    with served(desk) as page:
        assert page.get("api/models").json()["models"][0]["name"] == name
        found = page.overview(name)
        assert found["asked"]["model"] == name
        for what in ("vocabulary", "weights"):
            answer = page.client.get(f"/{TOKEN}/api/models/{quote(name, safe='')}/{what}")
            assert answer.status_code == 200, answer.text


# --------------------------------------------------------------------------- requests of chance

ALLOWED = {200, 204, 400, *STATUS.values()} - {500}
CHANCE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
STEPS = st.sampled_from(
    ["api", "runs", "models", "slides", "tensor", "picture", "heads", "explain", "numbers", "honesty", "vocabulary",
     "weights", "0" * 32, "..", ".", "", "%2e%2e", "explorer.js", "\x00", "ä", "a" * 300]
) | st.text(max_size=6)  # fmt: skip
QUERY = st.sampled_from(
    [f"name={ATTENTION}.weights", "part=0,:", "cell=0,0,0,0", "rows=1", "columns=99999999999", "scale=signed",
     "sentence=-1", "attention=*", "name=%00", "name=" + "x" * 500, "part=::::", "cell=" + "9," * 40, "=&=&", "%",
     "\ud800"]
) | st.text(max_size=8)  # fmt: skip
METHOD = st.sampled_from(["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH", "TRACE"])
HEADERS = st.dictionaries(
    st.sampled_from(["accept-encoding", "origin", "content-type", "content-length", "range", "cookie", "x"]),
    st.binary(max_size=12) | st.sampled_from([b"gzip", b"http://127.0.0.1", b"-1", b"bytes=0-1", b"9" * 40]),
    max_size=3,
)


class Raw:
    """One request as bytes: what a client may send that no library would."""

    def __init__(self, method: str, path: str, query: str, headers: dict[str, bytes], body: bytes) -> None:
        raw = quote(path, safe="/%.", errors="surrogatepass").encode()
        self.scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "method": method,
            "path": path.encode("utf-8", "replace").decode(),
            "raw_path": raw,
            "root_path": "",
            "query_string": query.encode("utf-8", "surrogatepass"),
            "headers": [(b"host", b"127.0.0.1"), *((name.encode(), value) for name, value in headers.items())],
        }
        self.body: bytes | None = body
        self.got = list[Any]()

    async def receive(self) -> dict[str, Any]:
        if self.body is None:
            await asyncio.Event().wait()
        body, self.body = self.body, None  # it is sent once
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        self.got.append(message)


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    desk = desk_of(most_runs=3)
    yield application(desk, TOKEN, Asked(model="slides", texts=SENTENCES))
    desk.close()


@CHANCE
@example(method="GET", path=["nothing"], query=["\ud800"], headers={}, body=b"")  # a query that is not UTF-8
@given(
    method=METHOD,
    path=st.lists(STEPS, max_size=6),
    query=st.lists(QUERY, max_size=4),
    headers=HEADERS,
    body=st.binary(max_size=60) | st.just(json.dumps({"model": "slides", "texts": SENTENCES}).encode()),
)
def test_any_request_is_answered_in_a_sentence_and_in_time(
    app: Any, method: str, path: list[str], query: list[str], headers: dict[str, bytes], body: bytes
) -> None:
    asked = Raw(method, f"/{TOKEN}/" + "/".join(path), "&".join(query), headers, body)
    began = time.process_time()
    run(app(asked.scope, asked.receive, asked.send))
    assert time.process_time() - began < 5
    status = asked.got[0]["status"]
    assert status in ALLOWED, (method, path, query)
    answer = b"".join(message.get("body", b"") for message in asked.got[1:])
    assert b"Traceback" not in answer
    assert b'File "' not in answer
    if status >= 400 and method != "HEAD":
        record = json.loads(answer)["error"]
        assert set(record) == {"text", "wanted", "got", "do"}
        assert len(answer) < 5000


@pytest.mark.long
def test_requests_of_chance_leave_nothing_behind() -> None:
    with served(desk_of(most_runs=3)) as page:
        key = page.overview()["run"]

        def ask(times: int) -> None:
            for step in range(times):
                page.get(f"api/runs/{key}/explain", name=f"{ATTENTION}.weights", cell=f"0,0,{step % 5},{step % 7}")
                page.get(f"api/runs/{key}/picture", name=f"nothing{step}", rows=step)
                page.post(b"{" * (step % 50))
                page.post({"model": "slides", "texts": [f"unknown{step}"]})

        ask(20)
        tracemalloc.start()
        try:
            ask(10)
            before = tracemalloc.get_traced_memory()[0]
            ask(120)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert grown < 500_000, grown
        assert page.desk.waiting == {}
        assert len(page.desk.runs) <= 3


# --------------------------------------------------------------------------- many at once


@pytest.mark.long
def test_fifty_clients_at_once_are_all_answered() -> None:
    """Each opens the page, asks for a run of its own text, and has ten numbers explained."""
    failed: list[str] = []

    def client(address: str, number: int) -> None:
        def ask(path: str, body: object = None) -> bytes:
            data = None if body is None else json.dumps(body).encode()
            end = time.monotonic() + 240
            while time.monotonic() < end:
                try:
                    with urllib.request.urlopen(address + path, data=data, timeout=240) as answer:
                        return bytes(answer.read())
                except HTTPError as error:  # as a page does: what is busy is asked again
                    if error.code not in (404, 503):
                        raise
                    time.sleep(0.2)
            raise AssertionError(f"{path} was not answered")

        try:
            for path in ("", "script/core.js", "script/core.css", "api/models"):
                ask(path)
            words = SENTENCES[number % 3].split()
            words[number % 5], words[(number // 5) % 5] = words[(number // 5) % 5], words[number % 5]
            overview = json.loads(ask("api/runs", {"model": "slides", "texts": [" ".join(words)]}))
            for step in range(10):
                asked = f"api/runs/{overview['run']}/explain?name={ATTENTION}.weights&cell=0,{step % 2},{step % 5},1"
                record = json.loads(ask(asked))
                assert abs(record["recomputed"] - record["value"]) < 1e-5
        except Exception as error:
            failed.append(f"{number}: {error!r}")

    desk = desk_of()
    with serving(desk) as address:
        threads = [threading.Thread(target=client, args=(address, number)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    assert desk.waiting == {}
    assert len(desk.runs) <= desk.most_runs
