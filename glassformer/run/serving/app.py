"""The server: who may ask, and all routes; those of the verbs are made from their forms."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from glassformer.base.errors import ConfigError, GlassformerError
from glassformer.run.serving import guard
from glassformer.run.serving.about import about_routes
from glassformer.run.serving.batching import Written, broken
from glassformer.run.serving.forms import Form, forms
from glassformer.run.serving.guard import check_local, check_origin
from glassformer.run.serving.limits import Limits, read_body
from glassformer.run.serving.observed import Metrics, Observed
from glassformer.run.serving.openai import openai_routes
from glassformer.run.serving.refusals import (
    BrokenError,
    MethodError,
    MissingError,
    OverloadedError,
    RequestError,
    UnauthorizedError,
)
from glassformer.run.serving.routes import OPEN, Route, in_events, note, problem
from glassformer.run.serving.served import Models, Served
from glassformer.saved.artefact import Artefact


def verb_route(models: Models, form: Form) -> Route:
    async def ask(request: Request) -> Response:
        served = models[request.path_params["model"]]
        note(request, model=served.name)
        served.form(form.name)
        body = read_body(await request.body(), form.body)
        records, kept, options = form.asked(body)
        note(request, records=len(records))
        if getattr(body, "stream", False):
            if len(records) > 1:
                raise ConfigError("one text is streamed", got=f"{len(records):,}", do="leave stream out")
            written, item = await models.write(served, form, records[0], options)
            note(request, tokens=item.tokens)
            return await in_events(request, _parts(written, kept[0]), written.stop, models.limits.seconds)
        items = await models.answers(served, form, records, options)
        tokens = sum(item.tokens for item in items)
        note(request, tokens=tokens)

        def made() -> dict[str, Any]:
            answers = [{**own, **item.future.result().to_dict()} for own, item in zip(kept, items, strict=True)]
            return {"model": served.name, "verb": form.name, "answers": answers}

        return await models.answered(made, tokens + sum(item.numbers for item in items))

    return Route(path=f"/v1/{{model}}/{form.name}", summary=form.help, handle=ask, body=form.body)


async def _parts(written: Written, kept: Mapping[str, object]) -> AsyncIterator[Mapping[str, Any]]:
    async for last, its in written:
        yield {"answer": {**kept, **its.to_dict()}} if last else {"text": its}


class Guard(guard.Guard):
    """Lets through what bears the token of this server; without a token, what comes from this machine."""

    most_unkept: ClassVar[int] = 1 << 28
    called: ClassVar[str] = "message"

    def __init__(self, app: ASGIApp, token: str | None, limits: Limits) -> None:
        super().__init__(
            app,
            most_bytes=limits.body,
            most_at_once=limits.requests,
            seconds_to_read=limits.seconds_to_read,
            seconds_to_answer=limits.seconds,
        )
        self.token = None if token is None else token.strip()  # a file ends with a line end

    def check(self, scope: Scope) -> None:
        """Raise UnauthorizedError without the token, ForbiddenError for a request from a page of another site."""
        if self.token is None:
            check_local(scope, "use the address that glassformer serve printed")
            return
        headers = Headers(scope=scope)
        check_origin(headers, headers.get("host", ""))
        if scope["path"] in OPEN:
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not secrets.compare_digest(given.strip().encode(), self.token.encode()):
            raise UnauthorizedError(
                "a request must bear the token of this server",
                got="another one" if given else "none",
                do="send the header Authorization: Bearer TOKEN",
            )

    def busy(self) -> RequestError:
        return OverloadedError(f"at most {self.most_at_once:,} requests are answered at once", do="ask again later")

    def broken(self, error: Exception) -> BrokenError:
        return broken(error)


def warmed(models: Mapping[str, Artefact], limits: Limits, token: str | None) -> Starlette:
    """The server of these models, each of which has answered some texts with each verb."""
    metrics = Metrics()
    served = [Served(name, model, limits, metrics.taken(name)) for name, model in models.items()]
    for each in served:
        each.warm()
    return application(Models(served, limits), token, metrics)


def application(models: Models, token: str | None = None, metrics: Metrics | None = None) -> Starlette:
    metrics = metrics or Metrics()
    for name, served in models.served.items():
        metrics.watch(name, served.worker)

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        models.start()
        yield
        await asyncio.to_thread(models.end)

    app = Starlette(lifespan=living)
    app.router.redirect_slashes = False
    app.add_middleware(Guard, token=token, limits=models.limits)
    app.add_middleware(Observed, metrics=metrics)  # the outermost
    app.add_exception_handler(GlassformerError, _refused)
    app.add_exception_handler(HTTPException, unknown(models))
    known = {verb for served in models.served.values() for verb in served.verbs}
    verbs = [verb_route(models, form) for name, form in forms().items() if name in known]
    routes = [*verbs, *openai_routes(models)]
    for route in [*routes, *about_routes(models, metrics, routes)]:
        app.add_route(route.path, named(route), methods=[route.method])
    return app


def named(route: Route) -> Callable[[Request], Awaitable[Response]]:
    """What answers a route, and notes for the log which it is."""

    async def handle(request: Request) -> Response:
        note(request, route=route.path)
        return await route.handle(request)

    return handle


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, GlassformerError)
    return problem(error)


def unknown(models: Models) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What answers where there is no route: of a model that is served, with the verbs that it has."""

    async def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path = request.scope["path"]  # request.url cannot be made of every query
        asked = f"{request.method} {path[:80]}"
        if error.status_code == 405:
            return problem(MethodError("this address takes another method", got=asked), error.headers)
        match path.split("/"):
            case ["", "v1", name, verb] if name in models.served:
                note(request, model=name)
                return problem(models[name].unknown(verb[:80]))
        return problem(MissingError("there is nothing at this address", got=asked, do="see /openapi.json"))

    return answer
