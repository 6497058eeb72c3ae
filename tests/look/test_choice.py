"""The softmax over the candidates of a choice: a formula like every other, and the numbers of the verb `choose`."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.trace import Trace, load_trace, trace
from glassformer.base.errors import ConfigError, DataError
from glassformer.look.trace.interventions import Replace
from glassformer.models.inputs import Inputs
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for

CHOICES = ("Bob likes Rome.", "Paris", "May day")
LOGITS, LOGS, PROBABILITIES = "sentence_head.logits", "choice.log_probabilities", "choice.probabilities"


@pytest.fixture(scope="module")
def model() -> Model:
    return model_for("choose", {})


@pytest.fixture(scope="module")
def found(model: Model) -> Trace:
    return model.trace(TEXTS[0], choices=CHOICES, dtype=torch.float64)


def test_it_is_what_choose_answers_and_the_softmax_of_the_scores(model: Model, found: Trace) -> None:
    answered = model.choose(TEXTS[0], list(CHOICES))
    assert found.axes(PROBABILITIES) == ("candidate", "label")
    # The verb predicts in float32: of numbers near 1 that is some 1e-7.
    assert found[PROBABILITIES][:, 0].tolist() == pytest.approx(answered.probabilities, abs=1e-6)
    raised = found[LOGITS].double().exp()  # [C, 1]
    torch.testing.assert_close(found[PROBABILITIES], raised / raised.sum(), rtol=0, atol=1e-14)
    torch.testing.assert_close(found[LOGS], (raised / raised.sum()).log(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_verified_and_a_wrong_number_is_noticed(model: Model, dtype: torch.dtype) -> None:
    found = model.trace(TEXTS[0], choices=CHOICES, dtype=dtype)
    assert found.verify().holds
    for name in (LOGS, PROBABILITIES):
        wrong = found[name].clone()
        wrong[1] += 1e-3
        checked = replace(found, stored={**found.stored, name: wrong}).verify(name)
        assert not checked.holds
        assert checked.worst.worst == (1, 0)


def test_a_candidate_is_asked_for_by_its_text(found: Trace) -> None:
    explained = found.explain(PROBABILITIES, "candidate=Paris")
    assert explained.cell == {"candidate": 1, "label": 0}
    assert explained.value == float(found[PROBABILITIES][1, 0])
    assert explained.difference <= 1e-15
    assert [operand.name for operand in explained.operands] == [LOGITS] * len(CHOICES)
    assert [operand.cell["sentence"] for operand in explained.operands] == [0, 1, 2]
    assert found.explain(LOGS, 'candidate="May day"').value == float(found[LOGS][2, 0])


def test_a_changed_score_changes_the_choice_and_still_holds(found: Trace) -> None:
    other = found.intervene(Replace(LOGITS, 100.0, (2, 0)))
    assert other[PROBABILITIES][:, 0].tolist() == pytest.approx([0, 0, 1], abs=1e-12)
    assert other.verify("choice.*").holds


def test_a_saved_trace_has_it_too(model: Model, found: Trace, tmp_path: Path) -> None:
    found.save(tmp_path / "choice.safetensors")
    for read in (load_trace(tmp_path / "choice.safetensors"), load_trace(tmp_path / "choice.safetensors", model)):
        assert torch.equal(read[PROBABILITIES], found[PROBABILITIES])
        assert read.verify("choice.*").holds
        assert read.explain(PROBABILITIES, "candidate=Paris").value == float(found[PROBABILITIES][1, 0])
    again = read.intervene(Replace(LOGITS, 100.0, (0, 0)))
    assert float(again[PROBABILITIES][0]) == pytest.approx(1, abs=1e-12)


def test_one_text_has_no_choice(model: Model) -> None:
    assert not any(name.startswith("choice.") for name in model.trace(TEXTS[0], CHOICES[0]))


def test_what_cannot_be_compared_is_refused(model: Model) -> None:
    labels = model_for("classify", {"labels": ("a", "b")})
    with refused(ConfigError, got="2 scores"):
        trace(labels.module, Inputs(ids=torch.tensor([[2, 5, 3]])), candidates=True)
    with refused(ConfigError, do="train choose"):
        labels.trace(TEXTS[0], choices=CHOICES)
    with refused(DataError, got="1"):
        model.trace(TEXTS[0], choices=["one"])
    with refused(DataError, got="2 texts"):
        model.trace(TEXTS, choices=CHOICES)
    with refused(DataError, got="a second text too"):
        model.trace(TEXTS[0], "Paris", choices=CHOICES)
