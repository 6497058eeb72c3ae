"""The server in several processes of Ray Serve: the answers are those of one process."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.cli.ask import replicas as replicas_
from glassformer.cli.ask.replicas import Replica, serve_on_ray
from glassformer.cli.terminal.opened import Machine
from glassformer.run.serving.limits import Limits
from tests.cli.conftest import Run, run  # noqa: F401  # the fixture
from tests.refusals import refused
from tests.serving.servers import LOCAL, answered_while_stopped, close, served_by

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
            process.wait(300)


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
        assert httpx2.get(f"{address}/v1/models", timeout=300).status_code == 401
        for path, body in ASKED:
            for _ in range(4):  # so that both are asked
                ours, other = client.post(path, json=body), alone.post(path, json=body)
                assert ours.status_code == other.status_code, ours.text
                assert close(ours.json(), other.json()), path
        body = {"texts": ["It was"], "max_tokens": 30, "min_tokens": 29, "beams": 1}
        whole = alone.post("/v1/writer/generate", json=body).json()["answers"][0]
        streamed, status, finished = answered_while_stopped(client, process, body)
        assert status == 200
        assert streamed["generated"] == finished["answers"][0]["generated"] == whole["generated"]
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0
        assert "Traceback" not in said


class Serve:
    """In the place of Ray Serve: a replica is opened in this process. Knows what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.options: dict[str, Any] = {}
        self.app: Any = None

    def start(self, http_options: dict[str, Any]) -> None:
        self.asked.append("start")
        self.options |= http_options

    def ingress(self, build: Any) -> Any:
        return lambda: build

    def deployment(self, **options: Any) -> Any:
        self.options |= options
        return lambda build: SimpleNamespace(bind=lambda: build)

    def run(self, build: Any, name: str) -> None:
        self.asked.append("run")
        self.app = build()

    def delete(self, name: str) -> None:
        self.asked.append("delete")

    def shutdown(self) -> None:
        self.asked.append("shutdown")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A cluster of four cores, in which nothing serves."""
    serve = Serve()
    ray = SimpleNamespace(
        cluster_resources=lambda: {"CPU": 4.0},
        util=SimpleNamespace(list_named_actors=lambda all_namespaces: []),
        exceptions=SimpleNamespace(RayError=ArithmeticError),
    )
    monkeypatch.setattr(replicas_, "package", lambda: ray)
    monkeypatch.setattr(replicas_, "connected", lambda address, cores: nullcontext(ray))
    monkeypatch.setattr(replicas_, "_check_answers", lambda host, port: None)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.serve", serve)
    return serve


def served(address: str = "local", replicas: int = 2) -> None:
    """Serve until it is announced; SIGTERM comes then."""
    serve_on_ray(
        {"writer": "writer"},
        Machine(threads=1, engine="torch"),
        address,
        replicas,
        ("127.0.0.1", 8000),
        token=None,
        limits=Limits(grace=7),
        announce=lambda _: os.kill(os.getpid(), signal.SIGTERM),
    )


def test_a_replica_is_the_application_and_ends_before_the_proxy(serve: Serve) -> None:
    before = signal.getsignal(signal.SIGTERM)
    served(replicas=3)
    assert signal.getsignal(signal.SIGTERM) is before
    assert serve.asked == ["start", "run", "delete", "shutdown"]
    assert (serve.options["num_replicas"], serve.options["ray_actor_options"]["num_cpus"]) == (3, 1)
    assert (serve.options["port"], serve.options["graceful_shutdown_timeout_s"]) == (8000, 7)
    assert serve.options["max_ongoing_requests"] > Limits().requests  # it refuses itself, with 429
    with TestClient(serve.app, base_url=LOCAL) as client:
        assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["writer"]


def test_the_address_is_written_to_standard_output(
    serve: Serve,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though what Ray prints is sent to standard error."""
    stopped = SimpleNamespace(wait=lambda seconds: True, set=lambda: None)
    monkeypatch.setattr(replicas_, "threading", SimpleNamespace(Event=lambda: stopped))
    monkeypatch.setattr(replicas_, "connected", lambda address, cores: redirected(sys.modules["ray"]))
    done = run("serve", "writer", "--port", "0", "--ray", "--json", "--threads", "1", "--engine", "torch")
    assert done.code == 0, done.err
    assert json.loads(done.out)["address"].startswith("http://127.0.0.1:")


@contextmanager
def redirected(ray: Any) -> Iterator[Any]:
    with redirect_stdout(sys.stderr):
        yield ray


def test_a_cluster_that_cannot_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(ConfigError, wanted="5 replicas", got="4"):
        served("auto", 5)
    ray: Any = sys.modules["ray"]
    monkeypatch.setattr(ray.util, "list_named_actors", lambda all_namespaces: [{"namespace": "serve", "name": "x"}])
    with refused(ConfigError, got="auto", do="serve shutdown"):
        served("auto")
    assert serve.asked == []
    with refused(ConfigError, wanted="HOST:PORT"):
        served("english")


def test_a_replica_that_opens_another_model_does_not_start() -> None:
    replica = Replica({"writer": "writer"}, Machine(threads=1, engine="torch"), None, Limits(), {"writer": "of others"})
    with refused(ConfigError, wanted="writer"):
        replica.application()


def test_what_cannot_be_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    alone = run("serve", "writer", "--replicas", "2")
    assert (alone.code, "--ray" in alone.err, alone.err.count("\n")) == (2, True, 1)
    for module in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, module, None)
    without = run("serve", "writer", "--port", "0", "--ray")
    assert (without.code, "glassformer[ray]" in without.err, without.err.count("\n")) == (2, True, 1)
