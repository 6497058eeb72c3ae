"""The loop: what it promises about accumulation, evaluation, the weights it keeps, and what stops it."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from glassformer.errors import CheckpointError, ConfigError, NotFiniteError
from glassformer.look.run import trace
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.runtime import compiler
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.loop import fit, step_seed
from glassformer.training.record import Step
from glassformer.training.run import mean_tokens, to_standard_error
from glassformer.training.settings import TrainSection
from glassformer.training.stopping import Interrupted
from tests.refusals import refused
from tests.training.toy import Toy, toy_model, toy_settings


def train(
    out: Path, model: Transformer | None = None, task: Toy | None = None, *, held_out: Toy | None = None,
    resume: bool = False, said: Callable[[str], None] = lambda message: None, dropout: float = 0.0, **settings: object,
) -> tuple[dict[str, Tensor], list[Step]]:  # fmt: skip
    model = model or toy_model(dropout=dropout)
    steps = list(
        fit(model, task or Toy(), toy_settings(**settings), out=out, held_out=held_out, resume=resume, log=said)
    )
    return {name: tensor.clone() for name, tensor in weights(model).items()}, steps


def equal(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def farthest(one: dict[str, Tensor], two: dict[str, Tensor]) -> float:
    return max(float((one[name] - two[name]).abs().max()) for name in one)


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
    model.encoder.recompute = True  # as whoever trains in a loop of his own leaves it
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
    assert mean_tokens(Toy()) == sum(Toy().batch(step).tokens for step in range(3)) / 3  # its epoch has 2.5 steps
    assert 10**6 < mean_tokens(Uneven()) < 2 * 10**7


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


@pytest.mark.parametrize(("ema", "average"), [(None, None), (0.9, None), (None, 2), (0.9, 3)])
def test_stopped_and_resumed_is_unbroken(tmp_path: Path, ema: float | None, average: int | None) -> None:
    chosen: dict[str, Any] = {"steps": 9, "dropout": 0.2, "ema": ema, "checkpoint_every": 4, "optimizer": "bert-adam"}
    chosen |= {"average": average}
    held_out = Toy(seed=5)
    whole, told = train(tmp_path / "whole", held_out=held_out, **chosen)
    stopped = fit(
        toy_model(dropout=0.2), Toy(), _settings(chosen), out=tmp_path / "cut", held_out=held_out, log=lambda m: None
    )
    for _ in range(6):
        next(stopped)
    del stopped
    said: list[str] = []
    torch.manual_seed(99)
    resumed, more = train(
        tmp_path / "cut", toy_model(dropout=0.2, seed=7), held_out=held_out, resume=True, said=said.append, **chosen
    )  # fmt: skip
    assert equal(whole, resumed)
    assert [step.loss for step in more] == [step.loss for step in told[4:]]
    assert [step.scores for step in more] == [step.scores for step in told[4:]]
    assert "toy: going on after step 4" in said
    assert not any("may differ" in message for message in said)
    lines = {
        name: [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "cut")
    }
    by_the_clock = {"seconds": None, "tokens_per_second": None}
    assert [line | by_the_clock for line in lines["cut"]] == [line | by_the_clock for line in lines["whole"]]


@pytest.mark.parametrize("every", [2, None])
def test_ctrl_c_changes_no_average_and_no_best(tmp_path: Path, every: int | None) -> None:
    """Stopped after each odd step: checkpoints at other steps remove none of those that are averaged."""
    chosen: dict[str, Any] = {"steps": 9, "checkpoint_every": every, "average": every and 3, "keep": 1}
    chosen |= {"evaluate_every": 4} if every is None else {}
    told: dict[str, list[str]] = {"whole": [], "cut": []}
    held_out = None if every else Toy(seed=5)
    whole, _ = train(tmp_path / "whole", held_out=held_out, said=told["whole"].append, **chosen)
    for stop in (1, 3, 5, 7):
        steps = fit(
            toy_model(), Toy(), _settings(chosen), out=tmp_path / "cut", held_out=held_out, resume=True,
            log=lambda message: None,
        )  # fmt: skip
        with pytest.raises(Interrupted):
            _stop_after(stop, steps)
    cut, _ = train(tmp_path / "cut", held_out=held_out, resume=True, said=told["cut"].append, **chosen)
    assert told["cut"][-1] == told["whole"][-1]
    assert told["whole"][-1].startswith("kept: ")
    assert equal(whole, cut)


def _stop_after(stop: int, steps: Iterator[Step]) -> None:
    for step in steps:
        if step.step == stop:
            signal.raise_signal(signal.SIGINT)


def _settings(chosen: Mapping[str, object]) -> TrainSection:
    return toy_settings(**{name: value for name, value in chosen.items() if name != "dropout"})


def test_resuming_a_finished_run_gives_its_weights(tmp_path: Path) -> None:
    whole, _ = train(tmp_path, held_out=Toy(seed=5))
    again, steps = train(tmp_path, toy_model(seed=3), held_out=Toy(seed=5), resume=True)
    assert steps == []
    assert equal(whole, again)


def test_more_steps_later(tmp_path: Path) -> None:
    said: list[str] = []
    train(tmp_path, steps=4)
    _, more = train(tmp_path, resume=True, steps=6, said=said.append)
    assert [step.step for step in more] == [5, 6]
    assert any("settings.steps was 4 and is now 6" in message for message in said)


def test_a_difference_of_threads_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    train(tmp_path, steps=2)
    try:
        train(tmp_path, resume=True, steps=2, threads=2, said=said.append)
    finally:
        torch.set_num_threads(1)
    assert any("threads was 1 and is now 2" in message for message in said)


def test_resuming_nothing_begins(tmp_path: Path) -> None:
    _, steps = train(tmp_path, resume=True, steps=2)
    assert [step.step for step in steps] == [1, 2]


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    train(tmp_path, steps=1)
    with refused(CheckpointError, got=str(tmp_path / "checkpoints"), do="--resume"):
        train(tmp_path, steps=1)


def test_another_model_cannot_go_on(tmp_path: Path) -> None:
    from glassformer.models.families import bert
    from glassformer.models.transformer import build

    train(tmp_path, steps=1)
    other = build(bert(vocabulary=23, layers=3, width=16, heads=2, feed_forward=24, max_length=12))
    with refused(CheckpointError, wanted=("step-00000001", "encoder.blocks.2"), got="none"):
        train(tmp_path, other, steps=2, resume=True)


class Getting(Toy):
    """Evaluates to numbers told beforehand."""

    def __init__(self, *losses: float) -> None:
        super().__init__()
        self.held_out_losses = list(losses)
        self.seen: list[Tensor] = []

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.seen.append(model.word_table.detach().clone())
        return {"loss": self.held_out_losses.pop(0)}


class Right(Getting):
    """Evaluates to accuracies: more is better."""

    def __init__(self, *accuracies: float) -> None:
        super().__init__(*accuracies)
        self.best = "accuracy"

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {"accuracy": super().evaluate(model)["loss"]}


def test_the_best_model_is_the_best_by_the_score_of_its_task(tmp_path: Path) -> None:
    held_out = Right(0.25, 0.75, 0.75, 0.5)  # of equal ones the first
    said: list[str] = []
    kept, _ = train(tmp_path, held_out=held_out, steps=8, evaluate_every=2, said=said.append)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[1])
    assert any("step 4" in note and "accuracy" in note and "0.75" in note for note in said)


def test_the_best_model_is_kept(tmp_path: Path) -> None:
    held_out = Getting(3.0, 1.0, 2.0, 2.5)
    said: list[str] = []
    kept, steps = train(tmp_path, held_out=held_out, steps=8, evaluate_every=2, said=said.append)
    assert [step.step for step in steps if step.scores] == [2, 4, 6, 8]
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[1])
    assert any("of step 4" in message for message in said)
    assert [path.name for path in (tmp_path / "checkpoints").glob("best-*")] == ["best-00000004"]


def test_the_best_of_a_run_that_was_thrown_back(tmp_path: Path) -> None:
    """Killed after step 6, whose best no checkpoint knows, and told otherwise the second time: step 2 stays best."""
    settings: dict[str, Any] = {"steps": 8, "evaluate_every": 2, "checkpoint_every": 3, "keep": 1}
    first = Getting(2.0, 3.0, 1.0)
    killed = fit(toy_model(), Toy(), toy_settings(**settings), out=tmp_path, held_out=first, log=lambda message: None)
    for _ in range(5):
        next(killed)
    folder = tmp_path / "checkpoints"
    checkpoints = Checkpoints(folder)
    del killed
    checkpoints.save(6, {"model": {"a": torch.ones(1)}}, {}, kind="best")  # killed before the checkpoint of step 6
    second = Getting(3.0, 4.0, 5.0)
    said: list[str] = []
    kept, _ = train(tmp_path, held_out=second, resume=True, said=said.append, **settings)
    assert torch.equal(kept["encoder.embed.word.weight"], first.seen[0])
    assert said[-1].startswith("kept: the best model, of step 2 ")
    assert [path.name for path in folder.glob("best-*")] == ["best-00000002"]


def test_the_best_that_the_newest_checkpoint_knows_is_kept_until_the_next(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"steps": 9, "evaluate_every": 2, "checkpoint_every": 3, "keep": 1}
    steps = fit(
        toy_model(), Toy(), toy_settings(**settings), out=tmp_path, held_out=Getting(4.0, 3.0, 2.0, 1.0, 5.0),
        log=lambda message: None,
    )  # fmt: skip
    seen = [sorted(int(path.name[-2:]) for path in (tmp_path / "checkpoints").glob("best-*")) for _ in steps]
    assert seen == [[], [2], [2], [2, 4], [2, 4], [6], [6], [6, 8], [8]]


def test_patience_ends_the_run(tmp_path: Path) -> None:
    held_out = Getting(3.0, 1.0, 2.0, 2.5, 0.5)
    _, steps = train(tmp_path, held_out=held_out, steps=100, evaluate_every=2, patience=2)
    assert steps[-1].step == 8
    # Resumed, it has no more patience than before.
    _, more = train(tmp_path, held_out=held_out, steps=100, evaluate_every=2, patience=2, resume=True)
    assert more == []


@pytest.mark.parametrize(("batch", "expected"), [(512, range(4, 41, 4)), (8, [40]), (256, range(8, 41, 8))])
def test_ten_evaluations_unless_told_or_fewer_in_a_small_run(
    tmp_path: Path, batch: int, expected: Sequence[int]
) -> None:
    """Each looks at 512 rows; together they look at no more than a quarter of the rows of the steps."""
    _, steps = train(tmp_path, held_out=Toy(seed=5), steps=40, batch=batch)
    assert [step.step for step in steps if step.scores] == list(expected)


def test_the_moving_average_is_what_is_judged_and_kept(tmp_path: Path) -> None:
    held_out = Getting(3.0, 1.0)
    kept, _ = train(tmp_path / "judged", held_out=held_out, steps=4, evaluate_every=2, ema=0.9)
    assert torch.equal(kept["encoder.embed.word.weight"], held_out.seen[1])
    newest = Checkpoints(tmp_path / "judged" / "checkpoints", keep=2).newest()
    assert newest is not None
    average, last = (newest.tensors(group)["encoder.embed.word.weight"] for group in ("average", "model"))
    assert torch.equal(kept["encoder.embed.word.weight"], average)
    assert not torch.equal(average, last)
    alone, _ = train(tmp_path / "alone", steps=4, ema=0.9)
    assert torch.equal(alone["encoder.embed.word.weight"], average)


def test_the_mean_of_the_last_checkpoints(tmp_path: Path) -> None:
    kept, _ = train(tmp_path, steps=8, checkpoint_every=2, average=3)
    folders = sorted((tmp_path / "checkpoints").glob("step-*"))
    assert [folder.name for folder in folders] == ["step-00000004", "step-00000006", "step-00000008"]
    saved = [load_file(folder / "model.safetensors") for folder in folders]
    for name, tensor in kept.items():
        mean = torch.stack([each[name].double() for each in saved]).mean(0)
        assert (tensor.double() - mean).abs().max() < 1e-7  # rounded to float32


def test_only_the_last_checkpoints_stay(tmp_path: Path) -> None:
    train(tmp_path, steps=7, checkpoint_every=2, keep=2)
    kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert kept == ["step-00000006", "step-00000007"]


def test_minutes_end_a_run(tmp_path: Path) -> None:
    _, steps = train(tmp_path, held_out=Toy(seed=5), steps=None, minutes=0.02, learning_rate=1e-3)
    assert steps[-1].fraction == 1.0
    assert steps[-1].scores is not None  # its rate has just fallen to nothing: the last model is the one to judge
    assert steps[-2].fraction < 1.0
    assert steps[-1].steps is None
    assert 1.2 <= steps[-1].elapsed < 5
    assert steps[-1].learning_rate < steps[len(steps) // 2].learning_rate


class Timed(Toy):
    """A step has fifty tokens and takes a second, an evaluation takes a minute, by a clock of its own."""

    now = 0.0

    def batch(self, step: int, part: int = 0, parts: int = 1) -> Batch:
        return replace(super().batch(step, part, parts), tokens=50)

    def loss(self, model: Transformer, batch: Batch) -> Tensor:
        self.now += 1
        return super().loss(model, batch)

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.now += 60
        return {"loss": 1.0}


def test_time_is_that_of_the_run_and_speed_that_of_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes count evaluations but not what the caller does between two steps; tokens per second count neither."""
    task = Timed()
    monkeypatch.setattr(sys.modules["glassformer.training.loop"], "time", SimpleNamespace(monotonic=lambda: task.now))
    chosen = toy_settings(steps=None, minutes=2, evaluate_every=20, checkpoint_every=10)
    told: list[Step] = []
    for resume in (False, True):
        for step in fit(toy_model(), task, chosen, out=tmp_path, held_out=task, resume=resume, log=lambda note: None):
            told.append(step)
            task.now += 1000
            if step.step == 10:
                break
    assert {step.seconds for step in told} == {1}
    assert [step.elapsed for step in told] == [*range(1, 21), *range(81, 101), 161]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert {line["tokens_per_second"] for line in lines} == {50}


