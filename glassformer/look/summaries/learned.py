"""The learned numbers that a step uses: how many there are, how they are laid out, and who shares them.

D channels that come in · H heads · C channels of a head
"""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from glassformer.look.formulas.explanation import Limits
from glassformer.look.formulas.named import Operand, Source, read_axes
from glassformer.look.formulas.rules.evaluator import Formula
from glassformer.look.formulas.rules.sums import DotProduct, LookUp
from glassformer.look.summaries.tables import Table
from glassformer.look.trace.cell import word_at
from glassformer.look.trace.tensors import Tensors


@dataclass(frozen=True)
class Learned:
    """One weight: `counted` is `6 × (4 × 2) = 48`, `axes` is `input × (channel × head)`. `shared` says who uses the
    same numbers. `table` is the matrix as the slides draw it, a row for each number that comes in; a large one has
    none.
    """

    name: str
    counted: str
    axes: str
    count: int
    shared: str
    table: Table | None = None


def learned(trace: Tensors, formula: Formula, held: Source, limits: Limits) -> Iterator[Learned]:
    for operand in formula.rule.operands.values():
        if operand.name.startswith("parameters."):
            tensor = held.tensor(operand.name)
            counted, axes = laid_out(operand, tensor)
            yield Learned(
                operand.name,
                counted,
                axes,
                tensor.numel(),
                sharing(trace, formula, operand),
                matrix(trace, operand, tensor, limits) if isinstance(formula.rule, DotProduct) else None,
            )


def laid_out(operand: Operand, tensor: Tensor) -> tuple[str, str]:
    """`6 × (4 × 2) = 48` and `input × (channel × head)`: what comes in stands first, as the slides draw it."""
    sizes, axes = [], []
    for step, size in zip(read_axes(operand.axes), tensor.shape, strict=True):
        if step.kind == "group":
            outer, inner = step.names
            both = (f"{size // step.count} × {step.count}", f"{inner} × {outer}")
            matrix = tensor.dim() > 1
            sizes.append(f"({both[0]})" if matrix else both[0])
            axes.append(f"({both[1]})" if matrix else both[1])
        else:
            sizes.append(str(size))
            axes.append(step.names[0])
    if axes[-1] == "input":
        sizes, axes = sizes[::-1], axes[::-1]
    total = f" = {tensor.numel():,}" if len(sizes) > 1 or "×" in sizes[0] else ""
    return " × ".join(sizes) + total, " × ".join(axes)


def sharing(trace: Tensors, formula: Formula, operand: Operand) -> str:
    """Who uses these numbers: the slides expand a weight along the batch."""
    if isinstance(formula.rule, LookUp):
        used = "one table for all words of the batch"
    else:
        positions = trace.facts.get(f"{formula.tokens}.positions")
        texts = max(len(trace.words.inputs), 0 if positions is None else positions.shape[0])
        batch = f"{texts} sentences" if texts > 1 else "1 sentence"
        used = f"shared by all words of the batch ({batch}): expanded, not copied"
    again = operand.name.endswith("embed.word.weight") and not isinstance(formula.rule, LookUp)
    return f"the table of word vectors, used again; {used}" if again else used


def matrix(trace: Tensors, operand: Operand, tensor: Tensor, limits: Limits) -> Table | None:
    """The matrix with a row for each number that comes in, [D, H · C]; none where it is large."""
    if tensor.dim() != 2 or tensor.shape[1] > limits.cells or tensor.shape[0] > limits.cells * limits.heads:
        return None
    rows = read_axes(operand.axes)[0]
    if rows.kind == "group":
        size = tensor.shape[0] // rows.count
        header = [f"h{step // size} c{step % size}" for step in range(len(tensor))]  # head 0, channel 0 …
    elif rows.names[0] in ("vocabulary", "label"):
        header = [word_at(trace.words.listed(rows.names[0]), step) for step in range(len(tensor))]
    else:
        header = [str(step) for step in range(len(tensor))]
    caption = "a row for each channel that comes in" + ("; h0 c1 = head 0, channel 1" if rows.kind == "group" else "")
    lines = ((str(step), tuple(line)) for step, line in enumerate(tensor.T.double().tolist()))
    return Table(caption, tuple(header), tuple(lines))
