"""Rules about order and about who may look: positions, rotations, distances, masks."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from glassformer.look.named import Cell, FormulaError, align
from glassformer.look.rules.desk import Desk, Factor, Term, Working, total


class Sinusoid:
    """A sine or cosine of position / wave length. Three layouts say which channel is which wave."""

    def wave(self, layout: str, width: int, channel: int) -> tuple[float, bool]:
        """The rate of a channel's wave, and whether it is a sine."""
        half = width // 2
        if layout == "paper":
            return 10000.0 ** -(2 * (channel // 2) / width), channel % 2 == 0
        number = channel % half
        if layout == "halves":
            return 10000.0 ** -(2 * number / width), channel < half
        if layout == "tensor2tensor":
            return 10000.0 ** -(number / max(half - 1, 1)), channel < half
        raise FormulaError("sinusoids are laid out as paper, halves or tensor2tensor", got=layout)

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """[..., width]."""
        width, layout = int(desk.number("width")), str(desk.setting("layout"))
        waves = [self.wave(layout, width, channel) for channel in range(width)]
        rates = torch.tensor([rate for rate, _ in waves], dtype=torch.float64)
        sines = torch.tensor([sine for _, sine in waves])
        angle = desk.aligned("position") * rates
        value = torch.where(sines, angle.sin(), angle.cos())
        return value, value.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One term."""
        rate, sine = self.wave(str(desk.setting("layout")), int(desk.number("width")), cell["channel"])
        position = desk.factor("position", cell)
        angle = position.value * rate
        result = math.sin(angle) if sine else math.cos(angle)
        term = Term("sine of the angle" if sine else "cosine of the angle", (position, Factor(None, (), rate)), result)
        return Working((term,), result, {"angle": angle})


class Rotate:
    """Channels i and i + half are turned together by position · base^(−2i/size)."""

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of x."""
        if desk.axes[-1] != desk.over:
            raise FormulaError(f"{desk.formula.name} turns pairs along {desk.over}", got=desk.formula.axes)
        x = desk.aligned("x")
        half = x.shape[-1] // 2
        rates = desk.number("base") ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = desk.aligned("position") * rates
        first, second = x[..., :half], x[..., half:]
        sine, cosine = angle.sin(), angle.cos()
        value = torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
        parts = ((first * cosine).abs() + (second * sine).abs(), (second * cosine).abs() + (first * sine).abs())
        return value, torch.cat(parts, dim=-1)

    def at(self, desk: Desk, cell: Cell) -> Working:
        """Two terms: the number itself and its partner."""
        half = desk.size("x", desk.over) // 2
        channel = cell[desk.over]
        partner = channel + half if channel < half else channel - half
        angle = desk.factor("position", cell).value * desk.number("base") ** (-(channel % half) / half)
        own, other = desk.factor("x", cell), desk.factor("x", {**cell, desk.over: partner})
        cosine, sine = math.cos(angle), math.sin(angle) * (-1 if channel < half else 1)
        working = total(
            [
                Term("own · cosine", (own, Factor(None, (), cosine)), own.value * cosine),
                Term("partner · sine", (other, Factor(None, (), sine)), other.value * sine),
            ]
        )
        return Working(working.terms, working.result, {"angle": angle})


class RelativeBias:
    """A learned number for each head and bucket of the distance key − query (T5)."""

    def bucket(self, desk: Desk, distance: int) -> int:
        """Near distances have a bucket each; far ones share buckets that widen in equal ratios."""
        buckets, side = int(desk.number("buckets")), 0
        if desk.setting("both_directions"):
            buckets //= 2
            side = buckets if distance > 0 else 0
            distance = abs(distance)
        else:
            distance = max(-distance, 0)
        near = buckets // 2
        if distance < near:
            return side + distance
        widening = desk.number("max_distance") / near
        # The slack keeps a distance that stands exactly on a border in the bucket it opens.
        passed = math.floor(math.log(distance / near) / math.log(widening) * (buckets - near) + 1e-6)
        return side + min(near + passed, buckets - 1)

    def sizes(self, desk: Desk) -> tuple[int, int]:
        """Queries and keys."""
        pieces = desk.source.tensor(f"{desk.formula.pieces}.positions").shape[1]
        return pieces, desk.source.tensor(f"{desk.formula.keys}.positions").shape[1]

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """[1, heads, queries, keys]."""
        queries, keys = self.sizes(desk)
        rows = torch.tensor([[self.bucket(desk, key - query) for key in range(keys)] for query in range(queries)])
        value = desk.aligned("table", ("bucket", "head"))[rows]  # [queries, keys, heads]
        value = align(value, ("query", "key", "head"), desk.axes, desk.formula.name)
        return value, value.abs()

    def at(self, desk: Desk, cell: Cell) -> Working:
        """One term."""
        bucket = self.bucket(desk, cell["key"] - cell["query"])
        entry = desk.factor("table", {**cell, "bucket": bucket})
        return total([Term(f"bucket {bucket}", (entry,), entry.value)])


def within_reach(desk: Desk) -> dict[str, Tensor]:
    """Each reason why a key can be out of a query's reach, True = it is not."""
    reasons = {}
    sides = {"query": desk.formula.pieces, "key": desk.formula.keys}
    places = {axis: torch.arange(desk.source.tensor(f"{side}.positions").shape[1]) for axis, side in sides.items()}
    ahead = places["key"][None, :] - places["query"][:, None]
    if desk.setting("causal"):
        reasons["not ahead"] = (ahead <= 0)[None, None]
    reach = desk.setting("window")
    if reach is not None:
        reasons[f"within {reach}"] = (ahead.abs() <= desk.number("window"))[None, None]
    if desk.has("real"):
        reasons["not padding"] = desk.aligned("real") != 0
    if desk.has("query_wall"):
        reasons["same document"] = desk.aligned("query_wall") == desk.aligned("key_wall")
    return reasons


def all_of(reasons: Mapping[str, Tensor]) -> Tensor:
    """True where no reason forbids; broadcasts to [sentences, heads, queries, keys]."""
    value = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    for reason in reasons.values():
        value = value & reason
    return value


def reason_at(desk: Desk, answer: Tensor, cell: Cell) -> bool:
    """A reason's answer for one query and one key."""
    index = tuple(0 if size == 1 else cell[axis] for axis, size in zip(desk.axes, answer.shape, strict=True))
    return bool(answer[index])


class MayLook:
    """1 where nothing forbids this query to look at this key: all of the given reasons at once."""

    def reasons(self, desk: Desk) -> dict[str, Tensor]:
        """Each reason's answer, True = does not forbid."""
        reasons = within_reach(desk)
        if desk.has("hidden"):
            reasons["not hidden"] = desk.aligned("hidden") == 0
        if desk.has("custom"):
            reasons["custom mask"] = desk.aligned("custom") != 0
        return reasons

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """Broadcasts to [sentences, heads, queries, keys]."""
        value = all_of(self.reasons(desk)).double()
        return value, value

    def at(self, desk: Desk, cell: Cell) -> Working:
        """A factor for each reason."""
        reasons = self.reasons(desk)
        terms = tuple(Term(words, (), float(reason_at(desk, answer, cell))) for words, answer in reasons.items())
        return Working(terms, float(all(term.value for term in terms)))


class Fill:
    """What stands where looking is forbidden: the fill itself, or the score plus the fill.

    A formula with the setting `out_of_reach` keeps its fill for what is hidden by choice, and has that number where a
    key is out of reach.
    """

    def __init__(self, *, added: bool) -> None:
        self.added = added

    def value(self, desk: Desk, name: str = "value") -> float:
        """The fill as a number; `lowest` is the most negative number of the type the trace runs in."""
        value = desk.setting(name)
        if value == "lowest":
            return float(torch.finfo(desk.source.tensor(desk.operand("x").name).dtype).min)
        return -math.inf if value == "-inf" else desk.number(name)

    def tells_apart(self, desk: Desk) -> bool:
        """Whether the formula tells apart what is out of reach."""
        return "out_of_reach" in desk.formula.settings

    def whole(self, desk: Desk) -> tuple[Tensor, Tensor]:
        """The shape of the scores."""
        scores, looks, fill = desk.aligned("x"), desk.aligned("may_look"), self.value(desk)
        base = scores if self.added else torch.zeros_like(scores)
        filled, size = base + fill, base.abs() + abs(fill)
        if self.tells_apart(desk):
            beyond, number = ~all_of(within_reach(desk)), self.value(desk, "out_of_reach")
            filled, size = filled.masked_fill(beyond, number), size.masked_fill(beyond, abs(number))
        looks = looks != 0
        return torch.where(looks, scores, filled), torch.where(looks, scores.abs(), size)

    def at(self, desk: Desk, cell: Cell) -> Working:
        """The score, the fill, or both; or what stands out of reach."""
        score, looks, fill = desk.factor("x", cell), desk.factor("may_look", cell), self.value(desk)
        kept, filled = (
            Term("score", (score,), score.value),
            Term("forbidden: fill", (looks, Factor(None, (), fill)), fill),
        )
        if looks.value:
            return Working((kept,), score.value)
        if self.tells_apart(desk) and not reason_at(desk, all_of(within_reach(desk)), cell):
            number = self.value(desk, "out_of_reach")
            return Working((Term("forbidden: out of reach", (looks, Factor(None, (), number)), number),), number)
        terms = (kept, filled) if self.added else (filled,)
        return Working(terms, sum(term.value for term in terms))
