"""Compiling: when it pays, that it changes nothing but speed, and that its failure is never fatal."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.compilers import nop
from torch._inductor.utils import fresh_cache

from glassformer.models.families import modernbert
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.parts.position import rotate
from glassformer.runtime import compiler
from glassformer.runtime.device import Log, Machine
from glassformer.runtime.processes import Processes
from glassformer.training import compiled, run
from glassformer.training.budget import Budget
from glassformer.training.checkpoint import Checkpoints, read_checkpoint
from glassformer.training.compiled import LossAndGradient, worth_compiling
from glassformer.training.loop import fit, step_seed
from tests.training.clock import Clock
from tests.training.toy import Toy, machine_of, toy_model, toy_settings

# float32, the logits' sum in another order.
ORDER = 1e-6
ONE = {"masked_words": 1.0}


def quiet(message: str) -> None:
    """Take a note and forget it."""


def learning(task: Toy, model: Transformer, log: Log = quiet) -> LossAndGradient:
    return LossAndGradient(task, model, machine_of(toy_settings()), compiled=True, log=log)


def zero_if_none(gradient: Tensor | None) -> Tensor:
    return torch.zeros(1) if gradient is None else gradient


def loss_of(model: Transformer, batch: Batch) -> dict[str, object]:
    return {"masked_words": pytest.approx(Toy().loss(model, batch).item(), rel=ORDER)}


@pytest.mark.long
def test_compiled_learns_as_eager_does(tmp_path: Path) -> None:
    """Rows hide 1 to 4 tokens, batches have other numbers of targets: still one graph, the same weights to rounding."""
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    models: list[Transformer] = []
    notes: list[list[float]] = []
    for choice in ("off", "on"):
        model = toy_model(dropout=0.2, layers=1)
        # BERT's epsilon: a smaller one would blow up the rounding of gradients that are 0.
        settings = toy_settings(compile=choice, steps=4, epsilon=1e-6)
        notes.append([step.loss for step in fit(model, Toy(), settings, out=tmp_path / choice, log=quiet)])
        models.append(model)
    eager, other = models
    assert notes[0] == pytest.approx(notes[1], rel=1e-5)
    for name, parameter in eager.named_parameters():
        assert (parameter - other.get_parameter(name)).abs().max() < 1e-5, name  # float32, fused in another order
    counted = torch._dynamo.utils.counters
    assert counted["stats"]["unique_graphs"] == 1
    assert not counted["graph_break"]
    checkpoint = Checkpoints(tmp_path / "on" / "checkpoints").newest()
    assert checkpoint is not None
    assert checkpoint.facts["compiled"] is True  # a compile that fails goes on without, and would learn the same


def test_a_wrong_gradient_is_reported_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler may make wrong code: what it did to the gradient is taken back."""
    monkeypatch.setattr(
        compiler, "compiled", lambda eager: lambda batch: {n: v * torch.nan for n, v in eager(batch).items()}
    )
    task, models, said = Toy(), [toy_model(), toy_model()], list[str]()
    compiled_one = learning(task, models[0], said.append)
    plain = LossAndGradient(task, models[1], machine_of(toy_settings()), compiled=False, log=quiet)
    for step in range(2):  # the second is added to the first
        losses = [each(task.batch(step), ONE) for each in (compiled_one, plain)]
        assert losses[0] == losses[1]
    assert not compiled_one.compiled
    assert len(said) == 1
    for name, parameter in models[1].named_parameters():
        assert torch.equal(zero_if_none(parameter.grad), zero_if_none(models[0].get_parameter(name).grad)), name


def test_a_gradient_that_is_not_finite_eagerly_either_is_the_task_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compiled", lambda eager: eager)
    model, said = toy_model(), list[str]()
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    (loss,) = learning(Toy(), model, said.append)(Toy().batch(0), ONE).values()
    assert loss != loss
    assert said == []


