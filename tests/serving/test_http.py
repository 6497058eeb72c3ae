"""Who may ask, how much and for how long; overload, clients that leave or take nothing, and the end, over sockets."""

import asyncio
import gzip
import json
import logging
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

import glassformer as gf
from glassformer.api.model import Model
from glassformer.run.serving.app import Guard, application
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.observed import Metrics, Observed
from glassformer.run.serving.routes import in_events
from glassformer.run.serving.served import Models, Served
from tests.page.serving import run
from tests.serving.servers import LOCAL, close, listening, models_of, served_by

FILL = {"texts": ["The [MASK] sat on the mat."]}


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=300)


def test_an_address_whose_query_is_not_utf8_is_unknown_and_no_fault(bundled: dict[str, Model]) -> None:
    app, sent = served_by({"english": bundled["english"]}), list[Any]()
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "server": ("127.0.0.1", 80),
             "client": ("127.0.0.1", 1), "path": "/nothing", "raw_path": b"/nothing", "root_path": "",
             "query_string": b"\xed", "headers": [(b"host", b"127.0.0.1")]}  # fmt: skip

    left = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return left.pop() if left else await asyncio.Future[dict[str, Any]]()

    async def send(message: Any) -> None:
        sent.append(message)

    run(app(scope, receive, send))
    assert sent[0]["status"] == 404
    assert json.loads(sent[1]["body"])["error"]["got"] == "GET /nothing"


def test_without_the_token_the_server_answers_only_that_it_works(bundled: dict[str, Model]) -> None:
    with TestClient(served_by({"english": bundled["english"]}, "s3cret\n"), base_url=LOCAL) as client:
        for headers in (
            {},
            {"Authorization": "Bearer other"},
            {"Authorization": "s3cret"},
            {"Authorization": "Bearer"},
        ):
            for path in ("/v1/models", "/metrics", "/info", "/docs", "/openapi.json", "/nothing"):
                answer = client.get(path, headers=headers)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
                assert "s3cret" not in answer.text
            assert client.post("/v1/english/fill", json=FILL, headers=headers).status_code == 401
        right = {"Authorization": "Bearer s3cret", "Host": "models.example"}
        assert client.post("/v1/english/fill", json=FILL, headers=right).status_code == 200
        assert [client.get(path).json() for path in ("/health", "/ready")] == [{"status": "ok"}, {"status": "ready"}]
        for origin in ("http://evil.example", "null"):
            assert client.get("/v1/models", headers={**right, "Origin": origin}).status_code == 403


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_a_page_of_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/v1/english/fill", json=FILL, headers=headers).status_code == 403
    assert client.get("/health", headers=headers).status_code == 403


def test_a_body_of_100_mb_is_refused_and_not_kept(bundled: dict[str, Model]) -> None:
    body = b'{"texts": ["' + b"x" * 100_000_000 + b'"]}'
    with listening(served_by({"english": bundled["english"]})) as address, httpx2.Client(timeout=300) as client:
        answer = client.post(f"{address}/v1/english/fill", content=body)
        assert answer.status_code == 413
        assert answer.json()["error"]["wanted"] == "a request must have at most 4,000,000 bytes"
        parts = (body[start : start + 1_000_000] for start in range(0, len(body), 1_000_000))
        assert client.post(f"{address}/v1/english/fill", content=parts).status_code == 413
        assert client.post(f"{address}/v1/english/fill", json=FILL).status_code == 200


def test_a_health_check_by_http_1_0_and_a_compressed_body(bundled: dict[str, Model]) -> None:
    with listening(served_by({"english": bundled["english"]})) as address:
        with connected(address) as asking:
            asking.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            assert b" 200 " in asking.makefile("rb").readline()
        packed = gzip.compress(json.dumps(FILL).encode())
        answer = httpx2.post(f"{address}/v1/english/fill", content=packed, headers={"Content-Encoding": "gzip"})
        assert (answer.status_code, answer.json()["error"]["got"]) == (400, "gzip")


