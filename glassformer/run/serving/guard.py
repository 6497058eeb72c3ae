"""What stands before every route: who asks, how much, and for how long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.run.serving.refusals import (
    BrokenError,
    BusyError,
    ForbiddenError,
    RequestError,
    TooLargeError,
    TooSlowError,
    refused,
)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Requests to an explorer are some texts and a list of changes.
MOST_BYTES = 1_000_000
# Fifty pages with the six connections that a browser opens to a host.
MOST_AT_ONCE = 300
SECONDS_TO_READ, SECONDS_TO_ANSWER = 10.0, 60.0
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class Guard:
    """Lets through what may ask, as much as can be answered, and as long as it is waited for."""

    headers: ClassVar[Mapping[str, str]] = HEADERS
    # The field of the sentence in the answer to a request that is refused.
    called: ClassVar[str] = "text"
    # Bytes of a body that is too large that are read, and not kept: most clients read no answer before they have sent
    # all.
    most_unkept: ClassVar[int] = 0

    def __init__(
        self,
        app: ASGIApp,
        *,
        most_bytes: int = MOST_BYTES,
        most_at_once: int = MOST_AT_ONCE,
        seconds_to_read: float = SECONDS_TO_READ,
        seconds_to_answer: float = SECONDS_TO_ANSWER,
    ) -> None:
        self.app, self.most_bytes, self.most_at_once = app, most_bytes, most_at_once
        self.seconds_to_read, self.seconds_to_answer = seconds_to_read, seconds_to_answer
        self.at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; a WebSocket is closed before it opens."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = Answer(send, self.headers)
        self.at_once += 1
        try:
            self.check(scope)
            if self.at_once > self.most_at_once:
                raise self.busy()
            body = await self.body(scope, receive)
            await self.answer(scope, body, receive, answer)
        except RequestError as error:
            if not answer.begun:
                await refused(error, called=self.called)(scope, receive, answer)
        except ClientGone:
            pass
        finally:
            self.at_once -= 1

    def check(self, scope: Scope) -> None:
        """Raise RequestError for what may not ask."""
        raise NotImplementedError

    def busy(self) -> RequestError:
        """The refusal of a request when too many are being answered."""
        return BusyError(f"at most {self.most_at_once} requests are answered at once", do="ask again in a moment")

    def broken(self, error: Exception) -> BrokenError:
        """The refusal after an error of ours, which is logged."""
        logging.getLogger(__name__).error("a request was not answered", exc_info=error)
        return BrokenError(
            "this request should have been answered", got=type(error).__name__, do="the terminal shows more"
        )

    async def body(self, scope: Scope, receive: Receive) -> bytes:
        """The body, read to its end; raises TooLargeError and TooSlowError."""
        large = TooLargeError(f"a request must have at most {self.most_bytes:,} bytes", got="more")
        headers = Headers(scope=scope)
        if (packed := headers.get("content-encoding", "")).lower() not in ("", "identity"):
            raise RequestError("the body of a request must not be compressed", got=packed[:40], do="send it as it is")
        said = headers.get("content-length", "0")
        most_read = max(self.most_bytes, self.most_unkept)
        if said.isascii() and said.isdigit() and (len(said) > 12 or int(said) > most_read):
            raise large
        read, size = bytearray(), 0
        try:
            async with asyncio.timeout(self.seconds_to_read):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    part = message.get("body", b"")
                    size += len(part)
                    if size <= self.most_bytes:
                        read += part
                    if not message.get("more_body", False) or size > most_read:
                        break
        except TimeoutError:
            if size <= self.most_bytes:
                raise TooSlowError(
                    f"a request must come within {self.seconds_to_read:g} s", got="a part of it"
                ) from None
        if size > self.most_bytes:
            raise large
        return bytes(read)

    async def answer(self, scope: Scope, body: bytes, receive: Receive, answer: Answer) -> None:
        """Have it answered, as long as is allowed and somebody waits. Raises TooSlowError and BrokenError."""
        scope["until"] = asyncio.get_running_loop().time() + self.seconds_to_answer
        answering = asyncio.ensure_future(self.app(scope, Once(body), answer))
        going = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait({answering, going}, timeout=self.seconds_to_answer, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
            elif not going.done():
                raise TooSlowError(
                    f"an answer must not take longer than {self.seconds_to_answer:g} s",
                    do="ask again, or for fewer or shorter texts",
                )
        except (RequestError, asyncio.CancelledError):
            raise
        except Exception as error:
            raise self.broken(error) from None
        finally:
            answering.cancel()
            going.cancel()
            await asyncio.gather(answering, going, return_exceptions=True)


class ClientGone(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for the answer any more."""


class Answer:
    """Sends an answer with the headers that every answer has; knows whether it has begun."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self.send, self.headers, self.begun = send, headers, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in self.headers.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await self.send(message)


class Once:
    """A body that has been read, as a route receives it."""

    def __init__(self, body: bytes) -> None:
        self.body: bytes | None = body

    async def __call__(self) -> Message:
        """The body, then silence: the guard itself sees to it when the client goes."""
        if self.body is None:
            await asyncio.Event().wait()
        body, self.body = self.body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def gone(receive: Receive) -> None:
    """Wait until the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass


def hostname(host: str) -> str | None:
    """The name in a Host header without its port; None where there is none."""
    if any(sign in host for sign in "/@?#\\ "):
        return None
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        return None


def check_local(scope: Scope, do: str) -> None:
    """Raise ForbiddenError, with this `do`, for a request from a page of another site, or for another machine. One that
    names no machine comes from no browser: from a health check by HTTP/1.0.
    """
    headers = Headers(scope=scope)
    hosts = headers.getlist("host")
    host = headers.get("host", "")
    if len(hosts) > 1 or (hosts and hostname(host) not in LOOPBACK):
        raise ForbiddenError(
            "this server accepts only requests addressed to this machine", got=f"a request for {host[:80]!r}", do=do
        )
    check_origin(headers, host)


def check_origin(headers: Headers, host: str) -> None:
    """Raise ForbiddenError for a request from a page of another site."""
    for origin in headers.getlist("origin"):
        if origin != f"http://{host}":
            raise ForbiddenError(
                "this server answers no page of another site",
                got=f"one from {origin[:80]!r}",
                do="ask from a program, or from its own page",
            )
