"""A walk-through of a run: every step in the order of the slides, with this run's own numbers.

The steps are data; the command line writes them as lines. Of what is too large to write out a part is shown, with how
much was left out and what it sums to.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from torch import Tensor

from glassformer.config import BlockConfig, ModelConfig
from glassformer.look.formulas.explanation import Explanation, Limits
from glassformer.look.formulas.named import Source, axis_names
from glassformer.look.formulas.rules.masks import FillSet
from glassformer.look.formulas.rules.notation import short
from glassformer.look.formulas.rules.sums import WeightedSum
from glassformer.look.formulas.titles import PARTS, title_of
from glassformer.look.summaries.mix import Mixing, mixing
from glassformer.look.summaries.tables import LISTED, Focus, Learned, Table, hidden_words, learned, shown_words
from glassformer.look.trace.cell import word_at
from glassformer.look.trace.trace import Trace

Note = tuple[str, str, str]
"""A correction: its number, its sentence, and the documents it corrects, empty for the one that is followed."""

NotesOf = Callable[[str], tuple[Note, ...]]  # The corrections that belong to a tensor, by its name


@dataclass(frozen=True)
class Step:
    """One step: the shape of its tensor (`axes`, `sizes`), the weights it uses (`learned`), the chosen word's numbers
    worked out (`cells`, `mixings`), the whole tensor (`tables`). `extra`: not in the slides.
    """

    title: str
    name: str = ""
    formula: str = ""
    axes: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    extra: bool = False
    learned: tuple[Learned, ...] = ()
    tables: tuple[Table, ...] = ()
    cells: tuple[Explanation, ...] = ()
    mixings: tuple[Mixing, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


LEFT_OUT = "The slides show the first three of these steps and leave out the rest; here are all."
GUESSED = "Words in brackets are hidden; the model's best guess is shown. The model itself is given [MASK]."
TEXTS = {"inputs": "source", "decoder_inputs": "target"}
BRACKETS = "In brackets: hidden words."
SHIFTED = (
    "The decoder reads the target shifted by one{}: at each place it predicts the next word, at the last one the end."
)
TRIANGLE = "the triangle that is added to the scaled scores, rows look at columns"
OF_SUCH = "Where the documents are imprecise about models of this kind"
SEEN = "seen: 1 = the model is given the word, 0 = the word is hidden, or padding."


def followed(config: ModelConfig) -> str:
    """The document whose order the walk-through follows: the guide explains a translator, the slides an encoder."""
    return "slides" if config.encoder is None or config.decoder is None else "guide"


def kinds_of(trace: Trace) -> list[str]:
    """What kind of model was traced, as the places of corrections name it: its stacks, its family, its task."""
    stacks = {"encoder": trace.config.encoder, "decoder": trace.config.decoder}
    sides = "_".join(side for side, stack in stacks.items() if stack is not None)
    task = "" if trace.origin is None else trace.origin.task
    return [f"task.{task}", f"family.{trace.config.family}", f"stacks.{sides}"]


def no_notes(name: str) -> tuple[Note, ...]:
    return ()


def walkthrough(
    trace: Trace, *, sentence: int = 0, word: int = 0, notes: NotesOf = no_notes, limits: Limits | None = None
) -> Iterator[Step]:
    """The steps for one word of one sentence, each cell of its row worked out. `notes` gives the corrections that
    belong to a tensor's name, or to a kind of model, each as its number (`C-2`), a sentence, and the documents it
    corrects: it appears once, at the first step it belongs to. Large models are cut down to `limits`. Yields one step
    after the other, so that a large model can be shown while it is computed.
    """
    return _Walkthrough(trace, sentence, word, notes, limits or Limits.fitting(trace.config)).steps()


def in_order(names: Sequence[str]) -> list[str]:
    """The tensors of a unit in the order of the slides: values are only made once there are weights."""
    order = [name for name in names if not name.endswith("_attention.value")]
    for name in names:
        if name not in order:
            order.insert(order.index(f"{name.removesuffix('value')}weights") + 1, name)
    return order


@dataclass
class _Walkthrough:
    """Goes through the formulas in their order and works out the row of one word."""

    trace: Trace
    sentence: int
    word: int
    notes: NotesOf
    limits: Limits
    noted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.focus = Focus(self.trace, self.sentence, self.word, self.limits)

    def steps(self) -> Iterator[Step]:
        yield self.words_and_masks()
        statement = self.trace.statement
        units = list(dict.fromkeys(statement.unit(name) for name in statement.formulas))
        for unit in units:
            blocks = [other for other in units if other.startswith(f"{unit.partition('.')[0]}.blocks")]
            if unit in blocks[self.limits.blocks :]:
                if unit == blocks[self.limits.blocks]:
                    first, *others = left = blocks[self.limits.blocks :]
                    shown = [self.block(unit) for unit in blocks[: self.limits.blocks]]
                    alike = all(self.block(unit) in shown for unit in left)
                    kind = "of the same kind" if alike else "with settings of their own"
                    yield Step(
                        f"{len(left)} more block{'s' * bool(others)} {kind}, {first}"
                        + (f" to {left[-1]}" if others else "")
                    )
                continue
            names = in_order([name for name in statement.formulas if statement.unit(name) == unit])
            held = self.trace.hold(names)
            for name in names:
                yield self.step(name, held)
        if "head.probabilities" in statement.formulas:
            yield self.answers()
            yield from self.expected()
        if of_such := tuple(note for kind in kinds_of(self.trace) for note in self.new_notes(kind)):
            yield Step(OF_SUCH, notes=of_such)

    def block(self, unit: str) -> BlockConfig:
        side, _, index = unit.split(".")
        stack = self.trace.config.encoder if side == "encoder" else self.trace.config.decoder
        assert stack is not None
        return stack.blocks[int(index)]

    def stack_of(self, name: str) -> list[str]:
        """Which of two stacks a tensor belongs to; nothing where there is one."""
        side = name.partition(".")[0]
        return [side.capitalize()] if self.two_stacks and side in ("encoder", "decoder") else []

    @property
    def two_stacks(self) -> bool:
        """Whether a decoder writes while it looks at what an encoder has read."""
        return followed(self.trace.config) == "guide"

    def step(self, name: str, held: Source) -> Step:
        formula = self.trace.statement.formulas[name]
        title = title_of(formula)
        axes = axis_names(formula.axes)
        tensor = held.tensor(name)
        cells, left = self.row(axes, tensor, self.word_of(name))
        mixed = isinstance(formula.rule, WeightedSum)
        heads = range(min(tensor.shape[1], self.limits.heads)) if mixed else ()
        at = (name.rpartition(".")[0], held, self.sentence, min(self.word, tensor.shape[-2] - 1) if mixed else 0)
        mixings = tuple(mixing(self.trace, *at, head, self.limits) for head in heads)
        remarks = [LEFT_OUT] if mixed and self.as_in_the_slides(tensor, mixings) else []
        if left:
            remarks.append(f"{left:,} more numbers of this kind are not shown.")
        parts = [PARTS[step] for step in name.split(".") if step in PARTS]
        read = [operand.name for operand in formula.rule.operands.values()]
        found = [name for name in read if name.startswith("encoder.")] if formula.name.startswith("decoder.") else []
        return Step(
            title=". ".join([*self.stack_of(name), *parts[:1], title.text]),
            name=name,
            formula=formula.in_words() + "".join(f", where {short(name)} is {name}" for name in found),
            axes=axes,
            sizes=tuple(tensor.shape),
            # The slides draw one residual.
            extra=not self.two_stacks and (title.extra or name.endswith("feed_forward.residual")),
            learned=tuple(learned(self.trace, formula, held, self.limits)),
            tables=(*self.triangle(name, held), *self.focus.tables(name, axes, tensor)),
            cells=() if mixed else tuple(self.trace.explain_cell(name, cell, held) for cell in cells),
            mixings=mixings,
            remarks=tuple(remarks),
            notes=self.new_notes(name),
        )

    def triangle(self, name: str, held: Source) -> list[Table]:
        """As the guide masks: the decoder's scaled scores plus a triangle of 0 and −∞."""
        rule = self.trace.statement.formulas[name].rule
        if self.stack_of(name) != ["Decoder"] or not name.endswith("self_attention.masked"):
            return []
        if not isinstance(rule, FillSet) or rule.fill != "-inf":
            return []  # another number is set or added
        looks = f"{name.rpartition('.')[0]}.may_look"
        axes = axis_names(self.trace.statement.formulas[looks].axes)
        added = held.tensor(looks).double().log()  # 0 where one may look, else −∞
        return [replace(table, caption=TRIANGLE) for table in self.focus.tables(looks, axes, added)]

    def as_in_the_slides(self, mixed: Tensor, mixings: Sequence[Mixing]) -> bool:
        """Whether this is the slides' own model with more than their three steps, none of them left out."""
        whole = len(mixings) == mixed.shape[1] and not any(mixing.more for mixing in mixings)
        return self.trace.config.family == "slides" and whole and all(len(mixing.moves) > 3 for mixing in mixings)

    def new_notes(self, name: str) -> tuple[Note, ...]:
        """Corrections that belong to this tensor and have not been shown yet."""
        fresh = tuple(note for note in self.notes(name) if note[0] not in self.noted)
        self.noted.update(number for number, *_ in fresh)
        return fresh

    def word_of(self, name: str) -> int:
        """The word whose row is worked out: in a CRF one that is labelled, which follows another one where it can."""
        formula = self.trace.statement.formulas[name]
        if not name.startswith("token_head.crf."):
            return self.word
        labelled = self.trace.facts[f"{formula.tokens}.labelled"][self.sentence].nonzero()[:, 0].tolist()
        return self.word if self.word in labelled or not labelled else labelled[:2][-1]

    def row(self, axes: tuple[str, ...], tensor: Tensor, word: int) -> tuple[list[dict[str, int]], int]:
        """The cells of a word's row, or of every hidden word of its sentence; and how many were left out."""
        if not tensor.numel():
            return [], 0
        fixed = {"sentence": self.sentence, "token": word, "query": word}
        if "query" not in axes:
            fixed["key"] = word
        limits = {"head": self.limits.heads, "key_value_head": self.limits.heads}
        cells: list[dict[str, int]] = []
        whole = 0
        for place in self.focus.places() if "place" in axes else [0]:
            ways: list[Sequence[int]] = []
            count = 1
            for axis, size in zip(axes, tensor.shape, strict=True):
                if axis in fixed or axis == "place":
                    ways.append([min(place if axis == "place" else fixed[axis], size - 1)])
                    continue
                count *= size
                if axis == "key":
                    ways.append(self.focus.first_words(size))
                elif axis in LISTED:
                    numbers = tensor[tuple(way[0] for way in ways)].reshape(size, -1)[:, 0]
                    ways.append(self.focus.likeliest(numbers, self.focus.worked_out()))
                else:
                    ways.append(range(min(size, limits.get(axis, self.limits.cells))))
            cells += [dict(zip(axes, cell, strict=True)) for cell in product(*ways)]
            whole += count
        return cells, whole - len(cells)

    def words_and_masks(self) -> Step:
        tables, hidden = [], False
        for side in ("inputs", "decoder_inputs"):
            positions = self.trace.facts.get(f"{side}.positions")
            if positions is None:
                continue
            ids, count = self.trace.facts.get(f"{side}.ids"), positions.shape[1]
            sentences = positions.shape[0] if ids is None else ids.shape[0]
            shown = list(range(min(sentences, self.limits.sentences)))
            shown = shown if self.sentence in shown else [*shown[:-1], self.sentence]
            for sentence in shown:
                which = f", sentence {sentence}" if sentences > 1 else ""
                text = f" ({TEXTS[side]})" if self.two_stacks else ""
                caption = f"{side}{text}, {sentences} × {count} (sentence × word){which}"
                left = sentences - len(shown) if sentence == shown[-1] else 0
                tables.append(self.words_of(side, sentence, count, caption, left))
                hidden = hidden or any(hidden_words(self.trace, side, sentence, count))
        remarks = [SEEN, GUESSED if self.trace.words.answers else BRACKETS] if hidden else []
        if self.two_stacks:
            start = "".join(self.trace.words.sentence("decoder_inputs", self.sentence)[:1])
            remarks.append(SHIFTED.format(f", after {start}, with which it starts" if start else ""))
            title = "The words of the source, and of the target shifted by one"
        else:
            title = "The words, and which of them are hidden"
        return Step(title, tables=tuple(tables), remarks=tuple(remarks))

    def words_of(self, side: str, sentence: int, count: int, caption: str, left: int) -> Table:
        """The words of a sentence, each with its place, its number in the vocabulary, and whether it is seen."""
        hidden, real = hidden_words(self.trace, side, sentence, count), self.trace.facts.get(f"{side}.real")
        ids = self.trace.facts.get(f"{side}.ids")
        words = shown_words(self.trace, side, sentence, count)
        rows, marks = [], []
        for place in self.focus.first_words(count):
            at = (sentence, place)
            id_ = (float(ids[at]),) if ids is not None else ()
            mark = "hidden" if hidden[place] else "padding" if real is not None and not real[at] else ""
            rows.append((words[place], (float(place), *id_, float(not mark))))
            marks.append(mark)
        header: tuple[str, ...] = ("place", "id", "seen") if ids is not None else ("place", "seen")
        if self.two_stacks and not any(marks):  # no word is ever hidden, and here is no padding
            header, rows = header[:-1], [(word, numbers[:-1]) for word, numbers in rows]
        more = [f"{count - len(rows)} more words"] if count > len(rows) else []
        more += [f"{left} more sentences"] if left else []
        return Table(caption, header, tuple(rows), tuple(marks), ", ".join(more))

    def answers(self) -> Step:
        held = self.trace.hold(["head.probabilities", "head.logits"])
        probabilities = held.tensor("head.probabilities")
        side = self.trace.statement.formulas["head.probabilities"].tokens
        real, chosen, words = self.trace.facts.get(f"{side}.real"), self.trace.chosen_tokens, None
        if probabilities.dim() == 3:
            probabilities, chosen = probabilities[self.sentence], ()
            real = None if real is None else real[self.sentence]
            after = "after " if self.trace.config.output_stack.causal else ""
            words = [f"{after}{word}" for word in self.focus.words(side, len(probabilities))]
        tables = []
        places = [
            n for n in range(len(probabilities)) if real is None or real[chosen[n] if chosen else n]
        ]  # no padding
        for place in places[: self.limits.words]:
            values, ids = probabilities[place].topk(min(self.limits.answers, probabilities.shape[1]))
            found = zip(ids.tolist(), values.tolist(), strict=True)
            rows = tuple((word_at(self.trace.words.vocabulary, index), (value,)) for index, value in found)
            name = self.focus.place_name(place) if words is None else words[place]
            tables.append(Table(self.where(place, name), ("probability",), rows))
        more = len(places) - len(tables)
        remarks = (f"{more} more places.",) if more else ()
        title = "Argmax: the likeliest next word at each place" if self.two_stacks else "The model's guesses"
        return Step(title, "head.probabilities", tables=tuple(tables), remarks=remarks)

    def expected(self) -> Iterator[Step]:
        """The words that were hidden, if they were given: each of their tokens with its probability and rank."""
        probabilities = iter(self.trace["head.probabilities"])  # of [N, V]
        for word, ids in () if self.trace.origin is None else self.trace.origin.expected:
            rows = []
            for id_, of_place in zip(ids, probabilities, strict=False):
                rank = float((of_place > of_place[id_]).sum()) + 1
                rows.append((word_at(self.trace.words.vocabulary, id_), (float(of_place[id_]), rank)))
            title = f"What was hidden: {word}, {len(ids)} token{'s' * (len(ids) != 1)}"
            yield Step(title, tables=(Table("", ("probability", "rank"), tuple(rows)),))

    def where(self, place: int, name: str) -> str:
        if place >= len(self.trace.chosen_tokens):
            return name
        sentence, token = self.trace.chosen_tokens[place]
        several = len({at for at, _ in self.trace.chosen_tokens}) > 1
        return f"{name}, word {token}" + (f" of sentence {sentence}" if several else "")