def test_a_loss_that_is_not_finite_stops_before_the_weights_move(tmp_path: Path) -> None:
    model = toy_model()
    steps = fit(model, Toy(poison_step=2), toy_settings(accumulate=2), out=tmp_path, log=lambda message: None)
    next(steps)
    next(steps)
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    with refused(NotFiniteError, wanted=("loss", "step 3"), got=str(tmp_path / "not-finite-step-3.safetensors")):
        next(steps)
    assert equal(before, weights(model))
    saved = load_file(tmp_path / "not-finite-step-3.safetensors")
    assert torch.equal(saved["0.inputs.ids"], Toy().batch(2, 0, 2).inputs.ids)  # type: ignore[arg-type]
    assert torch.equal(saved["1.labels.masked_words"], Toy().batch(2, 1, 2).labels["masked_words"])
    # Nothing is lost: what was learned is saved, and whoever goes on meets the same batch.
    newest = Checkpoints(tmp_path / "checkpoints").newest()
    assert newest is not None
    assert newest.step == 2
    assert equal(before, newest.tensors("model"))
    with refused(NotFiniteError, wanted=("loss", "step 3")):
        train(tmp_path, toy_model(seed=9), Toy(poison_step=2), resume=True)
    unbroken, _ = train(tmp_path / "unbroken", accumulate=2)
    resumed, _ = train(tmp_path, toy_model(seed=9), resume=True, accumulate=2)
    assert equal(unbroken, resumed)
    assert not list(tmp_path.glob("*.draft"))


