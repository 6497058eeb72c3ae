"""Which layers a vector is made of, and how the tokens of a text or a word become one vector.

B rows · S tokens of a row · W width · F numbers of a vector: W, or n·W where n layers are concatenated

Layer 0 is what the first block reads, layer k what block k gives; the last one as the heads read it, after the stack's
own norm where it has one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, did_you_mean
from glassformer.features.mix import Mix, read_mix

Pooling = Literal["first", "mean", "max", "last-token"]
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
