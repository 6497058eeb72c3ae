"""glassformer explore: one address on standard output, a page at it, and a quiet end."""

import builtins
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from glassformer.api.load import load
from glassformer.bundled.texts import slides, slides_model
from glassformer.cli.look.explore import explore
from glassformer.models.families import slides as slides_family
from glassformer.page.server import start
from glassformer.page.server.asked import Asked
from glassformer.page.server.offers import Offer
from tests.page.serving import SENTENCES

Run = Callable[..., Any]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[Offer], Asked, dict[str, Any]]]:
    """What would be served."""
    calls: list[tuple[list[Offer], Asked, dict[str, Any]]] = []

    def serve(offers: list[Offer], first: Asked, **options: Any) -> None:
        calls.append((offers, first, options))
        options["announce"]("http://127.0.0.1:1/x/")

    monkeypatch.setattr(start, "serve", serve)
    return calls


def test_the_slides_model_travels_and_knows_its_sentences() -> None:
    model = load(slides_model())
    assert model.config == slides_family()
    assert sum(weight.numel() for weight in model.module.parameters()) == 516
    for sentence in slides().sentences:
        masks = model.fill(sentence.masked, top=1).masks
        assert tuple(mask.guesses[0].word for mask in masks) == sentence.answers
    assert not any(str(path) in (slides_model() / "glassformer.json").read_text() for path in (Path.cwd(), Path.home()))


def test_without_a_model_it_offers_those_of_the_package(
    run: Run, served: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # models below runs/ of the folder one stands in are offered too
    done = run("explore")
    assert (done.code, done.out) == (0, "http://127.0.0.1:1/x/home\n")
    ((offers, first, options),) = served
    bundled = ["chat", "en-fr", "english", "next-sentence", "sentences", "slides", "writer"]
    assert sorted(offer.name for offer in offers) == bundled
    assert offers[0].name == "slides"
    assert (first.model, first.texts) == ("slides", SENTENCES)
    assert (options["port"], options["browser"]) == (0, True)
    assert all(len(line) <= 80 for line in (done.out + done.err).splitlines())


def test_a_model_and_its_texts(run: Run, served: list[Any], drawn: Path, trained: Path) -> None:
    assert run("explore", drawn, "--no-browser", "--port", "9000").code == 0
    assert run("explore", drawn, *SENTENCES[:2]).code == 0
    assert run("explore", "--model", trained, "-", stdin=b"one [MASK]\ntwo\n").code == 0
    assert run("explore", trained, "one", "--pair", "two").code == 0
    names = [(offers[0].name, first.model) for offers, first, _ in served]
    # The folder `slides` has the name of a model that is offered too: it is named by its path.
    assert names == [(name, name) for name in (str(drawn), str(drawn), trained.name, trained.name)]
    texts = [(first.texts, first.seconds) for _, first, _ in served]
    assert texts == [(SENTENCES, None), (SENTENCES[:2], None), (("one [MASK]", "two"), None), (("one",), ("two",))]
    assert (served[0][2]["port"], served[0][2]["browser"]) == (9000, False)


def test_a_record_for_machines(run: Run, served: list[Any]) -> None:
    (record,) = run("explore", "--json").records
    assert record == {"address": "http://127.0.0.1:1/x/home", "model": "slides", "texts": list(SENTENCES)}
    assert served[0][2]["browser"] is False


@pytest.mark.parametrize(
    "words",
    [
        ["--pair", "x"],
        ["--choice", "x"],
        ["nowhere/at/all"],
        ["--port", "70000"],
        ["--port", "x"],
        ["a text", "--pair", "x", "--target", "y"],
        ["a text"] * 17,
    ],
)
def test_what_cannot_be_shown_is_refused(run: Run, served: list[Any], words: list[str]) -> None:
    done = run("explore", *words)
    assert (done.code, done.out, served) == (2, "", [])
    assert done.err.splitlines()[-1].startswith("glassformer: ")


def test_without_the_extra_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *others: Any) -> Any:
        if name == "uvicorn":
            raise ModuleNotFoundError(name=name)
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", without)
    done = run("explore")
    assert done.code == 2
    assert "glassformer[serve]" in done.err


def test_a_text_that_the_model_cannot_read_is_refused_at_once(run: Run, drawn: Path) -> None:
    done = run("explore", drawn, "these are other words", "--no-browser")
    assert (done.code, done.out) == (2, "")


def test_a_port_that_is_taken(run: Run, drawn: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("explore", drawn, "--no-browser", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert str(taken) not in done.err
    assert "--port" in done.err


def test_a_browser_opens_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not start.has_screen()
    monkeypatch.setenv("DISPLAY", ":0")
    assert start.has_screen()
    assert explore.__doc__ is not None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_it_serves_this_machine_and_ends_quietly(drawn: Path) -> None:
    command = [sys.executable, "-m", "glassformer", "explore", str(drawn), "--no-browser", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(address) as answer:
        assert "script/core.js" in answer.read().decode()
    with urllib.request.urlopen(f"{address}api/models") as answer:
        first = json.load(answer)["start"]
    with urllib.request.urlopen(f"{address}api/runs", data=json.dumps(first).encode()) as answer:
        assert json.load(answer)["whole"] is True
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(address.rstrip("/")[:-1])
    assert refused.value.code == 403
    refused.value.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (0, "")
    assert str(drawn) in err
    assert "Traceback" not in err
    assert "Traceback" not in err
