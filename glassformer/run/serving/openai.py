"""Requests as OpenAI's clients send them: embeddings, completions and chat, and the rerank of other servers.

What is not supported is refused by name.
"""

import base64
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from glassformer.base.errors import ConfigError
from glassformer.base.plain import REQUEST
from glassformer.base.settings import OneOf, Seed, Settings, read_settings
from glassformer.features.embed import cosine
from glassformer.features.search.rerank import best_first, judge_of
from glassformer.run.serving.batching import Written
from glassformer.run.serving.forms import Strategy, Texts
from glassformer.run.serving.limits import Wish, read_object
from glassformer.run.serving.routes import Route, answered, in_events, note
from glassformer.run.serving.served import Models
from glassformer.tasks import verb_where

Ids = Annotated[tuple[int, ...], Field(min_length=1, fail_fast=True)]
Input = Annotated[
    str | Annotated[Texts, Field(min_length=1)] | Ids | Annotated[tuple[Ids, ...], Field(min_length=1, fail_fast=True)],
    OneOf("a text, the tokens of one, or at least one of either in a list is needed"),
]
_NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "best_of": (None, 1), "dimensions": (None,), "echo": (None, False), "frequency_penalty": (None, 0),
    "function_call": (None, "none"), "functions": (None, []), "logit_bias": (None, {}), "logprobs": (None, False),
    "modalities": (None, ["text"]), "n": (None, 1), "parallel_tool_calls": (None, True, False),
    "presence_penalty": (None, 0), "reasoning_effort": (None,), "response_format": (None, {"type": "text"}),
    "service_tier": (None, "auto", "default"), "store": (None, False), "suffix": (None, ""),
    "tool_choice": (None, "none", "auto"), "tools": (None, []), "top_logprobs": (None, 0),
}  # fmt: skip
"""Parameters of OpenAI that are not supported, with the values that ask for nothing."""
_UNREAD = ("user", "metadata", "safety_identifier", "prompt_cache_key")
"""Parameters that say something about who asks, and change no answer."""


class EmbeddingsRequest(Settings):
    """Texts, or their tokens as /tokenize gives them. `normalize`: vectors have length 1, as OpenAI's have."""

    model: str
    input: Input
    encoding_format: Literal["float", "base64"] = "float"
    strategy: Strategy = "last"
    pooling: str | None = None
    normalize: bool = True


class RerankRequest(Settings):
    """Documents are ranked by a model of pairs, or by the cosine of their vector and that of the query: of any model
    that answers no pairs, and where `strategy` or `pooling` is given.
    """

    model: str
    query: str
    documents: Annotated[Texts, Field(min_length=1)]
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool = False
    strategy: Strategy = "last"
    pooling: str | None = None


class StreamOptions(Settings):
    """`include_usage`: the last event has the numbers of tokens."""

    include_usage: bool = False
    include_obfuscation: bool = False


class WritingRequest(Settings):
    """What is not given is as the model writes otherwise; a temperature of 0 takes the likeliest token each time."""

    model: str
    temperature: Annotated[float, Field(ge=0, le=1000)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=1)] | None = None
    stop: str | Texts | None = None
    seed: Seed | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None

    @property
    def options(self) -> dict[str, Any]:
        """As the verbs have them."""
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        sampling = {"temperature": self.temperature, "top_p": self.top_p, "top_k": self.top_k}
        asked = {**sampling, "stop": stop, "seed": self.seed, "max_tokens": self.max_tokens}
        return {name: value for name, value in asked.items() if value is not None}


class CompletionRequest(WritingRequest):
    """Prompts, or their tokens as /tokenize gives them."""

    prompt: Input
    max_tokens: Annotated[int, Field(ge=1)] | None = 16


class ContentPart(Settings):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(Settings):
    """A turn of a conversation; a system message comes first. What clients send with one that was an answer is null."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[tuple[ContentPart, ...], Field(fail_fast=True)]
    name: str | None = None
    refusal: None = None
    audio: None = None
    function_call: None = None
    tool_calls: tuple[()] | None = None
    annotations: tuple[()] | None = None

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ChatRequest(WritingRequest):
    """A conversation, of which the last message is the user's."""

    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, fail_fast=True)]
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None


