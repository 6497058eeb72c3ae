"""Killed at any moment and run again, each command ends with the same bits (docs/security/index.md).

`python -m tests.kills --kills 1000` is the whole of it; its last result is docs/results/kills.json.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one start of Python for all of these needs fork")


def counted(repository: Path, *words: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", *words],
        cwd=repository,
        env=os.environ | {"PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.long
def test_a_careless_writer_is_noticed(repository: Path, tmp_path: Path) -> None:
    found = counted(repository, "-m", "tests.kills.careless", str(tmp_path))
    assert found["whole"]["same"] >= 2
    assert found["whole"]["wrong"] == []
    assert len(found["in_place"]["wrong"]) >= 2
    assert found["refuses"]["refused"]["there is something already"] >= 2
    assert found["refuses"]["wrong"] == []


@pytest.mark.long
def test_killed_commands_end_as_if_they_had_not_been(repository: Path, tmp_path: Path) -> None:
    out = tmp_path / "kills.json"
    words = [sys.executable, "-W", "ignore", "-m", "tests.kills", "--kills", "36", "--seed", "1", "--out", str(out)]
    done = subprocess.run(
        words, cwd=repository, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads(out.read_text())
    assert row["kills"] >= 36
    assert row["wrong"] == 0
    assert all(scene["same"] >= 2 for scene in row["scenes"].values())
