"""Low-rank adapters against W + (alpha / rank) · B A, written out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor
from torch.func import functional_call

from glassformer.base.errors import ConfigError
from glassformer.models.transformer import Transformer
from glassformer.parts.projection import Projection
from glassformer.runtime import compiler
from glassformer.training import adapters
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.loop import fit
from glassformer.training.settings import AdapterSection, TuneSection
from tests.refusals import refused
from tests.training.runs import equal
from tests.training.test_kept import Getting
from tests.training.toy import Toy, toy_model, toy_settings

SETTINGS = AdapterSection(rank=3, alpha=5.0)
QUERY = "encoder.blocks.0.self_attention.body.query"


def adapted_model(settings: AdapterSection = SETTINGS) -> Transformer:
    """The toy model in float64 with adapters that add something."""
    model = toy_model().double()
    adapters.attach(model, settings, seed=1)
    generator = torch.Generator().manual_seed(2)
    for layer in adapters.adapted(model).values():
        assert layer.adapter is not None
        up = torch.randn(layer.adapter.up.shape, generator=generator, dtype=torch.float64)
        layer.adapter.up.data.copy_(up)
    return model


def test_nothing_is_added_before_the_first_step() -> None:
    model, batch = toy_model(), Toy().batch(0)
    before = model(batch.inputs).logits
    adapters.attach(model, SETTINGS, seed=1)
    assert torch.equal(model(batch.inputs).logits, before)
    assert {name.rpartition(".")[2] for name in adapters.adapted(model)} == {"query", "value"}


def test_a_layer_and_its_gradients_are_their_formulas() -> None:
    rng = np.random.default_rng(0)
    x, given = rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 4, 7))
    layer = Projection(5, 7, bias=True).double()
    holder = torch.nn.ModuleDict({"query": layer})
    adapters.attach(holder, AdapterSection(rank=2, alpha=3.0, layers=("query",)), seed=0)
    assert layer.adapter is not None
    layer.adapter.up.data.copy_(torch.tensor(rng.normal(size=(7, 2))))
    weight, bias, down, up = (each.detach().numpy() for each in
                              (layer.weight, layer.bias, layer.adapter.down, layer.adapter.up))  # fmt: skip
    output = layer(torch.tensor(x))
    output.backward(torch.tensor(given))
    expected = {
        "output": x @ (weight + 1.5 * up @ down).T + bias,
        "up": 1.5 * given.reshape(8, 7).T @ x.reshape(8, 5) @ down.T,
        "down": 1.5 * up.T @ given.reshape(8, 7).T @ x.reshape(8, 5),
    }
    found = {"output": output.detach(), "up": layer.adapter.up.grad, "down": layer.adapter.down.grad}
    for name, numbers in expected.items():
        # A few roundings of sums of at most forty numbers near 1.
        torch.testing.assert_close(found[name], torch.tensor(numbers), rtol=0, atol=1e-13)


def test_the_gradients_in_a_model_are_those_of_the_sum_of_both_weights() -> None:
    model, plain, batch = adapted_model(), toy_model().double(), Toy().batch(0)
    found = model(batch.inputs).logits.square().sum()
    found.backward()
    named: dict[str, Tensor] = dict(plain.named_parameters())
    pairs = {}
    for name, layer in adapters.adapted(model).items():
        assert layer.adapter is not None
        down, up = (each.detach().clone().requires_grad_() for each in (layer.adapter.down, layer.adapter.up))
        pairs[name] = (down, up)
        named[f"{name}.weight"] = named[f"{name}.weight"] + 5.0 / 3.0 * up @ down
    expected = functional_call(plain, named, (batch.inputs,)).logits.square().sum()
    expected.backward()
    # Two layers deep, sums of squares of about a hundred: twelve digits of float64's sixteen are left.
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    for name, (down, up) in pairs.items():
        its = adapters.adapted(model)[name].adapter
        assert its is not None
        torch.testing.assert_close(its.down.grad, down.grad, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(its.up.grad, up.grad, rtol=1e-10, atol=1e-10)


def test_merged_is_unmerged() -> None:
    model, batch = adapted_model(AdapterSection(rank=2, layers=("*",))), Toy().batch(1)
    before = model(batch.inputs).logits
    count = len(adapters.adapted(model))
    assert adapters.merge(model) == count == 12  # query, key, value, output; hidden, output of the network; two blocks
    assert weights(model).keys() == weights(toy_model()).keys()
    # Weights and sums are rounded in another order; numbers near 1.
    torch.testing.assert_close(model(batch.inputs).logits, before, rtol=0, atol=1e-12)


def run(out: Path, *, tune: TuneSection, resume: bool = False, stop: int = 0, seed: int = 0, **settings: Any) -> tuple[
    Transformer, list[str]]:  # fmt: skip
    model, said = toy_model(seed=seed), list[str]()
    steps = fit(model, Toy(), toy_settings(**settings), tune=tune, out=out, held_out=Toy(seed=5), resume=resume,
                log=said.append)  # fmt: skip
    for step in steps:
        if step.step == stop:
            break
    steps.close()  # type: ignore[attr-defined]  # a generator
    return model, said


@pytest.mark.sampled(1)
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_run_is_resumed_with_its_adapters_and_ends_with_plain_weights(tmp_path: Path, optimizer: str) -> None:
    tune = TuneSection(adapters=AdapterSection(rank=2, dropout=0.3))
    chosen: dict[str, Any] = {"steps": 6, "checkpoint_every": 2, "optimizer": optimizer, "learning_rate": 0.02}
    whole, said = run(tmp_path / "whole", tune=tune, **chosen)
    run(tmp_path / "cut", tune=tune, stop=3, **chosen)
    kept = Checkpoints(tmp_path / "cut" / "checkpoints").newest()
    assert kept is not None
    assert float(kept.tensors("model")[f"{QUERY}.adapter.up"].abs().max()) > 0
    cut, _ = run(tmp_path / "cut", tune=tune, resume=True, seed=9, **chosen)
    start = weights(toy_model())
    assert weights(whole).keys() == start.keys()
    assert equal(weights(whole), weights(cut))
    assert any("wait, as `down`" in line or "all" in line for line in said if line.startswith("checked after step 1"))
    moved = {name for name, tensor in weights(whole).items() if not torch.equal(tensor, start[name])}
    assert moved == {
        name for name in start if name.startswith("head.") or name.endswith(("query.weight", "value.weight"))
    }
    tables = load_file(tmp_path / "whole" / adapters.FILE)
    with safe_open(tmp_path / "whole" / adapters.FILE, framework="pt") as file:
        scale = float(file.metadata()["alpha"]) / int(file.metadata()["rank"])
    added = scale * (tables[f"{QUERY}.up"].double() @ tables[f"{QUERY}.down"].double())
    change = weights(whole)[f"{QUERY}.weight"].double() - start[f"{QUERY}.weight"].double()
    torch.testing.assert_close(change, added, rtol=0, atol=1e-8)  # float32 weights near 0.1 are rounded


def test_the_dropout_of_an_adapter_does_not_depend_on_how_a_step_is_cut(tmp_path: Path) -> None:
    tune = TuneSection(adapters=AdapterSection(rank=2, dropout=0.4))
    whole, cut = (
        run(tmp_path / str(parts), tune=tune, steps=3, accumulate=parts, precision="float64")[0] for parts in (1, 4)
    )
    for name, tensor in weights(whole).items():
        torch.testing.assert_close(tensor, weights(cut)[name], rtol=0, atol=1e-12)  # sums in another order
    other, _ = run(
        tmp_path / "without", tune=TuneSection(adapters=AdapterSection(rank=2)), steps=3, precision="float64"
    )
    assert not torch.equal(weights(whole)[f"{QUERY}.weight"], weights(other)[f"{QUERY}.weight"])


def test_half_way_to_the_start_is_half_of_what_was_added(tmp_path: Path) -> None:
    """The mean of the two factors alone would be less: `up` is 0 at the start, and `down` is not."""
    ended, tune = dict[float, dict[str, Tensor]](), TuneSection(adapters=AdapterSection(rank=2))
    for of_mean in (0.5, 1.5):  # better and worse than the best step
        held_out, model = Getting(3.0, 2.0, 1.0, of_mean), toy_model().double()
        settings = toy_settings(steps=4, evaluate_every=2, precision="float64", learning_rate=0.02)
        (out := tmp_path / str(of_mean)).mkdir()
        list(fit(model, Toy(), settings, tune=tune, out=out, held_out=held_out, start_seconds=0.0))
        ended[of_mean] = weights(model)
    start, mean, best = (each[f"{QUERY}.weight"] for each in (weights(toy_model().double()), *ended.values()))
    assert (best - start).abs().max() > 1e-4
    torch.testing.assert_close(mean - start, (best - start) / 2, rtol=0, atol=1e-15)


def test_what_cannot_be_adapted_is_refused() -> None:
    with refused(ConfigError, got="a model that has adapters at 4 layers"):
        adapters.attach(adapted_model(), SETTINGS, seed=0)
    with refused(ConfigError, got="*.gate"):
        adapters.attach(toy_model(), AdapterSection(layers=("*.query", "*.gate")), seed=0)
    with refused(ConfigError, got="tune.adapters.rank = 17"):
        adapters.attach(toy_model(), AdapterSection(rank=17), seed=0)


@pytest.mark.long
@pytest.mark.parametrize(
    "tune",
    [
        TuneSection(adapters=AdapterSection(rank=2, dropout=0.2)),
        TuneSection(freeze=("gradually",), all_after=0.5),
        TuneSection(layer_decay=0.7),
        TuneSection(freeze=("gradually",), all_after=0.5, layer_decay=0.7),
    ],
    ids=["adapters", "gradually", "layer decay", "gradually with layer decay"],
)
def test_compiled_it_learns_what_it_learns_eager(tmp_path: Path, tune: TuneSection) -> None:
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    torch._dynamo.reset()
    # BERT's epsilon: a smaller one would blow up the rounding of gradients that are 0.
    chosen: dict[str, Any] = {"steps": 6, "epsilon": 1e-6}
    eager, _ = run(tmp_path / "eager", tune=tune, **chosen)
    compiled, said = run(tmp_path / "compiled", tune=tune, compile="on", **chosen)
    assert not any("could not compile" in line for line in said)
    for name, tensor in weights(eager).items():
        # float32, fused in another order, over six steps
        torch.testing.assert_close(weights(compiled)[name], tensor, rtol=0, atol=1e-5)
