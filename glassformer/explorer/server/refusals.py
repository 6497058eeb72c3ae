"""What a request is refused with: one of our sentences as JSON, under the HTTP status that fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from glassformer.errors import GlassformerError, UnknownNameError

if TYPE_CHECKING:
    from starlette.responses import JSONResponse


class RequestError(GlassformerError):
    """A request that cannot be answered."""

    status: ClassVar[int] = 400


class ForbiddenError(RequestError):
    """It does not come from the page of this server."""

    status = 403


class MissingError(RequestError):
    """What it asks for is not there, or no longer."""

    status = 404


class MethodError(RequestError):
    """Its address is known, but not for this method."""

    status = 405


class TooLargeError(RequestError):
    """Its body, or what it asks for, is too large."""

    status = 413


class BusyError(RequestError):
    """Too many others are being answered."""

    status = 503


class TooSlowError(RequestError):
    """It has taken too long to come or to be answered."""

    status = 504


class BrokenError(RequestError):
    """An error of ours; the server has printed more."""

    status = 500


def told(error: GlassformerError) -> tuple[int, dict[str, Any]]:
    """The status and the body of the answer to a request that is refused."""
    status = 404 if isinstance(error, UnknownNameError) else getattr(error, "status", 400)
    return status, {"error": {"text": str(error), "wanted": error.wanted, "got": error.got, "do": error.do}}


def refused(error: GlassformerError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that is refused."""
    from starlette.responses import JSONResponse  # a notebook's kernel refuses too, without a server

    status, body = told(error)
    more = dict(headers or {}) | ({"Retry-After": "1"} if status == BusyError.status else {})
    return JSONResponse(body, status, more)
