"""Where a server listens, and whether its packages are installed."""

import errno
import socket

from glassformer.base.errors import ConfigError, MissingExtraError


def check_installed(*more: str) -> None:
    """Raise MissingExtraError where the packages of the extra `serve`, and `more` of them, are not installed."""
    for package in ("fastapi", "uvicorn", *more):
        try:
            __import__(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise MissingExtraError(package, extra="serve") from None


def bound(port: int, host: str = "127.0.0.1", backlog: int = 256) -> socket.socket:
    """A socket that listens at an address of this machine; raises ConfigError."""
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=backlog
        )
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        number = getattr(error, "errno", None) or 0  # below 0: a name that is not known
        if number < 0 or number == errno.EADDRNOTAVAIL:
            raise ConfigError(
                f"{host} must be an address of this machine", got=why, do="choose another --host"
            ) from None
        raise ConfigError(
            f"port {port} of this machine must be free", got=why, do="choose another --port: 0 takes a free one"
        ) from None
    # Connections inherit it. asyncio sets it only for sockets that name their protocol, and without it the body of an
    # answer waits up to 40 ms until its head is acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
