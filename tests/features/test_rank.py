"""Ranking by cross-validation: what is better comes first, nothing leaks, and the counts are scikit-learn's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

from glassformer.base.errors import DataError
from glassformer.cli.__main__ import main
from glassformer.cli.vectors.embed_compare import _compared
from glassformer.features import probe as probing
from glassformer.features import rank as ranking
from glassformer.features.rank import Ranked, Ranking, check_labels, rank
from glassformer.scoring import baselines
from glassformer.scoring.score import Interval
from tests.refusals import refused

GENERATOR = np.random.default_rng(0)
NUMBERS = GENERATOR.integers(0, 3, 150)
LABELS = [("b", "a", "c")[number] for number in NUMBERS]
NOISE = GENERATOR.normal(size=(150, 12)).astype(np.float32)
GOOD = NOISE.copy()
GOOD[np.arange(150), NUMBERS] += 3


def test_what_separates_the_labels_comes_first() -> None:
    layers = np.stack([NOISE, GOOD], axis=1)  # [E, K, W]
    texts = [f"the {label} text" for label in LABELS]
    found = rank({"noise.mean": NOISE, "good.mean": GOOD}, {"mean": layers}, texts, LABELS, folds=3)
    names = [each.name for each in found.vectors]
    assert set(names[:2]) == {"good.mean", "mix.mean"}
    assert names[2] == "noise.mean"
    assert found.vectors[0].from_best is None
    assert found.vectors[2].from_best is not None
    assert found.vectors[2].from_best.high < 0
    assert "noise.mean" not in found.together
    assert found.mixes["mean"].shares[1] > 0.6
    frequent, tfidf = found.baselines
    assert frequent.scores["accuracy"].value == pytest.approx(np.bincount(NUMBERS).max() / 150)
    assert tfidf.scores["accuracy"].value > 0.9
    for each in found.vectors:
        assert each.scores["accuracy"].low <= each.scores["accuracy"].value <= each.scores["accuracy"].high


def test_nothing_of_what_is_held_out_is_learned_from() -> None:
    """Labels that have nothing to do with the vectors are not guessed, not even by a mix of many layers."""
    layers = GENERATOR.normal(size=(150, 6, 12)).astype(np.float32)
    found = rank({"noise.mean": NOISE}, {"mean": layers}, None, LABELS, folds=3)
    assert all(each.scores["accuracy"].value < 0.45 for each in found.vectors)


def test_the_scores_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "STRENGTHS", (0.5,))
    groups = np.repeat(np.arange(50), 3)  # sentences of three words
    found = rank({"good.mean": GOOD}, {}, None, LABELS, groups, folds=4, score="macro F1")
    of = np.array([sorted(set(LABELS)).index(label) for label in LABELS])
    guessed = np.zeros(150, np.int64)
    for train, test in ranking._cuts(of, groups, 4, 0):
        assert not set(groups[train]) & set(groups[test])
        mean, spread = GOOD[train].mean(axis=0), GOOD[train].std(axis=0)
        model = LogisticRegression(C=0.5, max_iter=500).fit((GOOD[train] - mean) / spread, of[train])
        guessed[test] = model.predict((GOOD[test] - mean) / spread)
    scores = found.vectors[0].scores
    assert scores["accuracy"].value == pytest.approx(accuracy_score(of, guessed))
    assert scores["macro F1"].value == pytest.approx(f1_score(of, guessed, average="macro"))


def test_labels_that_cannot_be_ranked_by_are_refused() -> None:
    with refused(DataError, got=("1", "'a'"), do="--label-column"):
        check_labels(["a"], np.zeros(9, np.int64), 3)
    with refused(DataError, wanted="5", got="2"):
        check_labels(["a", "b"], np.array([0] * 9 + [1] * 2), 5)
    with refused(DataError, wanted="3 sentences", got="2", do="--folds"):
        check_labels(["a", "b"], np.array([0, 1] * 6), 3, np.array([0] * 6 + [1] * 6), words=True)
    with refused(DataError, wanted="3 different texts", got="2", do="--folds"):
        check_labels(["a", "b"], np.array([0, 1] * 6), 3, np.array([0] * 6 + [1] * 6))
    names = [f"row {number}" for number in range(9)]
    with refused(DataError, got=("9", "12", "7", "'row 2'"), do="--label-column"):  # names of rows, two of them twice
        check_labels(names, np.array([0, 0, 0, 1, 1, *range(2, 9)]), 2)


@pytest.mark.parametrize(("score", "strength"), [("accuracy", 0.3), ("macro F1", 3.0)])
def test_the_strength_is_chosen_by_the_score_that_ranks_and_of_equals_the_smallest(score: str, strength: float) -> None:
    groups = np.repeat(np.arange(40), 3)
    of = np.where(np.arange(120) % 10 == 0, 1, 0)  # a tenth has the rare label
    seen = []

    def guess(kept: Any, tried: Any, c: float) -> Any:
        seen.append((set(groups[kept]), set(groups[tried])))
        # Never the rare label, or always it where it is right and once in four where it is not.
        return np.zeros(len(tried), int) if c < 1 else np.where(np.arange(len(tried)) % 4 == 0, 1, of[tried])

    assert baselines.chosen_strength((30.0, 3.0, 0.3, 0.9), of, groups, score, guess) == strength
    assert all(kept and tried and not kept & tried for kept, tried in seen)


def test_tfidf_chooses_its_strength_too(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"the {label} text" for label in LABELS]
    for strengths, least, most in (((1e-9,), 0.0, 0.5), ((1e-9, 1.0), 0.9, 1.0)):
        monkeypatch.setattr(ranking, "STRENGTHS_OF_WORDS", strengths)
        found = rank({"noise.mean": NOISE}, {}, texts, LABELS, folds=2).baselines[1]
        assert least <= found.scores["accuracy"].value <= most


def test_a_label_of_one_sentence_alone_is_never_guessed_there() -> None:
    """All of its words are held out together: the others have one label to learn from."""
    groups = np.repeat(np.arange(4), 3)
    labels = ["b" if group == 1 else "a" for group in groups]
    found = rank({"one": GOOD[:12]}, {}, None, labels, groups, folds=3)
    assert found.vectors[0].scores["accuracy"].value <= 9 / 12


def test_the_command_refuses_at_once_what_it_could_not_write(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "labelled.tsv"
    file.write_text("".join(f"the dog {n}\t{n % 2}\n" for n in range(20)))
    asked = ["embed", "compare", str(saved), str(file), "--text-column", "0", "--label-column", "1"]
    before = file.read_bytes()
    for more, part in (
        (["--mix-out", str(file)], str(file)),  # it would have replaced the labelled texts
        (["--probe-out", str(tmp_path / "none" / "probe.json")], "none"),
        (["--probe-out", str(tmp_path / "x.json"), "--mix-out", str(tmp_path / "x.json")], "twice"),
        (["--mix-out", str(tmp_path / "mix.json"), "-s", "last"], "--mix-out"),
        (["--out", str(tmp_path / "none" / "table.jsonl")], "none"),
    ):
        assert main([*asked, *more]) == 2
        shown = capsys.readouterr()
        assert part in shown.err
        assert shown.out == ""
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labelled.tsv", "saved"]


def test_the_command_ranks_words_too(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "names.conll"
    first, second = "the\tO\ndog\tB-x\n", "he\tO\nlikes\tO\nthe\tO\ndog\tB-x\n"
    file.write_text("\n".join(first * (number + 1) + second + "sat\tO\n" for number in range(8)))
    asked = ["embed", "compare", str(saved), str(file), "--per-word", "--folds", "2", "-s", "last", "-p", "first"]
    assert main([*asked, "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each.get("strategy", each.get("baseline")) for each in records] == ["last", "most frequent"]
    assert records[0]["accuracy"]["value"] > 0.75
    assert records[0]["behind_the_best"] is None
    assert records[1]["accuracy"]["value"] == pytest.approx((36 + 32) / (80 + 32))


def test_what_the_labels_lack_is_reported_and_rows_without_one_are_set_aside(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    file, aside = tmp_path / "labelled.tsv", tmp_path / "aside.jsonl"
    rows = [f"the {number} dog\t{'yn'[number % 2]}\n" for number in range(40)]
    file.write_text("".join([*rows, "a dog\t\n", "no dog\t0.5\n"]))
    asked = [
        "embed",
        "compare",
        str(saved),
        str(file),
        "--text-column",
        "0",
        "--label-column",
        "1",
        "-s",
        "last",
        "-s",
        "embedding",
    ]
    assert main(asked) == 2
    shown = capsys.readouterr()
    assert f"{file}, line 41" in shown.err
    assert "--rejects" in shown.err
    assert main([*asked, "--rejects", str(aside), "--folds", "3"]) == 0
    shown = capsys.readouterr()
    assert [json.loads(line)["line"] for line in aside.read_text().splitlines()] == [41]
    assert "3 folds" in shown.err  # the label 0.5 is rarer
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "minus the best" in shown.out  # one line for a row: nothing stands below it
    assert main([*asked, "--rejects", str(aside), "--folds", "2", "--rows", "12"]) == 0
    assert "'0.5'" in capsys.readouterr().err  # not among the twelve that were drawn


def test_copies_of_a_text_stay_in_one_fold(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, given = tmp_path / "twice.tsv", list[list[int]]()
    rows = [f"the {number} dog\t{'yn'[number % 2]}\n" for number in range(8)]
    file.write_text("".join(rows * 2))

    def ranked(*values: Any, **options: Any) -> Any:
        given.append(values[4].tolist())
        return rank(*values, **options)

    monkeypatch.setattr(ranking, "rank", ranked)
    asked = [
        "embed",
        "compare",
        str(saved),
        str(file),
        "--text-column",
        "0",
        "--label-column",
        "1",
        "--folds",
        "2",
        "-s",
        "last",
    ]
    assert main([*asked, "-p", "mean"]) == 0
    assert given == [[*range(8), *range(8)]]
    assert "8 of 16" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        ((-0.2, -0.1), "all others score worse"),
        ((-0.2, 0.1), "not clearly different from it: most frequent"),
        ((0.1, 0.2), "better than it: most frequent"),
    ],
)
def test_the_verdict_names_baselines_too(difference: tuple[float, float], said: str) -> None:
    best = Ranked("last.mean", {}, None)
    baseline = Ranked("most frequent", {}, Interval(sum(difference) / 2, *difference))
    assert _compared(Ranking("accuracy", 9, ("a", "b"), 2, 1, (best,), (baseline,), {})) == said
