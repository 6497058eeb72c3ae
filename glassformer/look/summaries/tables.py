"""Whole tensors of one sentence as tables, and the learned numbers that a step uses.

A square has queries as rows and keys as columns. What is too large is cut, and the table says how much was left out.

D channels that come in · H heads · C channels of a head
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from torch import Tensor

from glassformer.base.lines import label
from glassformer.look.formulas.explanation import Limits
from glassformer.look.formulas.named import Operand, Source, read_axes
from glassformer.look.formulas.rules.evaluator import Formula
from glassformer.look.formulas.rules.sums import DotProduct, LookUp
from glassformer.look.trace.cell import word_at
from glassformer.look.trace.tensors import Tensors

WORDS = ("token", "query", "key")  # The axes that count the words of a sentence

LISTED = ("vocabulary", "label", "candidate")  # The axes that are rows of a table; places are columns

ONE_NUMBER = {"logits": "score", "log_probabilities": "logarithm", "probabilities": "probability"}
"""The heading of a number that is that of no label, by the last word of its tensor's name."""

PLURALS = {"vocabulary": "tokens", "token": "words", "query": "words", "key": "words"}

CHOSEN = "←"  # Marks the row of the chosen word


@dataclass(frozen=True)
class Table:
    """Labelled rows of numbers; `marks` are written after a row, `more` is what was left out."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    marks: tuple[str, ...] = ()
    more: str = ""


def hidden_words(trace: Tensors, side: str, sentence: int, count: int) -> list[bool]:
    masked = trace.facts.get(f"{side}.masked_words")
    return [masked is not None and bool(masked[sentence, place]) for place in range(count)]


def shown_words(trace: Tensors, side: str, sentence: int, count: int) -> list[str]:
    """A sentence's words: a hidden one in brackets, by its answer if known; a repeated one as `the@2`."""
    known = trace.words.sentence(side, sentence)
    answers = (trace.words.answers or {}) if side == "inputs" else {}
    hidden = hidden_words(trace, side, sentence, count)
    words = [
        f"({answers.get((sentence, place), word_at(known, place))})" if hidden[place] else word_at(known, place)
        for place in range(count)
    ]
    times = Counter(words)
    return [label(word) + (f"@{place}" if times[word] > 1 else "") for place, word in enumerate(words)]


