"""The formulas of a trace as JSON: what `look/formulas/stacks.py` states, and nothing of its own.

The page interprets these records. A rule is its name and its fields: an operand is `{"name", "axes"}`, several terms
are operands by role, what a rule leaves out is left out here, and −∞ is the text `-inf`, which JSON lacks.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from glassformer.look.formulas.named import Operand
from glassformer.look.formulas.rules.evaluator import Formula, Rule, Statement
from glassformer.look.formulas.titles import title_of


@lru_cache(maxsize=16)
def statement_record(statement: Statement) -> list[dict[str, Any]]:
    """All formulas in the order of the model; written once for all runs that share them, and read only."""
    return [formula_record(statement, formula) for formula in statement.formulas.values()]


def formula_record(statement: Statement, formula: Formula) -> dict[str, Any]:
    """One formula: its rule, what it is called, and its two written forms."""
    title = title_of(formula)
    return {
        "name": formula.name,
        "axes": formula.axes,
        "rule": rule_record(formula.rule),
        "tokens": formula.tokens,
        "keys": formula.keys,
        "unit": statement.unit(formula.name),
        "title": title.text,
        "extra": title.extra,
        "words": formula.in_words(),
        "mathml": formula.in_mathml(),
    }


def rule_record(rule: Rule) -> dict[str, Any]:
    values = {field.name: getattr(rule, field.name) for field in fields(rule)}
    return {"rule": rule.name} | {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, Operand):
        return {"name": value.name, "axes": value.axes}
    if isinstance(value, Mapping):
        return {role: _plain(each) for role, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value
