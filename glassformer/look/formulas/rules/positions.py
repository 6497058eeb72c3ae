"""Rules of order: sinusoids and distances."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from glassformer.look.formulas.explanation import Explanation, Limits
from glassformer.look.formulas.named import Cell, Operand, align
from glassformer.look.formulas.rules.evaluator import Evaluator, Factor, Rule, Term, Working, total
from glassformer.look.formulas.rules.notation import Expression, function, read, row, short, sign, symbol


@dataclass(frozen=True)
class Sinusoid(Rule):
    """A sine or cosine of position / wave length. Three layouts of the waves over the channels."""

    position: Operand
    layout: Literal["paper", "halves", "tensor2tensor"]
    width: int

    def wave(self, channel: int) -> tuple[float, bool]:
        """The rate of a channel's wave, and whether it is a sine."""
        half = self.width // 2
        if self.layout == "paper":
            return 10000.0 ** -(2 * (channel // 2) / self.width), channel % 2 == 0
        index = channel % half
        step = 2 * index / self.width if self.layout == "halves" else index / max(half - 1, 1)
        return 10000.0**-step, channel < half

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """[..., width]."""
        waves = [self.wave(channel) for channel in range(self.width)]
        rates = torch.tensor([rate for rate, _ in waves], dtype=torch.float64)
        sines = torch.tensor([sine for _, sine in waves])
        angle = tensors.aligned(self.position) * rates
        found = torch.where(sines, angle.sin(), angle.cos())
        return found, found.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        rate, sine = self.wave(cell["channel"])
        position = tensors.factor(self.position, cell)
        angle = position.value * rate
        result = math.sin(angle) if sine else math.cos(angle)
        term = Term("sine of the angle" if sine else "cosine of the angle", (position, Factor(None, (), rate)), result)
        return Working((term,), result, {"angle": angle})

    def expression(self) -> Expression:
        words = f"sine or cosine of position × rate, channels laid out as {self.layout}"
        return function("sin or cos", row(read(self.position), sign("·"), symbol("rate")), words)

    @classmethod
    def arithmetic(cls, explanation: Explanation, limits: Limits) -> str:
        (term,) = explanation.terms
        return f"{term.what.partition(' ')[0]}({term.numbers})"


@dataclass(frozen=True)
class RelativeBias(Rule):
    """A learned number for each head and bucket of the distance key − query (T5)."""

    table: Operand
    buckets: int
    max_distance: float
    both_directions: bool

    def bucket(self, distance: int) -> int:
        """Near distances have a bucket each; far ones share buckets that widen in equal ratios."""
        buckets, side = int(self.buckets), 0
        if self.both_directions:
            buckets //= 2
            side = buckets if distance > 0 else 0
            distance = abs(distance)
        else:
            distance = max(-distance, 0)
        near = buckets // 2
        if distance < near:
            return side + distance
        widening = self.max_distance / near
        # The slack keeps a distance exactly on a border in the bucket that begins there.
        passed = math.floor(math.log(distance / near) / math.log(widening) * (buckets - near) + 1e-6)
        return side + min(near + passed, buckets - 1)

    def whole(self, tensors: Evaluator) -> tuple[Tensor, Tensor]:
        """[1, heads, queries, keys]."""
        queries, keys = (range(tensors.length(side)) for side in (tensors.formula.tokens, tensors.formula.keys))
        rows = torch.tensor([[self.bucket(key - query) for key in keys] for query in queries])
        found = tensors.aligned(self.table, ("bucket", "head"))[rows]  # [queries, keys, heads]
        found = align(found, ("query", "key", "head"), tensors.axes, tensors.formula.name)
        return found, found.abs()

    def at(self, tensors: Evaluator, cell: Cell) -> Working:
        bucket = self.bucket(cell["key"] - cell["query"])
        entry = tensors.factor(self.table, {**cell, "bucket": bucket})
        return total([Term(f"bucket {bucket}", (entry,), entry.value)])

    def expression(self) -> Expression:
        distance = function("bucket", row(symbol("key"), sign("−"), symbol("query")))
        words = f"the entry of {short(self.table.name)} for the bucket of the distance key − query"
        return row(read(self.table), sign(","), symbol("bucket"), sign("="), distance, words=words)
