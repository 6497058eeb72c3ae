"""`python -m bench`: its help measures nothing, and where there is no browser the end says so."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench import __main__ as bench
from bench import gpu
from bench.engines import LENGTHS
from bench.engines.row import Answer, Case, Row, agreement, case_of, place, row_of
from experiments import engines_speed, results
from tests.contracts.families import FAMILIES


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows that were measured, of which each takes no time."""
    rows: list[str] = []

    def run(words: list[str], **given: Any) -> Any:
        rows.append(words[2])
        return subprocess.CompletedProcess(words, 3 if words[2] == "bench.broken" else 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(bench, "path", lambda: None)
    monkeypatch.setattr(sys, "argv", ["bench"])
    return rows


def test_help_measures_nothing(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--help"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert (ended.value.code, measured) == (0, [])


def test_without_a_browser_all_other_rows_are_measured(measured: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert "Chromium" in str(ended.value.code)
    assert measured == [row[0] for row in bench.ROWS.values() if row[0] != "bench.page"]


def test_a_row_that_fails_is_named(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROWS", {"broken": ("bench.broken",), "startup": ("bench.startup",)})
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert "bench.broken" in str(ended.value.code)
    assert measured == ["bench.broken"]


def test_one_row_is_run_by_its_name(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "engines-query", "--try"])
    bench.main()
    assert measured == ["bench.engines"]


def test_the_fastest_way_to_use_a_peer_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(folder: Path, count: int) -> Answer:
        raise AssertionError

    sides = dict.fromkeys(("ours, torch", "peer, one", "peer, other"), answer)
    row = Row(
        "vectors",
        (2, 2),
        ("texts",),
        sides,
        {"ours, torch": ("peer",)},
        "peer, one",
        lambda folder: None,
        lambda *_: {},
    )
    judge = np.array([[1.0, 0.0], [0.0, 2.0]])
    for system in sides:
        np.save(place(tmp_path, system, "texts"), judge * (2 if system == "ours, torch" else 1))
    seconds = {"ours, torch": [1.0, 1.0, 1.0], "peer, one": [2.0, 3.0, 4.0], "peer, other": [9.0, 9.0, 9.0]}
    most = {"float32": 100.0, "memory": 10.0}
    found = case_of(row, "texts", Case(2, "texts", operations=50.0), tmp_path, seconds, most)
    assert found["times"] == {"ours, torch": {"peer": [3.0, 2.0, 4.0]}}
    assert found["share_of_limit"]["ours, torch"] == 0.5
    assert found["as_the_judge"]["ours, torch"]["least_cosine"] == pytest.approx(1.0)
    assert agreement(np.array(["a", "b"]), np.array(["a", "c"])) == {"equal": 0.5}
    made = {"command": "c", "date": "d", "machine": "m", "torch": "t", "limits": most, "threads": 2, "turns": 3}
    whole = {
        **made,
        "title": "vectors",
        "cases": {"texts": found},
        "vnni": False,
        "peak_megabytes": dict.fromkeys(sides, 1.0),
    }
    left = {"ours, torch bf16": "no bfloat16 instructions here"}
    monkeypatch.setattr(results, "read", lambda name: {**whole, "left_out": left} if "vectors" in name else None)
    shown = engines_speed.summary()
    assert "| vectors | torch | peer **3.00** (2.00 … 4.00) | 2 texts | 50% | cosine 1.000000 |" in shown
    assert "| vectors | torch bf16 | not measured: no bfloat16 instructions here |" in shown
    assert "| peer, other | 0.2 | 0.2 … 0.2 |" in engines_speed.section()


def test_lengths_and_numbers_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {length: row_of(f"lengths-{length}") for length in LENGTHS}
    assert [f"engines-lengths-{length}" in bench.ROWS for length in LENGTHS] == [True] * len(LENGTHS)
    assert [len(row.names) for row in rows.values()] == [4, 4, 4, 4, 3, 1]
    # Of a text of 512 tokens: six blocks of 12 times 384² weights, and attention to 512 tokens, scores and values.
    of = rows[512].cases(Path(), 1)["1 at once"]
    assert (of.count, of.unit) == (512, "tokens")
    assert of.operations == 512 * (2 * 6 * 12 * 384**2 + 2 * 2 * 6 * 384 * 512)
    assert of.bytes_read == 4 * 6 * 12 * 384**2
    monkeypatch.setattr(results, "read", lambda name: None)
    assert engines_speed.section().count("### ") == len(engines_speed.ENGINES) + 1


@pytest.mark.long
def test_the_run_of_a_gpu_finds_nothing_wrong_on_the_cpu() -> None:
    found = gpu.measured(torch.device("cpu"), (), dry=True)
    assert found["wrong"] == []
    assert found["parity"]["models"] == len(FAMILIES)
    assert found["parity"]["worst"]["float32"]["difference"] < 1e-5
    assert found["resumed"] == {**found["resumed"], "to_the_bit": True, "largest_difference": 0.0}
    assert found["decoding"]["equal"] == 1.0
    assert found["vectors"]["least_cosine"] > 0.999
    assert {"ours", "transformers, expert"} == set(found["masked_words"]["tokens_per_second"])


@pytest.mark.long
def test_each_part_of_a_gpu_is_written_at_once_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    gpu.measured(torch.device("cpu"), ("decoding_parity",), dry=False)
    before = results.read("gpu")
    gpu.measured(torch.device("cpu"), ("resumed",), dry=False)
    after = results.read("gpu")
    assert before is not None
    assert after is not None
    assert after["decoding_parity"] == before["decoding_parity"]
    assert "resumed" not in before
    assert after["resumed"]["to_the_bit"]


def test_what_a_gpu_gets_wrong_is_named() -> None:
    right = {"parity": {"too_large": []}, "decoding_parity": {"wrong": []}, "resumed": {"to_the_bit": False}}
    assert gpu.wrong(right, torch.device("cuda")) == []
    bad = {**right, "parity": {"too_large": ["bert"]}, "vectors": {"error": "RuntimeError: no memory"}}
    assert len(gpu.wrong(bad, torch.device("cpu"))) == 3