@pytest.mark.long
def test_keys_that_turn_have_a_gradient_in_bfloat16() -> None:
    """g++ 12 merged statements of this kernel into wrong ones where the processor has AVX-512 (torch 2.13)."""
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    torch._dynamo.reset()
    table = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(0))
    x = torch.randn(2, 64, 128, generator=torch.Generator().manual_seed(1), requires_grad=True)

    def scores(x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            heads = (x @ torch.eye(128)).unflatten(-1, (2, 64)).transpose(1, 2)
            turned = rotate(heads, (table[0], table[1]))
            return (turned @ turned.transpose(-1, -2)).float().mul(0.01).sin().sum()

    (expected,) = torch.autograd.grad(scores(x), x)
    with compiler.compiling(), fresh_cache():
        (found,) = torch.autograd.grad(torch.compile(scores, fullgraph=True, dynamic=False)(x), x)
    # bfloat16 has 8 bits, and kernels that are fused round less often.
    assert (found - expected).norm() < 0.05 * expected.norm()


class Unkind(Toy):
    """A loss that no compiler takes as one graph."""

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        torch._dynamo.graph_break()
        return super().losses(model, batch)


def test_a_failed_compile_is_reported_and_goes_on() -> None:
    model = toy_model()
    notes: list[str] = []
    loss_and_gradient = learning(Unkind(), model, notes.append)
    batch = Toy().batch(0).with_dropout_key(step_seed(0, 0))
    assert loss_and_gradient(batch, ONE) == loss_of(model, batch)
    assert not loss_and_gradient.compiled
    assert len(notes) == 1
    assert notes[0].startswith("could not compile (Unsupported: ")
    assert notes[0].endswith("continuing without")
    assert "\n" not in notes[0]
    assert loss_and_gradient(batch, ONE) == loss_of(model, batch)


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced, guarded and counted as for a compiler, but run by torch: a shape takes a moment and not a minute."""
    torch._dynamo.reset()
    monkeypatch.setattr(compiler, "_build", lambda graph, examples: graph.forward)


@pytest.mark.long
@pytest.mark.usefixtures("without_kernels")
def test_more_shapes_than_torch_would_compile() -> None:
    """Rows in buckets have up to 21 lengths, and torch alone stops at the ninth shape."""
    notes: list[str] = []
    model = toy_model(layers=1)
    loss_and_gradient = learning(Toy(), model, notes.append)
    before = torch._dynamo.config.recompile_limit
    torch._dynamo.utils.counters.clear()
    for size in (*range(2, 12), *range(2, 12)):
        batch = Toy(size=size).batch(0).with_dropout_key(step_seed(0, 0))
        assert loss_and_gradient(batch, ONE) == loss_of(model, batch)
    assert loss_and_gradient.compiled
    assert notes == []
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 10
    assert torch._dynamo.config.recompile_limit == before


class LaterUnkind(Toy):
    """A loss that no compiler takes as one graph, from three rows on."""

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        if len(batch.row_ids) > 2:
            torch._dynamo.graph_break()
        return super().losses(model, batch)


@pytest.mark.long
@pytest.mark.usefixtures("without_kernels")
def test_a_later_shape_that_fails_is_reported_and_goes_on() -> None:
    model = toy_model(layers=1)
    notes: list[str] = []
    loss_and_gradient = learning(LaterUnkind(), model, notes.append)
    for size in (2, 3, 4):
        batch = Toy(size=size).batch(0).with_dropout_key(step_seed(0, 0))
        assert loss_and_gradient(batch, ONE) == loss_of(model, batch)
        assert loss_and_gradient.compiled is (size == 2)
    assert len(notes) == 1
    assert notes[0].startswith("could not compile (Unsupported")


@pytest.mark.long
def test_a_way_back_that_fails_is_reported_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch compiles the backward pass when it is first run, long after the forward pass went well."""
    torch._dynamo.reset()

    def refuse(graph: object, examples: object) -> None:
        raise RuntimeError("no way back\nand more")

    backend = aot_autograd(fw_compiler=nop, bw_compiler=refuse)
    monkeypatch.setattr(compiler, "_build", backend)
    notes: list[str] = []
    model, other = toy_model(layers=1), toy_model(layers=1)
    loss_and_gradient = learning(Toy(), model, notes.append)
    batch = Toy().batch(0).with_dropout_key(step_seed(0, 0))
    loss = Toy().loss(other, batch) / 7
    loss.backward()
    assert loss_and_gradient(batch, {"masked_words": 7.0}) == {"masked_words": loss.item()}
    assert not loss_and_gradient.compiled
    assert notes == ["could not compile (RuntimeError: no way back); continuing without"]
    for name, parameter in model.named_parameters():
        its = other.get_parameter(name).grad
        assert (parameter.grad is None) == (its is None), name
        if parameter.grad is not None and its is not None:
            assert torch.equal(parameter.grad, its), name  # once, not twice


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C in another way")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_the_compiler_gets_too_is_not_taken_for_a_failed_compile(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """A terminal sends Ctrl-C to the C++ compiler too, and a resumed run would not compile any more."""
    torch._dynamo.reset()
    program = [sys.executable, "-S", "-c", f"import os; os.kill(os.getpid(), {int(number)})"]

    def build(graph: torch.fx.GraphModule, examples: object) -> object:
        subprocess.run(program, check=True)
        return graph.forward

    monkeypatch.setattr(compiler, "_build", build)
    loss_and_gradient = learning(Toy(), toy_model(layers=1))
    loss_and_gradient(Toy().batch(0).with_dropout_key(step_seed(0, 0)), ONE)
    assert loss_and_gradient.compiled
    assert subprocess.run(program, check=False).returncode == -number  # as before


class WithAnother(Processes):
    """A process next to one that fails to compile at the second step."""

    asked = 0

    def highest(self, *values: float) -> list[float]:
        if len(values) == 1:
            return list(values)
        type(self).asked += 1
        return [*values[:-1], float(self.asked > 2)]


@pytest.mark.long
@pytest.mark.usefixtures("without_kernels")
def test_where_another_process_cannot_compile_this_one_continues_without(tmp_path: Path) -> None:
    said: list[str] = []
    settings = toy_settings(compile="on", steps=3, checkpoint_every=1, keep=3)
    steps = fit(toy_model(layers=1), Toy(), settings, out=tmp_path, log=said.append, processes=WithAnother())
    assert len(list(steps)) == 3
    found = sorted((tmp_path / "checkpoints").glob("step-*"))
    assert [read_checkpoint(each).facts["compiled"] for each in found] == [True, False, False]
    assert sum("compile" in line for line in said) == 2  # that it does, and that it does not any more


@pytest.mark.long
@pytest.mark.usefixtures("without_kernels")
def test_too_little_memory_is_not_taken_for_a_failed_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(batch: Batch) -> dict[str, Tensor]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    loss_and_gradient = learning(Toy(), toy_model(layers=1))
    batch = Toy().batch(0).with_dropout_key(step_seed(0, 0))
    loss_and_gradient(batch, ONE)
    monkeypatch.setattr(loss_and_gradient, "_function", full)
    with pytest.raises(torch.OutOfMemoryError):
        loss_and_gradient(batch, ONE)
    assert loss_and_gradient.compiled


def test_the_time_of_compiling_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty minutes with four shapes of a minute each leave 16 minutes of steps: it is not a part of both numbers."""
    clock, learn = Clock(), LossAndGradient.__call__
    end = clock() + 20 * 60

    def compiling(self: LossAndGradient, batch: Batch, counts: Mapping[str, float]) -> dict[str, float]:
        minutes = 1 if clock() < end - 16 * 60 else 0
        clock.now += 60 * (minutes or 0.5)  # each other step takes half a minute
        self.setup += 60 * minutes
        return learn(self, batch, counts)

    monkeypatch.setattr(LossAndGradient, "__call__", compiling)
    monkeypatch.setattr(sys.modules["glassformer.training.loop"], "time", SimpleNamespace(monotonic=clock))
    *_, last = fit(toy_model(), Toy(), toy_settings(steps=None, minutes=20), out=tmp_path, log=quiet)
    assert (last.step, last.elapsed, clock()) == (4 + 32, 16 * 60, end)


@pytest.mark.parametrize("error", [ValueError, AttributeError, KeyError, IndexError])
def test_an_error_of_ours_is_raised_and_not_reported_as_a_failed_compile(error: type[Exception]) -> None:
    class Wrong(Toy):
        def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
            raise error("ours")

    notes: list[str] = []
    loss_and_gradient = learning(Wrong(), toy_model(), notes.append)
    with pytest.raises(error) as raised:
        loss_and_gradient(Toy().batch(0), ONE)
    assert type(raised.value) is error
    assert raised.value.args == ("ours",)
    assert notes == []


def test_an_attribute_that_is_not_there_is_an_error_of_ours_too() -> None:
    class Wrong(Toy):
        def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
            return {"masked_words": batch.nothing_of_this_name}  # type: ignore[attr-defined]  # what fails

    loss_and_gradient = learning(Wrong(), toy_model())
    with pytest.raises(AttributeError):
        loss_and_gradient(Toy().batch(0).with_dropout_key(step_seed(0, 0)), ONE)


@pytest.mark.parametrize(
    ("choice", "steps", "seconds", "tokens", "expected"),
    [
        ("on", 1, None, 10, True),
        ("off", 10**9, None, 10**6, False),
        ("auto", 10, None, 4096, False),
        ("auto", 10**6, None, 4096, True),
        ("auto", 10**6, 60.0, 4096, False),
        ("auto", None, 120.0, 4096, False),
        ("auto", None, 300.0, 4096, False),
        ("auto", None, 600.0, 4096, True),
    ],
)
def test_compiled_where_it_is_repaid(
    monkeypatch: pytest.MonkeyPatch, choice: str, steps: int | None, seconds: float | None, tokens: int, expected: bool
) -> None:
    monkeypatch.setattr(compiler, "has_compiler", lambda device: True)
    model = torch.nn.Linear(1000, 1000)
    settings = toy_settings(compile=choice)
    assert worth_compiling(settings, Budget(steps, seconds), model, Toy(), tokens, machine_of(settings))[0] is expected


@pytest.mark.parametrize(
    ("size", "minutes", "expected"),
    [("tiny", 3, False), ("tiny", 5, False), ("tiny", 10, True), ("mini", 3, False), ("mini", 10, True)],
)
def test_a_short_run_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch, size: str, minutes: float, expected: bool
) -> None:
    """A tiny model of three minutes lost 60 % of its steps to compiling."""
    monkeypatch.setattr(compiler, "has_compiler", lambda device: True)
    with torch.device("meta"):
        model = Transformer(modernbert(size=size, vocabulary=8000))
    settings = toy_settings(compile="auto", steps=None, minutes=minutes)
    budget = Budget.of(settings, 1.0)
    assert worth_compiling(settings, budget, model, Toy(), 4096, machine_of(settings))[0] is expected
    many = Toy(shapes=12)  # each is compiled by itself
    assert not worth_compiling(settings, budget, model, many, 4096, machine_of(settings))[0]