def test_answers_of_many_clients_are_those_of_each_alone(bundled: dict[str, Model]) -> None:
    """Two models, several verbs and options, long and short texts, all at once."""
    models = {name: bundled[name] for name in ("english", "en-fr")}
    asked: list[tuple[str, dict[str, Any]]] = []
    for number in range(12):
        text = f"She {'often ' * (number % 5)}sat in room {number % 11}."
        asked += [
            ("english/fill", {"texts": [f"{text} It [MASK]."], "top": 1 + number % 3}),
            ("english/embed", {"texts": [text, "Rain."]}),
            ("en-fr/translate", {"texts": [text], "beams": 1 + number % 2}),
        ]

    async def scene(address: str) -> tuple[list[Any], list[Any]]:
        async with httpx2.AsyncClient(base_url=f"{address}/v1/", timeout=300) as client:
            alone = [(await client.post(path, json=body)).json() for path, body in asked]
            together = await asyncio.gather(*(client.post(path, json=body) for path, body in asked))
            assert {answer.status_code for answer in together} == {200}
            return alone, [answer.json() for answer in together]

    with listening(served_by(models)) as address:
        alone, together = run(scene(address))
    for one, other in zip(alone, together, strict=True):
        assert close(one, other), (one, other)


def test_overload_gives_429_alone_and_what_was_taken_is_answered(bundled: dict[str, Model]) -> None:
    async def scene(address: str) -> list[Any]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(timeout=300, limits=limits) as client:
            body = {"texts": [f"A [MASK] {number}." for number in range(8)]}
            asking = [client.post(f"{address}/v1/english/fill", json=body) for _ in range(120)]
            return list(await asyncio.gather(*asking))

    with listening(served_by({"english": bundled["english"]}, waiting=40)) as address:
        answers = run(scene(address))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 429}
    for answer in answers:
        if answer.status_code == 429:
            assert int(answer.headers["retry-after"]) >= 1
        else:
            assert len(answer.json()["answers"]) == 8


def test_a_request_that_the_queue_could_never_hold_is_too_large(bundled: dict[str, Model]) -> None:
    with TestClient(served_by({"english": bundled["english"]}, waiting=5), base_url=LOCAL) as client:
        answers = [client.post("/v1/english/fill", json={"texts": FILL["texts"] * count}) for count in (5, 6)]
    assert [answer.status_code for answer in answers] == [200, 413]
    assert "at most 5" in answers[1].json()["error"]["do"]


def test_a_server_answers_after_its_folder_was_moved(untrained: dict[str, Model], tmp_path: Path) -> None:
    """So a model can be exchanged while it is served."""
    untrained["classify"].save(tmp_path / "old")
    model = gf.load(tmp_path / "old", device="cpu", engine="torch")
    with TestClient(served_by({"mails": model}), base_url=LOCAL) as client:
        asked = {"texts": ["See you at seven."]}
        before = client.post("/v1/mails/classify", json=asked).json()
        (tmp_path / "old").rename(tmp_path / "new")
        assert client.post("/v1/mails/classify", json=asked).json() == before
        assert client.post("/v1/mails/embed", json=asked).status_code == 200


@pytest.mark.parametrize("body", [b'{"texts": ["a"], "texts": ["b"]}', b"[" * 100_000, b'{"texts": ["\xff"]}', b"[1]"])
def test_a_body_that_is_no_object_or_says_a_thing_twice_is_refused(body: bytes, bundled: dict[str, Model]) -> None:
    with TestClient(served_by({"english": bundled["english"]}), base_url=LOCAL) as client:
        assert client.post("/v1/english/fill", content=body).status_code == 400


def sent(address: str, path: str, body: object) -> socket.socket:
    """A connection over which this was asked, of which nothing is read."""
    data = json.dumps(body).encode()
    connection = connected(address)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\n\r\n"
    connection.sendall(head.encode() + data)
    return connection


