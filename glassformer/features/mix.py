"""A learned scalar mix of all layers: γ · Σ softmax(s)ₖ · layerₖ (Peters et al. 2018, eq. 1).

E examples · K layers, the embedding included · W width · L labels
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.json_text import read_json
from glassformer.base.paths import check_path

_MADE_FOR = "glassformer mix, format 1"
# Steps of the fit, in which the weights of the layers and a logistic regression are learned together; the strength of
# its regularization (scikit-learn's C); and how much the shares of the layers are held together, so that layers which
# are alike have like shares.
_STEPS, _STRENGTH, _TOGETHER = 100, 0.01, 1e-3


@dataclass(frozen=True)
class Mix:
    """The weight of each layer, the embedding first; they are at least 0 and add up to 1. `scale` is γ. `shares` are
    the weights as they were learned, of layers that had been brought to the same length: how much of each is used. ()
    where the mix was not learned here.
    """

    weights: tuple[float, ...]
    scale: float = 1.0
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sound = all(math.isfinite(weight) and weight >= 0 for weight in self.weights) and math.isfinite(self.scale)
        if not sound or abs(math.fsum(self.weights) - 1) > 1e-4:
            raise ConfigError(
                "the weights of a mix are at least 0 and add up to 1", got=", ".join(map(str, self.weights))[:80]
            )

    def applied(self, layers: Sequence[Tensor]) -> Tensor:
        """The states of all layers, [..., W] each, to one [..., W]."""
        total = self.weights[0] * layers[0]
        for weight, layer in zip(self.weights[1:], layers[1:], strict=True):
            total = total + weight * layer
        return total * self.scale

    def of_pooled(self, layers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The vectors of all layers, [E, K, W], to one of each example, [E, W]."""
        return np.einsum("k,ekw->ew", np.array(self.weights, np.float32) * self.scale, layers)


def learn_mix(layers: Tensor, labels: Tensor, *, seed: int = 0) -> Mix:
    """The mix whose vectors a multinomial logistic regression separates best: both are learned together.

    layers [E, K, W]: the pooled vector of each layer (pooling by the first token or the mean, which give the same
    before and after the mix) · labels [E], from 0. Each layer is brought to mean 0 and the same length before, so that
    a weight shows how much of a layer is used, and not how large its numbers are; this is undone at the end.
    """
    layers = layers.float()
    mean = layers.mean(dim=0, keepdim=True)  # [1, K, W]
    sizes = (layers - mean).square().mean(dim=(0, 2)).sqrt().clamp(min=1e-12)  # [K]
    scaled = (layers - mean) / sizes[:, None]  # [E, K, W]
    count, width = int(labels.max()) + 1, layers.shape[2]
    generator = torch.Generator().manual_seed(seed)
    scores = torch.zeros(layers.shape[1], requires_grad=True)  # [K]
    matrix = (torch.randn(count, width, generator=generator) * 0.01).requires_grad_()  # [L, W]
    bias = torch.zeros(count, requires_grad=True)
    decay = 1 / (2 * _STRENGTH * len(labels))
    optimizer = torch.optim.LBFGS([scores, matrix, bias], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        mixed = torch.einsum("k,ekw->ew", scores.softmax(dim=0), scaled)  # [E, W]
        value = F.cross_entropy(mixed @ matrix.T + bias, labels) + decay * matrix.square().sum()
        value = value + _TOGETHER * scores.square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(loss)
    shares = scores.detach().softmax(dim=0).double()  # [K]
    raw = shares / sizes  # [K], of the layers as they are
    total = float(raw.sum())
    if not math.isfinite(total) or total <= 0:
        raise DataError("a mix needs finite vectors to learn from", got="NaN in the states of the model")
    return Mix(tuple((raw / total).tolist()), total, tuple(shares.tolist()))


def write_mix(path: Path, mix: Mix) -> None:
    """Write a mix, whole or not at all; raises OSError."""
    with atomic_write(path) as draft:
        values = {"made_for": _MADE_FOR, "weights": list(mix.weights), "scale": mix.scale, "shares": list(mix.shares)}
        draft.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def read_mix(path: Path) -> Mix:
    """A mix that `write_mix` wrote; raises ConfigError for anything else."""
    check_path(path, ConfigError)
    try:
        values = read_json(path)
        if not isinstance(values, dict) or values.get("made_for") != _MADE_FOR:
            raise ValueError("another file")
        weights, shares = (
            tuple(float(weight) for weight in np.asarray(values[name], np.float64).reshape(-1))
            for name in ("weights", "shares")
        )
        return Mix(weights, float(values["scale"]), shares)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"a mix of layers is needed at {path}",
            got=error.strerror or str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}",
            do="embed compare MODEL FILE --mix-out FILE writes one",
        ) from None
