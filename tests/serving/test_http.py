"""Who may ask, how much and for how long; overload, clients that leave or take nothing, and the end, over sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient

from glassformer.api.model import Model
from glassformer.run.serving.app import application
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.observed import Metrics
from glassformer.run.serving.served import Models, Served
from tests.serving.servers import LOCAL, close, listening, served_by

FILL = {"texts": ["The [MASK] sat on the mat."]}


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=20)


def test_without_the_token_nothing_is_told_but_that_the_server_works(bundled: dict[str, Model]) -> None:
    with TestClient(served_by({"english": bundled["english"]}, "s3cret"), base_url=LOCAL) as client:
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
    with listening(served_by({"english": bundled["english"]})) as address, httpx2.Client(timeout=30) as client:
        answer = client.post(f"{address}/v1/english/fill", content=body)
        assert answer.status_code == 413
        assert answer.json()["error"]["wanted"] == "a request must have at most 4,000,000 bytes"
        parts = (body[start : start + 1_000_000] for start in range(0, len(body), 1_000_000))
        assert client.post(f"{address}/v1/english/fill", content=parts).status_code == 413
        assert client.post(f"{address}/v1/english/fill", json=FILL).status_code == 200


def test_answers_of_many_clients_are_those_of_each_alone(bundled: dict[str, Model]) -> None:
    """Two models, several verbs and options, long and short texts, all at once: each answer is that of a lone request."""
    models = {name: bundled[name] for name in ("english", "en-fr")}
    asked: list[tuple[str, dict[str, Any]]] = []
    for number in range(24):
        text = f"She {'often ' * (number % 5)}sat in room {number % 11}."
        asked += [
            ("english/fill", {"texts": [f"{text} It [MASK]."], "top": 1 + number % 3}),
            ("english/embed", {"texts": [text, "Rain."]}),
            ("en-fr/translate", {"texts": [text], "beams": 1 + number % 2}),
        ]

    async def scene(address: str) -> tuple[list[Any], list[Any]]:
        async with httpx2.AsyncClient(base_url=f"{address}/v1/", timeout=60) as client:
            alone = [(await client.post(path, json=body)).json() for path, body in asked]
            together = await asyncio.gather(*(client.post(path, json=body) for path, body in asked))
            assert {answer.status_code for answer in together} == {200}
            return alone, [answer.json() for answer in together]

    with listening(served_by(models)) as address:
        alone, together = asyncio.run(scene(address))
    for one, other in zip(alone, together, strict=True):
        assert close(one, other), (one, other)


def test_overload_gives_429_alone_and_what_was_taken_is_answered(bundled: dict[str, Model]) -> None:
    async def scene(address: str) -> list[Any]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(timeout=60, limits=limits) as client:
            body = {"texts": [f"A [MASK] {number}." for number in range(8)]}
            asking = [client.post(f"{address}/v1/english/fill", json=body) for _ in range(120)]
            return list(await asyncio.gather(*asking))

    with listening(served_by({"english": bundled["english"]}, waiting=40)) as address:
        answers = asyncio.run(scene(address))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 429}
    for answer in answers:
        if answer.status_code == 429:
            assert int(answer.headers["retry-after"]) >= 1
        else:
            assert len(answer.json()["answers"]) == 8


def test_a_client_that_leaves_is_forgotten_and_slows_no_other(bundled: dict[str, Model]) -> None:
    """Twenty clients ask for long texts and leave: another one waits far shorter than for all of them."""
    long = {"texts": ["It was"], "max_tokens": 200, "min_tokens": 199, "beams": 8}
    with listening(served_by({"writer": bundled["writer"]})) as address, httpx2.Client(timeout=60) as client:
        short = {"texts": ["It was"], "max_tokens": 2}
        client.post(f"{address}/v1/writer/generate", json=short)
        started = time.perf_counter()
        assert client.post(f"{address}/v1/writer/generate", json=long).status_code == 200
        whole = time.perf_counter() - started
        head = f"POST /v1/writer/generate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(json.dumps(long)) + 8}\r\n\r\n"
        started = time.perf_counter()
        for number in range(20):
            with closing(connected(address)) as leaving:
                leaving.sendall(f"{head}{json.dumps({**long, 'seed': number + 100})[:-12]}".encode())
        for number in range(20):
            with closing(connected(address)) as leaving:
                body = json.dumps({**long, "forbidden": [f"x{number}"]})
                leaving.sendall(f"{head.partition('Content')[0]}Content-Length: {len(body)}\r\n\r\n{body}".encode())
                time.sleep(0.01)
        assert client.post(f"{address}/v1/writer/generate", json=short).status_code == 200
        assert time.perf_counter() - started < 10 * whole


def test_a_client_that_never_reads_is_let_go(bundled: dict[str, Model]) -> None:
    """It asks for large answers and takes nothing: its connection is closed, and others are answered meanwhile."""
    body = json.dumps({"texts": ["Rain. " * 300] * 40, "per_word": True}).encode()
    head = f"POST /v1/sentences/embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with listening(served_by({"sentences": bundled["sentences"]}), to_take=0.5) as address:
        with closing(connected(address)) as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.sendall(head + body)
            time.sleep(0.2)
            with httpx2.Client(timeout=30) as client:
                assert client.post(f"{address}/v1/sentences/embed", json={"texts": ["a"]}).status_code == 200
            deadline, read = time.monotonic() + 20, 0
            time.sleep(3)
            with pytest.raises(ConnectionResetError):  # after what the kernel had taken comes the reset
                while time.monotonic() < deadline:
                    part = silent.recv(1 << 16)
                    read += len(part)
                    assert part
        assert read < 50_000_000


def test_an_answer_that_takes_too_long_is_given_up(bundled: dict[str, Model]) -> None:
    long = {"texts": ["It was"], "max_tokens": 200, "min_tokens": 199, "beams": 16}
    with TestClient(served_by({"writer": bundled["writer"]}, seconds=0.05), base_url=LOCAL) as client:
        assert client.post("/v1/writer/generate", json=long).status_code == 504
        with client.stream("POST", "/v1/writer/generate", json={**long, "beams": 1, "stream": True}) as answer:
            lines = [line for line in answer.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    assert "0.05 s" in json.loads(lines[-2].removeprefix("data: "))["error"]["message"]


def test_the_numbers_and_the_log_know_requests_and_no_texts(
    bundled: dict[str, Model], caplog: pytest.LogCaptureFixture
) -> None:
    metrics, limits = Metrics(), Limits()
    served = Served("english", bundled["english"], limits, metrics.taken("english"))
    caplog.set_level("INFO", "glassformer.serving")
    with TestClient(application(Models([served], limits), None, metrics), base_url=LOCAL) as client:
        secret = "Zanzibar [MASK]"
        answer = client.post("/v1/english/fill", json={"texts": [secret, secret]}, headers={"X-Request-Id": "abc-1"})
        assert answer.headers["x-request-id"] == "abc-1"
        client.post("/v1/english/fill", json={"texts": ["Zanzibar"]}, headers={"X-Request-Id": "Zanzibar\tx"})
        client.post("/v1/Zanzibar/fill", json=FILL)
        client.get("/health")
        text = client.get("/metrics").text
    (line,) = [record.facts for record in caplog.records if getattr(record, "facts", {}).get("id") == "abc-1"]  # type: ignore[attr-defined]
    assert {key: line[key] for key in ("route", "status", "model", "records")} == {
        "route": "/v1/{model}/fill", "status": 200, "model": "english", "records": 2,
    }  # fmt: skip
    assert line["tokens"] > 4
    assert all("Zanzibar" not in str(vars(record)) for record in caplog.records)
    assert "Zanzibar" not in text
    assert 'glassformer_requests_total{model="english",route="/v1/{model}/fill",status="200"} 1.0' in text
    assert 'glassformer_requests_total{model="",route="/v1/{model}/fill",status="404"} 1.0' in text
    assert 'glassformer_batch_records_count{model="english"} 1.0' in text
    assert 'glassformer_waiting_records{model="english"} 0.0' in text
