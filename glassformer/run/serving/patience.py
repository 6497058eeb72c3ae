"""Connections that do not say what they want, or do not take their answer, are closed: each takes the place of another.

Uvicorn waits for the headers of a request as long as a connection is open, and refuses all others once it has as many
as it may have, whether they bear the token or not. It waits as long for a client that reads no answer.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEADERS, SECONDS_TO_TAKE = 10.0, 60.0
MOST_SILENT = 100
"""So many connections may be without a whole request; of more the oldest are closed at once."""


def impatient(
    seconds: float = SECONDS_FOR_HEADERS, most: int = MOST_SILENT, to_take: float = SECONDS_TO_TAKE
) -> type[H11Protocol]:
    """A server's protocol with time limits for the headers of a request and for a client to take its answer."""
    silent: dict[H11Protocol, asyncio.TimerHandle] = {}

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
            super().connection_made(transport)
            self.taking: asyncio.TimerHandle | None = None
            transport.set_write_buffer_limits(0)  # so that what waits to be taken is heard of at once
            self.wait()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self.taking is None:
                self.look(self.transport.get_write_buffer_size() + 1)

        def resume_writing(self) -> None:
            self.taken()
            super().resume_writing()

        def look(self, left: int) -> None:
            """Let go of a client that has taken nothing since so many bytes were left."""
            now = self.transport.get_write_buffer_size()
            if now < left:
                self.taking = self.loop.call_later(to_take, self.look, now)
            else:
                self.transport.abort()

        def taken(self) -> None:
            if self.taking is not None:
                self.taking.cancel()
                self.taking = None

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:
                self.wait()
            else:
                self.heard()

        def connection_lost(self, exc: Exception | None) -> None:
            self.heard()
            self.taken()
            super().connection_lost(exc)

        def wait(self) -> None:
            if self in silent:
                return
            if len(silent) >= most:
                give_up(next(iter(silent)))
            silent[self] = self.loop.call_later(seconds, give_up, self)

        def heard(self) -> None:
            if self in silent:
                silent.pop(self).cancel()

    def give_up(connection: H11Protocol) -> None:
        silent.pop(connection).cancel()
        connection.connections.discard(connection)
        connection.transport.abort()

    return Impatient
