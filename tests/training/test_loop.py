"""The loop: what it promises about accumulation, evaluation, time and what it writes down."""

import json
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from glassformer.api.trace import trace
from glassformer.base.errors import ConfigError
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.runtime import compiler
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.loop import Ahead, fit, parts_of, step_seed
from glassformer.training.record import Step
from glassformer.training.run import sampled_tokens, to_standard_error
from tests.refusals import refused
from tests.training.runs import equal, train
from tests.training.toy import Toy, toy_model, toy_settings


def farthest(one: dict[str, Tensor], two: dict[str, Tensor]) -> float:
    return max(float((one[name] - two[name]).abs().max()) for name in one)


def test_batches_that_are_made_ahead_are_those_of_their_steps() -> None:
    """As on a GPU: each is made once, all but the first in another thread, and an error comes with its own step."""
    toy, made = Toy(), list[tuple[int, bool]]()

    def parts(step: int) -> list[Batch]:
        made.append((step, threading.current_thread() is threading.main_thread()))
        if step == 4:
            raise ConfigError("a step", got="4")
        return parts_of(toy, step, 2)

    with closing(Ahead(parts, thread=True)) as ahead:
        for step in range(4):
            for one, two in zip(ahead(step), parts_of(toy, step, 2), strict=True):
                assert one.inputs.ids is not None
                assert two.inputs.ids is not None
                assert torch.equal(one.inputs.ids, two.inputs.ids)
        with refused(ConfigError, got="4"):
            ahead(4)
    assert made == [(0, True), (1, False), (2, False), (3, False), (4, False)]


def test_it_learns(tmp_path: Path) -> None:
    _, steps = train(tmp_path, steps=150, learning_rate=1e-2)
    assert steps[0].loss > 3.0  # log 23 = 3.14: it knows nothing
    assert sum(step.loss for step in steps[-10:]) / 10 < 2.5


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_parts_of_a_batch_equal_the_whole(tmp_path: Path, parts: int) -> None:
    """Rows hide 1 to 4 tokens, so a mean of means would be another gradient.

    BERT's epsilon: the gradient of a key's bias is 0 but for rounding, which a smaller one would blow up to a step.
    """
    whole, one = train(tmp_path / "whole", steps=3, epsilon=1e-6)
    cut, many = train(tmp_path / "cut", steps=3, epsilon=1e-6, accumulate=parts)
    assert farthest(whole, cut) < 1e-6  # sums of a few hundred float32 numbers in another order
    assert [step.counts for step in one] == [step.counts for step in many]
    assert [step.loss for step in one] == pytest.approx([step.loss for step in many], rel=1e-6)


def test_parts_of_a_batch_equal_the_whole_with_dropout(tmp_path: Path) -> None:
    """Each row has its own random numbers, whatever its batch. In float64, where order of sums shows at 1e-12."""
    chosen: dict[str, Any] = {"steps": 3, "dropout": 0.3, "precision": "float64"}
    whole, _ = train(tmp_path / "whole", **chosen)
    cut, _ = train(tmp_path / "cut", accumulate=3, **chosen)
    other, _ = train(tmp_path / "other", seed=1, **chosen)
    assert farthest(whole, cut) < 1e-12
    assert farthest(whole, other) > 1e-4


def test_parts_of_a_batch_are_the_whole_for_muon_within_what_bfloat16_rounds(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"steps": 3, "epsilon": 1e-6, "optimizer": "muon"}
    still, _ = train(tmp_path / "still", **chosen, learning_rate=1e-9, matrix_learning_rate=1e-9)
    whole, _ = train(tmp_path / "whole", **chosen)
    cut, _ = train(tmp_path / "cut", accumulate=4, **chosen)
    # Found where products are in bfloat16: 2 % of the distance that the matrices go; it rounds by 0.4 % in each of the
    # five products of a step.
    assert farthest(whole, cut) < 0.06 * farthest(still, whole)
    alone = [name for name in whole if whole[name].dim() == 1 or ".blocks." not in name]
    assert farthest({name: whole[name] for name in alone}, cut) < 1e-4


def test_parts_of_a_batch_equal_the_whole_for_muon_in_float64(tmp_path: Path) -> None:
    """Its products are computed in the type of the run's: in bfloat16 this is 2 % of the distance, see above."""
    chosen: dict[str, Any] = {"steps": 3, "epsilon": 1e-6, "optimizer": "muon", "precision": "float64"}
    whole, _ = train(tmp_path / "whole", **chosen)
    cut, _ = train(tmp_path / "cut", accumulate=4, **chosen)
    assert farthest(whole, cut) < 1e-12