class Unwell(Toy):
    """Its held-out loss is not finite at the evaluations named."""

    def __init__(self, *unwell: int) -> None:
        super().__init__(seed=5)
        self.unwell, self.times = unwell, 0

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        self.times += 1
        return {"loss": math.nan} if self.times in self.unwell else super().evaluate(model, limit=limit)


def test_a_held_out_loss_that_is_not_finite_is_never_the_best(tmp_path: Path) -> None:
    kept, steps = train(tmp_path / "first", held_out=Unwell(1), steps=4, evaluate_every=1)
    assert equal(kept, train(tmp_path / "well", held_out=Unwell(), steps=4, evaluate_every=1)[0])
    assert steps[0].scores is not None
    best = Checkpoints(tmp_path / "first" / "checkpoints").best()
    assert best is not None
    assert best.step > 1


@pytest.mark.parametrize("chosen", [{}, {"average": 2, "checkpoint_every": 1}, {"ema": 0.9}, {"patience": 1}])
def test_a_run_that_ends_broken_says_so_and_saves_nothing(tmp_path: Path, chosen: dict[str, Any]) -> None:
    with pytest.raises(NotFiniteError) as raised:
        train(tmp_path, held_out=Unwell(2), steps=2, evaluate_every=1, **chosen)
    assert raised.value.got == "loss nan"
    assert "step 2" in raised.value.wanted
    found = Checkpoints(tmp_path / "checkpoints").newest()
    assert (None if found is None else found.step) == (1 if "average" in chosen else None)
    _, again = train(tmp_path, held_out=Unwell(), steps=2, evaluate_every=1, resume=True, **chosen)
    assert again[-1].step == 2


