"""Numbers that are not finite stop a run before anything is lost."""

import errno
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from glassformer.base.errors import NotFiniteError
from glassformer.models.transformer import Transformer
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.loop import fit
from tests.refusals import refused
from tests.training.runs import equal, train
from tests.training.toy import Toy, toy_model, toy_settings


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
    ids = Toy().batch(2, 0, 2).inputs.ids
    assert ids is not None
    assert torch.equal(saved["0.inputs.ids"], ids)
    assert torch.equal(saved["1.labels.masked_words"], Toy().batch(2, 1, 2).labels["masked_words"])
    # Nothing is lost: what was learned is saved, and a resumed run meets the same batch.
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


class Unmeasured(Unwell):
    """Its held-out text has no masked word."""

    def evaluate(self, model: Transformer, *, limit: int | None = None) -> dict[str, float]:
        return {"loss": math.nan, "targets": 0.0}


def test_a_score_of_no_targets_is_not_blamed_on_the_learning_rate(tmp_path: Path) -> None:
    with refused(NotFiniteError, do=("more text", "--validation")):
        train(tmp_path, held_out=Unmeasured(), steps=1, evaluate_every=1)
