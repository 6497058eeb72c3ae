"""`serve --ray`: the same application in several processes, among which Ray Serve divides the requests."""

from __future__ import annotations

import http.client
import importlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import ConfigError, MissingExtraError, TrainingError
from glassformer.cli.corpus.on_ray import check_address, connected, last_line, package
from glassformer.cli.terminal.destination import digest_of
from glassformer.cli.terminal.opened import Machine

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from glassformer.run.serving.limits import Limits

_NAME = "glassformer"
# Seconds in which the proxy of a Ray Serve that has just started must answer.
_WAIT = 10.0


@dataclass(frozen=True)
class Replica:
    """All that a replica needs to be a server: models by name, what they run on, and their digests in the command."""

    models: Mapping[str, str]
    machine: Machine
    token: str | None
    limits: Limits
    digests: Mapping[str, str]

    def application(self) -> Starlette:
        """The application, with its models opened. Raises ConfigError for models that are not those of the command."""
        from glassformer.run.serving.app import warmed

        opened = {name: self.machine.open(which) for name, which in self.models.items()}
        for name, model in opened.items():
            if digest_of(model) != self.digests[name]:
                raise ConfigError(f"each replica must open the same {name}", got="another model on this machine")
        return warmed(opened, self.limits, self.token)


def serve_on_ray(
    models: Mapping[str, str],
    machine: Machine,
    address: str,
    replicas: int,
    listening: tuple[str, int],
    *,
    token: str | None,
    limits: Limits,
    announce: Callable[[str], None],
) -> None:
    """Serve models from so many processes until Ctrl-C or SIGTERM; `listening` is a host and a free port. Raises
    ConfigError where no Ray answers, has too few cores, or serves already; TrainingError where replicas do not start.
    """
    package()
    check_address(address)
    models = {name: os.path.abspath(which) if Path(which).is_dir() else which for name, which in models.items()}
    digests = {name: digest_of(machine.open(which)) for name, which in models.items()}
    cores = machine.threads or 1
    with connected(address, max(os.cpu_count() or 1, replicas * cores)) as ray:
        try:
            serve = importlib.import_module("ray.serve")
        except ImportError:
            raise MissingExtraError("ray[serve]", extra="ray") from None
        there = int(ray.cluster_resources().get("CPU", 0))
        if there < replicas * cores:
            wanted = f"{replicas} replicas need {replicas * cores} cores"
            raise ConfigError(wanted, got=f"a Ray with {there}", do="ask for fewer --replicas")
        if any(each["namespace"] == "serve" for each in ray.util.list_named_actors(all_namespaces=True)):
            raise ConfigError(
                "a Ray is needed that does not serve yet",
                got=f"Ray Serve at {address}",
                do="end it with `serve shutdown`",
            )
        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        host, port = listening
        serve.start(http_options={"host": host, "port": port})
        try:
            serve.run(_deployment(serve, Replica(models, machine, token, limits, digests), replicas), name=_NAME)
            _check_answers(host, port)
            stopped = threading.Event()
            before = {number: signal.signal(number, lambda *_: stopped.set()) for number in _STOPS}
            announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
            while not stopped.wait(1.0):
                pass
            for number, handler in before.items():
                signal.signal(number, handler)
            serve.delete(_NAME)  # while the proxy is there: what was taken is answered
        except (RuntimeError, ray.exceptions.RayError) as error:
            raise TrainingError("the replicas must start and live", got=last_line(error)) from None
        finally:
            serve.shutdown()


_STOPS = (signal.SIGINT, signal.SIGTERM)


def _deployment(serve: Any, replica: Replica, replicas: int) -> Any:
    def build() -> Any:
        return replica.application()

    made = serve.deployment(
        name=_NAME,
        num_replicas=replicas,
        ray_actor_options={
            "num_cpus": replica.machine.threads or 1,
            "num_gpus": 1 if replica.machine.device.startswith("cuda") else 0,
        },
        # A replica refuses itself what is too much, with 429: more must come to it than it answers at once.
        max_ongoing_requests=2 * replica.limits.requests,
        graceful_shutdown_timeout_s=replica.limits.grace,
        logging_config={"enable_access_log": False},
    )
    return made(serve.ingress(build)()).bind()


def _check_answers(host: str, port: int) -> None:
    asked = http.client.HTTPConnection("127.0.0.1" if host in ("0.0.0.0", "localhost") else host, port, timeout=_WAIT)
    try:
        asked.request("GET", "/health")
        asked.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        raise ConfigError(
            f"Ray Serve must answer at {host}:{port}",
            got=last_line(error),
            do="run this command on the head node of the cluster, or choose another --port",
        ) from None
    finally:
        asked.close()
