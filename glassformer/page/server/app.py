"""The routes of the server: the page, the models on offer, and runs with their numbers.

What is sent of a run never changes, for a run is called by what was asked for: browsers keep it.
"""

import base64
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from html import escape
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from glassformer.base.errors import GlassformerError
from glassformer.page.meta import framed
from glassformer.page.page import WITHOUT_SCRIPT, block_of, script_files, texts_of_page
from glassformer.page.sections.carried import compressed
from glassformer.page.server.asked import KEY, Asked, read_asked
from glassformer.page.server.desk import Desk
from glassformer.page.server.guard import Guard
from glassformer.page.server.home import AskedModel, Home
from glassformer.page.server.overview import packed, unfinished
from glassformer.page.server.pictures import weights_of
from glassformer.page.server.queries import BINARY, FILE, JSON, answer_to, read_query
from glassformer.page.server.trees import read_asked_tree
from glassformer.run.serving.limits import read_body
from glassformer.run.serving.refusals import MethodError, MissingError, RequestError, refused

NEVER_CHANGES = {"Cache-Control": "private, max-age=31536000, immutable"}
MOST_INLINE = 256_000
"""Bytes of one answer that are sent with the page: what is larger must not hold up its script."""

RunKey = Annotated[str, Path(pattern=KEY)]
KnownRun = Annotated[str, Query(pattern=f"^$|{KEY}")]
ModelName = Annotated[str, Path(max_length=200)]
Mark = Annotated[str, Query(max_length=80, pattern=r"^(\d+-\d+)?$")]
FileName = Annotated[str, Path(max_length=80)]
Offset = Annotated[int, Query(ge=0)]


