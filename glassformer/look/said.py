"""Formulas said in words and set in MathML. One line for each rule; the names are the tensors' own."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from glassformer.look.named import Formula, axis_names


def short(name: str) -> str:
    """The part of a name that tells tensors of one layer apart: `query`, `embed.word`, `query.weight`."""
    steps = name.split(".")
    return ".".join(steps[-2:]) if name.startswith("parameters.") or steps[-2:-1] == ["embed"] else steps[-1]


def operand(formula: Formula, role: str) -> str:
    """An operand's short name; it may be missing from a formula that is being doubted."""
    return short(formula.of[role].name) if role in formula.of else "?"


def number(formula: Formula, name: str) -> str:
    """A setting as a person writes it."""
    value = formula.settings.get(name)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def dot_words(formula: Formula) -> str:
    """A sum of products, its scale and its bias."""
    told = f"the sum over {formula.over} of {operand(formula, 'left')} × {operand(formula, 'right')}"
    told += f", times {number(formula, 'scale')}" if formula.settings.get("scale") != 1.0 else ""
    return told + (f", plus {operand(formula, 'bias')}" if "bias" in formula.of else "")


def sum_words(formula: Formula) -> str:
    """A sum of tensors."""
    told = " + ".join(short(part.name) for role, part in formula.of.items() if role != "hidden")
    return told + hidden_words(formula)


def look_up_words(formula: Formula) -> str:
    """A row of a table."""
    offset = f" + {formula.settings['offset']}" if formula.settings.get("offset") else ""
    scale = f", times {number(formula, 'scale')}" if formula.settings.get("scale") != 1.0 else ""
    told = f"row {operand(formula, 'index')}{offset} of {operand(formula, 'table')}{scale}"
    return told + hidden_words(formula)


def hidden_words(formula: Formula) -> str:
    """The remark that hidden words are zeroed."""
    return "; 0 for a hidden word" if "hidden" in formula.of else ""


def looks_words(formula: Formula) -> str:
    """The reasons that can forbid."""
    reasons = {
        "real": "it is not padding",
        "hidden": "it is not hidden",
        "query_wall": "both stand in the same document",
        "custom": "the custom mask allows it",
    }
    told = [reasons[role] for role in formula.of if role in reasons]
    told += ["it does not stand ahead"] if formula.settings.get("causal") else []
    told += [f"it stands within {formula.settings['window']}"] if formula.settings.get("window") is not None else []
    return "1 where the key may be looked at" + (f": {' and '.join(told)}" if told else ": everywhere")


def reach_words(formula: Formula) -> str:
    """What is out of reach, and what stands there; nothing where a formula does not tell it apart."""
    if "out_of_reach" not in formula.settings:
        return ""
    reasons = {"real": "padding", "query_wall": "other documents"}
    told = [reasons[role] for role in formula.of if role in reasons]
    told += ["ahead"] if formula.settings.get("causal") else []
    told += [f"beyond {formula.settings['window']}"] if formula.settings.get("window") is not None else []
    return f"; {number(formula, 'out_of_reach')} out of reach ({', '.join(told)})"


WORDS: dict[str, Callable[[Formula], str]] = {
    "look_up": look_up_words,
    "add": sum_words,
    "scale": lambda f: f"{operand(f, 'x')} times {number(f, 'by')}" + hidden_words(f),
    "linear": dot_words,
    "dot_product": dot_words,
    "weighted_sum": dot_words,
    "tanh_linear": lambda f: f"tanh of {dot_words(f)}",
    "concatenate": lambda f: f"{operand(f, 'x')} of all heads, side by side",
    "activation": lambda f: f"{number(f, 'kind')} of {operand(f, 'x')}",
    "gate": lambda f: f"{number(f, 'kind')} of {operand(f, 'gate')}, times {operand(f, 'x')}",
    "softmax": lambda f: f"exp({operand(f, 'x')}) over the sum of exp({operand(f, 'x')}) along {f.over}",
    "log_softmax": lambda f: (
        f"{operand(f, 'x')} less the logarithm of the sum of exp({operand(f, 'x')}) along {f.over}"
    ),
    "layer_norm": lambda f: (
        f"({operand(f, 'x')} − mean) / √(variance + {number(f, 'epsilon')}) over {f.over}, times {operand(f, 'weight')}"
        + (f", plus {operand(f, 'bias')}" if "bias" in f.of else "")
    ),
    "rms_norm": lambda f: (
        f"{operand(f, 'x')} / √(mean square + {number(f, 'epsilon')}) over {f.over}, times {operand(f, 'weight')}"
    ),
    "cross_entropy": lambda f: f"the mean over {f.over} of −{operand(f, 'x')} of the right piece",
    "sinusoid": lambda f: f"sine or cosine of position × rate, channels laid out as {number(f, 'layout')}",
    "rotate": lambda f: (
        f"{operand(f, 'x')} turned with its partner channel by position × rate (base {number(f, 'base')})"
    ),
    "relative_bias": lambda f: f"the entry of {operand(f, 'table')} for the bucket of the distance key − query",
    "may_look": looks_words,
    "fill_set": lambda f: f"{operand(f, 'x')} where one may look, else {number(f, 'value')}" + reach_words(f),
    "fill_add": lambda f: f"{operand(f, 'x')}, plus {number(f, 'value')} where one may not look" + reach_words(f),
}


def in_words(formula: Formula, where: str = "") -> str:
    """`weights[head=1] = exp(masked) over the sum of exp(masked) along key`."""
    return f"{short(formula.name)}{f'[{where}]' if where else ''} = {WORDS[formula.rule](formula)}"