def test_clients_that_leave_are_forgotten_and_slow_no_other(bundled: dict[str, Model]) -> None:
    """Some ask for long texts, some for streams, and leave: another one waits far shorter than for all of them."""
    long = {"texts": ["It was"], "max_tokens": 120, "min_tokens": 119, "beams": 6}
    short = {"texts": ["It was"], "max_tokens": 2}
    models = models_of({"writer": bundled["writer"]})
    with listening(application(models)) as address, httpx2.Client(timeout=300, base_url=address) as client:
        client.post("/v1/writer/generate", json=short)
        started = time.perf_counter()
        assert client.post("/v1/writer/generate", json=long).status_code == 200
        whole = time.perf_counter() - started
        for number in range(8):
            more = {"stream": True, "beams": 1} if number % 2 else {"forbidden": [f"x{number}"]}
            with closing(sent(address, "/v1/writer/generate", {**long, **more})):
                time.sleep(0.02)
        started = time.perf_counter()
        assert client.post("/v1/writer/generate", json=short).status_code == 200
        assert time.perf_counter() - started < 3 * whole
        worker, until = models["writer"].worker, time.monotonic() + 10
        while worker.streams and time.monotonic() < until:  # they are closed after the batch
            time.sleep(0.02)
        assert (len(worker.waiting), worker.streams) == (0, [])


@pytest.mark.long
def test_a_client_that_never_reads_is_let_go(bundled: dict[str, Model]) -> None:
    """It asks for an answer of some megabytes: others are answered meanwhile, and of it only a part is sent."""
    body = {"texts": ["Rain and snow. " * 250], "per_word": True, "strategy": ["1", "2", "3"]}
    app = served_by({"sentences": bundled["sentences"]})
    with listening(app, to_take=0.2) as address, httpx2.Client(timeout=300, base_url=address) as client:
        started = time.perf_counter()
        whole = client.post("/v1/sentences/embed", json=body)
        seconds = time.perf_counter() - started
        with closing(sent(address, "/v1/sentences/embed", body)) as silent:
            time.sleep(2 * seconds + 1)
            assert client.post("/v1/sentences/embed", json={"texts": ["a"]}).status_code == 200
            read, part = 0, b"begin"
            while part:
                try:
                    part = silent.recv(1 << 16)
                except ConnectionResetError:
                    break
                read += len(part)
    assert len(whole.content) > 8_000_000
    assert 0 < read < len(whole.content) - 1_000_000


def test_an_answer_that_takes_too_long_is_given_up(bundled: dict[str, Model]) -> None:
    long = {"texts": ["It was"], "max_tokens": 200, "min_tokens": 199, "beams": 16}
    with TestClient(served_by({"writer": bundled["writer"]}, seconds=0.05), base_url=LOCAL) as client:
        answer = client.post("/v1/writer/generate", json=long)
    assert (answer.status_code, "fewer" in answer.json()["error"]["do"]) == (504, True)


@pytest.mark.parametrize("first", [0.0, 0.6])
def test_a_stream_that_takes_too_long_ends_with_the_reason(first: float) -> None:
    """Also where its first part had to wait: the time is that of the request."""
    stopped = []

    async def parts() -> AsyncIterator[dict[str, str]]:
        await asyncio.sleep(first)
        yield {"text": "a"}
        await asyncio.sleep(60)
        yield {"text": "b"}

    async def stream(request: Any) -> Any:
        return await in_events(request, parts(), lambda: stopped.append(1), 0.8)

    app = Starlette(routes=[Route("/", stream)])
    app.add_middleware(Guard, token=None, limits=Limits(seconds=0.8))
    lines = TestClient(app, base_url=LOCAL).get("/").text.split("\n\n")
    assert [json.loads(line.removeprefix("data: ")) for line in lines[:1]] == [{"text": "a"}]
    assert "0.8 s" in json.loads(lines[1].removeprefix("data: "))["error"]["message"]
    assert lines[2:] == ["data: [DONE]", ""]
    assert stopped == [1]


