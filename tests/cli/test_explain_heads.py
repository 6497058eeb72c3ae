"""explain ends with what the head answers, in words, and its lines fit the terminal."""

from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from tests.cli.conftest import Run
from tests.run.heads import TAGS, TEXTS, model_for

TEXT = "Alice went to Berlin."
SETTINGS: dict[str, dict[str, Any]] = {
    "classify": {"labels": ("ham", "spam", "other")},
    "tag": {"labels": TAGS, "crf": True},
    "answer": {},
    "choose": {},
}
CHOICES = ("Bob went.", "On a cold day in May", "Rome")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("heads")
    return {task: model_for(task, settings).save(folder / task) for task, settings in SETTINGS.items()}


def given(task: str) -> list[str]:
    if task == "choose":
        return [TEXT, *(word for choice in CHOICES for word in ("--choice", choice))]
    return ["Who went?", "--pair", TEXT] if task == "answer" else [TEXT]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("task", SETTINGS)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_too_long(task: str, width: int, models: dict[str, Path], run: Run, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = run("explain", models[task], *given(task))
    assert done.code == 0
    assert max(len(line) for line in done.out.splitlines()) <= width
    assert max(len(line) for line in done.err.splitlines()) <= width


@pytest.mark.parametrize("task", SETTINGS)
def test_the_last_step_is_the_answer_of_the_verb(task: str, models: dict[str, Path], run: Run) -> None:
    *_, last = run("explain", models[task], *given(task), "--json").records
    model = load(models[task])
    said = " ".join(last["remarks"])
    if task == "classify":
        found = model.classify(TEXT)
        assert found.label in said
        assert dict(last["tables"][0]["rows"]).keys() == set(found.labels)
    elif task == "tag":
        tagging = model.tag(TEXT)
        (table,) = last["tables"]
        assert [word for word, _ in table["rows"]] == list(tagging.words)
        assert tuple(table["marks"]) == tagging.tags
        assert all(span.text in said and span.label in said for span in tagging.spans)
    elif task == "choose":
        choice = model.choose(TEXT, CHOICES)
        assert f"{choice.choice} ({choice.probabilities[choice.index]:.1%}" in said
        (table,) = last["tables"]
        shown = {name: number for name, (number,) in table["rows"]}
        assert shown == pytest.approx(dict(zip(CHOICES, choice.probabilities, strict=True)), abs=1e-6)
    else:
        best = model.answer("Who went?", TEXT).best
        assert best is not None
        assert best.text in said
        assert str(best.start) in said


def test_the_crfs_steps_stand_before_the_answer(models: dict[str, Path], run: Run) -> None:
    names = [step["name"] for step in run("explain", models["tag"], TEXT, "--json").records]
    assert names[-4:] == [f"token_head.crf.{word}" for word in ("best_score", "path", "log_probability")] + [""]


def test_the_softmax_over_the_candidates_stands_before_the_answer(models: dict[str, Path], run: Run) -> None:
    words = [models["choose"], *given("choose")]
    *_, scores, logs, probabilities, _ = run("explain", *words, "--sentence", "2", "--json").records
    assert scores["name"] == "sentence_head.logits"
    assert (logs["name"], probabilities["name"]) == ("choice.log_probabilities", "choice.probabilities")
    (table,) = probabilities["tables"]
    assert [name for name, _ in table["rows"]] == list(CHOICES)
    assert sum(number for _, (number,) in table["rows"]) == pytest.approx(1, abs=1e-6)
    assert len(probabilities["cells"]) == len(CHOICES)
    cell = run("explain", *words, "--cell", "choice.probabilities[candidate=Rome]", "--json").records
    assert cell[0]["value"] == pytest.approx(dict(table["rows"])["Rome"][0])
    (checked,) = run("verify", *words, "--json").records
    assert checked["choices"] == list(CHOICES)
    assert {"choice.log_probabilities", "choice.probabilities"} <= checked["formulas"].keys()
    assert run("explain", models["classify"], *given("choose")).code == 2


def test_a_cell_of_the_best_way_is_followed_to_the_first_word(models: dict[str, Path], run: Run) -> None:
    way = run("explain", models["tag"], TEXT, "--cell", "token_head.crf.best[token=berlin,label=B-LOC]", "--json")
    tokens = [step["cell"]["token"] for step in way.records]
    assert tokens == sorted(tokens, reverse=True)
    assert {step["name"] for step in way.records} == {"token_head.crf.best"}
    assert len(tokens) == 4


@pytest.mark.parametrize("task", SETTINGS)
def test_all_heads_are_verified(task: str, models: dict[str, Path], run: Run) -> None:
    done = run("verify", models[task], *given(task), "--json")
    assert done.code == 0
    assert done.records[0]["holds"]


def test_several_texts_are_answered_by_the_one_that_is_shown(models: dict[str, Path], run: Run) -> None:
    *_, last = run("explain", models["classify"], *TEXTS, "--sentence", "1", "--json").records
    found = load(models["classify"]).classify(TEXTS[1])
    assert dict(last["tables"][0]["rows"])[found.label] == pytest.approx([found.probabilities[found.label]])


def test_what_a_task_does_to_the_scores_is_reported(run: Run, tmp_path: Path) -> None:
    """The shown probabilities are not those of the answer: a temperature, or a mean and a deviation, lies between."""
    for task, settings, numbers in (
        ("classify", {"labels": ("ham", "spam"), "temperature": 0.125}, ("temperature 0.125",)),
        ("regress", {"mean": 2.5, "deviation": 1.25}, ("2.5 + 1.25 × score",)),
    ):
        folder = model_for(task, settings).save(tmp_path / task)
        *_, last = run("explain", folder, TEXT, "--json").records
        assert all(number in " ".join(last["remarks"]) for number in numbers)


def test_a_candidate_alone_has_a_score_and_no_answer(run: Run, tmp_path: Path) -> None:
    folder = model_for("choose", {}).save(tmp_path / "choose")
    *_, last = run("explain", folder, TEXT, "--pair", "Bob went.", "--json").records
    assert "None for one candidate alone" in last["remarks"][0]


def test_windows_of_the_answer_are_reported(run: Run, tmp_path: Path) -> None:
    """The steps read a text as one row, which the verb may not."""
    model = model_for("classify", SETTINGS["classify"])
    model.length = 16
    *_, last = run("explain", model.save(tmp_path / "short"), " ".join([TEXT] * 5), "--json").records
    assert "windows" in last["remarks"][0]
