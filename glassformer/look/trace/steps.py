"""Interventions as a run reads them: words become indices, short names whole ones, and the words of the run change."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from glassformer.base.errors import ConfigError, UnknownNameError, did_you_mean
from glassformer.look.formulas.named import axis_names, read_cell
from glassformer.look.formulas.rules.evaluator import Formula
from glassformer.look.trace.asked import as_pattern, fitting, full_name, is_pattern
from glassformer.look.trace.cell import Axes, Words, find
from glassformer.look.trace.interventions import (
    Cell,
    ChangeWord,
    Intervention,
    MaskWord,
    Part,
    Replace,
    Visibility,
    index_of,
    indices_of,
)
from glassformer.text.tokenizer import MASK

KINDS = (ChangeWord, MaskWord, Visibility, Replace)
SIDES = ("inputs", "decoder_inputs")


def listed(steps: object) -> tuple[Intervention, ...]:
    """The interventions that were given, one or several; raises ConfigError for anything else."""
    given = (steps,) if isinstance(steps, (*KINDS, str)) or not isinstance(steps, Iterable) else tuple(steps)
    for step in given:
        if not isinstance(step, KINDS):
            do = "make one with glassformer.zero_head, forbid, ChangeWord …, and give several one after the other"
            raise ConfigError("an intervention is needed", got=repr(step)[:80], do=do)
    return given


@dataclass
class Reader:
    """Reads one intervention after the other with the words that the ones before it have left."""

    words: Words
    formulas: Mapping[str, Formula]
    places: tuple[tuple[int, int], ...]

    def read(self, step: Intervention) -> Intervention:
        """The intervention with indices and whole names; raises UnknownNameError for an unknown or ambiguous word."""
        if isinstance(step, Visibility):
            return self.visibility(step)
        if isinstance(step, Replace):
            name = self.name(step.where)
            return replace(step, where=name, cell=self.cell(step, name))
        if step.where not in SIDES:
            raise UnknownNameError(f"{step!r} touches no text of this run", do=did_you_mean(str(step.where), SIDES))
        sentence = index_of(step, step.sentence)
        token = self.place(step, step.token, step.where, sentence)
        if isinstance(step, ChangeWord):
            step = replace(step, token=token, id=self.token(step, step.id), sentence=sentence)
            self.rename(step.where, sentence, token, self.written(step, step.id), hides=False)
            return step
        mask_id = None if step.mask_id is None else self.token(step, step.mask_id)
        self.rename(step.where, sentence, token, MASK if mask_id is None else self.written(step, mask_id), hides=True)
        return replace(step, token=token, mask_id=mask_id, sentence=sentence)

    def visibility(self, step: Visibility) -> Visibility:
        name = self.name(step.where)
        formula = self.formulas.get(name)
        if formula is None:
            return step
        sentence = index_of(step, step.sentence)
        return replace(
            step,
            attention=name.rpartition(".")[0],
            query=self.place(step, step.query, formula.tokens, sentence),
            key=self.place(step, step.key, formula.keys, sentence),
            head=None if step.head is None else index_of(step, step.head),
            sentence=sentence,
        )

    def name(self, where: str) -> str:
        """The whole name of a tensor; a pattern, and a name that fits nothing, as it is."""
        if not isinstance(where, str):
            raise UnknownNameError("a tensor is asked for by its name", got=repr(where)[:80])
        if not fitting(where, self.formulas):
            return where
        return as_pattern(where, self.formulas) if is_pattern(where) else full_name(where, self.formulas)

    def cell(self, step: Replace, name: str) -> Cell:
        """A part of a tensor as indices, None for an axis that is taken whole."""
        asked: Part = read_cell(step.cell) if isinstance(step.cell, str) else step.cell
        if not isinstance(asked, Mapping):
            return indices_of(step, asked)
        names = fitting(name, self.formulas)
        if not names:
            return ()
        formula = self.formulas[names[0]]
        axes = axis_names(formula.axes)
        if any(self.formulas[other].axes != formula.axes for other in names) or not set(asked) <= set(axes):
            raise ConfigError(f"{name} has the axes {', '.join(axes)}", got=f"a cell with {', '.join(asked)}")
        sentence = index_of(step, whole(asked.get("sentence", 0)))
        described = Axes(name, axes, (0,) * len(axes), formula.tokens, formula.keys, self.places)
        found: list[int | None] = []
        for axis in axes:
            at = whole(asked[axis]) if axis in asked else None
            if isinstance(at, str):
                at = find(axis, at, 0, sentence, described, self.words)
            found.append(None if at is None else index_of(step, at))
        while found and found[-1] is None:
            found.pop()
        return tuple(found)

    def place(self, step: Intervention, asked: object, side: str, sentence: int) -> int:
        asked = whole(asked)
        if not isinstance(asked, str):
            return index_of(step, asked)
        return find("token", asked, 0, sentence, Axes(side, ("token",), (0,), tokens=side), self.words)

    def token(self, step: ChangeWord | MaskWord, asked: object) -> int:
        if not isinstance(asked, str):
            return index_of(step, asked)
        words = replace(self.words, vocabulary=self.words.vocabulary_of(step.where))
        # In quotes a number is a token, not an index.
        return find("vocabulary", f'"{asked}"', 0, 0, Axes("this model", ("vocabulary",), (0,)), words)

    def written(self, step: ChangeWord | MaskWord, id_: object) -> str:
        known = self.words.vocabulary_of(step.where)
        return known[id_] if isinstance(id_, int) and 0 <= id_ < len(known) else f"token {id_}"

    def rename(self, side: str, sentence: int, token: int, word: str, *, hides: bool) -> None:
        """Write another word at a place; a masked one keeps its name as its answer."""
        rows = [list(row) for row in getattr(self.words, side)]
        if not (0 <= sentence < len(rows) and -len(rows[sentence]) <= token < len(rows[sentence])):
            return
        token %= len(rows[sentence])
        answers = dict(self.words.answers or {})
        if side == "inputs":
            answered = answers.pop((sentence, token), None)
            if hides:
                answers[sentence, token] = answered or rows[sentence][token]
        rows[sentence][token] = word
        if side == "inputs":
            self.words = replace(self.words, inputs=rows, answers=answers)
        else:
            self.words = replace(self.words, decoder_inputs=rows)


def whole(asked: object) -> object:
    """An index that is written as text, as a number."""
    return int(asked) if isinstance(asked, str) and re.fullmatch(r"-?\d+", asked) else asked
