"""Start the server on the loopback interface, say where it is, and end quietly when it is stopped."""

import gc
import os
import secrets
import sys
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress

from glassformer.page.server.asked import Asked
from glassformer.page.server.offers import Models, Offer
from glassformer.run.serving.listening import bound, check_installed

MOST_CONNECTIONS = 600


def serve(
    offers: Sequence[Offer],
    start: Asked,
    *,
    port: int = 0,
    device: str = "auto",
    announce: Callable[[str], None],
    home: str = "",
    browser: bool = True,
) -> None:
    """Serve the page of these models until Ctrl-C. `announce` is called with its address when it can be opened; `home`
    is what a browser opens below it.

    `start` is run before: what is wrong with it is refused here, with the errors of `Model.trace`. Port 0 is any that
    is free. Raises MissingExtraError, and ConfigError for a port that is not free.
    """
    check_installed()
    import uvicorn

    from glassformer.page.server.app import application
    from glassformer.page.server.desk import Desk
    from glassformer.page.server.home import remember
    from glassformer.run.serving.patience import impatient

    desk = Desk(Models(offers, device=device))
    remember(offers[0].place)
    if not desk.models.offer(start.model).unfinished:
        desk.begin(start)
    # What has been made so far stays: the collector need not look through it whenever a long sum is explained.
    gc.collect()
    gc.freeze()
    token = secrets.token_urlsafe(24)
    with bound(port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/"
        announce(address)
        if browser and has_screen():
            webbrowser.open(address + home)
        config = uvicorn.Config(
            application(desk, token, start),
            http=impatient(),
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=MOST_CONNECTIONS,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def has_screen() -> bool:
    """Whether a browser has a screen to open on: a browser of text would take the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
