"""What is known of requests: numbers for Prometheus, and a line of the log for each, without texts."""

import asyncio
import json
import logging
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.run.serving.batching import LOG, Worker
from glassformer.run.serving.refusals import BusyError
from glassformer.run.serving.routes import OPEN, problem

_ID = re.compile(r"[\w.-]{1,64}")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_RECORDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def histogram(name: str, help: str, labels: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"glassformer_{name}", help, labels, buckets=buckets, registry=self.registry)

        def counter(name: str, help: str, labels: tuple[str, ...]) -> Counter:
            return Counter(f"glassformer_{name}", help, labels, registry=self.registry)

        def gauge(name: str, help: str) -> Gauge:
            return Gauge(f"glassformer_{name}", help, ("model",), registry=self.registry)

        self.requests = counter("requests", "Requests by route and status.", ("route", "model", "status"))
        self.seconds = histogram("request_seconds", "Seconds from a request to its answer.", ("route",), _SECONDS)
        self.tokens = counter("tokens", "Tokens that were read.", ("model",))
        self.batches = histogram("batch_records", "Records that were answered together.", ("model",), _RECORDS)
        self.batch_seconds = histogram("batch_seconds", "Seconds of a batch.", ("model",), _SECONDS)
        self.waiting = gauge("waiting_records", "Records that wait.")
        self.waiting_tokens = gauge("waiting_tokens", "Their tokens.")
        self.streams = gauge("streams", "Texts that are streamed.")

    def watch(self, model: str, worker: Worker) -> None:
        """Show what waits for a model."""
        self.waiting.labels(model).set_function(lambda: len(worker.waiting))
        self.waiting_tokens.labels(model).set_function(lambda: worker.tokens)
        self.streams.labels(model).set_function(lambda: len(worker.streams))

    def taken(self, model: str) -> Callable[[int, int, float], None]:
        """What hears of the batches of a model."""
        tokens_ = self.tokens.labels(model)
        records_, seconds_ = self.batches.labels(model), self.batch_seconds.labels(model)

        def hear(records: int, tokens: int, seconds: float) -> None:
            tokens_.inc(tokens)
            records_.observe(records)
            seconds_.observe(seconds)

        return hear

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)


class Observed:
    """Counts and logs each request, and gives it an id: that of its header X-Request-Id, else a new one."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        id_ = given if _ID.fullmatch(given) else f"{random.getrandbits(64):016x}"
        started, status = time.perf_counter(), 0  # of a client that left

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = id_
            await send(message)

        facts: dict[str, Any] = {}
        scope["facts"] = facts
        try:
            await self.app(scope, receive, sent)
        except asyncio.CancelledError:  # its time to end is over
            if status:
                raise
            stopped = BusyError("this server is being stopped, and its time to end is over", do="ask another one")
            await problem(stopped)(scope, receive, sent)
        finally:
            seconds = time.perf_counter() - started
            route, model = str(facts.pop("route", "")), str(facts.get("model", ""))
            self.metrics.requests.labels(route, model, status).inc()
            self.metrics.seconds.labels(route).observe(seconds)
            line = {"id": id_, "route": route, "status": status, "seconds": round(seconds, 4), **facts}
            LOG.log(logging.DEBUG if route in OPEN else logging.INFO, "request", extra={"facts": line})


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time_ = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = getattr(record, "facts", {})
        return json.dumps({"time": time_, "level": record.levelname.lower(), "event": record.getMessage(), **facts})


@contextmanager
def log_lines() -> Iterator[None]:
    """Inside, each request is a line of JSON on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    try:
        yield
    finally:
        LOG.removeHandler(handler)
