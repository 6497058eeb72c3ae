"""Every family runs, forward and back, where the device has no float64, as Apple's GPUs have none."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from glassformer.parts import position
from tests.contracts.families import FAMILIES, Row


class Poor(TorchDispatchMode):
    """Makes `meta` a device on which no float64 may appear; what comes back from it to the CPU is zeros."""

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._to_copy.default and args[0].is_meta and kwargs.get("device") == torch.device("cpu"):
            assert kwargs.get("dtype") != torch.float64, "converted before it has left the device"
            return torch.zeros(args[0].shape, dtype=kwargs.get("dtype", args[0].dtype))
        found = func(*args, **kwargs)
        for tensor in tree_leaves(found):
            poor = isinstance(tensor, Tensor) and tensor.is_meta
            assert not (poor and tensor.dtype == torch.float64), f"float64 from {func}"
        return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_no_float64_reaches_the_device(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "WITHOUT_FLOAT64", ("meta",))
    model = row.with_dropout().model(dtype=torch.float32).to("meta").train()
    inputs, decoder_inputs = row.batch(padding="left")
    with Poor():  # type: ignore[no-untyped-call]  # torch's own bears no types
        states = model(inputs.to("meta"), None if decoder_inputs is None else decoder_inputs.to("meta")).states
        states.sum().backward()
    assert states.is_meta
    assert all(weight.grad is None or weight.grad.is_meta for weight in model.parameters())
