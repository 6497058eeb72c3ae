"""Looking never changes the answer, and nothing of it remains."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import HashStore
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_module

from glassformer.api.trace import trace
from glassformer.base.errors import ConfigError, DeviceError, UnknownNameError
from glassformer.look.trace.watch import watch
from glassformer.models.inputs import Inputs
from glassformer.models.names import tensor_names
from glassformer.parts import tap
from glassformer.parts.attention import Attention
from tests.contracts.families import ROWS, Row
from tests.look.rows import ATTENTION, MORE, bert_model
from tests.refusals import refused

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ROWS + MORE, ids=str)
def test_names_listed_are_exactly_the_names_seen(row: Row) -> None:
    model = row.model()
    with torch.no_grad(), watch(model) as seen:
        model(*row.batch())
    assert set(seen) == set(tensor_names(model))


@pytest.mark.sampled(24)
@pytest.mark.parametrize("padding", ["none", "uneven"])
@pytest.mark.parametrize("row", ROWS + MORE, ids=str)
def test_watched_equals_unwatched(row: Row, padding: str) -> None:
    model = row.model()
    inputs, decoder_inputs = row.batch(padding="none" if padding == "none" else "uneven")
    with torch.no_grad():
        plain = model(inputs, decoder_inputs)
        with watch(model):
            watched = model(inputs, decoder_inputs)
        with watch(model, ["*.query", "*.key", "*.mixed"]):
            outside = model(inputs, decoder_inputs)
    # Two kernels sum in two orders: a few units in the last place of float64, no more.
    torch.testing.assert_close(watched.states, plain.states, rtol=1e-12, atol=1e-12)
    # What is not inside an attention needs no other path, so not one bit may differ.
    assert torch.equal(outside.states, plain.states)


def test_patterns_choose_and_only_they_leave_the_fused_kernel() -> None:
    model = bert_model()
    with torch.no_grad(), watch(model, "encoder.blocks.1.*.weights") as seen:
        model(Inputs(ids=IDS))
    assert list(seen) == ["encoder.blocks.1.self_attention.weights"]


def test_only_the_watched_layer_leaves_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    model = bert_model()
    walked: list[nn.Module] = []
    explicit = Attention.explicit

    def counted(self: Attention, *arguments: Any) -> Tensor:
        walked.append(self)
        return explicit(self, *arguments)

    monkeypatch.setattr(Attention, "explicit", counted)
    with torch.no_grad(), watch(model, "encoder.blocks.1.self_attention.weights"):
        model(Inputs(ids=IDS))
    assert walked == [model.get_submodule("encoder.blocks.1.self_attention.body")]
    with torch.no_grad():
        model(Inputs(ids=IDS))
    assert len(walked) == 1


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with refused(UnknownNameError, do=f"'{ATTENTION}.weights'"), watch(bert_model(), f"{ATTENTION}.weight"):
        pass
    model = bert_model()
    with watch(model, f"{ATTENTION}.query") as seen:
        pass
    with refused(UnknownNameError, wanted=f"{ATTENTION}.query", do="with block"):
        seen[f"{ATTENTION}.query"]
    with refused(UnknownNameError, wanted=f"'{ATTENTION}.qwery'", do=f"'{ATTENTION}.query'"):
        seen[f"{ATTENTION}.qwery"]


class Held:
    """What `load` gives back, as far as looking knows it."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module


def test_what_load_gives_back_is_looked_at_by_its_module() -> None:
    model = bert_model()
    held = Held(model)
    assert tensor_names(held) == tensor_names(model)
    with torch.no_grad(), watch(held, f"{ATTENTION}.weights") as seen:
        model(Inputs(ids=IDS))
    found = trace(held, Inputs(ids=IDS))
    assert torch.equal(found[f"{ATTENTION}.weights"], seen[f"{ATTENTION}.weights"])


def test_what_is_no_model_is_refused_in_a_sentence() -> None:
    no_model: Any = "runs/mine"
    for look in (tensor_names, lambda given: trace(given, Inputs(ids=IDS)), lambda given: watch(given).__enter__()):
        with refused(ConfigError, got="str", do="Model"):
            look(no_model)


def fail_after(model: nn.Module) -> None:
    """A run, and then an error."""
    model(Inputs(ids=IDS))
    raise ZeroDivisionError


