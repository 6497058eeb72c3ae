"""Servers in this process and in their own, and what is compared."""

import asyncio
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette

from glassformer.run.serving.app import application
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.listening import bound
from glassformer.run.serving.patience import impatient
from glassformer.run.serving.served import Models, Served
from glassformer.saved.artefact import Artefact

LOCAL = "http://127.0.0.1:8000"


def models_of(models: Mapping[str, Artefact], **limits: Any) -> Models:
    allowed = Limits(**limits)
    return Models([Served(name, model, allowed) for name, model in models.items()], allowed)


def served_by(models: Mapping[str, Artefact], token: str | None = None, **limits: Any) -> Starlette:
    return application(models_of(models, **limits), token)


@contextmanager
def listening(app: Starlette, to_take: float = 30.0) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    with bound(0) as socket_:
        config = uvicorn.Config(
            app, http=impatient(10.0, 8192, to_take), log_level="critical", ws="none", timeout_graceful_shutdown=5
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(until_stopped(server, socket_)), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket_.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(300)


async def until_stopped(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until it is to exit, then close what is still open: left so, it would be reported in a later test."""
    await server.serve(sockets=[listening])
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    await asyncio.sleep(0)


def answered_while_stopped(
    client: httpx2.Client, process: subprocess.Popen[str], body: Mapping[str, Any]
) -> tuple[Any, int, dict[str, Any]]:
    """What `writer` generates in a stream that began before its server was stopped, and the status and the answer of a
    second request, not streamed, that the server had taken by then: it had asked for the body.
    """
    path, content = "/v1/writer/generate", json.dumps(body).encode()
    named = {"Content-Length": str(len(content)), "Expect": "100-continue"}
    named |= {name: value for name, value in client.headers.items() if name == "authorization"}
    with (
        closing(HTTPConnection(client.base_url.netloc.decode(), timeout=300)) as second,
        client.stream("POST", path, json={**body, "stream": True}) as answer,
    ):
        lines = answer.iter_lines()
        first = next(lines)
        second.putrequest("POST", path)
        for name, value in named.items():
            second.putheader(name, value)
        second.endheaders()
        assert b" 100 " in second.sock.recv(1024)
        second.send(content)
        process.send_signal(signal.SIGTERM)
        rest = [line for line in lines if line]
        assert (first[:5], rest[0][:5], rest[-1]) == ("data:", "data:", "data: [DONE]")
        finished = second.getresponse()
        return json.loads(rest[-2].removeprefix("data: "))["answer"], finished.status, json.loads(finished.read())


def close(one: Any, other: Any, tolerance: float = 1e-5) -> bool:
    """Whether two records are the same: texts and counts exactly, numbers up to a tolerance."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance * max(1.0, abs(one))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name], tolerance) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(close(a, b, tolerance) for a, b in zip(one, other, strict=True))
    return bool(one == other)
