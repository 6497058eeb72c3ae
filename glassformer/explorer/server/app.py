"""The routes of the server: the page, the models on offer, and runs with their numbers.

What is told of a run never changes, for a run is called by what was asked for: browsers keep it.
"""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from glassformer.errors import GlassformerError
from glassformer.explorer.page import WITHOUT_SCRIPT, built
from glassformer.explorer.server.answers import weights_of
from glassformer.explorer.server.asked import KEY, Asked, read_asked
from glassformer.explorer.server.desk import Desk
from glassformer.explorer.server.guard import Guard
from glassformer.explorer.server.overview import packed
from glassformer.explorer.server.pictures import Scale
from glassformer.explorer.server.refusals import MethodError, MissingError, RequestError, refused
from glassformer.explorer.tour import pictures, tour_texts

NEVER_CHANGES = {"Cache-Control": "private, max-age=31536000, immutable"}
BINARY = "application/octet-stream"

RunKey = Annotated[str, Path(pattern=KEY)]
ModelName = Annotated[str, Path(max_length=200)]
TensorName = Annotated[str, Query(min_length=1, max_length=200)]
Part = Annotated[str, Query(max_length=200, pattern=r"^[0-9:, ]*$")]
Dots = Annotated[int, Query(ge=1, le=2048)]
Side = Annotated[int, Query(ge=1, le=64)]
CellText = Annotated[str, Query(max_length=80, pattern=r"^(\d{1,9}(,\d{1,9})*)?$")]
Sentence = Annotated[int, Query(ge=0, le=1_000_000)]


