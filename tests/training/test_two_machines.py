"""One training on two machines, as docs/scale says it: two network namespaces of this one, joined by a cable."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.contracts.tasks import write_prose

HEAD, OTHER, PORT = "10.77.0.1", "10.77.0.2", "29400"
STEPS = 20


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def sent(name: str) -> int:
    """The bytes that have left a namespace by its cable."""
    found = subprocess.run(["ip", "-n", name, "-s", "-j", "link", "show", "cable"], check=True, capture_output=True)
    return int(json.loads(found.stdout)[0]["stats64"]["tx"]["bytes"])


@pytest.fixture
def machines() -> Iterator[tuple[str, str]]:
    """The names of two namespaces, whose interface is `cable` in each."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need Debian's iproute2, and root")
    names = (f"gf-{os.getpid()}-a", f"gf-{os.getpid()}-b")
    with ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "del", name)
            ip("-n", names[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", names[1])
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this machine makes no network namespaces: {error.stderr.decode().strip()}")
        for name, address in zip(names, (HEAD, OTHER), strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            for link in ("lo", "cable"):
                ip("-n", name, "link", "set", link, "up")
        yield names


@pytest.mark.long
def test_two_machines_train_as_one_process(machines: tuple[str, str], tmp_path: Path) -> None:
    """The weights are those of one process up to the order of sums: 1e-10 in float64, as in test_processes.py. What the
    second machine sends is what docs/scale reckons with, 2 (N − 1) / N times the gradients in each step, and less
    than a fifth more for the rest: counts, clocks, whether all go on.
    """
    text = write_prose(tmp_path)
    words = ["train", "masked-lm", str(text), "--family", "bert", "--size", "tiny", "--vocabulary", "160"]
    words += ["--length", "24", "--validation", "0.2", "--batch", "7", "--steps", str(STEPS), "--precision", "float64"]
    for setting in ("device=cpu", "compile=off", "optimizer=adamw"):
        words += ["--set", f"train.{setting}"]
    words += ["--out"]
    one = [sys.executable, "-m", "glassformer", *words, str(tmp_path / "one")]
    subprocess.run(one, check=True, capture_output=True)
    begun = []
    for rank, name in enumerate(machines):
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
        launcher += ["--node-rank", str(rank), "--master-addr", HEAD, "--master-port", PORT, "-m", "glassformer"]
        begun.append(
            subprocess.Popen(
                ["ip", "netns", "exec", name, *launcher, *words, str(tmp_path / "two")],
                env=os.environ | {"GLOO_SOCKET_IFNAME": "cable"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    said = [each.communicate(timeout=600)[0] for each in begun]
    assert [each.returncode for each in begun] == [0, 0], said
    first, both = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert first.keys() == both.keys()
    assert {tensor.dtype for tensor in first.values()} == {torch.float64}
    assert max(float((first[name] - both[name]).abs().max()) for name in first) < 1e-10
    gradients = 8 * sum(tensor.numel() for tensor in first.values())
    assert 1.0 <= sent(machines[1]) / (STEPS * gradients) < 1.2