@dataclass(frozen=True)
class Focus:
    """One word of one sentence of a trace, and how much of its surroundings is shown."""

    trace: Tensors
    sentence: int
    word: int
    limits: Limits

    def words(self, side: str, count: int) -> list[str]:
        return shown_words(self.trace, side, self.sentence, count)

    def first_words(self, count: int) -> list[int]:
        """The places of the first words, and of the chosen one in any case."""
        places = list(range(min(count, self.limits.words)))
        return places if self.word in places or self.word >= count else [*places[:-1], self.word]

    def places(self) -> list[int]:
        """The steps of the axis `place` that belong to the chosen word; all of this sentence where it has none."""
        chosen = self.trace.chosen_tokens
        of_word = [step for step, at in enumerate(chosen) if at == (self.sentence, self.word)]
        of_sentence = [step for step, (sentence, _) in enumerate(chosen) if sentence == self.sentence]
        return (of_word or of_sentence or [0])[: self.limits.answers]

    def worked_out(self) -> int:
        """For how many tokens of the vocabulary a place's numbers are worked out: fewer where there are many places."""
        places = len(self.places())
        return self.limits.cells if places == 1 else min(self.limits.answers, max(self.limits.cells // places, 1))

    def place_name(self, place: int) -> str:
        """The word at a step of the axis `place`; what follows it, in a model that continues a text."""
        if place >= len(self.trace.chosen_tokens):
            return f"place {place}"
        sentence, token = self.trace.chosen_tokens[place]
        side = self.trace.statement.formulas["head.logits"].tokens
        word = shown_words(self.trace, side, sentence, self.trace.facts[f"{side}.positions"].shape[1])[token]
        return f"after {word}" if self.trace.config.output_stack.causal else word

    def likeliest(self, numbers: Tensor, most: int | None = None) -> list[int]:
        """All tokens of a small vocabulary; of a large one those with the largest numbers. `numbers` is [V]."""
        most = self.limits.cells if most is None else most
        if len(numbers) <= most:
            return list(range(len(numbers)))
        return [int(index) for index in numbers.topk(most).indices]

    def tables(self, name: str, axes: tuple[str, ...], tensor: Tensor) -> Iterator[Table]:
        """The tensor for the chosen sentence, a table for each head; none of a tensor with fewer than two axes."""
        if len(axes) < 2 or not tensor.numel():
            return
        *outer, down, across = axes
        batch = f"sentence {self.sentence}" if axes[0] == "sentence" and tensor.shape[0] > 1 else ""
        if down == "sentence":
            tensor = tensor[self.sentence : self.sentence + 1] if tensor.shape[0] > self.sentence else tensor[:1]
        elif outer[:1] == ["sentence"]:
            tensor, outer = tensor[min(self.sentence, tensor.shape[0] - 1)], outer[1:]
        matrices = list(tensor) if outer else [tensor]
        for head, matrix in enumerate(matrices[: self.limits.heads]):
            left = len(matrices) - self.limits.heads if head == self.limits.heads - 1 else 0
            caption = ", ".join(part for part in (batch, self.caption(name, axes, outer, head)) if part)
            yield self.table(name, (down, across), matrix, caption, f"{left} more {outer[0]}s" if left > 0 else "")

    def caption(self, name: str, axes: tuple[str, ...], outer: Sequence[str], head: int) -> str:
        if outer:
            found = "all heads" if name.endswith(".may_look") else f"{outer[0].replace('_', '-')} {head}"
        else:
            hides = axes[-2] == "place" and self.trace.facts.get("inputs.masked_words") is not None
            found = "the hidden words" if hides else "all words" if axes[-2] in WORDS else ""
        rows = "rows look at columns" if axes[-2:] == ("query", "key") else ""
        return ", ".join(part for part in (found, rows) if part)

    def table(self, name: str, axes: tuple[str, str], matrix: Tensor, caption: str, more: str) -> Table:
        """One matrix; the vocabulary as rows, the places as columns."""
        down, across = axes
        if across in LISTED and down not in LISTED:
            down, across, matrix = across, down, matrix.T
        steps_across = self.steps(across, matrix[0])
        steps_down = self.steps(down, matrix[:, steps_across[0]])
        if down in LISTED and len(matrix) > self.limits.cells:  # what is likely at any of the places
            most = self.limits.answers
            likely = chain.from_iterable(self.likeliest(matrix[:, step])[:most] for step in steps_across)
            steps_down = list(dict.fromkeys(likely))[: 2 * most]
        heads_of_rows = self.names(name, down, len(matrix), steps_down)
        headings = self.names(name, across, matrix.shape[1], steps_across)
        numbers = matrix[steps_down][:, steps_across].double().tolist()
        counts = [(len(matrix) - len(steps_down), down), (matrix.shape[1] - len(steps_across), across)]
        left = [f"{count:,} more {PLURALS.get(axis, f'{axis}s')}" for count, axis in counts if count]
        return Table(
            caption,
            tuple(headings),
            tuple((head, tuple(line)) for head, line in zip(heads_of_rows, numbers, strict=True)),
            tuple(CHOSEN if down in WORDS and step == self.word and len(matrix) > 1 else "" for step in steps_down),
            ", ".join([*left, *([more] if more else [])]),
        )

    def steps(self, axis: str, numbers: Tensor) -> list[int]:
        if axis in WORDS:
            return self.first_words(len(numbers))
        if axis in LISTED:
            return self.likeliest(numbers)
        return list(range(min(len(numbers), self.limits.words if axis == "place" else self.limits.cells)))

    def names(self, name: str, axis: str, count: int, steps: Sequence[int]) -> list[str]:
        """The names of these steps of an axis with so many."""
        formula = self.trace.statement.formulas[name]
        if axis == "query" and count == 1 and name.endswith(".may_look"):
            return ["every word"]
        if axis in WORDS:
            words = self.words(formula.keys if axis == "key" else formula.tokens, count)
            return [words[step] for step in steps]
        if axis == "label" and count == 1:  # one score, which is that of no label
            return [ONE_NUMBER.get(name.rpartition(".")[2], "")]
        if axis in LISTED:
            listed = self.trace.words.listed(axis)
            return [word_at(listed, step) for step in steps]
        if axis == "place":
            return [self.place_name(step) for step in steps]
        return [f"sentence {self.sentence}"] if axis == "sentence" else [str(step) for step in steps]


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
    """`6 × (4 × 2) = 48` and `input × (channel × head)`: what comes in is first, as the slides draw it."""
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
