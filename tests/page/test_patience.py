"""Connections that send no whole request do not keep others out."""

import asyncio

import uvicorn
from starlette.responses import PlainTextResponse

from glassformer.run.serving.listening import bound
from glassformer.run.serving.patience import impatient
from tests.page.serving import run


async def asked(port: int) -> bytes:
    """What the server answers to a whole request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 120)
    writer.close()
    return answer


def test_half_open_connections_are_closed_and_shut_nobody_out() -> None:
    async def scene() -> tuple[bytes, list[bytes]]:
        with bound(0) as listening:
            config = uvicorn.Config(
                PlainTextResponse("here"), http=impatient(1.0, 20), limit_concurrency=30, log_level="error", ws="none"
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            port = listening.getsockname()[1]
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
            for number, (_, writer) in enumerate(silent):
                writer.write(b"GET / HT" if number % 2 else b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            answer = await asked(port)
            closed = [await asyncio.wait_for(ended(reader), 120) for reader, _ in silent]
            for _, writer in silent:
                writer.close()
            server.should_exit = True
            await serving
            return answer, closed

    async def ended(reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.read()
        except ConnectionError:
            return b""

    answer, closed = run(scene())
    assert answer.startswith(b"HTTP/1.1 200")
    assert closed == [b""] * 60
