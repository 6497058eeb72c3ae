"""What is trained: by name, by pattern, one block after the other; and that exactly this moves."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, TrainingError
from glassformer.base.settings import read_settings
from glassformer.models.families import t5
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer, build
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.optimize import BeforeStep
from glassformer.training.plan import plan
from glassformer.training.settings import TuneSection
from glassformer.training.tune import choose, depth_of, short
from tests.training.runs import equal
from tests.training.toy import Toy, toy_model, toy_settings


def names(model: Transformer) -> set[str]:
    return {name for name, _ in model.named_parameters()}


def chosen(*words: str) -> set[str]:
    """What is trained of the toy model where these words are frozen."""
    return set(choose(toy_model(), TuneSection(freeze=words)).trained())


def test_what_is_trained_is_named_by_words_and_patterns() -> None:
    every = names(toy_model())
    heads = {name for name in every if name.startswith("head.")}
    assert chosen() == every
    assert chosen("all-but-head") == heads
    assert chosen("encoder.embed.*") == {name for name in every if not name.startswith("encoder.embed.")}
    assert chosen("*", "!*.bias") == {name for name in every if name.endswith(".bias")}
    assert chosen("all-but-head", "!encoder.blocks.1.*", "head.norm.*") == {
        name for name in every if name.startswith(("head.", "encoder.blocks.1.")) and not name.startswith("head.norm.")
    }


@pytest.mark.parametrize(
    ("words", "got"), [(("decoder.*",), "decoder.*"), (("*",), "a tune.freeze that leaves nothing")]
)
def test_what_cannot_be_frozen_is_refused(words: tuple[str, ...], got: str) -> None:
    with pytest.raises(ConfigError) as refused:
        chosen(*words)
    assert refused.value.got == got


@pytest.mark.parametrize(
    "values",
    [
        {"freeze": ["gradually", "all-but-head"]},
        {"freeze": "gradually", "adapters": {"rank": 2}},
        {"freeze": "all-but-head", "adapters": {"rank": 2}},
        {"all_after": 0.3},
        {"layer_decay": 1.5},
    ],
)
def test_settings_that_contradict_each_other_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        read_settings(TuneSection, values)


def test_a_single_pattern_needs_no_brackets() -> None:
    assert read_settings(TuneSection, {"freeze": "all-but-head"}).freeze == ("all-but-head",)


def test_blocks_are_added_from_the_heads_down_until_all_are_trained() -> None:
    model = toy_model()
    stages = choose(model, TuneSection(freeze=("gradually",), all_after=0.6))
    starts = [{name.split(".")[0] + "." + name.split(".")[1] for name in begun} for begun in stages.names]
    assert [len(stages.names), starts[-1]] == [4, {"encoder.embed"}]
    assert {name for name in stages.names[1] if not name.startswith("encoder.blocks.1.")} == set()
    assert {name for name in stages.names[2] if not name.startswith("encoder.blocks.0.")} == set()
    assert [stages.at(share) for share in (0, 0.19, 0.21, 0.41, 0.59, 0.6, 1)] == [0, 0, 1, 2, 2, 3, 3]
    assert set(stages.trained()) == names(model)


def run(out: Path, tune: TuneSection, *, steps: int = 4, resume: bool = False, stop: int = 0, seed: int = 0,
        **settings: Any) -> tuple[dict[str, Tensor], list[str], Transformer]:  # fmt: skip
    """Train the toy model so, or only until a step; its weights, what was said, and the model."""
    said: list[str] = []
    model = toy_model(dropout=0.1, seed=seed)
    going = fit(
        model,
        Toy(),
        toy_settings(steps=steps, **settings),
        tune=tune,
        out=out,
        held_out=Toy(seed=5),
        resume=resume,
        log=said.append,
    )
    for step in going:
        if step.step == stop:
            break
    going.close()  # type: ignore[attr-defined]  # a generator
    return {name: tensor.clone() for name, tensor in weights(model).items()}, said, model


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_exactly_what_is_trained_moves_and_this_is_said(tmp_path: Path, optimizer: str) -> None:
    start = weights(toy_model())
    now, said, _ = run(tmp_path, TuneSection(freeze=("encoder.embed.*", "encoder.blocks.0.*")), optimizer=optimizer)
    still = {name for name in start if torch.equal(start[name], now[name])}
    assert still == {name for name in start if name.startswith(("encoder.embed.", "encoder.blocks.0."))}
    trained, whole = (sum(start[name].numel() for name in some) for some in (start.keys() - still, start))
    assert any(line.startswith(f"trainable {short(trained)} of {short(whole)} parameters") for line in said)
    (checked,) = [line for line in said if line.startswith("checked after step 1")]
    assert f"all {len(start) - len(still)} trained" in checked
    assert f"the other {len(still)} are unchanged, bit for bit" in checked


class Blind(Toy):
    """A task whose loss does not depend on what the model has learned: only its head gets a gradient."""

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        found = model(batch.inputs, scored_at=batch.scored_at).logits
        assert found is not None
        return {"masked_words": found.sum() * 0.0 + model.get_parameter("head.bias").sum()}


def test_a_frozen_number_that_changes_stops_the_run() -> None:
    """As a wrong optimizer would change it: between the backward pass and the end of the step."""
    model = toy_model()
    before = BeforeStep.of(model)
    model.get_parameter("encoder.blocks.0.feed_forward.body.hidden.bias").data[3] = 1e-30
    with pytest.raises(TrainingError) as refused:
        before.check(model, ["head.bias"], step=1)
    assert refused.value.got == "encoder.blocks.0.feed_forward.body.hidden.bias"


def test_what_no_gradient_reaches_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    tune = TuneSection(freeze=("*", "!encoder.blocks.1.feed_forward.norm.bias", "!head.bias"))
    list(fit(toy_model(), Blind(), toy_settings(steps=1), tune=tune, out=tmp_path, log=said.append))
    (checked,) = [line for line in said if line.startswith("checked after step 1")]
    assert "1 of 2 trained" in checked
    assert "no gradient reaches encoder.blocks.1.feed_forward.norm.bias" in checked


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("optimizer", "ema"), [("adamw", None), ("muon", 0.9)])
def test_a_gradual_run_that_was_stopped_is_the_one_that_was_not(
    tmp_path: Path, optimizer: str, ema: float | None
) -> None:
    tune = TuneSection(freeze=("gradually",), all_after=0.75, layer_decay=0.8)
    chosen: dict[str, Any] = {"steps": 8, "checkpoint_every": 3, "optimizer": optimizer, "ema": ema}
    whole, said, _ = run(tmp_path / "whole", tune, **chosen)
    run(tmp_path / "cut", tune, stop=5, **chosen)
    resumed, more, _ = run(tmp_path / "cut", tune, resume=True, seed=7, **chosen)
    assert equal(whole, resumed)
    begun = [line for line in said if line.startswith("from step")]
    assert [line.split(":")[0] for line in begun] == ["from step 3 on", "from step 5 on", "from step 7 on"]
    assert sum(line.startswith("checked after step") for line in said) == 4  # in each stage, also where all move
    assert begun[1:] == [line for line in more if line.startswith("from step")]


def test_a_parameter_has_moved_only_from_its_stage_on(tmp_path: Path) -> None:
    start = weights(toy_model(dropout=0.1))
    tune = TuneSection(freeze=("gradually",), all_after=0.75)
    for stop, moved in ((2, ("head.",)), (4, ("head.", "encoder.blocks.1."))):
        now, _, _ = run(tmp_path / str(stop), tune, steps=8, stop=stop)
        assert {name for name in start if not torch.equal(start[name], now[name])} == {
            name for name in start if name.startswith(moved)
        }


def test_a_plan_shows_what_is_trained() -> None:
    found = plan(toy_model(), Toy(), toy_settings(steps=4), tune=TuneSection(freeze=("all-but-head",)), steps=1)
    head = sum(each.numel() for name, each in toy_model().named_parameters() if name.startswith("head."))
    assert (found.trained_parameters, found.optimizer_bytes) == (head, 2 * 4 * head)


def test_the_bias_of_relative_positions_is_as_far_from_the_heads_as_the_first_block() -> None:
    """`transformers` has it in the first block of T5: all others add the same numbers."""
    model = build(t5(layers=3, width=8, heads=2, feed_forward=8, vocabulary=20, query_size=4))
    depths = {name: depth_of(name, model) for name in names(model)}
    for stack in ("encoder", "decoder"):
        assert depths[f"{stack}.relative_bias.weight"] == 3
        assert {depths[name] for name in depths if name.startswith(f"{stack}.blocks.0.")} == {3}
    assert depths["encoder.embed.word.weight"] == 4  # the decoder's too
