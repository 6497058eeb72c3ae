"""Rules of rotary positions: plain, and with each stretch. Each states the rate of one pair of channels."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from glassformer.config import RotaryConfig
from glassformer.look.formulas.named import Cell, FormulaError, Operand, align
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Rule, Term, Working
from glassformer.look.formulas.rules.notation import Expression, read, row, sign, symbol, value


@dataclass(frozen=True)
class Rotate(Rule):
    """Channels i and i + half are turned together by position · rate; plain, the rate is base^(−2i/size)."""

    how: ClassVar[str] = ""  # the stretch in words
    x: Operand
    position: Operand
    base: float
    over: str = "channel"

    def rate(self, pair: int, half: int, tokens: float) -> float:
        """How far a pair turns from one token to the next, in a text of so many tokens."""
        return float(self.base ** -(pair / half))

    @property
    def size_of_turns(self) -> float:
        """What cosines and sines are multiplied by."""
        return 1.0

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        if tensors.axes[-1] != self.over:
            raise FormulaError(f"{tensors.formula.name} turns pairs along {self.over}", got=tensors.formula.axes)
        x = tensors.aligned(self.x)
        half = x.shape[-1] // 2
        lengths = [1.0 + max(places) for places in tensors.raw(self.position).tolist()]
        rates = [[self.rate(pair, half, tokens) for pair in range(half)] for tokens in lengths]
        found = torch.tensor(rates, dtype=torch.float64)  # [sentences or 1, pairs]
        found = align(found, ("sentence", self.over), tensors.axes, tensors.formula.name)
        angle = tensors.aligned(self.position) * found
        first, second = x[..., :half], x[..., half:]
        sine, cosine = angle.sin() * self.size_of_turns, angle.cos() * self.size_of_turns
        turned = torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
        parts = ((first * cosine).abs() + (second * sine).abs(), (second * cosine).abs() + (first * sine).abs())
        return turned, torch.cat(parts, dim=-1)

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        half = tensors.size(self.x, self.over) // 2
        channel = cell[self.over]
        partner = channel + half if channel < half else channel - half
        places = tensors.raw(self.position)
        tokens = 1.0 + max(places[cell["sentence"] if places.shape[0] > 1 else 0].tolist())
        angle = tensors.factor(self.position, cell).value * self.rate(channel % half, half, tokens)
        own, other = tensors.factor(self.x, cell), tensors.factor(self.x, {**cell, self.over: partner})
        cosine, sine = math.cos(angle) * self.size_of_turns, math.sin(angle) * self.size_of_turns
        sine = -sine if channel < half else sine
        terms = (
            Term("own · cosine", (own, Factor(None, (), cosine)), own.value * cosine),
            Term("partner · sine", (other, Factor(None, (), sine)), other.value * sine),
        )
        return Working(terms, math.fsum(term.value for term in terms), {"angle": angle})

    def expression(self) -> Expression:
        x, how = read(self.x), self.how.format(self)
        words = f"{x.words} turned with its partner channel by position × rate (base {value(self.base).words}{how})"
        partner = (sign("±"), symbol("partner"), sign("·"), symbol("sin"))
        return row(x, sign("·"), symbol("cos"), *partner, words=words)


@dataclass(frozen=True, kw_only=True)
class RotateLinear(Rotate):
    """All rates divided by a factor."""

    how: ClassVar[str] = ", rates divided by {0.factor:g}"
    factor: float

    def rate(self, pair: int, half: int, tokens: float) -> float:
        return super().rate(pair, half, tokens) / self.factor


@dataclass(frozen=True, kw_only=True)
class RotateDynamic(Rotate):
    """The base grows with a text longer than the first training's."""

    how: ClassVar[str] = ", raised for texts of more than {0.original_length} tokens"
    factor: float
    original_length: int

    def rate(self, pair: int, half: int, tokens: float) -> float:
        beyond = max(tokens / self.original_length - 1, 0.0)
        base = self.base * (1 + self.factor * beyond) ** (half / (half - 1))
        return float(base ** -(pair / half))


@dataclass(frozen=True, kw_only=True)
class RotateLlama3(Rotate):
    """Long waves stretched, short ones kept, those between blended."""

    how: ClassVar[str] = ", long waves stretched by {0.factor:g}"
    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_length: int

    def rate(self, pair: int, half: int, tokens: float) -> float:
        plain = super().rate(pair, half, tokens)
        wave = 2 * math.pi / plain
        if wave < self.original_length / self.high_frequency_factor:
            return plain
        if wave > self.original_length / self.low_frequency_factor:
            return plain / self.factor
        width = self.high_frequency_factor - self.low_frequency_factor
        smooth = (self.original_length / wave - self.low_frequency_factor) / width
        return (1 - smooth) * plain / self.factor + smooth * plain


@dataclass(frozen=True, kw_only=True)
class RotateYarn(Rotate):
    """Slow pairs stretched, fast ones kept, a ramp between; cosines and sines scaled."""

    how: ClassVar[str] = ", slow pairs stretched by {0.factor:g}, times {0.attention_factor:.6g}"
    factor: float
    original_length: int
    attention_factor: float
    beta_fast: float
    beta_slow: float
    truncate: bool

    def rate(self, pair: int, half: int, tokens: float) -> float:
        plain = super().rate(pair, half, tokens)
        # Pair i turns L · base^(−i/half) / 2π times in L tokens: solved for i.
        bounds = [
            half * math.log(self.original_length / (2 * math.pi * times), self.base)
            for times in (self.beta_fast, self.beta_slow)
        ]
        begin, end = (math.floor(bounds[0]), math.ceil(bounds[1])) if self.truncate else bounds
        begin, end = max(begin, 0), min(end, 2 * half - 1)
        if begin == end:
            end += 0.001
        along = min(max((pair - begin) / (end - begin), 0.0), 1.0)
        return along * plain / self.factor + (1 - along) * plain

    @property
    def size_of_turns(self) -> float:
        return self.attention_factor


def rotation(config: RotaryConfig, x: Operand, position: Operand) -> Rotate:
    if config.stretch is None:
        return Rotate(x, position, config.base)
    numbers = config.stretch.model_dump(exclude={"kind"})
    kinds = {"linear": RotateLinear, "dynamic": RotateDynamic, "llama3": RotateLlama3, "yarn": RotateYarn}
    return kinds[config.stretch.kind](x, position, config.base, **numbers)
