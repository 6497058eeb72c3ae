"""An existing client, the package `openai`, asks for vectors, completions and chat."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import glassformer as gf
from glassformer.api.model import Model
from tests.serving.servers import close, listening, served_by
from tests.talkers import talking

if TYPE_CHECKING:
    import openai


@pytest.fixture(scope="module")
def talker() -> gf.Model:
    return talking()


@pytest.fixture(scope="module")
def api(bundled: dict[str, Model], talker: gf.Model) -> Iterator[openai.OpenAI]:
    import openai  # a second, which only these tests need

    models = {name: bundled[name] for name in ("sentences", "writer", "chat")}
    with listening(served_by({**models, "talker": talker}, "a-key")) as address:
        yield openai.OpenAI(base_url=f"{address}/v1", api_key="a-key", max_retries=0)


TEXTS = ["Rain.", "A long walk home in the rain."]


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("format_", ["float", "base64", None])
def test_vectors_are_those_of_embed_with_length_1(api: openai.OpenAI, bundled: dict[str, Model], format_: Any) -> None:
    """Without a format the client asks for base64, and reads it itself."""
    more = {} if format_ is None else {"encoding_format": format_}
    found = api.embeddings.create(model="sentences", input=TEXTS, **more)
    assert [each.index for each in found.data] == [0, 1]
    vectors: list[Any] = [each.embedding for each in found.data]
    if format_ == "base64":
        vectors = [np.frombuffer(base64.b64decode(each), "<f4") for each in vectors]
    expected = bundled["sentences"].embed(TEXTS)
    assert np.allclose(np.array(vectors), unit(expected), atol=1e-6)
    assert found.usage.prompt_tokens == found.usage.total_tokens > 8
    (one,) = api.embeddings.create(model="sentences", input=TEXTS[0], extra_body={"normalize": False}).data
    assert np.allclose(np.array(one.embedding), expected[0], atol=1e-5)


def test_tokens_are_read_as_their_text_is(api: openai.OpenAI, bundled: dict[str, Model], client: TestClient) -> None:
    tokenized = client.post("/tokenize", json={"model": "sentences", "texts": TEXTS}).json()["texts"]
    ids = [each["ids"] for each in tokenized]
    assert ids == [bundled["sentences"].tokenizer.ids(text) for text in TEXTS]
    assert [len(each["tokens"]) for each in tokenized] == [len(each) for each in ids]
    of_texts = api.embeddings.create(model="sentences", input=TEXTS)
    of_ids = api.embeddings.create(model="sentences", input=ids)
    (alone,) = api.embeddings.create(model="sentences", input=ids[1]).data
    for one, other in zip(of_texts.data, of_ids.data, strict=True):
        assert np.allclose(one.embedding, other.embedding, atol=1e-6)
    assert np.allclose(alone.embedding, of_ids.data[1].embedding, atol=1e-6)
    assert of_ids.usage == of_texts.usage
    prompt = bundled["writer"].tokenizer.ids("It was")
    words = [api.completions.create(model="writer", prompt=each, temperature=0) for each in ("It was", prompt)]
    assert words[0].choices[0].text == words[1].choices[0].text


def test_a_completion_is_what_generate_writes(api: openai.OpenAI, bundled: dict[str, Model]) -> None:
    complete: Any = api.completions.create
    generate: Any = bundled["writer"].generate
    for asked, options in (
        ({"temperature": 0, "max_tokens": 6}, {"beams": 1, "max_tokens": 6}),
        (
            {"temperature": 0.7, "top_p": 0.8, "seed": 3},
            {"temperature": 0.7, "top_p": 0.8, "seed": 3, "max_tokens": 16},
        ),
        ({"stop": "the", "seed": 1}, {"stop": ["the"], "seed": 1}),
    ):
        found = complete(model="writer", prompt=["It was", "She"], **asked)
        expected = generate(["It was", "She"], **{"max_tokens": 16, **options})
        assert [each.text for each in found.choices] == [each.generated for each in expected]
        ends = ["stop" if each.ended else "length" for each in expected]
        assert [each.finish_reason for each in found.choices] == ends
        assert found.usage.completion_tokens == sum(len(each.tokens) for each in expected)


def test_a_streamed_completion_is_the_whole_one(api: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "writer", "prompt": "It was", "max_tokens": 12, "temperature": 0}
    whole = api.completions.create(**asked)
    parts = list(api.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    assert len(parts) > 4
    assert "".join(part.choices[0].text for part in parts if part.choices) == whole.choices[0].text
    assert parts[-2].choices[0].finish_reason == whole.choices[0].finish_reason
    assert parts[-1].usage == whole.usage
    assert {part.id for part in parts} == {parts[0].id}


@pytest.mark.parametrize("model", ["chat", "talker"])
def test_a_reply_is_that_of_chat_streamed_or_not(
    api: openai.OpenAI, bundled: dict[str, Model], talker: gf.Model, model: str
) -> None:
    messages: list[Any] = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": [{"type": "text", "text": "Who are "}, {"type": "text", "text": "you?"}]},
    ]
    turns = ["Hi.", "Hello.", "Who are you?"]
    expected = {**bundled, "talker": talker}[model].chat(turns, max_tokens=8)
    found = api.chat.completions.create(model=model, messages=messages, max_completion_tokens=8)
    assert found.choices[0].message.content == expected.reply
    assert found.choices[0].finish_reason == ("stop" if expected.ended else "length")
    assert found.usage is not None
    assert found.usage.completion_tokens == len(expected.tokens)
    parts = list(api.chat.completions.create(model=model, messages=messages, max_tokens=8, stream=True))
    assert "".join(part.choices[0].delta.content or "" for part in parts) == expected.reply
    assert [part.choices[0].delta.role for part in parts if part.choices[0].delta.role] == [
        "assistant"
    ]  # clients join it
    again = [*messages, found.choices[0].message.model_dump(), {"role": "user", "content": "Why?"}]
    assert api.chat.completions.create(model=model, messages=again, max_tokens=2).choices[0].message.content
    assert parts[-1].choices[0].finish_reason == found.choices[0].finish_reason


def test_a_system_message_is_read_by_a_decoder_and_refused_where_none_is_read(
    api: openai.OpenAI, talker: gf.Model
) -> None:
    import openai

    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    found = api.chat.completions.create(model="talker", messages=messages, max_tokens=6)
    assert found.choices[0].message.content == talker.chat(["Hi."], system="Be brief.", max_tokens=6).reply
    with pytest.raises(openai.BadRequestError) as refused:
        api.chat.completions.create(model="chat", messages=messages)
    assert "system" in refused.value.message


CHAT: dict[str, Any] = {"model": "chat", "messages": [{"role": "user", "content": "Hi."}]}
UNSUPPORTED: list[tuple[str, dict[str, Any], str]] = [
    ("chat.completions", {**CHAT, "n": 2}, "n is not supported"),
    ("chat.completions", {**CHAT, "logprobs": True}, "logprobs"),
    ("chat.completions", {**CHAT, "tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
    ("chat.completions", {**CHAT, "response_format": {"type": "json_object"}}, "response_format"),
    ("chat.completions", {**CHAT, "messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "role"),
    ("chat.completions", {**CHAT, "messages": [{"role": "assistant", "content": "x"}]}, "in turn"),
    ("chat.completions", {**CHAT, "extra_body": {"temprature": 1}}, "temperature"),
    ("completions", {"model": "writer", "prompt": "a", "best_of": 3}, "best_of"),
    ("completions", {"model": "writer", "prompt": "a", "logprobs": 0}, "logprobs"),
    ("completions", {"model": "writer", "prompt": "a", "logit_bias": {"5": 1}}, "logit_bias"),
    ("completions", {"model": "writer", "prompt": ["a", "b"], "stream": True}, "one prompt"),
    ("completions", {"model": "writer", "prompt": [10**6]}, "a number from 0 to"),
    ("embeddings", {"model": "sentences", "input": "a", "dimensions": 8}, "dimensions"),
    ("embeddings", {"model": "sentences", "input": [-1]}, "a number from 0 to"),
    ("embeddings", {"model": "sentences", "input": []}, "at least one"),
    ("embeddings", {"model": "sentences", "input": ["a", [1]]}, "input"),
]  # fmt: skip


@pytest.mark.parametrize(("of", "asked", "word"), UNSUPPORTED)
def test_what_is_not_supported_is_refused_by_name(api: openai.OpenAI, of: str, asked: Any, word: str) -> None:
    import openai

    kind: Any = api
    for step in of.split("."):
        kind = getattr(kind, step)
    with pytest.raises(openai.BadRequestError) as refused:
        kind.create(**asked)
    assert word in refused.value.message


def test_what_asks_for_nothing_is_let_through(api: openai.OpenAI) -> None:
    found = api.chat.completions.create(
        **CHAT, n=1, presence_penalty=0, frequency_penalty=0.0, logit_bias={}, user="me", tools=[], store=False,
        response_format={"type": "text"}, temperature=0,
    )  # fmt: skip
    assert found.choices[0].message.content


def test_models_are_listed_and_others_are_not_found(api: openai.OpenAI) -> None:
    import openai

    assert [model.id for model in api.models.list()] == ["sentences", "writer", "chat", "talker"]
    assert api.models.retrieve("writer").id == "writer"
    with pytest.raises(openai.NotFoundError):
        api.models.retrieve("gpt")
    with pytest.raises(openai.NotFoundError):
        api.embeddings.create(model="gpt", input="a")
    with pytest.raises(openai.AuthenticationError):
        api.with_options(api_key="other").models.list()
    with pytest.raises(openai.NotFoundError) as refused:
        api.completions.create(model="sentences", prompt="a")
    assert (refused.value.code, refused.value.type) == ("not_found", "invalid_request_error")


def test_a_prompt_that_does_not_fit_is_refused_and_not_cut(api: openai.OpenAI) -> None:
    import openai

    for call in (
        lambda: api.completions.create(model="writer", prompt="It was a day. " * 300),
        lambda: api.chat.completions.create(model="chat", messages=[{"role": "user", "content": "Hi there. " * 300}]),
    ):
        with pytest.raises(openai.APIStatusError) as refused:
            call()
        assert refused.value.status_code == 413


def test_documents_are_ranked_by_the_cosine(client: TestClient, bundled: dict[str, Model]) -> None:
    query, documents = "a cat", ["The dog barks.", "A kitten sleeps.", "Money."]
    body = {"model": "sentences", "query": query, "documents": documents, "top_n": 2, "return_documents": True}
    found = client.post("/v1/rerank", json=body).json()["results"]
    vectors = unit(bundled["sentences"].embed([query, *documents]))
    scores = vectors[1:] @ vectors[0]
    order = [int(place) for place in np.argsort(-scores)[:2]]
    assert [each["index"] for each in found] == order
    assert close([each["relevance_score"] for each in found], [float(scores[place]) for place in order])
    assert [each["document"]["text"] for each in found] == [documents[place] for place in order]
