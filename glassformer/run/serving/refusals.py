"""What a request is refused with: one of our sentences as JSON, under the HTTP status that fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import DataError, GlassformerError, UnknownNameError

if TYPE_CHECKING:
    from starlette.responses import JSONResponse

_LONGEST = 2000
_CODES = {
    400: "invalid_request", 401: "invalid_api_key", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
    413: "too_large", 429: "rate_limit_exceeded", 500: "internal_error", 503: "unavailable", 504: "timeout",
}  # fmt: skip


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


class OverloadedError(BusyError):
    """As much waits as may wait. `seconds`: when to ask again."""

    def __init__(self, wanted: str, *, got: str = "", do: str = "", seconds: int = 1) -> None:
        super().__init__(wanted, got=got, do=do)
        self.seconds = seconds


class UnauthorizedError(RequestError):
    """It does not bear the token of this server."""


class TooSlowError(RequestError):
    """It has taken too long to come or to be answered."""


class BrokenError(RequestError):
    """An error of ours; the server has printed more."""


# The HTTP status of each kind of error; any other is a request that cannot be met, 400.
STATUS: Mapping[type[GlassformerError], int] = {
    UnauthorizedError: 401,
    ForbiddenError: 403,
    MissingError: 404,
    UnknownNameError: 404,
    MethodError: 405,
    TooLargeError: 413,
    BrokenError: 500,
    OverloadedError: 429,
    BusyError: 503,
    TooSlowError: 504,
}


def refusal(error: GlassformerError, called: str = "text") -> tuple[int, dict[str, Any]]:
    """The status and the body of the answer to a request that is refused; `called` is the field of the sentence:
    `message` for a program, which gets `type` and `code` as those of OpenAI too.
    """
    facts = {called: str(error), "wanted": error.wanted, "got": error.got, "do": error.do}
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)
    if called == "message":
        of_a_record = "leave this record out" if isinstance(error, DataError) else "see /docs"
        facts["do"] = error.do or ("see the limits in /info" if status == 413 else of_a_record)
        facts |= {"type": "server_error" if status >= 500 else "invalid_request_error", "code": _CODES[status]}
    return status, {"error": {name: _shortened(text) for name, text in facts.items()}}


def _shortened(text: str) -> str:
    """A sentence that shows what was sent need not send all of it back."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def refused(error: GlassformerError, headers: Mapping[str, str] | None = None, called: str = "text") -> JSONResponse:
    from starlette.responses import JSONResponse  # a notebook's kernel refuses too, without a server

    status, body = refusal(error, called)
    more = dict(headers or {})
    if isinstance(error, BusyError):
        more["Retry-After"] = str(getattr(error, "seconds", 1))
    if isinstance(error, UnauthorizedError):
        more["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, status, more)
