"""How the states of tokens become one vector of a text or of a word, of which several rows may have tokens.

B rows · S tokens of a row · F numbers of a vector · n tokens of the parts of a row · p parts of a row
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glassformer.config.model import Pooling
from glassformer.data.batches.corrupt import IGNORED
from glassformer.features.strategies import Feature

Reals = npt.NDArray[np.floating[Any]]


class Pooled(NamedTuple):
    """What a row, or several `rows`, contribute to their parts, of which the first is number `begin`: by feature, sums,
    largest numbers or the states of single tokens [p, F]; and the number of tokens of each part in them, [p].
    """

    begin: int
    tokens: npt.NDArray[np.int64]
    values: Sequence[Reals]
    rows: int = 1


@dataclass(frozen=True)
class Pooler:
    """Pools for each feature, whose vectors have these `widths`."""

    features: Sequence[Feature]
    widths: Sequence[int]

    def _joined(self, states: Mapping[int, Tensor]) -> Iterator[tuple[Pooling, Tensor]]:
        """For each feature its pooling and the vectors of the tokens, [B, S, F], made once for each strategy."""
        last, joined = None, None
        for feature in self.features:
            if joined is None or feature.strategy != last:
                last, joined = feature.strategy, feature.strategy.joined(states)
            yield feature.pooling, joined

    def of_texts(self, states: Mapping[int, Tensor], parts: Tensor) -> Iterator[Pooled]:
        """One part for each row."""
        counted = parts != IGNORED  # [B, S]
        places = torch.arange(parts.shape[1], device=parts.device).expand_as(parts)  # [B, S]
        first = places.masked_fill(~counted, parts.shape[1]).amin(dim=1)  # [B]
        final = places.masked_fill(~counted, -1).amax(dim=1)  # [B]
        rows = torch.arange(len(parts), device=parts.device)
        values = []
        for pooling, joined in self._joined(states):
            if pooling == "mean":
                pooled = (counted[:, None].to(joined.dtype) @ joined)[:, 0]  # [B, F], a sum
            elif pooling == "max":
                pooled = joined.masked_fill(~counted[..., None], -torch.inf).amax(dim=1)  # [B, F]
            else:
                pooled = joined[rows, first if pooling == "first" else final]  # [B, F]
            values.append(pooled.cpu().numpy())
        tokens = counted.sum(dim=1).cpu().numpy()  # [B]
        for row in range(len(parts)):
            yield Pooled(0, tokens[row : row + 1], [of[row : row + 1] for of in values])

    @property
    def of_one_layer(self) -> bool:
        """Whether each strategy takes the states of a layer as they are."""
        return all(feature.strategy.join != "mix" and len(feature.strategy.layers) == 1 for feature in self.features)

    def of_last(self, states: Reals, counted: npt.NDArray[np.bool_]) -> Pooled:
        """As `of_texts` of one row alone, from the states of its tokens in one layer [S, W], some of them counted
        [S].
        """
        places = counted.nonzero()[0]
        found: dict[Pooling, Callable[[], Reals]] = {
            "mean": lambda: counted.astype(states.dtype) @ states,  # [W], a sum
            "max": lambda: states[places].max(axis=0),
            "first": lambda: states[places[0]],
            "last-token": lambda: states[places[-1]],
        }
        values = [found[feature.pooling]()[None] for feature in self.features]
        return Pooled(0, np.array([len(places)]), values)

    def of_words(self, states: Mapping[int, Tensor], parts: Tensor) -> Iterator[Pooled]:
        """The words of each row: all tokens of a word are adjacent."""
        counted = parts != IGNORED  # [B, S]
        numbers = parts[counted].cpu().numpy()  # [n] of all rows
        of_row = counted.sum(dim=1).cpu().numpy()  # [B]
        row = np.repeat(np.arange(len(of_row)), of_row)  # [n]
        begins = np.flatnonzero(np.r_[True, (numbers[1:] != numbers[:-1]) | (row[1:] != row[:-1])])  # [words]
        tokens = np.diff(np.r_[begins, len(numbers)])  # [words]
        values = []
        for pooling, joined in self._joined(states):
            flat = joined[counted].cpu().numpy()  # [n, F]
            if pooling == "mean":
                values.append(np.add.reduceat(flat, begins, axis=0))  # [words, F], sums
            elif pooling == "max":
                values.append(np.maximum.reduceat(flat, begins, axis=0))
            else:
                values.append(flat[begins if pooling == "first" else begins + tokens - 1])
        ends = row[begins].searchsorted(np.arange(len(of_row)), side="right")
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            yield Pooled(int(numbers[begins[start]]), tokens[start:end], [of[start:end].copy() for of in values])

    def together(self, found: Sequence[Pooled]) -> Pooled:
        """The contributions of several rows, added up in their order."""
        begin = found[0].begin
        parts = max(pooled.begin + len(pooled.tokens) for pooled in found) - begin
        tokens = np.zeros(parts, np.int64)
        kind = found[0].values[0].dtype
        arrays = [
            np.full((parts, width), -np.inf if feature.pooling == "max" else 0, kind)
            for feature, width in zip(self.features, self.widths, strict=True)
        ]
        for pooled in found:
            here = slice(pooled.begin - begin, pooled.begin - begin + len(pooled.tokens))
            seen = (tokens[here] > 0)[:, None]
            for feature, of, values in zip(self.features, arrays, pooled.values, strict=True):
                if feature.pooling == "mean":
                    of[here] += values
                elif feature.pooling == "max":
                    np.maximum(of[here], values, out=of[here])
                else:
                    of[here] = np.where(seen & (feature.pooling == "first"), of[here], values)
            tokens[here] += pooled.tokens
        return Pooled(begin, tokens, arrays, sum(pooled.rows for pooled in found))
