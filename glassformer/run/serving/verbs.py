"""The routes of the verbs: one for each, made from its form."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from glassformer.base.errors import ConfigError
from glassformer.run.serving.batching import Written
from glassformer.run.serving.bodies import read_body
from glassformer.run.serving.forms import Form, forms
from glassformer.run.serving.routes import Route, in_events, note
from glassformer.run.serving.served import Models


def verb_routes(models: Models) -> list[Route]:
    """A route for each verb that one of the models answers."""
    known = {verb for served in models.served.values() for verb in served.verbs}
    return [verb_route(models, form) for name, form in forms().items() if name in known]


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

        return await models.answered(made, tokens)

    return Route(path=f"/v1/{{model}}/{form.name}", summary=form.help, handle=ask, body=form.body)


async def _parts(written: Written, kept: Mapping[str, object]) -> AsyncIterator[Mapping[str, Any]]:
    async for last, its in written:
        yield {"answer": {**kept, **its.to_dict()}} if last else {"text": its}
