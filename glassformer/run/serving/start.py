"""Start a server, say where it is, and end when it is stopped, after all that it has taken is answered."""

import gc
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from glassformer.base.errors import ConfigError
from glassformer.run.serving.guard import LOOPBACK
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.listening import bound
from glassformer.saved.artefact import Artefact

BACKLOG, MOST_SILENT = 2048, 8192


def listening_at(host: str, port: int, token: str | None) -> socket.socket:
    """A socket that listens there; raises ConfigError, also where other machines could ask without a token."""
    if token is not None and not (token.strip() and token.strip().isascii()):
        raise ConfigError("a token must have ASCII characters", got="others" if token.strip() else "an empty one")
    if host not in LOOPBACK and token is None:
        raise ConfigError(
            "a server that other machines can reach needs a token",
            got=f"--host {host} without one",
            do="set GLASSFORMER_TOKEN, or give --token",
        )
    return bound(port, "127.0.0.1" if host == "localhost" else host, BACKLOG)


def serve(
    models: Callable[[], Mapping[str, Artefact]],
    listening: socket.socket,
    *,
    token: str | None,
    limits: Limits,
    announce: Callable[[str], None],
) -> None:
    """Serve models until Ctrl-C or SIGTERM. `announce` is called with the address when it can be asked."""
    import uvicorn

    from glassformer.run.serving.app import warmed
    from glassformer.run.serving.observed import log_lines
    from glassformer.run.serving.patience import impatient

    _allow_connections()
    with listening:
        app = warmed(models(), limits, token)
        gc.collect()
        gc.freeze()
        host, port = listening.getsockname()[:2]
        announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        config = uvicorn.Config(
            app, http=impatient(limits.seconds_to_read, MOST_SILENT, limits.seconds_to_take), log_level="critical",
            access_log=False, server_header=False, timeout_graceful_shutdown=limits.grace,
        )  # fmt: skip
        server = uvicorn.Server(config)
        with log_lines(), suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        if server.force_exit:  # a thread may be inside torch, which Python cannot take down
            sys.stderr.flush()
            os._exit(130)


def _allow_connections() -> None:
    """As many open connections as the system allows: often only 1,024 are allowed at first."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
