"""What is answered about one run: a number with its terms, a part of a tensor, the heads of an attention."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import torch
from safetensors.torch import save

from glassformer.base.errors import UnknownNameError, did_you_mean
from glassformer.look.formulas.explanation import values_of
from glassformer.look.formulas.named import axis_names
from glassformer.look.formulas.rules.masks import FillSet
from glassformer.look.summaries.head_measures import MEASURES, measure_text
from glassformer.look.trace.cell import Axes
from glassformer.look.trace.explain import work_out
from glassformer.look.trace.trace import Trace
from glassformer.page.page import own_memory, page
from glassformer.page.sections.carried import lossless
from glassformer.page.sections.record import honesty_record
from glassformer.page.sections.sections import CARRIED, MAKERS, MODEL_MAKERS, Maker, sections_of
from glassformer.page.server.addresses import (
    ANSWERS,
    ANSWERS_LISTED,
    ATTENTIONS,
    HEAD_DOTS,
    HEADS_AT_ONCE,
    PLACES_FETCHED,
    QUERIES,
    RUN_PATH,
)
from glassformer.page.server.kept import Kept
from glassformer.page.server.numbers import Numbers, largest_places, sum_without
from glassformer.page.server.overview import OF_MODEL, compressed_json, json_bytes, packed
from glassformer.page.server.pictures import (
    full_strength,
    heads,
    numbers_of,
    part_of,
    picture_of,
    ranked,
    signed_picture,
)
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.artefact import Artefact

MOST_TERMS = 256
"""The terms of a sum that are sent: the largest; of a softmax over a vocabulary there are thousands."""


@dataclass
class Run:
    """One run as a page knows it. What is computed again is kept in `numbers`, together with that of all other runs;
    `makers` make the sections that its model has besides the usual ones.
    """

    key: str
    trace: Trace
    record: dict[str, Any]
    whole: bool
    numbers: Numbers
    title: str = ""
    model: Artefact | None = None
    makers: Mapping[str, Maker] = field(default_factory=dict)
    ahead: dict[str, tuple[dict[str, torch.Tensor], dict[str, str]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    worked: Kept[tuple[str, tuple[int, ...]]] = field(default_factory=Kept)
    computing: dict[str, threading.Lock] = field(default_factory=dict)
    """Of each unit, held while its tensors are computed again."""

    @property
    def nbytes(self) -> int:
        """How much memory its numbers need for as long as it is kept."""
        return self.trace.nbytes + sum(fact.nbytes for fact in self.trace.facts.values())

    @cached_property
    def overview(self) -> bytes:
        return packed(self.record)

    def overview_for(self, other: Run | None) -> bytes:
        """The overview for a page that has that of another run, without what the two have in common."""
        if other is None or other.title != self.title or other.trace.statement is not self.trace.statement:
            return self.overview
        own = {name: value for name, value in self.record.items() if name not in OF_MODEL}
        return packed(own | {"like": other.key})

    def honesty(self) -> bytes:
        """The honesty gate, measured when it is first asked for."""
        with self.lock:
            return packed(honesty_record(self.trace))

    def all_numbers(self) -> bytes:
        """Every tensor of a small run and the facts of its inputs; raises TooLargeError for a larger one."""
        if not self.whole:
            raise TooLargeError("the tensors of a large run are sent one by one", do="ask for a part of one tensor")
        tensors = self.numbers.fetch(self.key, self.trace, [*self.trace.facts, *self.trace])
        return save(own_memory({name: lossless(tensor) for name, tensor in tensors.items()}))

    def page(self, language: str) -> bytes:
        """The run as one file, which needs no server; it begins in this language."""
        with self.lock:
            found = sections_of(self.trace, {**CARRIED, **self.makers})
            text = page(self.trace, title=self.title, sections=found, language=language)
        return text.encode(errors="backslashreplace")

    def section(self, name: str) -> bytes:
        """What a view needs besides the tensors, computed when it is first asked for; raises UnknownNameError."""
        if name in MODEL_MAKERS and self.model is not None:  # without the lock: it may take a minute
            return packed(MODEL_MAKERS[name](self.model))
        makers = {**MAKERS, **self.makers}
        if name not in makers:
            known = [*makers, *(MODEL_MAKERS if self.model is not None else ())]
            raise UnknownNameError(f"there is no section {name!r}", do=did_you_mean(name, known))
        with self.lock:
            return packed(makers[name](self.trace))

    def described(self, name: str) -> tuple[Axes, torch.Tensor]:
        """A tensor by its whole name, with its axes; raises UnknownNameError."""
        trace = self.trace
        if not (name in trace or name in trace.facts or name in trace.parameters):
            raise UnknownNameError(f"there is no tensor {name!r}", do=did_you_mean(name, trace))
        tensor = self.numbers.fetch(self.key, trace, [name])[name]
        return trace.described(name, tensor), tensor

    def part(self, name: str, asked: str) -> bytes:
        """A part of a tensor, a weight or a fact, in its own type."""
        axes, tensor = self.described(name)
        return numbers_of(tensor, part_of(axes, asked))

    def picture(self, name: str, asked: str, size: tuple[int, int]) -> bytes:
        """A part of a tensor, a weight or a fact, as dots."""
        axes, tensor = self.described(name)
        return picture_of(tensor, part_of(axes, asked), size)

    def pictures(self, names: Sequence[str], size: tuple[int, int]) -> bytes:
        """Whole tensors as dots on the signed scale: those of a block are computed at once."""
        names = list(dict.fromkeys(names))
        self.have([name for name in names if name in self.trace])
        drawn, highest = dict[str, torch.Tensor](), dict[str, str]()
        for name in names:
            axes, tensor = self.described(name)
            shown, full = self.unfilled(name, tensor)
            dots, strongest = signed_picture(shown, part_of(axes, ""), size, full)
            drawn[name], highest[name] = dots.contiguous(), repr(strongest)
        return save(drawn, highest)

    def unfilled(self, name: str, tensor: torch.Tensor) -> tuple[torch.Tensor, float | None]:
        """A tensor for the signed scale, and what counts as full strength where that is not its own: scores that were
        filled are measured by what they were before, and the fill is no number.
        """
        formula = self.trace.statement.formulas.get(name)
        if formula is None or not isinstance(formula.rule, FillSet):
            return tensor, None
        before, looks = (operand.name for operand in (formula.rule.x, formula.rule.may_look))
        read = self.numbers.fetch(self.key, self.trace, [before, looks])
        return tensor.masked_fill(read[looks] == 0, -math.inf), full_strength(read[before])

    @cached_property
    def together(self) -> dict[str, tuple[list[str], int]]:
        """What is computed again with one tensor: the names of each unit's tensors that are not stored; their bytes."""
        trace, sizes = self.trace, self.record["shapes"]
        found: dict[str, tuple[list[str], int]] = {}
        for name in trace.statement.formulas:
            if not trace.kept(name):
                names, nbytes = found.get(trace.statement.unit(name), ([], 0))
                nbytes += math.prod(sizes[name]) * trace.dtype.itemsize
                found[trace.statement.unit(name)] = ([*names, name], nbytes)
        return found

    def have(self, names: Sequence[str]) -> None:
        """Have tensors at hand, with all others of their units: who follows a number home asks for its neighbours next,
        and to compute one of a unit takes about as long as to compute them all. Of a long text only what is asked for.
        """
        trace, units = self.trace, dict[str, list[str]]()
        for name in names:
            if name in trace and not trace.kept(name):
                units.setdefault(trace.statement.unit(name), []).append(name)
        for unit, wanted in units.items():
            if not self.numbers.lacking(self.key, wanted):
                continue
            # Who comes while it is computed, as what may be asked for next is, waits for that.
            with self.computing.setdefault(unit, threading.Lock()):
                if missing := self.numbers.lacking(self.key, wanted):
                    others, nbytes = self.together[unit]
                    more = others if nbytes <= self.numbers.most_bytes // 3 else []
                    self.numbers.fetch(self.key, trace, [*missing, *more])

    def look_around(self, name: str) -> None:
        """Have at hand what one who looks at this number may ask for next: the units of what it was made of, and of
        what reads it. Of a long text nothing is worked out before it is asked for.
        """
        for unit in self.neighbours.get(name, ()):
            names, nbytes = self.together.get(unit, ([], 0))
            if nbytes <= self.numbers.most_bytes // 3:
                self.have(names)

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """The units of what each tensor is made of, and of what reads it."""
        formulas, unit = self.trace.statement.formulas, self.trace.statement.unit
        found: dict[str, dict[str, None]] = {}
        for name, formula in formulas.items():
            for operand in formula.rule.operands.values():
                if operand.name in formulas:
                    found.setdefault(name, {})[unit(operand.name)] = None
                found.setdefault(operand.name, {})[unit(name)] = None
        return {name: list(units) for name, units in found.items()}

    def explain(self, name: str, asked: Sequence[int]) -> bytes:
        """One number, its formula worked out on its operands: the largest terms, and what the others add up to."""
        return compressed_json(self.worked_out(name, tuple(asked)))

    def explained(self, numbers: Sequence[tuple[str, Sequence[int]]]) -> bytes:
        """Several numbers in one answer, as a list: those that read the number that a page shows."""
        self.have([name for name, _ in numbers])
        found = [self.worked_out(name, tuple(asked)) for name, asked in numbers]
        return compressed_json(b"[" + b",".join(found) + b"]")

    def worked_out(self, name: str, asked: tuple[int, ...]) -> bytes:
        """An explanation as JSON, kept for other pages."""
        return self.worked.fetch((name, asked), lambda: self.explanation(name, asked))

    def explanation(self, name: str, asked: Sequence[int]) -> bytes:
        """The same, worked out. Raises UnknownNameError for a tensor or a cell that this run does not have."""
        trace = self.trace
        formula = trace.statement.formulas.get(name)
        read = [] if formula is None else [operand.name for operand in formula.rule.operands.values()]
        self.have([name, *read])
        axes = self.described(name)[0]
        if len(asked) != len(axes.names):
            raise UnknownNameError(f"{name} has the axes {', '.join(axes.names)}", got=f"a cell of {len(asked)}")
        cell = {}
        for axis, size, index in zip(axes.names, axes.sizes, asked, strict=True):
            if not 0 <= index < (whole := axes.shared.get(axis, size)):
                raise UnknownNameError(f"{axis} of {name} counts from 0 to {whole - 1}", got=str(index))
            cell[axis] = index
        worked = work_out(name, cell, formula, self.numbers.source(self.key, trace, [name, *read]))
        terms, values = worked.terms, torch.tensor(values_of(worked.terms), dtype=torch.float64)
        shown = largest_places(values, MOST_TERMS)
        record: dict[str, Any] = {
            "name": name,
            "cell": list(asked),
            "value": worked.value,
            "terms": [
                {
                    "what": term.what,
                    "factors": [[factor.name, factor.index, factor.value] for factor in term.factors],
                    "value": term.value,
                    "added": term.added,
                }
                for term in map(terms.__getitem__, shown)
            ],
            "left": {"count": len(terms) - len(shown), "sum": sum_without(values, shown)},
            "quantities": dict(worked.quantities),
            "recomputed": worked.recomputed,
            "difference": worked.difference,
            "error": worked.error,
        }
        return json_bytes(record)

    def largest(self, name: str, asked: str, count: int) -> bytes:
        """The largest numbers of a part of a tensor, with their places in it: the answers of a vocabulary."""
        axes, tensor = self.described(name)
        places, values = ranked(tensor[part_of(axes, asked)], count)
        return packed({"places": places, "values": values})

    def heads(self, attentions: Sequence[str], sentence: int, dots: int) -> bytes:
        """Thumbnails of at most so many dots a side, and measures, of all heads of attentions, for one sentence."""
        tensors: dict[str, torch.Tensor] = {}
        limits = {"statistics": ",".join(MEASURES)}
        for attention in dict.fromkeys(attentions):
            known = self.ahead.get(attention) if (sentence, dots) == (0, HEAD_DOTS) else None
            found, meant = known or self.heads_of(attention, sentence, dots)
            tensors |= {f"{attention}.{kind}": tensor for kind, tensor in found.items()}
            limits |= {f"{attention}.{kind}": value for kind, value in meant.items()}
        return save(tensors, limits)

    def look_ahead(self) -> None:
        """Work out what a page of a large run shows first before it is asked for. A small one works it out itself."""
        for name in [] if self.whole else self.trace.statement.formulas:
            if name.endswith("_attention.weights"):
                attention = name.removesuffix(".weights")
                self.ahead[attention] = self.heads_of(attention, 0, HEAD_DOTS)
        names, nbytes = ([], 0) if self.whole else self.together.get("head", ([], 0))
        if nbytes <= self.numbers.most_bytes // 3:
            self.have(names)

    def shown_first(self) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """What `look_ahead` has worked out, by the address at which the page asks for it: JSON, and numbers."""
        answers, numbers = dict[str, bytes](), dict[str, bytes]()
        names = sorted(self.ahead, key=place_of)
        for first in range(0, len(names), HEADS_AT_ONCE):
            group = names[first : first + HEADS_AT_ONCE]
            numbers[self.address("heads", attention=",".join(group), sentence=0, dots=HEAD_DOTS)] = self.heads(
                group, 0, HEAD_DOTS
            )
        formula = self.trace.statement.formulas.get(ANSWERS)
        if names and formula is not None and axis_names(formula.axes)[0] == "place":
            hidden = {(sentence, token) for sentence, token, _ in self.record["words"]["answers"]}
            rows = {place: (row, token) for place, (row, token) in enumerate(self.record["places"]) if row == 0}
            for place in [place for place, at in rows.items() if at in hidden][:PLACES_FETCHED] or list(rows)[-1:]:
                answers[self.address("largest", name=ANSWERS, part=place, count=ANSWERS_LISTED)] = self.largest(
                    ANSWERS, str(place), ANSWERS_LISTED
                )
        return answers, numbers

    def address(self, what: str, **query: str | int) -> str:
        """Where a page asks for something of this run, written as it writes it."""
        asked = urlencode({name: query[name] for name in QUERIES[what]})
        return RUN_PATH.format(key=self.key, what=what) + (f"?{asked}" if asked else "")

    def heads_of(self, attention: str, sentence: int, dots: int) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
        name, looks = f"{attention}.weights", f"{attention}.may_look"
        if name in self.trace and looks in self.trace:  # together, for a block is computed once
            self.numbers.fetch(self.key, self.trace, [name, looks])
        axes, weights = self.described(name)
        if "head" not in axes.names:
            raise UnknownNameError(f"there is no attention {attention!r}")
        if not 0 <= sentence < weights.shape[0]:
            raise UnknownNameError(f"sentence counts from 0 to {weights.shape[0] - 1}", got=str(sentence))
        allowed = self.described(looks)[1]
        looks_of = allowed[min(sentence, len(allowed) - 1)]
        return heads(
            weights[sentence], measure_text(self.trace, attention, sentence, weights[sentence].cpu(), looks_of), dots
        )


def place_of(attention: str) -> int:
    """The place of an attention's kind in the order in which a page asks for them; one of no kind comes last."""
    stack, *_, last = attention.split(".")
    kind = (stack, last.removesuffix("_attention"))
    return ATTENTIONS.index(kind) if kind in ATTENTIONS else len(ATTENTIONS)
