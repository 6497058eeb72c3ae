"""What the verbs answer is what was recorded; the judge itself sees each kind of difference."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.__main__ import main
from tests.golden.verbs.cases import cases
from tests.golden.verbs.data import write_data
from tests.golden.verbs.judge import differences
from tests.golden.verbs.reduce import reduced, rounded
from tests.golden.verbs.table import Case, needed

RECORDED = Path(__file__).parent / "verbs.json"
ROOT = Path(__file__).resolve().parents[2]
# One trains two models for minutes by the clock: no two runs are alike. The other answers until it is stopped.
NOT_JUDGED = {"demo", "serve", "doctor", "completion"}


def judge(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The judge in a process of its own: it forks, which a test worker with threads must not."""
    command = [sys.executable, "-m", "tests.golden.verbs", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_models_of_the_package_answer_what_they_answered() -> None:
    done = judge("compare", RECORDED)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_all_cases_give_the_same_bits_twice(tmp_path: Path) -> None:
    for command in ("record", "compare"):
        done = judge(command, tmp_path / "recorded")
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_copy_holds_every_fast_case_and_is_small() -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert recorded.keys() == {case.name for case in cases() if case.fast}
    assert RECORDED.stat().st_size < 300_000


def test_each_verb_has_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    verbs = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert {"train", "fill", "verify"} <= verbs
    assert verbs - NOT_JUDGED == {case.words[0] for case in cases() if case.code == 0}


def test_names_are_given_once() -> None:
    names = [case.name for case in cases()]
    assert len(names) == len(set(names))


def test_a_case_comes_with_those_that_make_what_it_reads() -> None:
    table = [
        Case("other", "train slides --out models/other"),
        Case("model", "train slides --out models/model"),
        Case("index", "search build models/model data/lines.txt -o out/index"),
        Case("asked", "search ask out/index What"),
    ]
    assert [case.name for case in needed(table[3:], table)] == ["model", "index", "asked"]


@pytest.mark.parametrize(
    ("before", "after", "apart"),
    [
        ({"a": 1.0}, {"a": 1.0 + 2e-16 * 2}, 1),
        ({"a": 1}, {"a": 1.0}, 1),
        ({"a": True}, {"a": 1}, 1),
        ({"a": [1, 2]}, {"a": [1]}, 1),
        ({"a": 1}, {"b": 1}, 2),
        ({"a": {"b": ["x", None]}}, {"a": {"b": ["x", None]}}, 0),
        ({"bits": "aa"}, {"bits": "ab"}, 1),
    ],
)
def test_each_kind_of_difference_is_seen(before: Any, after: Any, apart: int) -> None:
    assert len(list(differences(before, after))) == apart


def test_a_tolerance_is_a_share_of_numbers_alone() -> None:
    before = {"loss": 2.0, "steps": 4, "text": "a", "bits": "aa"}
    assert not list(differences(before, {"loss": 2.003, "steps": 4, "text": "a", "bits": "ab"}, 2e-3))
    changed = {"loss": 2.005, "steps": 5, "text": "b", "bits": "aa"}
    assert len(list(differences(before, changed, 2e-3))) == 3


def test_wording_places_and_times_are_left_out_and_numbers_are_kept(tmp_path: Path) -> None:
    many = [[number / 7 for number in range(40)]]
    found = {
        "title": "The words",
        "remarks": ["One.", "Two."],
        "seconds": 3.0,
        "path": str(tmp_path / "models" / "a"),
        "rule": "matmul",
        "heads": [{"rule": "A head is called by its job."}],
        "score": 0.1234567,
        "least": float("-inf"),
        "vector": many,
        "speed": 5.0,
        "measured": ["speed"],
    }
    kept = reduced(found, tmp_path)
    assert kept.keys() == {"path", "rule", "heads", "score", "least", "vector", "measured"}
    assert (kept["path"], kept["rule"], kept["heads"], kept["least"]) == ("models/a", "matmul", [{}], "-inf")
    assert kept["vector"]["shape"] == [1, 40]
    other = reduced({"vector": [[*many[0][:-1], many[0][-1] + 1e-15]]}, tmp_path)
    assert other["vector"]["bits"] != kept["vector"]["bits"]
    near = rounded(kept)
    assert near["score"] == 0.1235
    assert "bits" not in near["vector"]


def test_the_data_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_data(tmp_path / name)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
