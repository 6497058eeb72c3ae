"""The command `serve` as a process: where it says it is, what it refuses, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from glassformer.base.errors import ConfigError
from glassformer.run.serving.listening import bound
from tests.cli.conftest import Run, run  # noqa: F401  # the fixture
from tests.refusals import refused
from tests.serving.servers import answered_while_stopped

SERVE = [sys.executable, "-m", "glassformer", "serve"]


@pytest.fixture
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    words = [*SERVE, "writer", "--port", "0", "--json", "--engine", "torch", "--threads", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        record = json.loads(process.stdout.readline())
        assert record["models"] == ["writer"]
        yield record["address"], process
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM that a process can finish after")
def test_what_was_taken_is_finished_when_the_server_is_stopped(server: tuple[str, subprocess.Popen[str]]) -> None:
    """Two requests are being answered, one of them streamed: both end whole, a later one is not taken, and the log has
    a line for each, without texts.
    """
    address, process = server
    body: dict[str, Any] = {"texts": ["Zanzibar was"], "beams": 1, "max_tokens": 60, "min_tokens": 59}
    with httpx2.Client(base_url=address, timeout=300) as client:
        whole, status, finished = answered_while_stopped(client, process, body)
    assert len(whole["tokens"]) == 60
    assert status == 200
    assert finished["answers"][0]["generated"] == whole["generated"]
    _, log = process.communicate(timeout=300)
    assert process.returncode in (0, 143, -signal.SIGTERM)
    assert "Traceback" not in log
    assert "Zanzibar" not in log
    requests = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [line["status"] for line in requests] == [200, 200]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/health")


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to one process alone")
def test_a_second_ctrl_c_ends_it_at_once(server: tuple[str, subprocess.Popen[str]]) -> None:
    """While a text is streamed: a thread is inside torch."""
    address, process = server
    body = {"texts": ["Zanzibar was"], "beams": 1, "max_tokens": 200, "min_tokens": 199, "stream": True}
    with (
        httpx2.Client(base_url=address, timeout=60) as client,
        client.stream("POST", "/v1/writer/generate", json=body) as parts,
    ):
        lines = parts.iter_lines()  # kept: its end would close the connection
        next(lines)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        _, log = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "terminate" not in log


def test_a_port_in_use_is_refused_before_a_model_is_opened(run: Run) -> None:  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "english", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "must be free" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_a_host_that_is_not_this_machine_is_refused(host: str) -> None:
    with refused(ConfigError, wanted=host, do="--host"):
        bound(0, host)


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("english", "--host", "0.0.0.0"), "token"),
        (("english", "--host", "::"), "token"),
        (("english", "--token", " "), "token"),
        (("english", "english"), "name"),
        (("englsh",), "english"),
        (("english", "--host", "nowhere.invalid", "--token", "x"), "--host"),
        (("english", "--engine", "fast"), "engine"),
        (("english", "--seconds", "0"), "seconds"),
        ((), "MODEL"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(run: Run, words: tuple[str, ...], word: str) -> None:  # noqa: F811
    done = run("serve", *words, *(("--port", "0") if words else ()))
    assert done.code == 2
    assert word in done.err
    assert "Traceback" not in done.err


def test_the_folder_for_containers_names_what_is_there(repository: Path) -> None:
    docker = (repository / "deploy" / "Dockerfile").read_text()
    compose = (repository / "deploy" / "compose.yaml").read_text()
    assert "EXTRAS=serve" in docker
    assert "GLASSFORMER_TOKEN" in compose
    assert "/ready" in compose
