"""How answers are sent: compressed once, and kept so."""

import gzip
from collections.abc import Awaitable, Callable
from functools import cache

from fastapi import Request, Response

from glassformer.page.page import texts_of_page
from glassformer.page.sections.carried import compressed


@cache
def packed_text(name: str) -> bytes:
    """A text that travels beside a page, read and compressed once for all pages."""
    return compressed(texts_of_page()[name])


def text_route(name: str) -> Callable[[Request], Awaitable[Response]]:
    """What answers with that text."""

    async def send(request: Request) -> Response:
        return in_json(request, packed_text(name))

    return send


def in_json(request: Request, data: bytes, headers: dict[str, str] | None = None) -> Response:
    """Compressed JSON."""
    return packed_as(request, data, "application/json", headers)


def packed_as(request: Request, data: bytes, kind: str, headers: dict[str, str] | None = None) -> Response:
    """What is compressed, as it is or unpacked for one who does not take it so."""
    headers = {"Vary": "Accept-Encoding", **(headers or {})}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(data, 200, {**headers, "Content-Encoding": "gzip"}, kind)
    return Response(gzip.decompress(data), 200, headers, kind)
