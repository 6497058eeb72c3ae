"""Each verb answers over HTTP what it answers on the command line and in Python; what it cannot answer is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from glassformer.api.model import Model
from glassformer.cli.__main__ import main
from glassformer.run.serving.forms import forms
from glassformer.tasks import VERBS
from tests.serving.conftest import BUNDLED
from tests.serving.servers import close

TEXT, PAIR = ["--text-column", "text"], ["--pair-column", "pair"]
# A model, a verb, its records and options, and the options of its command.
TYPED: list[tuple[str, str, list[dict[str, Any]], dict[str, Any], list[str]]] = [
    ("english", "fill", [{"text": "The [MASK] sat."}, {"text": "A [MASK] of [MASK]."}], {"top": 3}, ["--top", "3"]),
    ("english", "score", [{"text": "It rained all day."}, {"text": "Rain it day all."}], {}, []),
    ("en-fr", "translate", [{"text": "I am a student."}, {"text": " "}], {}, TEXT),
    ("en-fr", "translate", [{"text": "I am."}], {"beams": 2, "n_best": 2}, ["--beams", "2", "--n-best", "2", *TEXT]),
    ("en-fr", "score", [{"text": "I am.", "target": "Je suis."}], {}, [*TEXT, "--target-column", "target"]),
    ("writer", "generate", [{"text": "It was"}, {"text": ""}], {"max_tokens": 8}, ["--max-tokens", "8"]),
    ("chat", "chat", [{"turns": "Hi, how are you?"}, {"turns": ["Hi.", "Hello.", "Who are you?"]}], {}, []),
    ("next-sentence", "classify", [{"text": "He came in.", "pair": "He sat down.", "id": "x"}], {}, PAIR),
    ("sentences", "embed", [{"text": "Rain.", "id": 1}, {"text": "A long walk home."}], {}, []),
    ("sentences", "embed", [{"text": "Two words"}], {"per_word": True, "strategy": ["1", "last"]},
     ["--per-word", "--strategy", "1", "--strategy", "last"]),
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("model", "verb", "records", "options", "typed"), TYPED)
def test_records_are_those_of_the_command_line(
    ask: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    model: str,
    verb: str,
    records: list[dict[str, Any]],
    options: dict[str, Any],
    typed: list[str],
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main([verb, model, "--file", str(file), "--json", "--engine", "torch", *typed]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answers = ask(model, verb, records=records, **options)
    assert len(answers) == len(records)
    assert close(answers, lines), (answers, lines)


UNTRAINED: list[tuple[str, dict[str, Any]]] = [
    ("choose", {"text": "She went", "choices": ["home", "to sleep", "away"]}),
    ("tag", {"text": "Anna went to Rome"}),
    ("tag", {"words": ["Anna", "went"]}),
    ("answer", {"question": "Who went?", "context": "Anna went to Rome."}),
    ("classify", {"text": "good"}),
]


@pytest.mark.parametrize(("verb", "record"), UNTRAINED)
def test_records_are_those_of_python(ask: Any, untrained: dict[str, Model], verb: str, record: dict[str, Any]) -> None:
    (answer,) = ask(verb, verb, records=[record])
    of = untrained[verb]
    if "words" in record:
        (expected,) = of.tag(words=[record["words"]])
    else:
        text, pair = record.get("question", record.get("text")), record.get("context")
        options = {"top": 5} if VERBS[verb].top else {}
        expected = of.ask(verb, str(text), pair, choices=record.get("choices"), options=options)
    assert close(answer, json.loads(json.dumps(expected.to_dict())))


def test_each_verb_has_a_route_and_each_model_says_which_it_answers(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {f"/v1/{{model}}/{verb}" for verb in (*VERBS, "embed")} <= paths.keys()
    info = client.get("/info").json()["models"]
    assert set(BUNDLED) < set(info)
    assert info["english"]["verbs"] == ["fill", "score", "embed"]
    for verb, form in forms().items():
        for name, facts in info.items():
            answer = client.post(f"/v1/{name}/{verb}", json={})
            assert answer.status_code == (400 if verb in facts["verbs"] else 404)
            answers_it = "texts, or records" in answer.json()["error"]["wanted"]
            assert answers_it == (verb in facts["verbs"]), (name, form.name)


REFUSED: list[tuple[str, object, int, str]] = [
    ("english/fill", {"texts": ["no mask"]}, 400, "mask"),
    ("english/fill", {"text": ["The [MASK]."]}, 400, "texts"),
    ("english/fill", {"texts": ["a [MASK]"], "records": [{"text": "a [MASK]"}]}, 400, "both"),
    ("english/fill", {"texts": []}, 400, "texts"),
    ("english/fill", {"texts": "The [MASK]."}, 400, "texts"),
    ("english/fill", {"texts": ["a [MASK]"], "top": 0}, 400, "top"),
    ("english/fill", {"texts": ["a [MASK]"], "beams": 2}, 400, "beams"),
    ("english/fill", {"texts": ["a [MASK]"] * 1025}, 413, "1,024"),
    ("english/fill", {"texts": ["good [MASK]", "bad"]}, 400, "text 2 of 2"),
    ("english/fill", [], 400, "object"),
    ("english/fill", {"records": [{"txt": "a [MASK]"}]}, 400, "text"),
    ("english/classify", {"texts": ["a"]}, 404, "english has no verb 'classify'; choose from: embed, fill, score"),
    ("englsh/fill", {"texts": ["a [MASK]"]}, 404, "english"),
    ("english/fil", {"texts": ["a [MASK]"]}, 404, "did you mean 'fill'"),
    ("en-fr/translate", {"texts": ["a"], "beams": 1000}, 413, "beams"),
    ("en-fr/translate", {"texts": ["a"], "max_tokens": 1_000_000}, 413, "max_tokens"),
    ("en-fr/translate", {"texts": ["a"], "beams": 3, "temperature": 0.5}, 400, "beams"),
    ("en-fr/translate", {"texts": ["a", "b"], "stream": True}, 400, "one text"),
    ("en-fr/score", {"texts": ["a"]}, 400, "over HTTP as target"),
    ("writer/generate", {"texts": ["a"], "alignment": True}, 400, "alignment"),
    ("writer/generate", {"texts": ["a", 5]}, 400, "texts number 2"),
    ("writer/generate", {"records": [{"text": "a", "id": 1}, {"text": "a", "id": 10**22}]}, 400, "records number 2.id"),
    ("sentences/embed", {"texts": ["a"], "strategy": ["99"]}, 400, "99"),
    ("next-sentence/classify", {"texts": ["a"]}, 400, "pair"),
    ("chat/chat", {"texts": [""]}, 400, "turn"),
    ("english/fill", {"texts": ["\ud800 [MASK]"]}, 400, ""),
]


@pytest.mark.parametrize(("path", "body", "status", "word"), REFUSED)
def test_what_cannot_be_answered_is_refused_in_a_sentence(
    client: TestClient, path: str, body: object, status: int, word: str
) -> None:
    answer = client.post(f"/v1/{path}", content=json.dumps(body))
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "wanted", "got", "do", "type", "code"}
    assert error["do"]
    assert word in error["message"]
    assert "Traceback" not in error["message"]
    assert "--pair" not in error["message"]  # an option of the command alone


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"null", b'{"texts": [NaN]}'])
def test_what_is_no_json_is_refused(client: TestClient, content: bytes) -> None:
    answer = client.post("/v1/english/fill", content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["wanted"]


def test_an_unknown_address_and_a_wrong_method_are_refused(client: TestClient) -> None:
    assert client.get("/nothing").status_code == 404
    assert client.get("/v1/english/fill").status_code == 405
    assert client.get("/nothing").json()["error"]["got"] == "GET /nothing"


def test_a_text_that_is_too_long_is_refused_by_name_and_never_cut(client: TestClient) -> None:
    """A prompt that does not fit is refused; a text of a verb that reads in windows is read whole up to the limit."""
    long = "It was a long day. " * 400
    answer = client.post("/v1/writer/generate", json={"texts": ["Short.", long]})
    assert (answer.status_code, "text 2 of 2" in answer.json()["error"]["wanted"]) == (413, True)
    chat = client.post("/v1/chat/chat", json={"records": [{"turns": [long]}]})
    assert chat.status_code == 413
    longer = client.post("/v1/sentences/embed", json={"texts": [long * 10]})
    assert (longer.status_code, "16,384" in longer.json()["error"]["wanted"]) == (413, True)
    assert client.post("/v1/sentences/embed", json={"texts": [long]}).status_code == 200


def test_words_come_as_they_are_decided_and_then_the_answer(client: TestClient, ask: Any) -> None:
    asked: Mapping[str, object] = {"texts": ["I am a student."], "beams": 1}
    with client.stream("POST", "/v1/en-fr/translate", json={**asked, "stream": True}) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert lines[-1] == "[DONE]"
    parts = [json.loads(line) for line in lines[:-1]]
    (whole,) = ask("en-fr", "translate", **asked)
    assert len(parts) > 2
    assert "".join(part["text"] for part in parts[:-1]) == whole["translation"]
    assert close(parts[-1]["answer"], whole)
