"""The routes of the server: one for each verb."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar

from fastapi import FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Scope

from glassformer.base.errors import GlassformerError
from glassformer.base.json_text import in_json
from glassformer.run.serving import guard
from glassformer.run.serving.bodies import read_body
from glassformer.run.serving.forms import Form, forms
from glassformer.run.serving.guard import check_local, check_origin
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.refusals import (
    MethodError,
    MissingError,
    OverloadedError,
    RequestError,
    UnauthorizedError,
    refused,
)
from glassformer.run.serving.served import Models

ModelName = Annotated[str, Path(max_length=200)]
OPEN = ("/health", "/ready")
"""Addresses that need no token: they tell whether the server works, and nothing else."""


class Guard(guard.Guard):
    """Lets through what bears the token of this server; without a token, what comes from this machine."""

    most_unkept: ClassVar[int] = 1 << 28

    def __init__(self, app: ASGIApp, token: str | None, limits: Limits) -> None:
        super().__init__(
            app,
            most_bytes=limits.body,
            most_at_once=limits.requests,
            seconds_to_read=limits.seconds_to_read,
            seconds_to_answer=limits.seconds,
        )
        self.token = token

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
        """The refusal of a request when too many are being answered."""
        return OverloadedError(f"at most {self.most_at_once:,} requests are answered at once", do="ask again later")

    def refused(self, error: RequestError) -> Response:
        """The answer to a request that is refused."""
        return problem(error)


def application(models: Models, token: str | None = None) -> FastAPI:
    """The server of these models."""

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        models.start()
        yield
        models.end()

    app = FastAPI(
        title="glassformer", lifespan=living, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    app.add_middleware(Guard, token=token, limits=models.limits)
    app.add_exception_handler(GlassformerError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)

    @app.get("/health")
    async def health() -> Response:
        return answer({"status": "ok"})

    @app.get("/ready")
    async def ready() -> Response:
        return answer({"status": "ready" if models.ready else "not ready"}, 200 if models.ready else 503)

    for form in forms().values():
        add_verb(app, models, form)
    return app


def add_verb(app: FastAPI, models: Models, form: Form) -> None:
    """The route of a verb."""

    async def ask(request: Request, model: ModelName) -> Response:
        served = models[model]
        form_ = served.form(form.name)
        body = read_body(await request.body(), form.body)
        records, kept, options = form_.asked(body)
        items = await models.answers(served, form_, records, options)
        answers = [{**own, **item.future.result().to_dict()} for own, item in zip(kept, items, strict=True)]
        return answer({"model": model, "verb": form.name, "answers": answers})

    app.add_api_route(
        f"/v1/{{model}}/{form.name}", ask, methods=["POST"], name=form.name, summary=form.help, response_class=Response
    )


def answer(values: Mapping[str, Any], status: int = 200) -> Response:
    """An answer as JSON."""
    return Response(
        json.dumps(in_json(values), ensure_ascii=False, allow_nan=False), status, media_type="application/json"
    )


def problem(error: GlassformerError, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request that is refused."""
    return refused(error, headers, called="message")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, GlassformerError)
    return problem(error)


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return problem(RequestError(f"{first['loc'][-1]}: {first['msg']}", got=repr(first.get("input"))[:80]))


async def _unknown(request: Request, error: Exception) -> Response:
    """What has no route."""
    assert isinstance(error, HTTPException)
    asked = f"{request.method} {request.url.path[:80]}"
    if error.status_code == 405:
        return problem(MethodError("this address is not asked for so", got=asked), error.headers)
    return problem(MissingError("there is nothing at this address", got=asked, do="see /openapi.json"))
