"""Low-rank adapters that a run trains (Hu et al. 2021): added to layers, kept in a file, merged into the weights."""

import fnmatch
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import ConfigError
from glassformer.parts.dropout import Dropout
from glassformer.parts.projection import Adapter, Projection
from glassformer.training.settings import AdapterSection

# What a run keeps of its adapters once they are merged: `down` [R, I] and `up` [O, R] by layer.
FILE = "adapters.safetensors"


def adapted(model: nn.Module) -> dict[str, Projection]:
    return {name: layer for name, layer in _layers(model).items() if layer.adapter is not None}


def attach(model: nn.Module, settings: AdapterSection, *, seed: int) -> None:
    """Put an adapter on each layer that the settings name. Raises ConfigError for a pattern that matches none."""
    if have := adapted(model):
        raise ConfigError(
            "adapters are added to plain weights",
            got=f"a model that has adapters at {len(have)} layers",
            do="merge them first (glassformer.training.adapters.merge), or load the saved model, which has plain ones",
        )
    layers, chosen = _layers(model), dict[str, Projection]()
    for pattern in settings.layers:
        found = {name: layer for name, layer in layers.items() if fnmatch.fnmatchcase(name, pattern)}
        if not found:
            kinds = ", ".join(sorted({f"*.{name.rpartition('.')[2]}" for name in layers}))
            raise ConfigError(
                "tune.adapters.layers must name layers of the blocks", got=pattern, do=f"the layers are {kinds}"
            )
        chosen |= found
    generator = torch.Generator().manual_seed(seed)
    site = max((each.site for each in model.modules() if isinstance(each, Dropout)), default=-1)
    for number, (name, layer) in enumerate(sorted(chosen.items()), start=1):
        smaller = min(layer.in_features, layer.out_features)
        if settings.rank > smaller:
            raise ConfigError(
                f"the rank of an adapter is at most the smaller side of its matrix, {smaller} of {name}",
                got=f"tune.adapters.rank = {settings.rank}",
                do="lower it",
            )
        adapter = Adapter(
            layer.in_features, layer.out_features, rank=settings.rank, alpha=settings.alpha, dropout=settings.dropout
        )
        adapter.draw(generator)
        adapter.dropout.site = site + number
        layer.adapter = adapter.to(layer.weight)


def write(model: nn.Module, folder: Path, settings: AdapterSection) -> None:
    """Keep the matrices in a file of the run: what it adds to each weight is alpha / rank · up down. Raises OSError."""
    tensors = {
        f"{name}.{which}": getattr(layer.adapter, which).detach().cpu().contiguous()
        for name, layer in adapted(model).items()
        for which in ("down", "up")
    }
    facts = {"rank": str(settings.rank), "alpha": f"{settings.alpha:g}", "adds": "alpha / rank * up @ down"}
    with atomic_write(folder / FILE) as draft:
        save_file(tensors, draft, metadata=facts)


def merge(model: nn.Module) -> int:
    """Merge each adapter into its weight and remove it; returns how many there were."""
    layers = adapted(model).values()
    for layer in layers:
        layer.merge()
    return len(layers)


def _layers(model: nn.Module) -> dict[str, Projection]:
    return {name: module for name, module in model.named_modules() if isinstance(module, Projection)}
