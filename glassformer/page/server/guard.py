"""Who may ask the server of a page.

A page of another site can send requests to this machine, and a name of another site can be made to mean this machine.
So each request must bear the token of this server in its path, its Host must be a name of the loopback interface, and
its Origin, where it has one, must be that host.
"""

import secrets
from collections.abc import Mapping
from typing import ClassVar

from starlette.types import ASGIApp, Scope

from glassformer.run.serving import guard
from glassformer.run.serving.guard import MOST_AT_ONCE, SECONDS_TO_ANSWER, SECONDS_TO_READ, check_local
from glassformer.run.serving.refusals import ForbiddenError

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    **guard.HEADERS,
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard(guard.Guard):
    """Lets through the page's own requests: the path begins with the token, which routes leave out."""

    headers: ClassVar[Mapping[str, str]] = HEADERS

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        *,
        most_at_once: int = MOST_AT_ONCE,
        seconds_to_read: float = SECONDS_TO_READ,
        seconds_to_answer: float = SECONDS_TO_ANSWER,
    ) -> None:
        super().__init__(
            app, most_at_once=most_at_once, seconds_to_read=seconds_to_read, seconds_to_answer=seconds_to_answer
        )
        self.token = token

    def check(self, scope: Scope) -> None:
        """Raise ForbiddenError for what does not come from the page of this server."""
        check_local(scope, "open the address that glassformer explore printed")
        first = scope["path"].removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            raise ForbiddenError(
                "the address of the page must contain this server's token",
                got="another one, or none",
                do="open the address that glassformer explore printed last",
            )
        scope["root_path"] = f"/{self.token}"
