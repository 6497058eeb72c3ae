"""glassformer heads: what heads do and what is lost without them, as a table and as records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.look.summaries.head_jobs import heads
from glassformer.look.texts.importance import head_importance

Run = Callable[..., Any]
TEXTS = ("She likes the summer better than the winter.", "It was late, and he did not answer.")


def test_every_head_stands_in_the_table_with_what_is_lost(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run("heads", "english", *TEXTS)
    assert done.code == 0
    model = load("english")
    found = heads(model.trace(list(TEXTS)))
    rows = [line.split() for line in done.out.splitlines() if "·" in line]
    assert [row[0] for row in rows] == [f"{head.attention.split('.')[2]}·{head.head}" for head in found]
    lost = {(each.attention, each.head): each for each in head_importance(model, list(TEXTS)).heads}
    for head, row in zip(found, rows, strict=True):
        each = lost[head.attention, head.head]
        assert f"{each.difference:+.3f} ({each.low:.3f} … {each.high:.3f})" in " ".join(row)
    assert "loss of masked words" in done.out
    assert "switching off 18 heads" in done.err
    assert max(map(len, [*done.out.splitlines(), *done.err.splitlines()])) <= 80


def test_records_have_the_numbers_of_each_label(run: Run) -> None:
    records = run("heads", "en-fr", "I am a student.", "--no-importance", "--json").records
    assert len(records) == 48
    crossing = [row for row in records if row["attention"].endswith("cross_attention")]
    assert crossing[0]["measures"]["previous"] is None
    assert "lost" not in records[0]
    for row in records:
        known = row["measures"].get(row["job"])
        assert row["value"] == pytest.approx(known) if known is not None else row["job"] in ("few", "many")


@pytest.mark.long
def test_a_held_out_file_gives_its_targets(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("text\ttarget\nI am a student.\tJe suis étudiant.\nWe are late.\tNous sommes en retard.\n")
    records = run("heads", "en-fr", "--held-out", file, "--json").records
    expected = head_importance(
        load("en-fr"), ["I am a student.", "We are late."], ["Je suis étudiant.", "Nous sommes en retard."]
    )
    by_head = {(each.attention, each.head): each for each in expected.heads}
    assert records[0]["lost"]["measure"] == "loss of the targets' tokens"
    for row in records:
        assert row["lost"]["difference"] == pytest.approx(by_head[row["attention"], row["head"]].difference, abs=1e-6)
    lines = tmp_path / "texts.txt"
    lines.write_text("\n".join(TEXTS))
    done = run("heads", "english", TEXTS[0], "--held-out", lines, "--rows", 10**30)  # more than any file has
    assert "2 texts of" in " ".join(done.out.split())


def test_without_a_text_it_reads_what_travels_with_the_package(run: Run, drawn: Path) -> None:
    done = run("heads", drawn)
    assert done.code == 0
    assert "the slides' 3 sentences" in " ".join(done.out.split())
    for row in run("heads", drawn, "--json").records:  # its four words, which it knows by heart
        assert row["lost"]["scored"] == 4
        assert row["lost"]["baseline"] < 0.5
    assert run("heads", "english", "--no-importance").out.count("·") == 18


def test_one_text_has_no_interval(run: Run) -> None:
    done = run("heads", "english", TEXTS[0])
    assert "…" not in done.out
    assert "--held-out" in done.err


@pytest.mark.parametrize("words", [("english", " "), ("english", "--held-out", "nowhere.txt"), ("nowhere", "a", "b")])
def test_what_cannot_be_measured_is_one_sentence(run: Run, words: tuple[str, ...]) -> None:
    done = run("heads", *words)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err.count("\n") <= 3
