from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.options import Device, Engine, Fast, Int8, Ray, Threads, json_option
from glassformer.cli.terminal.screen import note, record

if TYPE_CHECKING:
    from glassformer.saved.artefact import Artefact

_MODELS = "Folders or names of bundled models. Each is served under its name, or the last part of its path."
_HOST = "Address to listen on. Any address other than localhost needs --token."
_TOKEN = (
    "Token that each request must send, in the header Authorization: Bearer TOKEN.  [default: the environment "
    "variable GLASSFORMER_TOKEN, else none]"
)
_GRACE = "Maximum number of seconds to finish open requests after Ctrl-C."
_QUEUE = "Maximum number of texts that may wait for a model."
_REPLICAS = "With --ray: number of serving processes.  [default: 2]"


def serve(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help=_MODELS)],
    host: Annotated[str, typer.Option("--host", help=_HOST)] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Local port; 0 chooses a free one.")] = 8000,
    token: Annotated[
        str | None, typer.Option("--token", envvar="GLASSFORMER_TOKEN", show_envvar=False, help=_TOKEN)
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.001, help="Timeout of a request, in seconds.")] = 60.0,
    grace: Annotated[int, typer.Option("--grace", min=1, help=_GRACE)] = 60,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, help="Maximum number of tokens in all windows of a text.")
    ] = 16_384,
    queue: Annotated[int, typer.Option("--queue", min=1, help=_QUEUE)] = 4096,
    ray: Ray = None,
    replicas: Annotated[int | None, typer.Option("--replicas", min=1, help=_REPLICAS, show_default=False)] = None,
    json: Annotated[bool, json_option("The record has the address and the models.")] = False,
    fast: Fast = False,
    engine: Engine = "auto",
    int8: Int8 = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Serve models over HTTP: an endpoint for each command, such as fill or classify, and OpenAI-compatible endpoints
    for embeddings, completions and chat. After Ctrl-C, the server finishes the open requests and
    stops.
    """
    from glassformer.run.serving.listening import check_installed

    check_installed("prometheus_client")
    from glassformer.run.serving.limits import Limits
    from glassformer.run.serving.start import listening_at
    from glassformer.run.serving.start import serve as run

    named: dict[str, str] = {}
    for which in models:
        name = Path(os.path.abspath(which)).name
        if name in named:
            raise ConfigError("each model needs its own name", got=f"{named[name]} and {which}", do="rename a folder")
        named[name] = which
    if replicas is not None and ray is None:
        raise ConfigError("--replicas are started by Ray", got="no --ray", do="add --ray")
    machine = Machine(device, threads, fast, int8, engine)
    listening = listening_at(host, port, token)
    limits = Limits(seconds=seconds, grace=grace, tokens=tokens, waiting=queue)

    def opened() -> dict[str, Artefact]:
        return {name: machine.open(which) for name, which in named.items()}

    out = sys.stdout  # not what it is while a Ray is connected: what Ray prints goes to standard error

    def announce(address: str) -> None:
        if json:
            record({"address": address, "models": list(named)}, out)
            return
        print(address, file=out, flush=True)
        note(f"serving {', '.join(named)}; Ctrl-C stops it")

    if ray is None:
        run(opened, listening, token=token, limits=limits, announce=announce)
        return
    from glassformer.cli.ask.replicas import serve_on_ray

    with listening:  # Ray Serve binds the address itself
        where = listening.getsockname()[:2]
    serve_on_ray(named, machine, ray, replicas or 2, where, token=token, limits=limits, announce=announce)