def openai_routes(models: Models) -> list[Route]:
    """The routes that some model answers."""
    known = {verb for served in models.served.values() for verb in served.verbs}
    continues, replies = verb_where(lambda entry: entry.goes_on), verb_where(lambda entry: entry.turns)
    api = Api(models, continues, replies)
    routes = {
        "embed": [
            Route(path="/v1/embeddings", summary="vectors", handle=api.embeddings, body=EmbeddingsRequest),
            Route(path="/v1/rerank", summary="rank documents", handle=api.rerank, body=RerankRequest),
        ],
        continues: [Route(path="/v1/completions", summary="go on", handle=api.completions, body=CompletionRequest)],
        replies: [Route(path="/v1/chat/completions", summary="reply", handle=api.chat, body=ChatRequest)],
    }
    return [route for verb, its in routes.items() if verb in known for route in its]


class Api:
    """Answers the requests. `continues` and `replies` are the verbs that go on with a prompt and that reply."""

    def __init__(self, models: Models, continues: str, replies: str) -> None:
        self.models, self.continues, self.replies = models, continues, replies

    async def _wish(self, request: Request, kind: type[Wish]) -> Wish:
        """A request, without parameters that ask for nothing. Raises ConfigError for one that is not supported."""
        values = read_object(await request.body())
        if isinstance(name := values.get("model"), str) and name in self.models.served:
            note(request, model=name)
        for name in [*values]:
            if name in kind.model_fields:
                if values[name] is None:  # clients send null for what is not set
                    del values[name]
            elif name in _UNREAD:
                del values[name]
            elif name in _NEUTRAL:
                given = values[name], isinstance(values[name], bool)
                if given not in [(each, isinstance(each, bool)) for each in _NEUTRAL[name]]:  # 0 is not False
                    raise ConfigError(f"{name} is not supported here", got=repr(values[name])[:60], do="leave it out")
                del values[name]
        return read_settings(kind, values, where=REQUEST)

    async def embeddings(self, request: Request) -> Response:
        """Vectors of texts, as numbers or as base64 of float32."""
        asked = await self._wish(request, EmbeddingsRequest)
        found, tokens = await self._vectors(request, asked, inputs_of(asked.input))
        if asked.normalize:
            found = [vector / max(float(np.linalg.norm(vector.astype(np.float64))), 1e-12) for vector in found]

        def written(vector: Any) -> str | list[float]:
            vector = vector.astype("<f4")
            return base64.b64encode(vector.tobytes()).decode() if asked.encoding_format == "base64" else vector.tolist()

        def made() -> dict[str, Any]:
            data = [
                {"object": "embedding", "index": index, "embedding": written(each)} for index, each in enumerate(found)
            ]
            usage = {"prompt_tokens": tokens, "total_tokens": tokens}
            return {"object": "list", "data": data, "model": asked.model, "usage": usage}

        return await self.models.answered(made, tokens + sum(map(len, found)))

    async def rerank(self, request: Request) -> Response:
        """Documents by a model of pairs, else by the cosine of their vectors and that of the query."""
        asked = await self._wish(request, RerankRequest)
        judge = None if asked.model_fields_set & {"strategy", "pooling"} else judge_of(self.models[asked.model].model)
        if judge is None:
            (query, *others), tokens = await self._vectors(request, asked, inputs_of((asked.query, *asked.documents)))
            scores = [cosine(query, other) for other in others]
        else:
            records = judge.records(asked.query, asked.documents)
            found, tokens = await self._answers(request, asked.model, judge.verb, records, {})
            scores = judge.scores(found, len(asked.documents))
        results = [
            {"index": place, "relevance_score": score}
            | ({"document": {"text": asked.documents[place]}} if asked.return_documents else {})
            for place, score in best_first(scores)[: asked.top_n]
        ]
        return answered({"model": asked.model, "results": results, "usage": {"total_tokens": tokens}})

    async def _vectors(
        self, request: Request, asked: EmbeddingsRequest | RerankRequest, records: list[dict[str, object]]
    ) -> tuple[list[Any], int]:
        options = {
            "strategy": (asked.strategy,),
            "pooling": None if asked.pooling is None else (asked.pooling,),
            "per_word": False,
        }
        returned = isinstance(asked, EmbeddingsRequest)
        found, tokens = await self._answers(request, asked.model, "embed", records, options, returned=returned)
        return [next(iter(each.vectors.values())) for each in found], tokens

    async def _answers(
        self,
        request: Request,
        model: str,
        verb: str,
        records: Sequence[Mapping[str, object]],
        options: dict[str, Any],
        *,
        returned: bool = True,
    ) -> tuple[list[Any], int]:
        """The answers of a model to a verb, and how many tokens it has read. `returned` as in `Models.answers`."""
        served = self.models[model]
        note(request, records=len(records))
        items = await self.models.answers(served, served.form(verb), records, options, returned=returned)
        tokens = sum(item.tokens for item in items)
        note(request, tokens=tokens)
        return [item.future.result() for item in items], tokens

    async def completions(self, request: Request) -> Response:
        asked = await self._wish(request, CompletionRequest)

        def choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
            return {"index": index, "text": text, "logprobs": None, "finish_reason": reason}

        return await self._write(
            request, asked, self.continues, inputs_of(asked.prompt), asked.options, "text_completion", choice, choice
        )

    async def chat(self, request: Request) -> Response:
        asked = await self._wish(request, ChatRequest)
        options = asked.options
        if asked.max_completion_tokens is not None:
            options["max_tokens"] = asked.max_completion_tokens
        system, turns = [], list(asked.messages)
        while turns and turns[0].role in ("system", "developer"):
            system.append(turns.pop(0).text)
        for number, turn in enumerate(reversed(turns)):
            if turn.role != ("assistant" if number % 2 else "user"):
                raise ConfigError(
                    "messages are of the user and the assistant in turn, the last one of the user", got=turn.role
                )
        if system:
            options["system"] = "\n".join(system)
        begun = set[int]()
        turns_ = tuple({"role": turn.role, "content": turn.text} for turn in turns)

        def choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
            message = {"role": "assistant", "content": text}
            return {"index": index, "message": message, "logprobs": None, "finish_reason": reason}

        def chunk(index: int, text: str, reason: str | None) -> dict[str, Any]:
            # A client joins what comes: each choice has its role once.
            delta = {} if reason else {"content": text} if index in begun else {"role": "assistant", "content": text}
            begun.add(index)
            return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}

        return await self._write(
            request, asked, self.replies, [{"text": turns_}], options, "chat.completion", choice, chunk
        )

    async def _write(
        self,
        request: Request,
        asked: WritingRequest,
        verb: str,
        records: list[dict[str, object]],
        options: dict[str, Any],
        kind: str,
        choice: Callable[[int, str, str | None], dict[str, Any]],
        chunk: Callable[[int, str, str | None], dict[str, Any]],
    ) -> Response:
        id_ = f"{kind.partition('.')[0]}-{secrets.token_hex(12)}"
        head: dict[str, Any] = {"id": id_, "created": int(time.time()), "model": asked.model}
        if not asked.stream:
            found, tokens = await self._answers(request, asked.model, verb, records, options)
            usage = usage_of(tokens, sum(len(each.tokens) for each in found))
            choices = [choice(index, each.wrote, reason_of(each)) for index, each in enumerate(found)]
            return answered({**head, "object": kind, "choices": choices, "usage": usage})
        if len(records) > 1:
            raise ConfigError("one prompt is streamed", got=f"{len(records):,}", do="leave stream out")
        served = self.models[asked.model]
        written, item = await self.models.write(served, served.form(verb), records[0], options)
        note(request, records=1, tokens=item.tokens)
        head["object"] = kind if kind == "text_completion" else f"{kind}.chunk"
        usage_too = asked.stream_options is not None and asked.stream_options.include_usage
        parts = chunks(written, head, chunk, item.tokens if usage_too else None)
        return await in_events(request, parts, written.stop, self.models.limits.seconds)


async def chunks(
    written: Written,
    head: Mapping[str, Any],
    chunk: Callable[[int, str, str | None], dict[str, Any]],
    prompt_tokens: int | None,
) -> AsyncIterator[Mapping[str, Any]]:
    """The events of a text that is streamed; with the number of tokens of its prompt also an event with the usage."""
    async for last, its in written:
        if not last:
            yield {**head, "choices": [chunk(0, its, None)]}
            continue
        yield {**head, "choices": [chunk(0, "", reason_of(its))]}
        if prompt_tokens is not None:
            yield {**head, "choices": [], "usage": usage_of(prompt_tokens, len(its.tokens))}


def inputs_of(given: object) -> list[dict[str, object]]:
    """Records of a text, of tokens, or of several of them."""
    several = given if isinstance(given, tuple) and not isinstance(given[0], int) else (given,)
    return [{"text": each} if isinstance(each, str) else {"ids": each} for each in several]


def reason_of(found: Any) -> str:
    return "stop" if found.ended else "length"


def usage_of(prompt: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
