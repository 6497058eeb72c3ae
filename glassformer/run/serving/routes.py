"""What a route is, and how it answers: as JSON, in events, or with a refusal."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from glassformer.base.errors import GlassformerError
from glassformer.base.json_text import in_json
from glassformer.base.settings import Settings
from glassformer.run.serving.refusals import TooSlowError, refusal, refused

OPEN = ("/health", "/ready")
"""Addresses that need no token: they tell whether the server works, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """An address, what it is for, what is sent to it, and what answers it."""

    path: str
    summary: str
    handle: Callable[[Request], Awaitable[Response]]
    body: type[Settings] | None = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


def answered(values: Mapping[str, Any], status: int = 200) -> Response:
    return Response(dumped(values), status, media_type="application/json")


def dumped(values: Mapping[str, Any]) -> str:
    """JSON; numbers that it does not know, infinity and NaN, as strings."""
    try:
        return json.dumps(values, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(in_json(values), ensure_ascii=False, allow_nan=False)


def problem(error: GlassformerError, headers: Mapping[str, str] | None = None) -> Response:
    return refused(error, headers, called="message")


def note(request: Request, **facts: object) -> None:
    """What the log says of a request."""
    request.scope.setdefault("facts", {}).update(facts)


class Events(StreamingResponse):
    """Server-sent events; `stop` is called when they end, or when nobody reads them any more."""

    def __init__(self, events: AsyncIterator[str], stop: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self.stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.stop()


async def in_events(
    request: Request, parts: AsyncIterator[Mapping[str, Any]], stop: Callable[[], None], seconds: float
) -> Response:
    """Parts of an answer as server-sent events, and `[DONE]`; what goes wrong after the first of them is an event too.
    Raises what goes wrong before. `stop` as in `Events`. The last part comes before the guard ends the answer.
    """
    until = request.scope.get("until", asyncio.get_running_loop().time() + seconds) - min(0.5, seconds / 2)
    try:
        first = await anext(parts)
    except BaseException:
        stop()
        raise

    async def events() -> AsyncIterator[str]:
        yield event(first)
        try:
            async with asyncio.timeout_at(until):
                async for part in parts:
                    yield event(part)
        except TimeoutError:
            wanted = f"an answer must not take longer than {seconds:g} s"
            yield event(refusal(TooSlowError(wanted, do="ask for fewer tokens"), "message")[1])
        except GlassformerError as error:
            yield event(refusal(error, "message")[1])
        yield "data: [DONE]\n\n"

    return Events(events(), stop)


def event(values: Mapping[str, Any]) -> str:
    return f"data: {dumped(values)}\n\n"
