"""The server in several processes of Ray Serve: the answers are those of one process."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

import glassformer as gf
from tests.cli.conftest import Run, run  # noqa: F401  # the fixture
from tests.serving.servers import LOCAL, close, served_by

NAMES = ("sentences", "writer")
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/sentences/embed", {"texts": ["Rain.", "A long walk home."]}),
    ("/v1/writer/generate", {"texts": ["It was"], "max_tokens": 8}),
    ("/v1/embeddings", {"model": "sentences", "input": ["Snow."]}),
    ("/tokenize", {"model": "writer", "texts": ["Hello there"]}),
    ("/v1/writer/translate", {"texts": ["It was"]}),
    ("/v1/writer/generate", {"texts": [" " * 300_000]}),
]


def replicas() -> int:
    """Processes of this machine that are replicas of Ray Serve."""
    found = 0
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += words.read_bytes().startswith(b"ray::ServeReplica:glassformer")
    return found


@contextmanager
def serving(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "glassformer", "serve", *NAMES, "--port", "0", "--json", "--engine", "torch"]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    with subprocess.Popen(
        [*command, "--threads", "1", "--ray", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            yield json.loads(line)["address"], process
        finally:
            process.send_signal(signal.SIGTERM)  # a kill would leave Ray's processes
            process.wait(60)


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the package ray: pip install 'ray[data,serve]'"
)
def test_two_replicas_answer_as_one_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a stream, refusals and the token; what was taken is answered when the command is stopped."""
    monkeypatch.setenv("GLASSFORMER_TOKEN", "secret")
    models = {name: gf.load(name, device="cpu", engine="torch") for name in NAMES}
    before = replicas()
    bearer = {"Authorization": "Bearer secret"}
    with (
        TestClient(served_by(models), base_url=LOCAL) as alone,
        serving("--replicas", "2") as (address, process),
        httpx2.Client(base_url=address, timeout=120, headers=bearer) as client,
    ):
        assert replicas() == before + 2
        assert httpx2.get(f"{address}/v1/models", timeout=60).status_code == 401
        for path, body in ASKED:
            for _ in range(4):  # so that both are asked
                ours, other = client.post(path, json=body), alone.post(path, json=body)
                assert ours.status_code == other.status_code, ours.text
                assert close(ours.json(), other.json()), path
        body = {"texts": ["It was"], "max_tokens": 30, "min_tokens": 29, "beams": 1}
        whole = alone.post("/v1/writer/generate", json=body).json()["answers"][0]
        found: list[Any] = []
        asking = threading.Thread(target=lambda: found.append(client.post("/v1/writer/generate", json=body)))
        with client.stream("POST", "/v1/writer/generate", json={**body, "stream": True}) as answer:
            lines = answer.iter_lines()
            first = next(lines)
            asking.start()
            second = next(line for line in lines if line)
            process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line]
        asking.join()
        assert (first[:5], second[:5], rest[-1]) == ("data:", "data:", "data: [DONE]")
        assert json.loads(rest[-2].removeprefix("data: "))["answer"]["generated"] == whole["generated"]
        assert found[0].json()["answers"][0]["generated"] == whole["generated"]
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0
        assert "Traceback" not in said


def test_what_cannot_be_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    alone = run("serve", "writer", "--replicas", "2")
    assert (alone.code, "--ray" in alone.err, alone.err.count("\n")) == (2, True, 1)
    for module in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, module, None)
    without = run("serve", "writer", "--port", "0", "--ray")
    assert (without.code, "glassformer[ray]" in without.err, without.err.count("\n")) == (2, True, 1)