def test_activation_checkpointing_changes_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recomputed: list[object] = []

    def seen(block: Any, *given: Any, **named: Any) -> Any:
        recomputed.append(block)
        return checkpoint(block, *given, **named)

    monkeypatch.setattr("glassformer.models.stack.checkpoint", seen)
    chosen: dict[str, Any] = {"steps": 3, "dropout": 0.3, "precision": "float64"}
    plain, _ = train(tmp_path / "plain", **chosen)
    assert recomputed == []
    again, _ = train(tmp_path / "again", activation_checkpointing=True, **chosen)
    assert len(recomputed) == 3 * 2  # in each step each of the two blocks
    assert farthest(plain, again) < 1e-14


def test_what_trains_with_activation_checkpointing_can_be_looked_at(tmp_path: Path) -> None:
    """By gradients too, whose way back would run the blocks again when nobody watches any more."""
    model, plain = toy_model(), toy_model()
    assert model.encoder is not None
    for _ in fit(model, Toy(), toy_settings(activation_checkpointing=True), out=tmp_path, log=lambda message: None):
        assert not model.encoder.recompute
    assert not model.encoder.recompute
    plain.load_state_dict(model.state_dict())
    model.encoder.recompute = True  # as a training loop of a user leaves it
    inputs = Inputs(ids=torch.arange(1, 9).view(2, 4))
    expected, found = (trace(each, inputs, labels=inputs.ids, gradients="loss") for each in (plain, model))
    assert expected.gradients
    assert equal(dict(expected.gradients), dict(found.gradients))


class Uneven(Toy):
    """A hundred steps to an epoch, and the first of them three hundred times as large as the others."""

    @property
    def steps_per_epoch(self) -> float:
        return 100

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        assert step < 100
        return replace(super().batch(step, part, parts), tokens=3 * 10**8 if step == 0 else 10**6)


def test_a_step_is_as_long_as_the_steps_of_an_epoch_are() -> None:
    assert sampled_tokens(Toy()) == {step: Toy().batch(step).tokens for step in range(3)}  # its epoch has 2.5 steps
    assert 10**6 < mean(sampled_tokens(Uneven()).values()) < 2 * 10**7


def test_one_step_does_not_decide_on_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in buckets: the first batch may be a twentieth of the others, or four times as large."""
    monkeypatch.setattr(compiler, "has_compiler", lambda device: True)
    said: list[str] = []
    train(tmp_path, task=Uneven(), steps=6, compile="auto", said=said.append)
    assert said[0].endswith("not compiled: the run is too short for compiling to save time")


def test_every_weight_moves_in_the_first_step(tmp_path: Path) -> None:
    before = {name: tensor.clone() for name, tensor in weights(toy_model()).items()}
    after, _ = train(tmp_path, steps=1, warmup=0.0)
    still = {name for name in before if torch.equal(before[name], after[name])}
    # A key's bias adds the same to all scores of a query: softmax does not see it (its gradient is rounding).
    assert {name for name in still if "key.bias" not in name} == set()


def test_a_step_that_asks_nothing_reports_nothing(tmp_path: Path) -> None:
    _, steps = train(tmp_path, task=Toy(hide=0), steps=1)
    assert (steps[0].counts, steps[0].loss, steps[0].norm) == ({"masked_words": 0}, 0, 0)


def test_clipping_scales_all_gradients_alike(tmp_path: Path) -> None:
    """Adam's first moment after one step is (1 - beta1) times the clipped gradient."""
    moments = {}
    for name, clip in (("loose", None), ("tight", 1e-3)):
        _, steps = train(tmp_path / name, steps=1, clip=clip)
        newest = Checkpoints(tmp_path / name / "checkpoints", keep=1).newest()
        assert newest is not None
        tensors = newest.tensors("optimizer")
        moments[name] = torch.cat([t.flatten() for n, t in sorted(tensors.items()) if n.startswith("exp_avg.")])
    assert float(moments["tight"].norm()) == pytest.approx(0.1 * 1e-3, rel=1e-4)
    assert torch.allclose(moments["loose"] * (1e-3 / steps[0].norm), moments["tight"], rtol=1e-3, atol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("batch", "expected"), [(512, range(4, 41, 4)), (8, [40]), (256, range(8, 41, 8))])
