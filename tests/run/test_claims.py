"""Claims: data that can be trained, judged by their rules; recorded as docs/measured/claims.md has them."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from experiments import claims as page
from experiments import results
from experiments.measured_claims import WORDS
from glassformer.base.errors import ConfigError, DataError
from glassformer.bundled.claims import Claim, Question, Score, Stage, known_claim, known_claims, recorded
from glassformer.cli.__main__ import main
from glassformer.run.claims import MEASURES, Measured, judged, run_claim
from glassformer.run.evaluate import evaluate
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_as_saved
from glassformer.saved.recipe import resolve
from glassformer.scoring.score import share_of
from glassformer.training.progress import NoProgress

SMALL = Claim(
    id="X-4",
    title="small",
    document="slides",
    claim="",
    seeds=2,
    set={"train.steps": 2},
    stages=(Stage(name="one", recipe="slides", tests=(Score(name="words", score="accuracy"),)),),
    arms={"two": {}, "one head": {"model.settings.heads": 1}},
    questions=(Question(on=("words",), of="two", against="one head"),),
)


def test_what_is_recorded_is_what_the_page_says() -> None:
    assert page.RECORDED.read_text(encoding="utf-8") == page.record()
    assert list(known_claims()) == list(recorded()) == [f"X-{number}" for number in range(1, 21)]
    for name, found in recorded().items():
        assert found["verdict"] in WORDS
        if measured := results.read(f"claim-{name}"):
            assert [found[key] for key in ("scores", "questions")] == [measured[key] for key in ("scores", "questions")]
            assert {each["arm"] for each in measured["scores"]} == set(known_claim(name).arms)


@pytest.mark.parametrize("claim", [each for each in known_claims().values() if each.stages], ids=lambda each: each.id)
def test_a_claim_is_possible(claim: Claim) -> None:
    tests = {test.name: test for stage in claim.stages for test in stage.tests}
    assert claim.seeds >= 2
    assert {test.measure for test in tests.values()} <= set(MEASURES)
    for stage in claim.stages:
        for arm in claim.arms.values():
            resolve(stage.recipe, {**claim.set, **stage.set, **({} if stage.start else arm)})
    for question in claim.questions:
        assert {*question.on, question.against_on or question.on[0]} <= set(tests)
        assert {question.of, question.against or question.of} <= set(claim.arms)


def of_examples(*seeds: Sequence[float]) -> list[Measured]:
    return [Measured(float(np.mean(seed)), share_of(seed)) for seed in seeds]


HALF, MOST = [0.0, 1.0] * 50, [1.0, 1.0, 1.0, 0.0] * 25


@pytest.mark.parametrize(
    ("two", "one", "verdict"),
    [
        (of_examples(MOST, MOST), of_examples(HALF, HALF), "holds"),
        (of_examples(HALF, HALF), of_examples(MOST, MOST), "does not hold"),
        (of_examples(HALF, MOST), of_examples(MOST, HALF), "not shown"),  # one seed says the contrary
        ([Measured(0.9), Measured(0.91)], [Measured(0.5), Measured(0.51)], "holds"),
        ([Measured(0.9), Measured(0.6)], [Measured(0.5), Measured(0.5)], "not shown"),  # two seeds that differ much
    ],
)
def test_a_verdict_follows_its_rule(two: list[Measured], one: list[Measured], verdict: str) -> None:
    found = judged(SMALL, {("words", "two"): two, ("words", "one head"): one})
    assert found["verdict"] == verdict
    (answer,) = found["questions"]
    assert answer["value"] == pytest.approx(np.mean(answer["of_seeds"]))
    assert answer["low"] <= answer["value"] <= answer["high"]


def test_a_question_of_several_tests_may_hold_in_part_and_less_loss_is_better() -> None:
    tests = (Score(name="a", score="loss"), Score(name="b", score="accuracy"))
    claim = SMALL.model_copy(
        update={
            "stages": (SMALL.stages[0].model_copy(update={"tests": tests}),),
            "questions": (
                Question(on=("a", "b"), of="two", against="one head"),
                Question(on=("b",), of="two", at_least=0.5),
            ),
        }
    )
    low, high = [Measured(0.1), Measured(0.11)], [Measured(0.9), Measured(0.91)]
    found = judged(claim, {("a", "two"): low, ("a", "one head"): high, ("b", "two"): low, ("b", "one head"): high})
    assert [each["found"] for each in found["questions"]] == ["better", "worse", "worse"]
    assert found["verdict"] == "in part"


class Notes(NoProgress):
    """Keeps the notes of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_a_claim_is_trained_once_and_other_settings_are_refused(tmp_path: Path) -> None:
    first, again = Notes(), Notes()
    found = run_claim(SMALL, tmp_path, progress=first)
    assert len([note for note in first.notes if "starting at step 0" in note]) == 4
    assert [len(each["of_seeds"]) for each in found["scores"]] == [2, 2]
    assert run_claim(SMALL, tmp_path, progress=again)["scores"] == found["scores"]
    assert not [note for note in again.notes if "starting at" in note]
    model = store.read(tmp_path / "X-4" / "two-0" / "one", Artefact)
    assert model.data is not None
    (asked,) = SMALL.stages[0].tests
    by_frequency = MEASURES["evaluated"](model, asked.model_copy(update={"given": "unigram"}), (), tmp_path)
    assert by_frequency.value == evaluate(model, model.data.files)["unigram_accuracy"]
    with pytest.raises(ConfigError, match="other settings"):
        run_claim(SMALL.model_copy(update={"set": {"train.steps": 3}}), tmp_path, progress=NoProgress())


