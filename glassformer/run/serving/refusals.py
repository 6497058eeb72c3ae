"""What a request is refused with: one of our sentences as JSON, under the HTTP status that fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import GlassformerError, UnknownNameError

if TYPE_CHECKING:
    from starlette.responses import JSONResponse


class RequestError(GlassformerError):
    """A request that cannot be answered."""


class ForbiddenError(RequestError):
    """It does not come from the page of this server."""


class MissingError(RequestError):
    """What it asks for is not there, or no longer."""


class MethodError(RequestError):
    """Its address is known, but not for this method."""


class TooLargeError(RequestError):
    """Its body, or what it asks for, is too large."""


class BusyError(RequestError):
    """Too many others are being answered."""


class TooSlowError(RequestError):
    """It has taken too long to come or to be answered."""


class BrokenError(RequestError):
    """An error of ours; the server has printed more."""


# The HTTP status of each kind of error; any other is a request that cannot be met, 400.
STATUS: Mapping[type[GlassformerError], int] = {
    ForbiddenError: 403,
    MissingError: 404,
    UnknownNameError: 404,
    MethodError: 405,
    TooLargeError: 413,
    BrokenError: 500,
    BusyError: 503,
    TooSlowError: 504,
}


def told(error: GlassformerError) -> tuple[int, dict[str, Any]]:
    """The status and the body of the answer to a request that is refused."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)
    return status, {"error": {"text": str(error), "wanted": error.wanted, "got": error.got, "do": error.do}}


def refused(error: GlassformerError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that is refused."""
    from starlette.responses import JSONResponse  # a notebook's kernel refuses too, without a server

    status, body = told(error)
    more = dict(headers or {}) | ({"Retry-After": "1"} if isinstance(error, BusyError) else {})
    return JSONResponse(body, status, more)
