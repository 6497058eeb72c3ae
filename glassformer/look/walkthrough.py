"""A walk-through of a run: every step in the order of the slides, with this run's own numbers.

The steps are data; `render.py` writes them as lines. Of what is too large to write out a part is shown, with how much
was left out and what it sums to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from torch import Tensor

from glassformer.config import BlockConfig
from glassformer.look.cell import word_at
from glassformer.look.explanation import Explanation, Limits
from glassformer.look.mix import Mixing, mixing
from glassformer.look.named import Source, axis_names
from glassformer.look.rules.evaluator import Formula
from glassformer.look.rules.notation import Title
from glassformer.look.rules.sums import Add, WeightedSum
from glassformer.look.trace import Trace

Note = tuple[str, str]
"""A correction: its number and its sentence."""

NotesOf = Callable[[str], tuple[Note, ...]]
"""The corrections that belong to a tensor, by its name."""


@dataclass(frozen=True)
class Table:
    """Labelled rows of numbers; `marks` are written behind a row, `more` is what was left out."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    marks: tuple[str, ...] = ()
    more: str = ""


@dataclass(frozen=True)
class Step:
    """One step of the walk-through. `extra`: the slides do not have it. `notes`: corrections with their numbers."""

    title: str
    name: str = ""
    formula: str = ""
    extra: bool = False
    tables: tuple[Table, ...] = ()
    cells: tuple[Explanation, ...] = ()
    mixings: tuple[Mixing, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


TITLES: Mapping[str, Title] = {
    "word": Title("Each word becomes a vector"),
    "position": Title("Where each word stands"),
    "segment": Title("Which segment each word belongs to", extra=True),
    "relative_bias": Title("A number for each distance", extra=True),
    "query": Title("Queries: what each word looks for"),
    "key": Title("Keys: what each word offers"),
    "value": Title("Values: what each word gives"),
    "query_rotated": Title("Queries turned by their position", extra=True),
    "key_rotated": Title("Keys turned by their position", extra=True),
    "scores": Title("Scores: query times key, one after the other"),
    "scaled": Title("Scores divided by the root of the query size", extra=True),
    "biased": Title("The bias of the distance is added", extra=True),
    "may_look": Title("Who may look at whom"),
    "weights": Title("Softmax: scores become weights"),
    "mixed": Title("Weights times values, word after word"),
    "merged": Title("The heads side by side"),
    "output": Title("Back to the width of the model"),
    "residual": Title("What came in is added back"),
    "gate": Title("The gate of the feed-forward network", extra=True),
    "hidden": Title("The feed-forward network widens"),
    "head.hidden": Title("A layer of the head's own", extra=True),
    "activated": Title("The activation function between the two layers"),
    "head.activated": Title("The activation function between the two layers", extra=True),
    "first": Title("The first token represents the sentence", extra=True),
    "mean": Title("The mean of the states represents the sentence", extra=True),
    "pooled": Title("Its vector through a layer of its own", extra=True),
    "logits": Title("A score for each token of the vocabulary"),
    "sentence_head.logits": Title("A score for each label", extra=True),
    "log_probabilities": Title("Logarithms of the probabilities", extra=True),
    "probabilities": Title("Softmax: scores become probabilities"),
    "loss": Title("The mean of −log probability of the right tokens", extra=True),
}

LEFT_OUT = "The slides show the first three of these steps and leave out the rest; here are all."

UNTABLED = ("hidden", "activated", "gate", "mixed")

PARTS = {
    "self_attention": "Self-attention",
    "cross_attention": "Attention to the other text",
    "feed_forward": "Feed-forward",
}


def title_of(formula: Formula) -> Title:
    """The title of a tensor: by its whole name, by its rule, or by the last word of its name."""
    last = formula.name.rpartition(".")[2]
    if last == "sum" and isinstance(formula.rule, Add):
        *others, final = formula.rule.terms
        added = f"{', '.join(others)} and {final} are added".capitalize()
        return Title(added if others else "The word alone: no position is added")
    return TITLES.get(formula.name) or formula.rule.title or TITLES.get(last, Title(last))


def no_notes(name: str) -> tuple[Note, ...]:
    """No corrections."""
    return ()


def walkthrough(
    trace: Trace, *, sentence: int = 0, word: int = 0, notes: NotesOf = no_notes, limits: Limits | None = None
) -> Iterator[Step]:
    """The steps for one word of one sentence, each cell of its row worked out.

    `notes` gives the corrections that belong to a tensor's name, each as its number (`C-2`) and a sentence: it appears
    once, at the first step it belongs to. Large models are cut down to `limits`. Yields one step after the other, so
    that a large model can be shown while it is computed.
    """
    return _Walkthrough(trace, sentence, word, notes, limits or Limits.fitting(trace.config)).steps()


@dataclass
class _Walkthrough:
    """Goes through the formulas in their order and works out the row of one word."""

    trace: Trace
    sentence: int
    word: int
    notes: NotesOf
    limits: Limits
    noted: set[str] = field(default_factory=set)

    def steps(self) -> Iterator[Step]:
        yield self.words_and_masks()
        statement = self.trace.statement
        units = list(dict.fromkeys(statement.unit(name) for name in statement.formulas))
        for unit in units:
            blocks = [other for other in units if other.startswith(f"{unit.partition('.')[0]}.blocks")]
            if unit in blocks[self.limits.blocks :]:
                if unit == blocks[self.limits.blocks]:
                    yield Step(self.more_blocks(blocks))
                continue
            names = [name for name in statement.formulas if statement.unit(name) == unit]
            held = self.trace.hold(names)
            for name in names:
                yield self.step(name, held)
        if "head.probabilities" in statement.formulas:
            yield self.answers()

    def more_blocks(self, blocks: Sequence[str]) -> str:
        """How many blocks are left out, and whether they are like those that are shown."""
        first, *others = left = blocks[self.limits.blocks :]
        shown = [self.block(unit) for unit in blocks[: self.limits.blocks]]
        alike = all(self.block(unit) in shown for unit in left)
        kind = "of the same kind" if alike else "with settings of their own"
        return f"{len(left)} more block{'s' * bool(others)} {kind}, {first}" + (f" to {left[-1]}" if others else "")

    def block(self, unit: str) -> BlockConfig:
        """The settings of a block by its path."""
        side, _, index = unit.split(".")
        stack = self.trace.config.encoder if side == "encoder" else self.trace.config.decoder
        assert stack is not None
        return stack.blocks[int(index)]

    # ----------------------------------------------------------------- what a step shows

    def step(self, name: str, held: Source) -> Step:
        formula = self.trace.statement.formulas[name]
        title = title_of(formula)
        axes = axis_names(formula.axes)
        tensor = held.tensor(name)
        cells, left = self.row(axes, tensor)
        mixed = isinstance(formula.rule, WeightedSum)
        heads = range(min(tensor.shape[1], self.limits.heads)) if mixed else ()
        at = (name.rpartition(".")[0], held, self.sentence, self.word)
        mixings = tuple(mixing(self.trace, *at, head, self.limits) for head in heads)
        remarks = [LEFT_OUT] if mixed and self.as_in_the_slides(tensor, mixings) else []
        if left:
            remarks.append(f"{left} more cells of this row.")
        parts = [PARTS[step] for step in name.split(".") if step in PARTS]
        return Step(
            title=". ".join([*parts[:1], title.text]),
            name=name,
            formula=formula.in_words(),
            # The slides draw attention of a text to itself, and one residual.
            extra=title.extra or "cross_attention" in name or name.endswith("feed_forward.residual"),
            tables=tuple(self.tables(name, axes, tensor)),
            cells=() if mixed else tuple(self.trace.explain_cell(name, cell, held) for cell in cells),
            mixings=mixings,
            remarks=tuple(remarks),
            notes=self.new_notes(name),
        )

    def as_in_the_slides(self, mixed: Tensor, mixings: Sequence[Mixing]) -> bool:
        """Whether this is the slides' own model with more than their three steps, none of them left out."""
        whole = len(mixings) == mixed.shape[1] and not any(mixing.more for mixing in mixings)
        return self.trace.config.family == "slides" and whole and all(len(mixing.moves) > 3 for mixing in mixings)

    def new_notes(self, name: str) -> tuple[Note, ...]:
        """Corrections that belong to this tensor and have not been shown yet."""
        fresh = tuple(note for note in self.notes(name) if note[0] not in self.noted)
        self.noted.update(number for number, _ in fresh)
        return fresh

    # ----------------------------------------------------------------- cells

    def row(self, axes: tuple[str, ...], tensor: Tensor) -> tuple[list[dict[str, int]], int]:
        """The cells of the word's row; and how many were left out."""
        fixed = {"sentence": self.sentence, "token": self.word, "query": self.word, "place": 0}
        if "query" not in axes:
            fixed["key"] = self.word
        limits = {"head": self.limits.heads, "key_value_head": self.limits.heads, "key": self.limits.words}
        ways: list[range] = []
        whole = 1
        for axis, size in zip(axes, tensor.shape, strict=True):
            if axis in fixed:
                here = min(fixed[axis], size - 1)
                ways.append(range(here, here + 1))
            else:
                ways.append(range(min(size, limits.get(axis, self.limits.cells))))
                whole *= size
        cells = [dict(zip(axes, cell, strict=True)) for cell in product(*ways)] if tensor.numel() else []
        return cells, whole - len(cells) if cells else 0

    def tables(self, name: str, axes: tuple[str, ...], tensor: Tensor) -> Iterator[Table]:
        """The vectors of all words, where the tensor has one for each."""
        counted = [axis for axis in axes if axis in ("token", "query", "key")]
        if len(counted) != 1 or axes[-1] != "channel" or name.rpartition(".")[2] in UNTABLED:
            return
        sides = self.trace.described(name, tensor)
        words = self.words(sides.keys if counted == ["key"] else sides.tokens, tensor.shape[axes.index(counted[0])])
        sentence = tensor[min(self.sentence, tensor.shape[0] - 1)]
        heads = sentence if sentence.dim() == 3 else sentence[None]
        shown = words[: self.limits.words]
        for head, matrix in enumerate(heads[: self.limits.heads].tolist()):
            caption = f"head {head}" if sentence.dim() == 3 else "all words"
            rows = tuple((word, tuple(line[: self.limits.cells])) for word, line in zip(shown, matrix, strict=False))
            header = tuple(str(channel) for channel in range(min(len(matrix[0]), self.limits.cells)))
            yield Table(caption, header, rows, more=self.left_out(len(words), len(matrix[0]), heads.shape[0], head))

    def left_out(self, words: int, channels: int, heads: int, head: int) -> str:
        parts = [(words - self.limits.words, "words"), (channels - self.limits.cells, "channels")]
        if head == self.limits.heads - 1:
            parts.append((heads - self.limits.heads, "heads"))
        return ", ".join(f"{count} more {what}" for count, what in parts if count > 0)

    def words(self, side: str, count: int) -> list[str]:
        """The words of the sentence; their places where they have no names."""
        known = list(self.trace.words.sentence(side, self.sentence))
        return [word_at(known, place) for place in range(count)]

    def words_and_masks(self) -> Step:
        tables = []
        for side in ("inputs", "decoder_inputs"):
            positions = self.trace.facts.get(f"{side}.positions")
            if positions is None:
                continue
            count = positions.shape[1]
            masked_words, real = self.trace.facts.get(f"{side}.masked_words"), self.trace.facts.get(f"{side}.real")
            ids = self.trace.facts.get(f"{side}.ids")
            rows, marks = [], []
            for place, word in enumerate(self.words(side, count)[: self.limits.words]):
                at = (self.sentence, place)
                rows.append((word, (float(place), *((float(ids[at]),) if ids is not None else ()))))
                is_masked = masked_words is not None and bool(masked_words[at])
                marks.append("masked" if is_masked else "padding" if real is not None and not real[at] else "")
            header = ("place", "id") if ids is not None else ("place",)
            more = f"{count - self.limits.words} more words" if count > self.limits.words else ""
            tables.append(Table(side, header, tuple(rows), tuple(marks), more))
        return Step("The words, and which of them are masked", tables=tuple(tables))

    # ----------------------------------------------------------------- answers

    def answers(self) -> Step:
        held = self.trace.hold(["head.probabilities", "head.logits"])
        probabilities = held.tensor("head.probabilities")
        if probabilities.dim() == 3:
            probabilities = probabilities[self.sentence]
        tables = []
        for place in range(min(probabilities.shape[0], self.limits.words)):
            values, ids = probabilities[place].topk(min(self.limits.answers, probabilities.shape[1]))
            found = zip(ids.tolist(), values.tolist(), strict=True)
            rows = tuple((word_at(self.trace.words.vocabulary, index), (value,)) for index, value in found)
            tables.append(Table(self.place_name(place), ("probability",), rows))
        more = probabilities.shape[0] - len(tables)
        remarks = (f"{more} more places.",) if more else ()
        return Step("The model's guesses", "head.probabilities", tables=tuple(tables), remarks=remarks)

    def place_name(self, place: int) -> str:
        if self.trace.scored_at is None:
            return f"place {place}"
        side = self.trace.statement.formulas["head.logits"].tokens
        sentence, token = self.trace.chosen_tokens[place]
        known = self.trace.words.sentence(side, sentence)
        at = f"{known[token] if token < len(known) else 'token'} at place {token} of sentence {sentence}"
        return f"after {at}" if self.trace.config.output_stack.causal else at