def test_nothing_remains_after_an_exception() -> None:
    model = bert_model()
    before = {name: dict(vars(module)) for name, module in model.named_modules()}
    with pytest.raises(ZeroDivisionError), watch(model):
        fail_after(model)
    assert tap.watcher.get() is None
    assert {name: dict(vars(module)) for name, module in model.named_modules()} == before


def test_an_exception_inside_the_forward_leaves_nothing() -> None:
    model = bert_model()

    def fail(name: str, tensor: Tensor) -> Tensor:
        if name.endswith("blocks.1.self_attention.scores"):
            raise ZeroDivisionError
        return tensor

    with pytest.raises(ZeroDivisionError), watch(model, change=fail):
        model(Inputs(ids=IDS))
    assert tap.watcher.get() is None


def test_two_threads_watch_at_once() -> None:
    model = bert_model()
    together = threading.Barrier(2)
    found: dict[int, Tensor] = {}

    def look(row: int) -> None:
        with torch.no_grad(), watch(model, f"{ATTENTION}.weights") as seen:
            together.wait(timeout=300)
            model(Inputs(ids=IDS[row : row + 1]))
            together.wait(timeout=300)
            found[row] = seen[f"{ATTENTION}.weights"]

    threads = [threading.Thread(target=look, args=(row,)) for row in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for row in (0, 1):
        with torch.no_grad(), watch(model, f"{ATTENTION}.weights") as alone:
            model(Inputs(ids=IDS[row : row + 1]))
        assert torch.equal(found[row], alone[f"{ATTENTION}.weights"])


def test_other_models_are_not_seen_and_watchers_nest() -> None:
    one, two = bert_model(), bert_model()
    name = f"{ATTENTION}.weights"
    with torch.no_grad(), watch(one, name) as outer:
        with watch(two, name) as inner:
            two(Inputs(ids=IDS))
            assert len(outer) == 0
            one(Inputs(ids=IDS))
        assert len(outer) == len(inner) == 1
        one(Inputs(ids=IDS[:1]))
        assert outer[name].shape[0] == 1
        assert inner[name].shape[0] == 2


def test_a_watcher_may_give_back_another_tensor() -> None:
    model = bert_model()
    name = f"{ATTENTION}.mixed"

    def silence(seen: str, tensor: Tensor) -> Tensor:
        return torch.zeros_like(tensor) if seen == name else tensor

    with torch.no_grad(), watch(model, ["*.merged", "*.output"], change=silence) as seen:
        model(Inputs(ids=IDS))
    assert torch.equal(seen[f"{ATTENTION}.merged"], torch.zeros_like(seen[f"{ATTENTION}.merged"]))
    bias = model.get_parameter("encoder.blocks.0.self_attention.body.output.bias")
    assert torch.equal(seen[f"{ATTENTION}.output"], bias.expand_as(seen[f"{ATTENTION}.output"]))


def test_gradients_flow_through_what_is_watched() -> None:
    model = bert_model()
    with watch(model, f"{ATTENTION}.weights") as seen:
        model(Inputs(ids=IDS)).states[..., 0].sum().backward()
    assert seen[f"{ATTENTION}.weights"].grad_fn is not None


@contextmanager
def one_process() -> Iterator[None]:
    """A process group of this process alone."""
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def test_weights_spread_over_processes_are_refused() -> None:
    with one_process():
        model = distribute_module(bert_model(), init_device_mesh("cpu", (1,)))
        with refused(DeviceError, wanted="encoder.embed.word.weight", do="full_tensor"), watch(model):
            pass
        with refused(DeviceError, wanted="encoder.embed.word.weight", do="full_tensor"):
            trace(model, Inputs(ids=IDS))


@pytest.mark.long
def test_taps_leave_no_graph_break_and_a_compiled_model_is_watched_through_its_original() -> None:
    model = bert_model(dtype=torch.float32)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert isinstance(compiled, nn.Module)
    with torch.no_grad():
        plain = model(Inputs(ids=IDS)).states
        torch.testing.assert_close(compiled(Inputs(ids=IDS)).states, plain, rtol=1e-5, atol=1e-6)
        with watch(compiled, f"{ATTENTION}.weights") as seen:
            compiled(Inputs(ids=IDS))
            assert len(seen) == 0
            model(Inputs(ids=IDS))
    assert list(seen) == [f"{ATTENTION}.weights"]