def test_the_numbers_and_the_log_know_requests_and_no_texts(
    bundled: dict[str, Model], logged: list[logging.LogRecord]
) -> None:
    metrics, limits = Metrics(), Limits()
    served = Served("english", bundled["english"], limits, metrics.taken("english"))
    with TestClient(application(Models([served], limits), None, metrics), base_url=LOCAL) as client:
        secret = "Zanzibar [MASK]"
        answer = client.post("/v1/english/fill", json={"texts": [secret, secret]}, headers={"X-Request-Id": "abc-1"})
        assert answer.headers["x-request-id"] == "abc-1"
        client.post("/v1/english/fill", json={"texts": ["Zanzibar"]}, headers={"X-Request-Id": "Zanzibar\tx"})
        client.post("/v1/Zanzibar/fill", json=FILL)
        client.post("/v1/english/fill", content=b"Zanzibar")
        client.post("/v1/embeddings", json={"model": "english", "input": "Zanzibar", "dimensions": 8})
        client.get("/health")
        text = client.get("/metrics").text
    (line,) = [record.facts for record in logged if getattr(record, "facts", {}).get("id") == "abc-1"]  # type: ignore[attr-defined]
    assert {key: line[key] for key in ("route", "status", "model", "records")} == {
        "route": "/v1/{model}/fill", "status": 200, "model": "english", "records": 2,
    }  # fmt: skip
    assert line["tokens"] > 4
    assert all("Zanzibar" not in str(vars(record)) for record in logged)
    assert "Zanzibar" not in text
    assert 'glassformer_requests_total{model="english",route="/v1/{model}/fill",status="200"} 1.0' in text
    assert 'glassformer_requests_total{model="",route="/v1/{model}/fill",status="404"} 1.0' in text
    for route in ("/v1/{model}/fill", "/v1/embeddings"):  # the model is known, whatever the request holds
        assert re.search(rf'requests_total{{model="english",route="{route}",status="400"}} [12]', text)
    assert 'glassformer_batch_records_count{model="english"} 1.0' in text
    assert 'glassformer_waiting_records{model="english"} 0.0' in text


def test_who_is_not_answered_before_the_server_ends_is_refused() -> None:
    async def cancelled(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope: Scope = {"type": "http", "method": "GET", "path": "/health", "headers": []}
    run(Observed(cancelled, Metrics())(scope, receive, send))
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["error"]["code"] == "unavailable"


def test_a_text_that_is_streamed_is_counted(bundled: dict[str, Model], logged: list[logging.LogRecord]) -> None:
    metrics, limits = Metrics(), Limits()
    served = Served("writer", bundled["writer"], limits, metrics.taken("writer"))
    with TestClient(application(Models([served], limits), None, metrics), base_url=LOCAL) as client:
        body = {"model": "writer", "prompt": "The sea was", "max_tokens": 2, "stream": True}
        assert client.post("/v1/completions", json=body).text.endswith("data: [DONE]\n\n")
        until = time.monotonic() + 30
        while 'batch_seconds_count{model="writer"} 1.0' not in (text := client.get("/metrics").text):
            assert time.monotonic() < until  # its thread counts it after its last word
    read = 1 + len(bundled["writer"].tokenizer.ids("The sea was"))  # and the token that begins a text
    found = [getattr(record, "facts", {}) for record in logged]
    (line,) = [facts for facts in found if facts.get("route") == "/v1/completions"]
    assert line["tokens"] == read
    assert f'glassformer_tokens_total{{model="writer"}} {float(read)}' in text
    assert 'glassformer_batch_records_count{model="writer"} 1.0' in text
    (seconds,) = re.findall(r'batch_seconds_sum{model="writer"} ([\d.e-]+)', text)
    assert float(seconds) > 0