def test_ten_evaluations_by_default_or_fewer_in_a_small_run(
    tmp_path: Path, batch: int, expected: Sequence[int]
) -> None:
    """Each looks at 512 rows; together they look at no more than a quarter of the rows of the steps."""
    _, steps = train(tmp_path, task=Counted(batch), held_out=Toy(seed=5), steps=40)
    assert [step.step for step in steps if step.scores] == list(expected)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("minutes", "expected"), [(0.25, [15]), (1, [18, 36, 54, 60]), (3, [*range(18, 181, 18)])])
def test_in_a_run_of_minutes_too_evaluations_read_a_quarter_of_the_rows_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: float, expected: list[int]
) -> None:
    """A step of 128 rows takes a second: 16 steps read four times the 512 rows of an evaluation."""
    task = Timed()
    task.evaluating = 0.0
    monkeypatch.setattr(task, "rows", lambda step: 128)
    monkeypatch.setattr(sys.modules["glassformer.training.loop"], "time", SimpleNamespace(monotonic=lambda: task.now))
    chosen = toy_settings(steps=None, minutes=minutes, checkpoint_minutes=1e6)
    run = fit(toy_model(layers=1), task, chosen, out=tmp_path, held_out=task, log=lambda note: None)
    assert [step.step for step in run if step.scores] == expected


def test_minutes_end_a_run(tmp_path: Path) -> None:
    _, steps = train(tmp_path, held_out=Toy(seed=5), steps=None, minutes=0.02, learning_rate=1e-3)
    assert steps[-1].fraction == 1.0
    assert steps[-1].scores is not None  # its rate has just fallen to nothing: the last model is the one to judge
    assert steps[-2].fraction < 1.0
    assert steps[-1].steps is None
    assert 1.2 <= steps[-1].elapsed < 5
    assert steps[-1].learning_rate < steps[len(steps) // 2].learning_rate


class Counted(Toy):
    """Its steps are said to have so many rows."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def rows(self, step: int) -> int:
        return self.count


class Timed(Toy):
    """A step has fifty tokens and takes a second, an evaluation takes a minute, by a clock of its own."""

    now = 0.0
    evaluating = 60.0

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        return replace(super().batch(step, part, parts), tokens=50)

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        self.now += 1
        return super().loss(model, batch)

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.now += self.evaluating
        return {"loss": 1.0}


def test_time_is_that_of_the_run_and_speed_that_of_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes count evaluations but not what the caller does between two steps; tokens per second count neither."""
    task = Timed()
    monkeypatch.setattr(sys.modules["glassformer.training.loop"], "time", SimpleNamespace(monotonic=lambda: task.now))
    chosen = toy_settings(steps=None, minutes=2, evaluate_every=20, checkpoint_every=10)
    notes: list[Step] = []
    for resume in (False, True):
        for step in fit(toy_model(), task, chosen, out=tmp_path, held_out=task, resume=resume, log=lambda note: None):
            notes.append(step)
            task.now += 1000
            if step.step == 10:
                break
    assert {step.seconds for step in notes} == {1}
    assert [step.elapsed for step in notes] == [*range(1, 21), *range(81, 101), 161]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert {line["tokens_per_second"] for line in lines} == {50}


def test_impossible_settings_are_refused(tmp_path: Path) -> None:
    with refused(ConfigError, wanted="train.accumulate", got=("8", "9")):
        train(tmp_path, accumulate=9)
    with refused(ConfigError, wanted="train.average", do="train.checkpoint_every"):
        train(tmp_path, average=2)
    with refused(ConfigError, wanted="train.patience", do="data.validation"):
        train(tmp_path, patience=2)


def test_metrics_are_written_line_by_line(tmp_path: Path) -> None:
    _, steps = train(tmp_path, steps=25, held_out=Toy(seed=5), evaluate_every=12)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 12, 20, 24, 25]
    assert lines[0]["loss"] == pytest.approx(sum(step.loss for step in steps[:10]) / 10)
    scores = steps[11].scores
    assert scores is not None
    assert lines[1]["held_out_loss"] == scores["loss"]
    assert lines[0].keys() >= {"seconds", "learning_rate", "norm", "tokens_per_second", "epoch"}


def test_notes_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(fit(toy_model(), Toy(), toy_settings(steps=1), out=tmp_path))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cpu (1 thread), float32; compile = off" in captured.err
    assert to_standard_error.__doc__


def test_step_seeds_differ_by_step_and_seed() -> None:
    seeds = {int(step_seed(seed, step)) for seed in range(20) for step in range(200)}
    assert len(seeds) == 4000
    assert step_seed(1, 2).dtype == torch.int32