@pytest.mark.parametrize(("name", "most"), [("writer", 1e-6), ("english", math.inf)])
def test_the_states_of_a_beginning_change_with_the_ending_only_where_words_after_are_seen(
    name: str, most: float
) -> None:
    model = open_as_saved(name, Artefact)
    endings = Score(name="", score="change", given=["As Aliens entered our planet", "As Aliens entered our old ship"])
    change = MEASURES["change"](model, endings, (), Path()).value
    assert change <= most
    assert (change > 1e-2) == (most == math.inf)


def test_shuffled_words_keep_their_tags_and_unordered_states_do_not_change(tmp_path: Path) -> None:
    from glassformer.run.claims import _in_random_order

    text = "# a\n1-2\tit's\t_\n1\tit\tPRON\n2\tis\tAUX\n3\there\tADV\n\n1\tyes\tINTJ\n\n"
    first, second = _in_random_order(text).strip().split("\n\n")
    assert sorted(line.split("\t", 1)[1] for line in first.split("\n")) == ["here\tADV", "is\tAUX", "it\tPRON"]
    assert [line.split("\t")[0] for line in first.split("\n")] == ["1", "2", "3"]
    assert second == "1\tyes\tINTJ"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["X-99"], "X-9"),
        (["X-11", "--run"], "415d1b2e"),
        (["--run"], "X-4 --run"),
        (["X-7", "--run"], "GLASSFORMER_DATA"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(
    command: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("GLASSFORMER_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["claims", *command]) == 2
    found = capsys.readouterr()
    assert said in found.err
    assert found.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_vectors_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="no-such-file"):
        run_claim(SMALL.model_copy(update={"arms": {"one": {"model.vectors": "no-such-file"}}}), tmp_path)


def test_the_list_is_readable_at_80_columns_and_one_claim_is_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def printed(*words: str) -> str:
        assert main(["claims", *words]) == 0
        return capsys.readouterr().out

    lines = printed().split("\n")
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith(" X-") for line in lines) == 20
    assert [json.loads(line)["id"] for line in printed("--json").splitlines()] == list(known_claims())
    shown = printed("X-4", "--out", str(tmp_path / "x.json"))
    assert "four of four" in shown
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["verdict"] == recorded()["X-4"]["verdict"]
    assert json.loads(printed("x-4", "--json"))["rule"] == known_claim("X-4").rule
    printed("--out", str(tmp_path / "all.jsonl"))
    assert len((tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()) == 20
