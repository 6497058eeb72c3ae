"""Which tensors a page has: all of them where they fit, else those that lead from a number on the page to its operands.

The numbers that a page shows first, and those that its tours show, are of the answer and of the first block: these have
all of their weights. Then come the numbers of the other blocks, and their weights from the first block on.
"""

from collections.abc import Callable, Iterable

from torch import Tensor

from glassformer.look.formulas.named import Source
from glassformer.look.trace.tensors import Tensors
from glassformer.page.sections.carried import BEYOND_LIMIT, NOT_SAVED, Carried, lossless, packed_bytes, rows_used
from glassformer.page.sections.derived import derived, work_of

SHARE = 4
"""The answer, and the attention weights of all blocks, come first where they take at most a quarter of the page."""
MOST_WORK = 200_000_000
"""Multiplications for all that a page works out: about a second."""
TABLE = "embed.word.weight"
UNSURE_BYTES = 14
"""About what the number of one place takes, as JSON."""


def carry(trace: Tensors, limit: int) -> Carried:
    """Everything that fits into `limit` bytes, else what matters most; not what a saved trace lacks."""
    whole = Choice(trace, Carried(limit))
    return whole.found if whole.everything() else Choice(trace, Carried(limit)).chosen()


class Choice:
    """A page that is being filled."""

    def __init__(self, trace: Tensors, found: Carried) -> None:
        self.trace, self.found, self.work = trace, found, 0
        # The run's numbers as the page gets them: run again, another kernel may round their last digit otherwise.
        self.given: dict[str, Tensor] = {}
        self.formulas = trace.statement.formulas
        self.units: dict[str, list[str]] = {}
        for name in trace:
            if trace.replay is None and name not in trace.stored:
                found.left_out[name] = NOT_SAVED
            else:
                self.units.setdefault(trace.statement.unit(name), []).append(name)

    def everything(self) -> bool:
        """All numbers as they are; False as soon as one does not fit."""
        found = self.found
        return (
            all(found.add(found.tensors, name, fact) for name, fact in self.trace.facts.items())
            and all(found.add(found.weights, name, weight) for name, weight in self.trace.parameters.items())
            and all(
                found.add(found.tensors, name, source.tensor(name))
                for names in self.units.values()
                for source in [self.trace.hold(names)]
                for name in names
            )
        )

    def chosen(self) -> Carried:
        """As much as fits, what matters most first."""
        found, units, share = self.found, self.units, self.found.limit // SHARE
        for name, fact in self.trace.facts.items():
            found.add(found.tensors, name, fact)
        for unit in units:
            if ".blocks." not in unit and ".embed" not in unit:
                self.fill([unit], weights=True, most=share, skip=True)
        self.together(lambda name, _: name.endswith("_attention.weights"), share)
        opens = self.first_fits()
        if opens:
            self.fill(self.first, weights=True)
        states = max((stored.numel() for stored in self.trace.stored.values() if stored.dim() == 3), default=0)
        self.together(lambda _, tensor: tensor.numel() <= states, found.limit)
        self.fill(units, weights=opens)
        self.fill(units, weights=not opens)
        for name, weight in sorted(self.trace.parameters.items(), key=lambda each: each[1].nbytes):
            if (name not in found.weights or name in found.rows) and found.add(found.weights, name, weight):
                found.rows.pop(name, None)
        for name in (*(each for names in units.values() for each in names), *self.trace.parameters):
            if name not in found.tensors and name not in found.weights:
                found.left_out[name] = BEYOND_LIMIT
        read = [*map(self.weights_of, (name for unit in self.first for name in units[unit]))]
        found.opens = all(name in found.weights for names in read for name in names)
        return found

    @property
    def first(self) -> list[str]:
        """The units up to the first block of each stack, in the order of computation."""
        blocks = {unit.partition(".")[0]: unit for unit in reversed(self.units) if ".blocks." in unit}
        return [unit for unit in self.units if unit in blocks.values() or ".embed" in unit]

    def first_fits(self) -> bool:
        """Whether the weights of the first blocks leave room for their numbers."""
        read = {each for unit in self.first for name in self.units[unit] for each in self.weights_of(name)}
        sizes = (packed_bytes(lossless(self.trace.parameters[name])) for name in read if not name.endswith(TABLE))
        return self.found.nbytes + sum(sizes) <= self.found.limit * (SHARE - 1) // SHARE

    def fill(self, units: Iterable[str], *, weights: bool, most: int | None = None, skip: bool = False) -> None:
        """Take the numbers of these units in turn until one does not fit; `skip`: take all that fit."""
        for unit in units:
            source = self.hold(unit)
            for name in self.units[unit]:
                read = self.weights_of(name) if weights else []
                fits = all(self.weight(each, self.trace.parameters[each], most) for each in read)
                fits = self.number(name, source, most) and fits
                for each in self.found.rows.keys() & {*read}:  # the best guesses are known once the logits are there
                    self.rows(each, self.trace.parameters[each])
                if not fits and not skip:
                    return

    def together(self, wanted: Callable[[str, Tensor], bool], most: int) -> None:
        """All of the wanted numbers where they fit, else none of those that are not there yet."""
        added: list[str] = []
        for unit, names in self.units.items():
            source = self.hold(unit)
            for name in names:
                if name in self.found.tensors or not wanted(name, source.tensor(name)):
                    continue
                if not self.number(name, source, most):
                    for each in added:
                        self.found.drop(each)
                    return
                added.append(name)

    def hold(self, unit: str) -> Source:
        """The numbers of a unit, and those that the page has already."""
        source = self.trace.hold(self.units[unit])
        source.held.update(self.given)
        return source

    def number(self, name: str, source: Source, most: int | None = None) -> bool:
        """Take in a tensor of the run: as steps from its formula where these are shorter and the operands are there."""
        found, formula, tensor = self.found, self.formulas[name], source.tensor(name)
        if name in found.unsure:
            return True
        plain = packed_bytes(lossless(tensor))
        held = ({*found.tensors, *found.weights} - {*found.rows}).issuperset(
            operand.name for operand in formula.rule.operands.values()
        )
        work = work_of(formula, tensor, source) if held else 0
        steps = derived(formula, tensor, source) if held and self.work + work <= MOST_WORK else None
        size = plain if steps is None else packed_bytes(steps.steps) + UNSURE_BYTES * len(steps.unsure["at"])
        if steps is None or size >= plain:
            fits = name in found.tensors or found.add(found.tensors, name, tensor, most)
        elif fits := found.room(name, size, most):
            found.tensors[name], found.unsure[name] = steps
            self.work += work
        if fits:
            self.given[name] = tensor
        return fits

    def weights_of(self, name: str) -> list[str]:
        operands = (operand.name for operand in self.formulas[name].rule.operands.values())
        return [operand for operand in operands if operand in self.trace.parameters]

    def weight(self, name: str, weight: Tensor, most: int | None) -> bool:
        """Take in a weight; of a table with a row for each word the rows that the run uses."""
        found = self.found
        if name in found.weights:
            return True
        return self.rows(name, weight) if name.endswith(TABLE) else found.add(found.weights, name, weight, most)

    def rows(self, name: str, table: Tensor) -> bool:
        """Take in the rows of a table that the run uses."""
        return self.found.add_rows(name, table, rows_used(self.found.tensors, len(table)))
