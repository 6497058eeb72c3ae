"""What stands before every route: who asks, how much, and for how long.

A page of another site can send requests to this machine, and a name of another site can be made to mean this machine.
So each request must bear the token of this server in its path, its Host must be a name of the loopback interface, and
its Origin, where it has one, must be that host.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.page.server.refusals import (
    BrokenError,
    BusyError,
    ForbiddenError,
    RequestError,
    TooLargeError,
    TooSlowError,
    refused,
)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A request is some texts and a list of changes.
MOST_BYTES = 1_000_000
# Fifty pages with the six connections that a browser opens to a host.
MOST_AT_ONCE = 300
SECONDS_TO_READ, SECONDS_TO_ANSWER = 10.0, 60.0
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """Lets through what comes from the page of this server, as much as it can answer, and as long as it is waited for.

    The token is the first step of the path; routes are written without it.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        *,
        most_at_once: int = MOST_AT_ONCE,
        seconds_to_read: float = SECONDS_TO_READ,
        seconds_to_answer: float = SECONDS_TO_ANSWER,
    ) -> None:
        self.app, self.token, self.most_at_once = app, token, most_at_once
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
        answer = Answer(send)
        self.at_once += 1
        try:
            self.check(scope)
            if self.at_once > self.most_at_once:
                raise BusyError(
                    f"at most {self.most_at_once} requests are answered at once", do="ask again in a moment"
                )
            body = await self.body(scope, receive)
            scope["root_path"] = f"/{self.token}"
            await self.answer(scope, body, receive, answer)
        except RequestError as error:
            if not answer.begun:
                await refused(error)(scope, receive, answer)
        except ClientGone:
            pass
        finally:
            self.at_once -= 1

    def check(self, scope: Scope) -> None:
        """Raise ForbiddenError for what does not come from the page of this server."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if headers.getlist("host") != [host] or hostname(host) not in LOOPBACK:
            raise ForbiddenError(
                "this server accepts only requests addressed to this machine",
                got=f"a request for {host[:80]!r}",
                do="open the address that glassformer explore printed",
            )
        for origin in headers.getlist("origin"):
            if origin != f"http://{host}":
                raise ForbiddenError(
                    "this server accepts only requests from its own page", got=f"one from {origin[:80]!r}"
                )
        first = scope["path"].removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            raise ForbiddenError(
                "the address of the page must contain this server's token",
                got="another one, or none",
                do="open the address that glassformer explore printed last",
            )

    async def body(self, scope: Scope, receive: Receive) -> bytes:
        """The body, read to its end; raises TooLargeError and TooSlowError."""
        said = Headers(scope=scope).get("content-length", "0")
        large = TooLargeError(f"a request must have at most {MOST_BYTES:,} bytes", got="more")
        if said.isascii() and said.isdigit() and (len(said) > 12 or int(said) > MOST_BYTES):
            raise large
        read = bytearray()
        try:
            async with asyncio.timeout(self.seconds_to_read):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    read += message.get("body", b"")
                    if len(read) > MOST_BYTES:
                        raise large
                    if not message.get("more_body", False):
                        return bytes(read)
        except TimeoutError:
            raise TooSlowError(f"a request must come within {self.seconds_to_read:g} s", got="a part of it") from None

    async def answer(self, scope: Scope, body: bytes, receive: Receive, answer: Answer) -> None:
        """Have it answered, as long as is allowed and somebody waits. Raises TooSlowError and BrokenError."""
        answering = asyncio.ensure_future(self.app(scope, Once(body), answer))
        going = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait({answering, going}, timeout=self.seconds_to_answer, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
            elif not going.done():
                raise TooSlowError(
                    f"an answer must not take longer than {self.seconds_to_answer:g} s",
                    do="ask again, or for a shorter text",
                )
        except (RequestError, asyncio.CancelledError):
            raise
        except Exception as error:
            logging.getLogger(__name__).exception("a request was not answered")
            raise BrokenError(
                "this request should have been answered", got=type(error).__name__, do="the terminal tells more"
            ) from None
        finally:
            answering.cancel()
            going.cancel()
            await asyncio.gather(answering, going, return_exceptions=True)


class ClientGone(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for the answer any more."""


class Answer:
    """Sends an answer with the headers that every answer has; knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self.send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        """One message of the answer."""
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
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