def application(desk: Desk, token: str, start: Asked, guard: dict[str, Any] | None = None) -> FastAPI:
    """The server of a desk. `start` is what a page shows first; `guard` are other limits than the usual ones."""

    @asynccontextmanager
    async def closing(app: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()
        home.close()

    home = Home(desk.models)
    app = FastAPI(lifespan=closing, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_middleware(Guard, token=token, **(guard or {}))
    app.add_exception_handler(GlassformerError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)

    def offered() -> dict[str, Any]:
        """The models by now: another one may be opened from the home page."""
        return {
            "models": [offer.record for offer in desk.models.offers.values()],
            "start": start.model_dump(mode="json"),
        }

    first: list[bytes] = []

    def begin() -> None:
        """The page with what is known by now: once more has been worked out it comes with more."""
        first[:] = [compressed(shell(start.model, begun(desk, start, offered())).encode())]

    begin()
    desk.look_ahead(start, begin)
    scripts = script_files()
    packed_scripts: dict[str, bytes] = {}

    @app.get("/")
    async def page(request: Request) -> Response:
        return packed_as(request, first[0], "text/html")

    @app.get("/script/{name}")
    async def send_script(request: Request, name: FileName) -> Response:
        if name not in scripts:
            raise MissingError("the script of the page has no such part", got=name, do="open the page again")
        if name not in packed_scripts:
            packed_scripts[name] = compressed(scripts[name].encode(), level=9)
        # Of a chunk's name a part follows from what is in it.
        headers = NEVER_CHANGES if "-" in name else None
        return packed_as(
            request, packed_scripts[name], f"text/{'css' if name.endswith('.css') else 'javascript'}", headers
        )

    for name in texts_of_page():
        app.get(f"/api/{name}")(text_route(name))

    @app.get("/home")
    async def home_page(request: Request) -> Response:
        return packed_as(request, compressed(home.page().encode()), "text/html")

    @app.get("/api/cards/{model:path}")
    async def card(request: Request, model: ModelName) -> Response:
        offer = desk.models.offer(model)
        asked = Asked(model=model, texts=offer.texts, seconds=offer.seconds, choices=offer.choices)
        run = await desk.ask(asked)
        return in_json(request, await desk.answer(lambda: packed(home.card(offer, run.trace))))

    @app.post("/api/models")
    async def open_another(request: Request) -> dict[str, str]:
        asked = read_body(await request.body(), AskedModel)
        name = await desk.answer(lambda: home.open(asked))
        begin()
        return {"name": name}

    @app.post("/api/dropped/{key}/{name}")
    async def receive(request: Request, key: RunKey, name: FileName, offset: Offset) -> dict[str, int]:
        data = await request.body()
        await desk.answer(lambda: home.receive(key, name, offset, data))
        return {"next": offset + len(data)}

    @app.get("/api/models")
    async def models() -> dict[str, Any]:
        return offered()

    @app.get("/api/models/{model:path}/vocabulary")
    async def vocabulary(request: Request, model: ModelName) -> Response:
        if desk.models.offer(model).unfinished:
            return in_json(request, packed([]))
        tokens = await desk.answer(lambda: packed(desk.models[model].tokenizer.target.shown, level=6))
        return in_json(request, tokens, NEVER_CHANGES)

    @app.get("/api/models/{model:path}/training")
    async def training(request: Request, model: ModelName, known: Mark = "") -> Response:
        return in_json(request, await desk.answer(lambda: packed(desk.models.training(model, known))))

    @app.get("/api/models/{model:path}/weights")
    async def weights(model: ModelName) -> Response:
        return Response(await desk.answer(lambda: weights_of(desk.models[model])), 200, NEVER_CHANGES, BINARY)

    @app.post("/api/runs")
    async def ask(request: Request, like: KnownRun = "") -> Response:
        asked = read_asked(await request.body())
        if desk.models.offer(asked.model).unfinished:
            return in_json(request, unfinished(asked))
        run = await desk.ask(asked)
        return in_json(request, await desk.answer(lambda: run.overview_for(desk.runs.get(like))))

    @app.post("/api/trees")
    async def tree(request: Request) -> Response:
        return in_json(request, await desk.tree(read_asked_tree(await request.body())))

    @app.get("/api/runs/{key}/{what}")
    async def of_run(request: Request, key: RunKey, what: FileName) -> Response:
        kind, make = answer_to(what)
        run, query = desk.run(key), read_query(request.query_params)
        data = await desk.answer(lambda: make(run, query))
        if what == "explain":
            desk.look_around(run, query.name)
        if kind == JSON:
            return in_json(request, data, NEVER_CHANGES)
        # Opened here a page would stand under the policy of this server: it is a file to keep.
        kept = {"Content-Disposition": 'attachment; filename="page.html"'}
        return Response(data, 200, kept if kind == FILE else NEVER_CHANGES, kind)

    return app


def begun(desk: Desk, start: Asked, offered: dict[str, Any]) -> list[str]:
    """What a page asks for first, as far as it is there and small, as inert elements: none of it costs a request."""
    if start.key not in desk.runs:
        return []
    run = desk.run(start.key)
    answers = {
        "models": packed(offered),
        "run": run.overview,
        "vocabulary": packed([] if run.model is None else run.model.tokenizer.target.shown, level=6),
    }
    fetched, numbers = run.shown_first()
    if run.whole:
        numbers["numbers"] = run.all_numbers()
    return [
        *(json_of(name, answer) for name, answer in (answers | fetched).items() if len(answer) <= MOST_INLINE),
        *(element for name, data in numbers.items() if (element := inline_numbers(name, data))),
    ]


def inline_numbers(name: str, data: bytes) -> str:
    """Numbers for the page to read at once; larger ones are compressed, the largest are left out."""
    if len(data) <= MOST_INLINE:
        return f'<script type="{BINARY}" id="{escape(name)}">{base64.b64encode(data).decode()}</script>'
    smaller = compressed(data)
    return block_of(name, smaller) if len(smaller) <= MOST_INLINE else ""


def json_of(name: str, answer: bytes) -> str:
    """Compressed JSON as an inert element that the page reads at once; the page itself is sent compressed."""
    # In JSON this sign stands in texts alone: escaped, nothing in them can end the element.
    text = gzip.decompress(answer).decode().replace("<", "\\u003c")
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def shell(title: str, elements: Sequence[str]) -> str:
    """The page before its script runs: a head with the model's name, and inert elements."""
    head = (
        '<link rel="icon" href="data:,">',
        '<link rel="stylesheet" href="script/core.css">',
        # Fetched and compiled while the rest arrives, run after it.
        '<script type="module" src="script/core.js"></script>',
        *(f'<link rel="modulepreload" href="script/{part}">' for part in script_files() if part.startswith("live-")),
    )
    body = (
        '<div id="explorer">',
        f'<header class="top"><b class="brand">glassformer</b><p class="crumbs">{escape(title)}</p></header>',
        f"<noscript>{escape(WITHOUT_SCRIPT)}</noscript>",
        "</div>",
        *elements,
    )
    return framed("glassformer", head, body)


@cache
def packed_text(name: str) -> bytes:
    """A text that is sent with a page, read and compressed once for all pages."""
    return compressed(texts_of_page()[name])


def text_route(name: str) -> Callable[[Request], Awaitable[Response]]:

    async def send(request: Request) -> Response:
        return in_json(request, packed_text(name))

    return send


def in_json(request: Request, data: bytes, headers: dict[str, str] | None = None) -> Response:
    return packed_as(request, data, "application/json", headers)


def packed_as(request: Request, data: bytes, kind: str, headers: dict[str, str] | None = None) -> Response:
    """What is compressed, as it is or unpacked for one who does not take it so."""
    headers = {"Vary": "Accept-Encoding", **(headers or {})}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(data, 200, {**headers, "Content-Encoding": "gzip"}, kind)
    return Response(gzip.decompress(data), 200, headers, kind)


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
    assert isinstance(error, HTTPException)
    path = request.scope["path"]  # request.url cannot be made of every query
    asked = f"{request.method} {path.partition('/api')[2][:80] or 'another address'}"
    if error.status_code == 405:
        return refused(MethodError("this address takes another method", got=asked), error.headers)
    return refused(MissingError("there is nothing at this address", got=asked))
