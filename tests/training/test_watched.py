"""Sentences are watched without changing the training, and their records are the same after an interruption."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.base.errors import NotFiniteError
from glassformer.look.trace.watch import watch
from glassformer.models.transformer import Transformer
from glassformer.tasks.predictor import evaluating
from glassformer.training import record
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.record import FILE, MOST, due_steps, kept_steps, next_due, read_watched
from tests.training.runs import equal
from tests.training.toy import Toy, toy_model, toy_settings


class Looks:
    """A sentence of the toy, looked at as a task does: in eval mode, with its attention."""

    header: Mapping[str, Any] = {"sentences": ["one"]}

    def look(self, model: Transformer) -> Sequence[Mapping[str, Any]]:
        batch = Toy().batch(0).to(next(model.parameters()).device)
        with evaluating(model), watch(model, "*.weights") as seen:
            logits = model(batch.inputs, scored_at=batch.scored_at).logits
        assert logits is not None
        return [{"logits": logits[0].tolist(), "weights": [float(one.sum()) for one in seen.values()]}]


class Diverged(Looks):
    def look(self, model: Transformer) -> Sequence[Mapping[str, Any]]:
        raise NotFiniteError("numbers are needed", got="NaN")


def run(out: Path, looks: Looks | None, *, stop: int | None = None, resume: bool = False, **chosen: Any) -> Any:
    """Train; returns the weights, and what was logged."""
    said: list[str] = []
    model = toy_model(dropout=0.2)
    held_out, settings = Toy(seed=5), toy_settings(**chosen)
    steps = fit(model, Toy(), settings, out=out, held_out=held_out, resume=resume, log=said.append, watched=looks)
    for step in steps:
        if step.step == stop:
            break
    return {name: tensor.clone() for name, tensor in weights(model).items()}, said


def lines(out: Path) -> list[str]:
    return (out / FILE).read_text().splitlines()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ema", [None, 0.9])
def test_watching_changes_no_weight(tmp_path: Path, ema: float | None) -> None:
    torch.manual_seed(3)
    without, _ = run(tmp_path / "without", None, steps=25, ema=ema)
    torch.manual_seed(3)
    after_without = torch.rand(3)
    torch.manual_seed(3)
    with_looks, _ = run(tmp_path / "with", Looks(), steps=25, ema=ema)
    torch.manual_seed(3)
    assert equal(without, with_looks)
    assert torch.equal(after_without, torch.rand(3))
    logs = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("without", "with")]
    clocks = {"seconds": 0, "tokens_per_second": 0}
    assert [json.loads(line) | clocks for line in logs[0]] == [json.loads(line) | clocks for line in logs[1]]
    assert not (tmp_path / "without" / FILE).exists()


def test_the_random_states_are_untouched(tmp_path: Path) -> None:
    states = []
    for name, looks in (("without", None), ("with", Looks())):
        run(tmp_path / name, looks, steps=6)
        states.append(torch.get_rng_state())
    assert torch.equal(*states)


@pytest.mark.long
@pytest.mark.parametrize("stop", [3, 12, 23])
def test_records_after_an_interruption_are_those_of_an_unbroken_run(tmp_path: Path, stop: int) -> None:
    chosen: dict[str, Any] = {"steps": 30, "checkpoint_every": 5}
    run(tmp_path / "whole", Looks(), **chosen)
    run(tmp_path / "cut", Looks(), stop=stop, **chosen)
    with (tmp_path / "cut" / FILE).open("a") as file:
        file.write('{"checksum":"0000')  # the line that was being written
    _, said = run(tmp_path / "cut", Looks(), resume=True, **chosen)
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")
    assert any("1 line is damaged" in message for message in said) == (stop >= 5)
    steps = list(read_watched(tmp_path / "whole" / FILE).records)
    assert steps == [0, *range(1, 21), 22, 24, 26, 28, 30]


@pytest.mark.long
def test_a_long_run_keeps_few_records_and_the_same_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "MOST", 8)
    chosen: dict[str, Any] = {"steps": 40, "checkpoint_every": 7}
    run(tmp_path / "whole", Looks(), **chosen)
    run(tmp_path / "cut", Looks(), stop=19, **chosen)
    run(tmp_path / "cut", Looks(), resume=True, **chosen)
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")
    found = list(read_watched(tmp_path / "whole" / FILE).records)
    assert len(found) <= 9
    assert found[0] == 0
    assert found[-1] == 40


def test_the_records_lie_close_at_first_and_stay_few() -> None:
    for step in (0, 1, 5, 20, 100, 1000, 10_000, 123_456, 10_000_000):
        kept = kept_steps(step)
        assert kept[0] == 0
        assert len(kept) <= MOST
        assert len(kept) >= min(step, 35)
        apart = [later - earlier for earlier, later in pairwise(kept)]
        assert apart == sorted(apart)
        assert next_due(step) > step
    # What was dropped once is never wanted again: else a record would have to be made of a step that is gone.
    for step, later in ((100, 5000), (20_000, 900_000)):
        assert {each for each in kept_steps(later) if each <= step} <= set(kept_steps(step))
    due = due_steps()
    assert [next(due) for _ in range(24)] == [*range(21), 22, 24, 26]


def test_other_sentences_begin_anew_and_damage_is_reported(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"steps": 12, "checkpoint_every": 4}
    run(tmp_path, Looks(), stop=9, **chosen)
    text = (tmp_path / FILE).read_text().splitlines()
    text[3] = text[3].replace("0.", "1.", 1)
    (tmp_path / FILE).write_text("\n".join(text) + "\n")
    assert read_watched(tmp_path / FILE).damaged == 1
    others = Looks()
    others.header = {"sentences": ["another"]}
    _, said = run(tmp_path, others, resume=True, **chosen)
    assert [message for message in said if "sentences have changed" in message]
    found = read_watched(tmp_path / FILE)
    assert found.header is not None
    assert found.header["sentences"] == ["another"]
    assert list(found.records) == [9, 10, 11, 12]


def test_what_cannot_be_answered_or_written_stops_no_training(tmp_path: Path) -> None:
    run(tmp_path / "diverged", Diverged(), steps=3)
    found = read_watched(tmp_path / "diverged" / FILE)
    assert all("NaN" in record["wrong"] for record in found.records.values())
    (tmp_path / "blocked" / FILE).mkdir(parents=True)
    _, said = run(tmp_path / "blocked", Looks(), steps=3)
    assert any("are no longer watched" in message for message in said)