@pytest.mark.parametrize("shapes", [1, 3])
def test_from_the_repaid_length_on_compiled_steps_are_more(monkeypatch: pytest.MonkeyPatch, shapes: int) -> None:
    """Against counting: steps of a second, and compiled ones after the set-up, with the numbers that it assumes."""
    monkeypatch.setattr(compiled, "_GAIN", 1.6)
    monkeypatch.setattr(compiled, "_CAUTION", 1.0)
    monkeypatch.setattr(compiled, "_SETUP_SECONDS", 20.0)
    monkeypatch.setattr(compiled, "_SETUP_SECONDS_OF_A_BLOCK", 5.0)
    repaid = compiled.repaid_seconds(toy_model(layers=2), shapes)
    setup = shapes * (20.0 + 2 * 5.0)
    for seconds, more in ((repaid - 1, False), (repaid + 1, True)):
        assert ((seconds - setup) * 1.6 > seconds) is more


def test_more_threads_make_a_run_of_steps_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run must not be taken for long because it is counted with one core."""
    monkeypatch.setattr(compiler, "has_compiler", lambda device: True)
    settings, model = toy_settings(compile="auto"), torch.nn.Linear(1000, 1000)
    chosen = []
    for threads, autocast in ((1, False), (64, False), (1, True)):
        machine = Machine(torch.device("cpu"), torch.float32, autocast, threads)
        steps = 4_000  # 492 s at the speed of one core in float32; 355 s repay compiling
        chosen.append(worth_compiling(settings, Budget(steps, None), model, Toy(), 4096, machine)[0])
    assert chosen == [True, False, False]


def test_without_a_compiler_there_is_no_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    settings = toy_settings(compile="auto", device="cpu")
    chosen, reason = worth_compiling(settings, Budget(10**9, None), toy_model(), Toy(), 4096, machine_of(settings))
    assert not chosen
    assert reason == "not compiled: this machine has no C++ compiler"


def test_a_run_goes_on_as_it_began_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More steps than at first would be worth compiling; but then the end would have other bits."""
    first = fit(toy_model(layers=1), Toy(), toy_settings(compile="auto", steps=2), out=tmp_path, log=quiet)
    assert len(list(first)) == 2
    monkeypatch.setattr(run, "worth_compiling", lambda *asked, **more: (True, "compiled: it pays"))
    notes: list[str] = []
    more = toy_settings(compile="auto", steps=3)
    assert len(list(fit(toy_model(layers=1), Toy(), more, out=tmp_path, resume=True, log=notes.append))) == 1
    assert any(note.endswith("; not compiled, as the run began") for note in notes)
    assert not any("it pays" in note for note in notes)