def test_broken_weights_are_not_saved_over_whole_ones(tmp_path: Path) -> None:
    model = toy_model()
    steps = fit(model, Toy(), toy_settings(), out=tmp_path, log=lambda message: None)
    next(steps)
    with torch.no_grad():
        model.word_table[3] = math.nan
    with pytest.raises(NotFiniteError):
        next(steps)
    assert not Checkpoints(tmp_path / "checkpoints")


def test_a_full_disk_hides_no_loss_that_is_not_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    said: list[str] = []
    steps = fit(toy_model(), Toy(poison_step=1), toy_settings(), out=tmp_path, log=said.append)
    next(steps)
    for name in ("loop", "checkpoint"):
        monkeypatch.setattr(sys.modules[f"glassformer.training.{name}"], "save_file", full)
    with refused(NotFiniteError, wanted=("loss", "step 2"), got="No space left on device"):
        next(steps)
    assert said[-1].startswith("the checkpoint of step 1 could not be written")
    assert not list(tmp_path.glob("not-finite*"))


def test_a_gradient_that_is_not_finite_stops_too(tmp_path: Path) -> None:
    model = toy_model()
    with torch.no_grad():
        model.word_table[3] = 1e30
    with refused(NotFiniteError, wanted="step 1"):
        list(fit(model, Toy(), toy_settings(), out=tmp_path, log=lambda message: None))


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
    assert lines[1]["held_out_loss"] == steps[11].scores["loss"]  # type: ignore[index]
    assert lines[0].keys() >= {"seconds", "learning_rate", "norm", "tokens_per_second", "epoch"}


def test_notes_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(fit(toy_model(), Toy(), toy_settings(steps=1), out=tmp_path))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cpu (1 threads), float32; compile = off" in captured.err
    assert to_standard_error.__doc__


def test_step_seeds_differ_by_step_and_seed() -> None:
    seeds = {int(step_seed(seed, step)) for seed in range(20) for step in range(200)}
    assert len(seeds) == 4000
    assert step_seed(1, 2).dtype == torch.int32
