"""One number of a head as a sum: what each block, head and word added to it directly.

B sentences · S tokens · K tokens that are looked at · H heads · W width · C channels of any tensor
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.look.formulas.rules.activations import Activation, Compared
from glassformer.look.formulas.rules.softmax_and_norms import Largest, LayerNorm, RMSNorm
from glassformer.look.formulas.rules.sums import ActivatedLinear, Add, DotProduct, Linear
from glassformer.look.summaries.attributions import HEADS, goal_of
from glassformer.look.trace.tensors import Tensors
from glassformer.look.trace.verify import WITHOUT_WEIGHTS


@dataclass(frozen=True)
class Part:
    """What one tensor of the stream added. `words` [S] are the shares of its tokens; of an attention [H, K] the shares
    of each head and of each token that it looked at, of the side `side`, and `bias` the share of its output's bias.
    """

    tensor: str
    value: float
    side: str
    words: Tensor
    bias: float = 0.0


@dataclass(frozen=True)
class Contributions:
    """`value` is the number of the cell; `parts` and `constant` (biases of the head, of norms, and what is set by hand)
    sum to it.
    """

    goal: str
    cell: Mapping[str, int]
    value: float
    parts: tuple[Part, ...]
    constant: float

    @property
    def total(self) -> float:
        """The sum of all parts: `value`, but for rounding."""
        return math.fsum((self.constant, *(part.value for part in self.parts)))


def contributions(trace: Tensors, goal: str | None = None) -> Contributions:
    """What each part of the residual stream added to a logit directly (Elhage et al. 2021, *A Mathematical Framework
    for Transformer Circuits*, §"Logit attribution").

    The stream is a sum, and a head reads it through norms and linear layers. With the deviation of each norm, and the
    ratio of output to input of each activation of the head, held at their values in this run, a logit is a sum over the
    embedding and over what each sublayer added. Where a head compares two texts, the sign of their difference is held,
    and each text has half of their product. What a sublayer did by way of later blocks counts as theirs. `goal` is
    a cell in words, a logit of a head; by default the largest of the first place. Raises ConfigError for another number
    or a run without weights, and UnknownNameError.
    """
    return contributions_of(trace, *goal_of(trace, goal))


def contributions_of(trace: Tensors, name: str, cell: Mapping[str, int]) -> Contributions:
    """As `contributions`, of a cell by its indices."""
    if name not in HEADS:
        raise ConfigError("direct contributions are those to a logit of a head", got=name, do=f"ask for {HEADS[0]}[…]")
    if trace.replay is None:
        raise ConfigError("direct contributions read the model's weights", do=WITHOUT_WEIGHTS)
    value = trace.tensor(name)[tuple(cell.values())]
    if not math.isfinite(value):
        raise ConfigError("direct contributions are those to a finite number", got=f"{float(value)}")
    walk = _Walk(trace, *place_of(trace, cell))
    *_, last = trace.axes(name)
    one = torch.zeros(trace.tensor(name).shape[-1], dtype=torch.float64)
    one[cell[last]] = 1.0
    walk.back(name, one if walk.token is None or "place" in cell else walk.at_token(one))
    return Contributions(name, dict(cell), float(value), tuple(walk.parts), walk.constant)


def place_of(trace: Tensors, cell: Mapping[str, int]) -> tuple[int, int | None]:
    """The sentence and the token that a cell belongs to; no token where it is about a whole sentence."""
    return trace.chosen_tokens[cell["place"]] if "place" in cell else (cell.get("sentence", 0), cell.get("token"))


@dataclass
class _Walk:
    """From a logit back to the stream: a weight [S, C] or [C] for each number of a tensor."""

    trace: Tensors
    sentence: int
    token: int | None
    parts: list[Part] = field(default_factory=list)
    constant: float = 0.0

    def by_hand(self, name: str) -> bool:
        return self.trace.replay is not None and name in self.trace.replay.by_hand

    def at_token(self, weight: Tensor) -> Tensor:
        """[S, C]: the weight at the one token, 0 elsewhere."""
        side = self.trace.statement.formulas[self.trace.statement.entering["states"]].tokens
        tokens = self.trace.facts[f"{side}.positions"].shape[1]
        whole = torch.zeros(tokens, len(weight), dtype=torch.float64)
        whole[self.token] = weight
        return whole

    def read(self, name: str) -> Tensor:
        """A tensor of the run or a weight, in float64; of a run the part of this sentence, or of this place."""
        found = self.trace.tensor(name).detach().cpu().double()
        if name.startswith("parameters."):
            return found
        axes = self.trace.axes(name)
        if axes[0] == "place":
            return found[self.trace.chosen_tokens.index((self.sentence, self.token or 0))]  # [C]
        return found[min(self.sentence, len(found) - 1)]

    def back(self, name: str, weight: Tensor) -> None:
        """Share out a weighted tensor among what it is the sum of."""
        if name.startswith("parameters.") or (self.by_hand(name) and not name.endswith("feed_forward.output")):
            self.constant += float((weight * self.read(name)).sum())
            return
        formula = self.trace.statement.formulas[name]
        rule = formula.rule
        if name.endswith("attention.output"):
            self.attention(name, weight)
        elif isinstance(rule, Add):
            if rule.masked_words is not None:
                weight = weight * (self.read(rule.masked_words.name) == 0)[:, None]
            for term in rule.terms.values():
                self.back(term.name, weight)
        elif isinstance(rule, LayerNorm | RMSNorm):
            self.norm(rule, weight)
        elif isinstance(rule, Linear | ActivatedLinear) and not name.endswith("feed_forward.output"):
            self.linear(rule, name, weight)
        elif isinstance(rule, Activation):
            self.through(rule.x.name, self.read(rule.x.name), self.read(name), weight)
        elif isinstance(rule, DotProduct) and rule.over == "token":  # pooled: the weights of the tokens are facts
            self.back(rule.right.name, self.read(rule.left.name)[:, None] * weight)
        elif isinstance(rule, Largest) and rule.over == "token":
            self.largest(rule, name, weight)
        elif isinstance(rule, Compared):
            self.compared(rule, weight)
        else:
            self.leaf(name, weight, formula.tokens)

    def leaf(self, name: str, weight: Tensor, side: str) -> None:
        words = (self.read(name) * weight).sum(-1)  # [S]
        self.parts.append(Part(name, float(words.sum()), side, words))

    def through(self, name: str, x: Tensor, found: Tensor, weight: Tensor) -> None:
        """Back through an activation, its ratio of output to input held."""
        ratio = torch.where(x == 0, 0.0, found / x)
        self.constant += float((weight * (found - ratio * x)).sum())
        self.back(name, weight * ratio)

    def linear(self, rule: DotProduct, name: str, weight: Tensor) -> None:
        matrix = self.read(rule.right.name)  # [out, in]
        bias = None if rule.bias is None else self.read(rule.bias.name)
        if isinstance(rule, ActivatedLinear):
            inside = self.read(rule.left.name) @ matrix.T + (0.0 if bias is None else bias)
            ratio = torch.where(inside == 0, 0.0, self.read(name) / inside)
            weight = weight * ratio
        if bias is not None:
            self.constant += float((weight * bias).sum())
        weight = weight @ matrix * rule.scale
        chosen = rule.left.axes.startswith("<place>")  # the left operand is read at a place
        self.back(rule.left.name, self.at_token(weight) if chosen else weight)

    def norm(self, rule: LayerNorm | RMSNorm, weight: Tensor) -> None:
        x = self.read(rule.x.name)
        centred = x - x.mean(-1, keepdim=True) if rule.centred else x
        deviation = (centred.square().mean(-1, keepdim=True) + rule.epsilon).sqrt()
        if rule.bias is not None:
            self.constant += float((weight * self.read(rule.bias.name)).sum())
        weight = weight * self.read(rule.weight.name) / deviation
        self.back(rule.x.name, weight - weight.mean(-1, keepdim=True) if rule.centred else weight)

    def largest(self, rule: Largest, name: str, weight: Tensor) -> None:
        """Each channel's weight goes to the token whose number was the largest."""
        x, found = self.read(rule.x.name), self.read(name)  # [S, C], [C]
        real = torch.ones(len(x)) if rule.real is None else self.read(rule.real.name)
        there = (x == found) & (real[:, None] != 0)
        first = there.double().argmax(0)  # [C]
        self.back(rule.x.name, torch.zeros_like(x).scatter(0, first[None], weight[None]))

    def compared(self, rule: Compared, weight: Tensor) -> None:
        """Both texts are means of the same states."""
        first, second = self.read(rule.first.name), self.read(rule.second.name)  # [C]
        one, two, apart, product = weight.chunk(4)
        apart = apart * (first - second).sign()
        weights = one + apart + product * second / 2, two - apart + product * first / 2
        means = [self.trace.statement.formulas[each.name].rule for each in (rule.first, rule.second)]
        whole = [self.read(mean.operands["left"].name)[:, None] * of for mean, of in zip(means, weights, strict=True)]
        self.back(means[0].operands["right"].name, whole[0] + whole[1])  # [S, C]

    def attention(self, name: str, weight: Tensor) -> None:
        """The output of an attention by heads and by the tokens whose values they took."""
        path = name.removesuffix(".output")
        statement = self.trace.statement.formulas
        rule = statement[name].rule
        assert isinstance(rule, Linear)
        bias = 0.0 if rule.bias is None else float((weight * self.read(rule.bias.name)).sum())
        looks, values = self.read(f"{path}.weights"), self.read(f"{path}.value")  # [H, S, K], [G, K, D]
        heads = len(looks)
        values = values.repeat_interleave(heads // len(values), 0)  # [H, K, D]
        own = (weight @ self.read(rule.right.name)).unflatten(-1, (heads, -1)).transpose(0, 1)  # [H, S, D]
        words = (looks * (own @ values.transpose(-1, -2))).sum(1)  # [H, K]
        if self.by_hand(f"{path}.mixed") or self.by_hand(f"{path}.merged"):
            given = self.read(f"{path}.merged").unflatten(-1, (heads, -1)).transpose(0, 1)  # [H, S, D]
            gives = (own * given).sum((1, 2))  # [H]
            # What a head was made to give is due to no word more than to another.
            kept = torch.isclose(gives, words.sum(1), rtol=1e-4, atol=1e-6)
            words = torch.where(kept[:, None], words, gives[:, None] / words.shape[1])
        side = statement[f"{path}.weights"].keys
        self.parts.append(Part(name, float(words.sum()) + bias, side, words, bias))
