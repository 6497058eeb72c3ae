"""What attention heads do, in numbers: means over the tokens that look. The page measures the same in
`web/src/measures/heads.ts` for what it holds itself; a test compares the two.

H heads · Q query tokens · K key tokens
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glassformer.look.trace.tensors import Tensors

MEASURES = ("entropy", "distance", "previous", "self", "next", "first", "separator", "same_word", "largest", "even")
ATTENTION = re.compile(r"(encoder|decoder)\.blocks\.\d+\.(self|cross)_attention\.weights")


def attentions(trace: Tensors) -> tuple[str, ...]:
    """The attentions of a run by name, `encoder.blocks.0.self_attention` …, in the order of the model."""
    return tuple(name.rpartition(".")[0] for name in trace if ATTENTION.fullmatch(name))


def measure(
    weights: Tensor,
    may_look: Tensor,
    real: Tensor | None = None,
    separators: Tensor | None = None,
    same: Tensor | None = None,
    *,
    crossing: bool,
    begin: int = 0,
) -> Tensor:
    """What each head of one attention does in one text on average over its queries, [H, 10] in the order of MEASURES.

    weights [H, Q, K] · may_look [H or 1, Q or 1, K] bool · real [Q] bool, the queries that are no padding ·
    separators [K] bool, the tokens that close a text · same [Q, K] bool, the query's word at another place ·
    begin: the first key that is no padding

    The entropy is in nats, the distance in tokens; the others are shares of the attention: that of the token before, of
    the same place, of the one after, of the first token, of separators, of the same word elsewhere, the largest share,
    and what each token would get if all that may be looked at got the same. NaN = the keys are those of another text,
    or no separator or vocabulary in common is known.
    """
    heads, queries, keys = weights.shape
    places = torch.arange(queries)
    may_look = may_look.expand(len(may_look), queries, keys)  # [H or 1, Q, K]
    if real is not None:
        weights, may_look, places = weights[:, real], may_look[:, real], places[real]
        same = None if same is None else same[real]
    none = torch.full((heads,), math.nan, dtype=torch.float64)

    def mean(of_queries: Tensor) -> Tensor:
        return of_queries.double().mean(-1).expand(heads)  # [H]

    def share(distance: int) -> Tensor:
        if crossing:
            return none
        there = (places + distance >= 0) & (places + distance < keys)  # [Q]
        rows = torch.arange(len(places))[there]
        return weights[:, rows, places[there] + distance].double().sum(-1) / len(places)  # [H]

    least = torch.finfo(weights.dtype).tiny  # 0 · log 0 counts as 0
    apart = (torch.arange(keys)[None] - places[:, None]).abs().to(weights.dtype)  # [Q, K]
    found: Mapping[str, Tensor] = {
        "entropy": mean(-(weights * weights.clamp(min=least).log()).sum(-1)),
        "distance": none if crossing else mean(torch.einsum("hqk,qk->hq", weights, apart)),
        "previous": share(-1),
        "self": share(0),
        "next": share(1),
        "first": mean(weights[..., begin]),
        "separator": none if separators is None else mean(weights @ separators.to(weights.dtype)),
        "same_word": none if same is None else mean((weights * same).sum(-1)),
        "largest": mean(weights.amax(-1)),
        "even": mean(1 / may_look.sum(-1).clamp(min=1)),
    }
    return torch.stack([found[name] for name in MEASURES], dim=-1)  # [H, 10]


def measure_text(trace: Tensors, attention: str, sentence: int, weights: Tensor, may_look: Tensor) -> Tensor:
    """The measures of all heads of an attention in one text of a run, [H, 10]; weights and may_look [H or 1, Q, K]."""
    formula = trace.statement.formulas[f"{attention}.weights"]
    crossing = formula.tokens != formula.keys
    facts = {name: fact.cpu() for name, fact in trace.facts.items() if name.endswith((".real", ".ids"))}
    real, keys = facts.get(f"{formula.tokens}.real"), facts.get(f"{formula.keys}.ids")
    closing = trace.words.closing.get(formula.keys)
    read = facts.get(f"{formula.keys}.real")
    begin = 0 if read is None else int(read[sentence].int().argmax())
    separators = None if closing is None or keys is None else keys[sentence] == closing  # [K]
    queries = facts.get(f"{formula.tokens}.ids")
    apart = crossing and bool(trace.words.source_vocabulary)
    same = None if apart or queries is None or keys is None else same_word(queries[sentence], keys[sentence], crossing)
    own = None if real is None else real[sentence]  # [Q]
    return measure(weights, may_look, own, separators, same, crossing=crossing, begin=begin)


def same_word(queries: Tensor, keys: Tensor, crossing: bool) -> Tensor:
    """Where a key is the query's word at another place, [Q, K] bool, for ids [Q] and [K]."""
    same = queries[:, None] == keys[None]
    return same if crossing else same.fill_diagonal_(fill_value=False)


@dataclass
class Mean:
    """The measures of all heads over all texts of several runs of one model: each token that looks counts the same."""

    sums: dict[str, Tensor] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)

    def add(self, trace: Tensors) -> None:
        for attention in attentions(trace):
            tensors = trace.fetch([f"{attention}.weights", f"{attention}.may_look"])
            weights, may_look = (tensor.cpu() for tensor in tensors.values())
            real = trace.facts.get(f"{trace.statement.formulas[f'{attention}.weights'].tokens}.real")
            sums = self.sums.setdefault(attention, torch.zeros(weights.shape[1], len(MEASURES), dtype=torch.float64))
            for sentence in range(len(weights)):
                count = weights.shape[2] if real is None else int(real[sentence].sum())
                if count:
                    looks = may_look[min(sentence, len(may_look) - 1)]
                    sums += count * measure_text(trace, attention, sentence, weights[sentence], looks)
                    self.tokens[attention] = self.tokens.get(attention, 0) + count

    @property
    def measures(self) -> dict[str, Tensor]:
        """By attention, [H, 10] in the order of MEASURES."""
        return {attention: sums / max(self.tokens.get(attention, 0), 1) for attention, sums in self.sums.items()}


def measure_trace(trace: Tensors) -> dict[str, Tensor]:
    """The measures of all heads over all texts of a run, by attention, [H, 10]."""
    mean = Mean()
    mean.add(trace)
    return mean.measures


def largest_in(weights: Tensor, dots: int) -> Tensor:
    """[H, Q, K] to at most [H, dots, dots]: of several weights the largest. As `pooled`, for finite shares."""
    queries, keys = (windows(size, min(size, dots)) for size in weights.shape[1:])
    rows = torch.stack([weights[:, start:stop].amax(1) for start, stop in queries], 1)  # [H, R, K]
    return torch.stack([rows[..., start:stop].amax(2) for start, stop in keys], 2)  # [H, R, C]


def picture_of(weights: Tensor, dots: int) -> Tensor:
    """[H, Q, K] shares to at most [H, dots, dots] bytes, by their square roots, as the page colours them."""
    return (255 * largest_in(weights, dots).clamp(0, 1).sqrt()).round().to(torch.uint8)


def windows(size: int, count: int) -> list[tuple[int, int]]:
    """The windows of torch's adaptive pooling."""
    return [(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]
