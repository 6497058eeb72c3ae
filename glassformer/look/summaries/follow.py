"""Follow one number back to the word it depends on most."""

from collections.abc import Iterator, Mapping

from glassformer.look.formulas.explanation import Explanation, Reference
from glassformer.look.trace.trace import Trace

LARGEST_TERM = ("chain_sum", "chain_best", "chain_end", "chain_best_end", "largest")
"""Rules in which the largest term, not the one with the largest absolute value, makes most of the number."""


def follow(trace: Trace, name: str, cell: str | Mapping[str, str | int] = "") -> Iterator[Explanation]:
    """Follow one number back to a word: each step explains the operand with the largest part in the step before, by
    absolute value. A softmax is followed through its own score, word + position through the word if not masked.
    """
    explanation = trace.explain(name, cell)
    seen = set()
    while True:
        yield explanation
        seen.add((explanation.name, explanation.where))
        following = heaviest(trace, explanation)
        if following is None or (following.name, following.where) in seen:
            return
        assert following.name is not None
        explanation = trace.explain(following.name, following.cell)


def heaviest(trace: Trace, explanation: Explanation) -> Reference | None:
    """The computed operand to follow next; None where there is none."""
    if explanation.rule in ("softmax", "log_softmax"):
        return next((part for part in explanation.operands if part.cell == explanation.cell), None)
    if explanation.rule in LARGEST_TERM:
        ways = [term for term in explanation.terms if term.what != "logit"] or list(explanation.terms)
        factors = max(ways, key=lambda term: term.value).factors if ways else ()
        return next((factor for factor in factors if factor.name in trace.statement.formulas), None)
    words = [part for part in explanation.operands if str(part.name).endswith("embed.word") and part.value != 0]
    if words:
        return words[0]
    for term in sorted(explanation.terms, key=lambda term: -abs(term.value)):
        named = [factor for factor in term.factors if factor.name is not None]
        computed = [factor for factor in named if factor.name in trace.statement.formulas]
        if computed:
            return max(computed, key=lambda factor: abs(factor.value))
    return None
