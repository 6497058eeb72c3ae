"""What a page gets of the vectors of words and texts: which tensors are the layers, and how a strategy joins them.

The strategies are those of `features/strategies.py`, resolved here: the page adds up what it gets and knows none.
"""

from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.features.strategies import SIX, Strategy, resolve
from glassformer.look.trace.tensors import Tensors, layers_of, side_of_features


def vectors_record(trace: Tensors) -> dict[str, Any]:
    """`layers`: their tensors, the embedding first; `word`: the words alone, or null; `strategies` that fit."""
    layers, word = layers_of(trace), f"{side_of_features(trace)}.embed.word"
    found = {}
    for name in SIX:
        try:
            found[name] = strategy_record(resolve(name, len(layers) - 1))
        except ConfigError:  # a model with fewer blocks
            continue
    return {"layers": list(layers), "word": word if word in trace.statement.formulas else None, "strategies": found}


def strategy_record(strategy: Strategy) -> dict[str, Any]:
    """`layers`: each layer (−1: the words alone) with its factor; they are summed, or concatenated."""
    count = len(strategy.layers)
    if strategy.mix is not None:
        shares = [weight * strategy.mix.scale for weight in strategy.mix.weights]
    else:
        shares = [1 / count if strategy.join == "mean" else 1.0] * count
    layers = [[layer, share] for layer, share in zip(strategy.layers, shares, strict=True)]
    return {"layers": layers, "concat": strategy.join == "concat"}