def application(desk: Desk, token: str, start: Asked, guard: dict[str, Any] | None = None) -> FastAPI:
    """The server of a desk. `start` is what a page shows first; `guard` are other limits than the usual ones."""

    @asynccontextmanager
    async def closing(app: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(lifespan=closing, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_middleware(Guard, token=token, **(guard or {}))
    app.add_exception_handler(GlassformerError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)

    # ----------------------------------------------------------------- the page

    @app.get("/")
    async def page() -> Response:
        return Response(shell(), media_type="text/html")

    @app.get("/explorer.js")
    async def script() -> Response:
        return Response(built("explorer.js"), media_type="text/javascript")

    @app.get("/explorer.css")
    async def style() -> Response:
        return Response(built("explorer.css"), media_type="text/css")

    @app.get("/api/tour")
    async def tour(request: Request) -> Response:
        return in_json(request, packed(tour_texts()))

    @app.get("/api/pictures")
    async def listed_pictures(request: Request) -> Response:
        return in_json(request, packed(pictures()))

    # ----------------------------------------------------------------- models

    @app.get("/api/models")
    async def models() -> dict[str, Any]:
        offers = [offer.record for offer in desk.models.offers.values()]
        return {"models": offers, "start": start.model_dump(mode="json")}

    @app.get("/api/models/{model:path}/vocabulary")
    async def vocabulary(request: Request, model: ModelName) -> Response:
        told = await desk.answer(lambda: packed(desk.models[model].tokenizer.vocabulary(), level=6))
        return in_json(request, told, NEVER_CHANGES)

    @app.get("/api/models/{model:path}/weights")
    async def weights(model: ModelName) -> Response:
        return Response(await desk.answer(lambda: weights_of(desk.models[model])), 200, NEVER_CHANGES, BINARY)

    # ----------------------------------------------------------------- runs

    @app.post("/api/runs")
    async def ask(request: Request) -> Response:
        run = await desk.ask(read_asked(await request.body()))
        return in_json(request, run.overview)

    @app.get("/api/runs/{key}")
    async def overview(request: Request, key: RunKey) -> Response:
        return in_json(request, desk.run(key).overview, NEVER_CHANGES)

    @app.delete("/api/runs/{key}")
    async def forget(key: RunKey) -> Response:
        desk.forget(key)
        return Response(status_code=204)

    @app.get("/api/runs/{key}/honesty")
    async def honesty(request: Request, key: RunKey) -> Response:
        return in_json(request, await desk.answer(desk.run(key).honesty), NEVER_CHANGES)

    @app.get("/api/runs/{key}/numbers")
    async def numbers(key: RunKey) -> Response:
        return Response(await desk.answer(desk.run(key).all_numbers), 200, NEVER_CHANGES, BINARY)

    @app.get("/api/runs/{key}/page")
    async def whole(key: RunKey) -> Response:
        # Opened here it would stand under the policy of this server: it is a file to keep.
        headers = {"Content-Disposition": 'attachment; filename="page.html"'}
        return Response(await desk.answer(desk.run(key).page), 200, headers, "text/html")

    @app.get("/api/runs/{key}/tensor")
    async def tensor(key: RunKey, name: TensorName, part: Part = "") -> Response:
        run = desk.run(key)
        return Response(await desk.answer(lambda: run.part(name, part)), 200, NEVER_CHANGES, BINARY)

    @app.get("/api/runs/{key}/picture")
    async def picture(
        key: RunKey,
        name: TensorName,
        part: Part = "",
        rows: Dots = 512,
        columns: Dots = 512,
        scale: Scale = "linear",
    ) -> Response:
        run = desk.run(key)
        drawn = await desk.answer(lambda: run.picture(name, part, (rows, columns), scale))
        return Response(drawn, 200, NEVER_CHANGES, BINARY)

    @app.get("/api/runs/{key}/heads")
    async def heads(key: RunKey, attention: TensorName, sentence: Sentence = 0, dots: Side = 32) -> Response:
        run = desk.run(key)
        return Response(await desk.answer(lambda: run.heads(attention, sentence, dots)), 200, NEVER_CHANGES, BINARY)

    @app.get("/api/runs/{key}/section")
    async def section(request: Request, key: RunKey, name: TensorName) -> Response:
        run = desk.run(key)
        return in_json(request, await desk.answer(lambda: run.section(name)), NEVER_CHANGES)

    @app.get("/api/runs/{key}/explain")
    async def explain(request: Request, key: RunKey, name: TensorName, cell: CellText = "") -> Response:
        run = desk.run(key)
        index = [int(step) for step in cell.split(",")] if cell else []
        return in_json(request, await desk.answer(lambda: run.explain(name, index)), NEVER_CHANGES)

    return app


def shell() -> str:
    """The page before its script has run: script and style are files of this server."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>glassformer</title>",
            '<link rel="icon" href="data:,">',
            '<link rel="stylesheet" href="explorer.css">',
            "</head>",
            "<body>",
            f'<div id="explorer"><noscript>{escape(WITHOUT_SCRIPT)}</noscript></div>',
            '<script type="module" src="explorer.js"></script>',
            "</body>",
            "</html>",
            "",
        )
    )


def in_json(request: Request, compressed: bytes, headers: dict[str, str] | None = None) -> Response:
    """Compressed JSON, as it is or unpacked for one who does not take it so."""
    headers = {"Vary": "Accept-Encoding", **(headers or {})}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(compressed, 200, {**headers, "Content-Encoding": "gzip"}, "application/json")
    return Response(gzip.decompress(compressed), 200, headers, "application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, GlassformerError)
    return refused(error)


async def _malformed(request: Request, error: Exception) -> Response:
    """What FastAPI refuses: a key, a name or a number in the address that cannot be one."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    got = repr(first.get("input"))[:80]
    return refused(RequestError(f"{first['loc'][-1]} in the address: {first['msg']}", got=got))


async def _unknown(request: Request, error: Exception) -> Response:
    """What has no route."""
    assert isinstance(error, HTTPException)
    asked = f"{request.method} {request.url.path.partition('/api')[2][:80] or 'another address'}"
    if error.status_code == 405:
        return refused(MethodError("this address is not asked for so", got=asked), error.headers)
    return refused(MissingError("there is nothing at this address", got=asked))
