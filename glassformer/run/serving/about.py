"""Routes about the server itself: whether it works, its models, its numbers, its addresses, and tokens of texts."""

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from glassformer import __version__
from glassformer.base.settings import Settings
from glassformer.run.serving.forms import MOST_TOP, Texts
from glassformer.run.serving.limits import MOST_NAMES, MOST_VALUES, read_body
from glassformer.run.serving.observed import Metrics
from glassformer.run.serving.routes import Route, answered, note
from glassformer.run.serving.served import Models, check_size
from glassformer.run.serving.stopping import in_thread
from glassformer.saved.info import describe

_SHOWN = ("family", "task", "labels", "sizes", "parameters", "tokenizer", "reads_at_once", "prediction")


class TokenizeRequest(Settings):
    """Texts for the tokenizer of a model, without the special tokens that the model reads around them."""

    model: str
    texts: Annotated[Texts, Field(min_length=1)]


def about_routes(models: Models, metrics: Metrics, others: Sequence[Route]) -> list[Route]:
    """These routes; `others` are described too."""

    def about(path: str, summary: str, answer: Callable[[], Response]) -> Route:
        async def handle(request: Request) -> Response:
            return answer()

        return Route(path=path, summary=summary, handle=handle)

    def ready() -> Response:
        return answered({"status": "ready" if models.ready else "not ready"}, 200 if models.ready else 503)

    async def tokenize(request: Request) -> Response:
        asked = read_body(await request.body(), TokenizeRequest)
        tokenizer = models[asked.model].model.tokenizer
        note(request, model=asked.model)
        models.check_number(asked.texts, models.limits.records)

        def made() -> Response:
            found: list[dict[str, Any]] = []
            tokens = characters = 0
            for text in asked.texts:
                characters += len(text)
                check_size(characters, models.limits.request_characters, "characters")
                ids = tokenizer.ids(text)
                tokens += len(ids)
                check_size(tokens, models.limits.request_tokens, "tokens")
                found.append({"ids": ids, "tokens": [tokenizer.token(id_) for id_ in ids]})
            return answered({"model": asked.model, "texts": found})

        return await in_thread(models.readers, made)

    def numbers() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    async def one_of(request: Request) -> Response:
        name = request.path_params["model"]
        models[name]  # refused where there is none
        return answered(next(each for each in listed if each["id"] == name))

    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "glassformer"} for name in models.served]
    routes = [
        about("/health", "whether the server works", lambda: answered({"status": "ok"})),
        about("/ready", "whether it takes requests", ready),
        about("/v1/models", "the models, as OpenAI lists them", lambda: answered({"object": "list", "data": listed})),
        Route(path="/v1/models/{model}", summary="one of them", handle=one_of),
        about("/info", "the models, their verbs and sizes, and the limits", lambda: answered(facts)),
        Route(path="/tokenize", summary="the tokens of texts", handle=tokenize, body=TokenizeRequest),
        about("/metrics", "numbers for Prometheus", numbers),
        about("/openapi.json", "these addresses, as OpenAPI", lambda: answered(document)),
        about("/docs", "these addresses, as a page", lambda: Response(shown, media_type="text/html")),
    ]
    facts = {
        "version": __version__,
        "models": {
            name: {"verbs": list(served.verbs), **{key: describe(served.model)[key] for key in _SHOWN}}
            for name, served in models.served.items()
        },
        "limits": {**models.limits.model_dump(), "values": MOST_VALUES, "names": MOST_NAMES, "top": MOST_TOP},
    }
    document = openapi_of([*others, *routes], list(models.served))
    shown = page_of(document)
    return routes


def openapi_of(routes: Sequence[Route], names: Sequence[str]) -> dict[str, Any]:
    bodies = {route.body for route in routes if route.body is not None}
    ordered = sorted(bodies, key=lambda kind: kind.__name__)
    _, schemas = models_json_schema(
        [(kind, "validation") for kind in ordered], ref_template="#/components/schemas/{model}"
    )
    paths: dict[str, Any] = {}
    refusal = {"description": "refused: {error: {message, wanted, got, do, type, code}}"}
    for route in routes:
        operation: dict[str, Any] = {
            "summary": route.summary, "operationId": route.path.strip("/").replace("/", "_"),
            "responses": {"200": {"description": "the answer"}, "default": refusal},
        }  # fmt: skip
        if route.body is not None:
            schema = {"$ref": f"#/components/schemas/{route.body.__name__}"}
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        if "{model}" in route.path:
            known = {"type": "string", "enum": list(names)}
            operation["parameters"] = [{"name": "model", "in": "path", "required": True, "schema": known}]
        paths[route.path] = {route.method.lower(): operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "glassformer", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas.get("$defs", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def page_of(document: dict[str, Any]) -> str:
    """The same as a page that needs no other file."""
    schemas, parts = document["components"]["schemas"], []
    for path, methods in document["paths"].items():
        ((method, operation),) = methods.items()
        parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>")
        if "requestBody" in operation:
            name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            text = escape(json.dumps(schemas[name], indent=1))
            parts.append(f"<details><summary>{escape(name)}</summary><pre>{text}</pre></details>")
    records = "".join(
        f"<details><summary>{escape(name)}</summary><pre>{escape(json.dumps(schema, indent=1))}</pre></details>"
        for name, schema in schemas.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>glassformer</title>'
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
        "h2{font-size:1rem;margin:1.5rem 0 0}p{margin:0}</style>"
        f'<h1>glassformer</h1><p>For programs: <a href="openapi.json">openapi.json</a></p>{"".join(parts)}'
        f"<h2>All that requests hold</h2>{records}</html>"
    )
