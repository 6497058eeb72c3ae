"""How far a model is from the one that it was tuned from, part by part, and what low-rank adapters have added.

O outputs of a layer · I its inputs · R the rank of an adapter
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from torch import Tensor

from glassformer.base.errors import CheckpointError
from glassformer.look.formulas.rules.evaluator import unit_of
from glassformer.models.names import parameter_names, public
from glassformer.models.transformer import Transformer
from glassformer.saved.artefact import Artefact

ADAPTERS = "adapters.safetensors"
"""What a run keeps of its adapters: `LAYER.up` [O, R] and `LAYER.down` [R, I], rank and alpha in the metadata."""


@dataclass(frozen=True)
class Adapter:
    """What was added to the weight of a layer, [O, I]: `scale` · `up` `down`."""

    scale: float
    up: Tensor
    down: Tensor

    def at(self, row: int, column: int) -> dict[str, Any]:
        """The numbers whose products, times the scale, were added to one weight."""
        return {"scale": self.scale, "up": self.up[row].tolist(), "down": self.down[:, column].tolist()}


NO_ADAPTERS: Mapping[str, Adapter] = MappingProxyType({})


def read_adapters(run: Path | None) -> Mapping[str, Adapter]:
    """The adapters of a run by the public names of the weights; none where its folder has no file of them.

    Raises CheckpointError for a file that cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    if run is None or not (run / ADAPTERS).is_file():
        return NO_ADAPTERS
    try:
        with safe_open(run / ADAPTERS, framework="pt") as file:
            facts = file.metadata() or {}
            scale = float(facts["alpha"]) / int(facts["rank"])
            layers = [name.removesuffix(".up") for name in file.keys() if name.endswith(".up")]  # noqa: SIM118
            return {
                f"parameters.{public(layer)}.weight": Adapter(
                    scale, file.get_tensor(f"{layer}.up").double(), file.get_tensor(f"{layer}.down").double()
                )
                for layer in layers
            }
    except (SafetensorError, OSError, KeyError, ValueError, ZeroDivisionError) as error:
        raise CheckpointError(f"{run / ADAPTERS} must hold the adapters of the run", got=str(error)) from None


def moved_section(
    model: Transformer, start: Artefact, freeze: Sequence[str] = (), adapters: Mapping[str, Adapter] = NO_ADAPTERS
) -> dict[str, Any]:
    """How far each part of a model is from that of the model it was tuned from: both, number by number.

    Of each part `numbers` that both have, how many of them `moved`, the `change` ‖after − before‖ / ‖before‖, the
    `largest` difference with its place, how many numbers are `new`, and how many of the start model are `gone`.
    `adapted` are its layers with an adapter; where one of them made the largest difference, `added` has its scale and
    the row of `up` and the column of `down` whose products are that difference.
    """
    after, before = parameter_names(model), parameter_names(start.module)
    parts: dict[str, list[str]] = {}
    for name in [*after, *(name for name in before if name not in after)]:
        parts.setdefault(unit_of(name.removeprefix("parameters.")), []).append(name)
    return {
        "start": "the start model" if start.source is None else start.source.name,
        "freeze": list(freeze),
        "parts": [{"part": part} | _moved(names, after, before, adapters) for part, names in parts.items()],
    }


def _moved(
    names: Sequence[str], after: Mapping[str, Tensor], before: Mapping[str, Tensor], adapters: Mapping[str, Adapter]
) -> dict[str, Any]:
    numbers = moved = new = gone = 0
    size = off = 0.0
    largest: dict[str, Any] | None = None
    for name in names:
        one, two = before.get(name), after.get(name)
        if one is None or two is None or one.shape != two.shape:
            new += 0 if two is None else two.numel()
            gone += 0 if one is None else one.numel()
            continue
        one, two = one.detach().double().cpu(), two.detach().double().cpu()
        difference = two - one
        numbers += one.numel()
        moved += int((difference != 0).sum())
        size += float(one.square().sum())
        off += float(difference.square().sum())
        place = int(difference.abs().argmax())
        by = float(difference.flatten()[place])
        if by and (largest is None or abs(by) > abs(largest["after"] - largest["before"])):
            cell = [int(step) for step in np.unravel_index(place, one.shape)]
            found = {"before": float(one.flatten()[place]), "after": float(two.flatten()[place])}
            largest = {"name": name, "cell": cell, **found}
            if name in adapters:
                largest["added"] = adapters[name].at(*cell)
    change = (off / size) ** 0.5 if size else None
    adapted = [name for name in names if name in adapters]
    return {
        **{"numbers": numbers, "moved": moved, "change": change, "largest": largest, "new": new, "gone": gone},
        "adapted": [name.removeprefix("parameters.").removesuffix(".weight") for name in adapted],
    }
