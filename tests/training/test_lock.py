"""Two trainings in one folder: the second is refused, the first is not disturbed."""

import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.base.errors import TrainingError
from glassformer.training.stopping import exclusive
from tests.refusals import refused

pytest.importorskip("fcntl", reason="Windows has no lock on a folder")

HOLDER = """
import sys
from pathlib import Path
from glassformer.training.stopping import exclusive
with exclusive(Path(sys.argv[1])):
    print("inside", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "inside\n"
        with refused(TrainingError, got=str(folder), do="--out"), exclusive(folder):
            pass
        with exclusive(tmp_path / "runs" / "two"):
            assert (tmp_path / "runs" / "two").is_dir()
        first.kill()  # a lock that outlived its holder would shut out the run that goes on
    with exclusive(folder):
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    with refused(TrainingError, wanted="folder", got=str(tmp_path / "file")), exclusive(tmp_path / place):
        pass
    assert (tmp_path / "file").read_text() == "mine"
