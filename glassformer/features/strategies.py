"""Which layers a vector is made of, and how the tokens of a text or a word become one vector; and a learned scalar mix
of all layers: γ · Σ softmax(s)ₖ · layerₖ (Peters et al. 2018, eq. 1).

B rows · S tokens of a row · W width · F numbers of a vector: W, or n·W where n layers are concatenated
E examples · K layers, the embedding included · L labels

Layer 0 is what the first block reads, layer k what block k gives; the last one as the heads read it, after the stack's
own norm where it has one.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.base.json_text import read_json
from glassformer.base.paths import check_path
from glassformer.config.model import Pooling

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


POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

Join = Literal["sum", "mean", "concat", "mix"]

# The vectors of the words alone, before positions are added: no layer.
WORD = -1

SIX = ("embedding", "last", "second-to-last", "sum-all", "sum-last-4", "concat-last-4")
"""The strategies of Devlin et al. 2019, table 7, with the names of the source documents."""

NAMED = ("word", *SIX)
ENDS = "concat:0,-1"
"""The default of `TextFeatures`: the embeddings and the last layer."""

# The blocks that a named strategy needs.
BLOCKS = {"last": 1, "second-to-last": 2, "sum-all": 1, "sum-last-4": 4, "concat-last-4": 4}

_LISTED = re.compile(r"(sum|mean|concat):([-\d,.]+)")
_RANGE = re.compile(r"(-?\d+)(?:\.\.(-?\d+))?")
_SYNTAX = (
    f"{', '.join(NAMED)}, a layer (3, or -2 from the end), sum:1..4, mean:5,6, concat:-4..-1, or mix:FILE; layer 0 is "
    "the embedding"
)


@dataclass(frozen=True)
class Strategy:
    """Layers of one model by number, and how they are joined. `name` is what was asked for."""

    name: str
    layers: tuple[int, ...]
    join: Join = "sum"
    mix: Mix | None = None

    def width(self, of_layer: int) -> int:
        """The numbers of a vector."""
        return of_layer * (len(self.layers) if self.join == "concat" else 1)

    def joined(self, states: Mapping[int, Tensor]) -> Tensor:
        """The states of single layers by number, [B, S, W] each, to [B, S, F]."""
        chosen = [states[layer] for layer in self.layers]
        if len(chosen) == 1 and self.join != "mix":
            return chosen[0]
        if self.join == "concat":
            return torch.cat(chosen, dim=-1)  # [B, S, n·W]
        if self.join == "mix":
            assert self.mix is not None
            return self.mix.applied(chosen)
        total = chosen[0]
        for layer in chosen[1:]:
            total = total + layer
        return total / len(chosen) if self.join == "mean" else total


@dataclass(frozen=True)
class Feature:
    """One kind of vector: a strategy, and how tokens are pooled."""

    strategy: Strategy
    pooling: Pooling

    @property
    def name(self) -> str:
        """The name by which files and tables call it."""
        return f"{self.strategy.name}.{self.pooling}"


def listed(asked: object) -> list[Any]:
    """One or several strategies or poolings, as a list; an invalid one is refused later, by name."""
    one = isinstance(asked, str | bytes | Mix | Mapping) or not isinstance(asked, Iterable)
    return [asked] if one else list(asked)  # type: ignore[call-overload]  # an Iterable, as the line above says


def resolve(asked: object, blocks: int) -> Strategy:
    """The layers that a strategy names in a model of `blocks` blocks. Raises ConfigError for an unknown strategy, and
    for one that needs layers which the model does not have.
    """
    if isinstance(asked, Mix):
        return _mixed("mix", asked, blocks)
    if not isinstance(asked, str):
        number = isinstance(asked, int) and not isinstance(asked, bool)
        raise ConfigError(
            "a strategy must be a word",
            got=repr(asked)[:60],
            do=f'a layer too is given as a string: "{asked}"' if number else f"one of: {_SYNTAX}",
        )
    if asked in NAMED:
        needed = BLOCKS.get(asked, 0)
        if blocks < needed:
            raise ConfigError(
                f"the strategy {asked} needs a model with at least {needed} blocks",
                got=f"a model with {blocks} block{'s' * (blocks != 1)}",
                do="choose embedding, last, sum-all or a list of its layers",
            )
        return Strategy(asked, _named(asked, blocks), "concat" if asked.startswith("concat") else "sum")
    if asked.startswith("mix:"):
        path = Path(asked.removeprefix("mix:"))
        return _mixed(f"mix-{path.stem}", read_mix(path), blocks)
    found = _LISTED.fullmatch(asked)
    listed = found[2] if found else asked if re.fullmatch(r"-?\d+", asked) else None
    if listed is None:
        near = did_you_mean(asked, NAMED)
        raise ConfigError(
            f"there is no strategy {asked!r}", do=near if near.startswith("did") else f"one of: {_SYNTAX}"
        )
    layers = tuple(_layer(number, blocks, asked) for number in _numbers(listed, asked))
    join: Join = found[1] if found else "sum"  # type: ignore[assignment]  # one of the three of the pattern
    return Strategy(asked, layers, join)


def features_of(strategies: Sequence[str | Mix], poolings: Sequence[str], blocks: int) -> tuple[Feature, ...]:
    """Each strategy with each pooling, in this order, each once. Raises ConfigError for an impossible one."""
    if not strategies or not poolings:
        raise ConfigError("a strategy and a pooling are needed", got="none")
    for pooling in poolings:
        if pooling not in POOLINGS:
            raise ConfigError(f"there is no pooling {pooling!r}", do=did_you_mean(str(pooling), POOLINGS))
    chosen = [resolve(strategy, blocks) for strategy in strategies]
    found: dict[str, Feature] = {}
    for feature in (Feature(strategy, pooling) for strategy in chosen for pooling in POOLINGS if pooling in poolings):
        if found.setdefault(feature.name, feature) != feature:
            raise ConfigError(
                "each kind of vector needs its own name",
                got=f"two mixes called {feature.strategy.name}",
                do="rename one of the files, or ask for them one after the other",
            )
    return tuple(found.values())


def _named(name: str, blocks: int) -> tuple[int, ...]:
    if name in ("word", "embedding"):
        return (WORD if name == "word" else 0,)
    if name in ("last", "second-to-last"):
        return (blocks if name == "last" else blocks - 1,)
    return tuple(range(1 if name == "sum-all" else blocks - 3, blocks + 1))


def _numbers(listed: str, asked: str) -> list[int]:
    numbers: list[int] = []
    for part in listed.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ConfigError("layers are numbers or ranges a..b, with commas between them", got=repr(asked)[:60])
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first > 10_000:
            raise ConfigError("a range of layers must ascend", got=repr(asked)[:60], do="write 1..4 or -4..-1")
        numbers += range(first, last + 1)
    return numbers


def _layer(number: int, blocks: int, asked: str) -> int:
    layer = number if number >= 0 else blocks + 1 + number
    if not 0 <= layer <= blocks:
        raise ConfigError(
            f"the model has the layers 0 (the embedding) to {blocks}", got=f"layer {number} in the strategy {asked}"
        )
    return layer


def _mixed(name: str, mix: Mix, blocks: int) -> Strategy:
    if len(mix.weights) != blocks + 1:
        raise ConfigError(
            f"a mix needs a weight for each of the {blocks + 1} layers of the model, the embedding included",
            got=f"{len(mix.weights)}",
            do="learn it for this model: glassformer embed compare MODEL FILE --mix-out FILE",
        )
    return Strategy(name, tuple(range(blocks + 1)), "mix", mix)
