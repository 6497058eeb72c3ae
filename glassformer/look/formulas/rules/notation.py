"""Formulas as expressions: each function here joins smaller expressions, in words and in MathML at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape

from glassformer.look.formulas.named import Operand, axis_names


@dataclass(frozen=True)
class Title:
    """The title of a step of the walk-through, and whether the slides leave that step out."""

    text: str
    extra: bool = False


@dataclass(frozen=True)
class Expression:
    """A formula or a part of one. The two forms may differ in order: `…, times 0.5` is written in front in MathML."""

    words: str
    mathml: str

    def remarked(self, words: str) -> Expression:
        """The same with a remark that MathML leaves out."""
        return replace(self, words=self.words + words)


def short(name: str) -> str:
    """The part of a name that is unique in its layer: `query`, `embed.word`, `query.weight`."""
    steps = name.split(".")
    return ".".join(steps[-2:]) if name.startswith("parameters.") or steps[-2:-1] == ["embed"] else steps[-1]


def read(operand: Operand) -> Expression:
    """A tensor by its short name, in MathML with its axes below."""
    name = short(operand.name)
    letters = sign(",").mathml.join(symbol(axis).mathml for axis in axis_names(operand.axes))
    return Expression(name, f"<msub><mi>{name}</mi><mrow>{letters}</mrow></msub>" if letters else f"<mi>{name}</mi>")


def symbol(text: str) -> Expression:
    return Expression(text, f"<mi>{escape(text)}</mi>")


def sign(text: str, words: str = "") -> Expression:
    """An operator; in words the sign itself where nothing else is given."""
    return Expression(words or f" {text} ", f"<mo>{escape(text)}</mo>")


def value(setting: float | str) -> Expression:
    """A number with up to six digits, or its name."""
    text = f"{setting:.6g}" if isinstance(setting, float) else str(setting)
    text = text.replace("-", "−").replace("inf", "∞")
    return Expression(text, f"<mn>{escape(text)}</mn>")


def row(*parts: Expression, words: str = "") -> Expression:
    """Several expressions as one, in words one after the other where no other words are given."""
    spelled = words or "".join(part.words for part in parts)
    return Expression(spelled, f"<mrow>{''.join(part.mathml for part in parts)}</mrow>")


def joined(operator: str, operands: Iterable[Operand]) -> Expression:
    parts = [part for operand in operands for part in (sign(operator), read(operand))]
    return row(*parts[1:])


def function(name: str, argument: Expression, words: str = "{}({})") -> Expression:
    """name(argument); `words` has a place for the name and one for the argument."""
    brackets = f"<mo>(</mo>{argument.mathml}<mo>)</mo>"
    return Expression(words.format(name, argument.words), f"<mrow>{symbol(name).mathml}{brackets}</mrow>")


def fraction(top: Expression, bottom: Expression, words: str = " over ") -> Expression:
    return Expression(f"{top.words}{words}{bottom.words}", f"<mfrac>{top.mathml}{bottom.mathml}</mfrac>")


def root(inside: Expression) -> Expression:
    return Expression(f"√({inside.words})", f"<msqrt>{inside.mathml}</msqrt>")


def summed(over: str, body: Expression, words: str = "the sum over {over} of {body}") -> Expression:
    mathml = f"<mrow><munder><mo>∑</mo>{symbol(over).mathml}</munder>{body.mathml}</mrow>"
    return Expression(words.format(over=over, body=body.words), mathml)


def cases(*lines: tuple[Expression, Expression], words: str) -> Expression:
    """One of several expressions, each with its condition."""
    table = "".join(f"<mtr><mtd>{one.mathml}</mtd><mtd>{two.mathml}</mtd></mtr>" for one, two in lines)
    return Expression(words, f"<mrow><mo>{{</mo><mtable>{table}</mtable></mrow>")