# --------------------------------------------------------------------------- MathML


def mi(text: str) -> str:
    """An identifier."""
    return f"<mi>{escape(text)}</mi>"


def mo(text: str) -> str:
    """An operator."""
    return f"<mo>{escape(text)}</mo>"


def mn(text: str) -> str:
    """A number."""
    return f"<mn>{escape(text)}</mn>"


def row(*parts: str) -> str:
    """Several things as one."""
    return f"<mrow>{''.join(parts)}</mrow>"


def sub(name: str, axes: str) -> str:
    """A name with its axes below."""
    letters = "".join(mi(axis) for axis in axis_names(axes))
    return f"<msub>{mi(name)}{row(letters)}</msub>" if letters else mi(name)


def read(formula: Formula, role: str) -> str:
    """An operand with its axes."""
    return sub(operand(formula, role), formula.of[role].axes) if role in formula.of else mi("?")


def summed(over: str | None, body: str) -> str:
    """Σ over an axis."""
    return row(f"<munder>{mo('∑')}{mi(over or '')}</munder>", body)


def fraction(top: str, bottom: str) -> str:
    """top / bottom."""
    return f"<mfrac>{top}{bottom}</mfrac>"


def function(name: str, *arguments: str) -> str:
    """name(arguments)."""
    inside = mo(",").join(arguments)
    return row(mi(name), mo("("), inside, mo(")"))


def dot_math(f: Formula) -> str:
    """Σ left · right · scale + bias."""
    product = [read(f, "left"), mo("·"), read(f, "right")]
    scale = [mn(number(f, "scale")), mo("·")] if f.settings.get("scale") != 1.0 else []
    bias = [mo("+"), read(f, "bias")] if "bias" in f.of else []
    return row(*scale, summed(f.over, row(*product)), *bias)


def exponentials(f: Formula) -> str:
    """Σ exp(x)."""
    return summed(f.over, function("exp", read(f, "x")))


def norm_math(f: Formula) -> str:
    """The normalised number times its weight."""
    centred = f.rule == "layer_norm"
    top = row(read(f, "x"), mo("−"), mi("mean")) if centred else read(f, "x")
    inside = row(mi("variance" if centred else "mean square"), mo("+"), mn(number(f, "epsilon")))
    bias = [mo("+"), read(f, "bias")] if "bias" in f.of else []
    return row(fraction(top, f"<msqrt>{inside}</msqrt>"), mo("·"), read(f, "weight"), *bias)


def cases(f: Formula, otherwise: str) -> str:
    """x where may_look, else something; and something else out of reach, where that is told apart."""
    lines = [(read(f, "x"), read(f, "may_look")), (otherwise, mi("otherwise"))]
    if "out_of_reach" in f.settings:
        lines.insert(1, (mn(number(f, "out_of_reach")), mi("out of reach")))
    table = "".join(f"<mtr><mtd>{one}</mtd><mtd>{two}</mtd></mtr>" for one, two in lines)
    return row(mo("{"), f"<mtable>{table}</mtable>")


def where(name: str, body: str) -> str:
    """, name = body"""
    return row(mo(","), mi(name), mo("="), body)


def listed(f: Formula, sign: str) -> str:
    """All operands joined by a sign."""
    return row(mo(sign).join(read(f, role) for role in f.of if role != "hidden"))


MATH: dict[str, Callable[[Formula], str]] = {
    "look_up": lambda f: row(
        mn(number(f, "scale")), mo("·"), read(f, "table"), mo(","), mi("row"), mo("="), read(f, "index")
    ),
    "add": lambda f: listed(f, "+"),
    "scale": lambda f: row(mn(number(f, "by")), mo("·"), read(f, "x")),
    "linear": dot_math,
    "dot_product": dot_math,
    "weighted_sum": dot_math,
    "tanh_linear": lambda f: function("tanh", dot_math(f)),
    "concatenate": lambda f: function("concatenate", read(f, "x")),
    "activation": lambda f: function(number(f, "kind"), read(f, "x")),
    "gate": lambda f: row(function(number(f, "kind"), read(f, "gate")), mo("·"), read(f, "x")),
    "softmax": lambda f: fraction(function("exp", read(f, "x")), exponentials(f)),
    "log_softmax": lambda f: row(read(f, "x"), mo("−"), function("log", exponentials(f))),
    "layer_norm": norm_math,
    "rms_norm": norm_math,
    "cross_entropy": lambda f: row(mo("−"), fraction(mn("1"), mi("N")), summed(f.over, read(f, "x"))),
    "sinusoid": lambda f: function("sin or cos", row(read(f, "position"), mo("·"), mi("rate"))),
    "rotate": lambda f: row(read(f, "x"), mo("·"), mi("cos"), mo("±"), mi("partner"), mo("·"), mi("sin")),
    "relative_bias": lambda f: row(
        read(f, "table"), mo(","), mi("bucket"), mo("="), function("bucket", row(mi("key"), mo("−"), mi("query")))
    ),
    "may_look": lambda f: listed(f, "∧"),
    "fill_set": lambda f: cases(f, mn(number(f, "value"))),
    "fill_add": lambda f: cases(f, row(read(f, "x"), mo("+"), mn(number(f, "value")))),
}


def in_mathml(formula: Formula) -> str:
    """The formula as one `math` element."""
    left = sub(short(formula.name), formula.axes)
    return f'<math display="block">{row(left, mo("="), MATH[formula.rule](formula))}</math>'
