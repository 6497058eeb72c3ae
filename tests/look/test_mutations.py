"""Break each formula in turn: verify must notice. Every field of every formula is broken, one at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from itertools import cycle
from typing import Any

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.config import ModelConfig, SentenceHeadConfig, TokenHeadConfig
from glassformer.look.formulas.named import Operand
from glassformer.look.formulas.rules import RULES
from glassformer.look.formulas.rules.evaluator import Formula, Rule
from glassformer.look.formulas.rules.masks import FillSet
from glassformer.look.trace.verify import check
from glassformer.models.inputs import Inputs
from tests.contracts.families import Row
from tests.contracts.test_all_masked import hiding
from tests.look.rows import row_named, with_fill

WRONG_RULE = {
    "look_up": "add",
    "add": "gate",
    "scale": "activation",
    "linear": "activated_linear",
    "dot_product": "activated_linear",
    "weighted_sum": "activated_linear",
    "activated_linear": "linear",
    "concatenate": "add",
    "activation": "scale",
    "gate": "add",
    "compared": "add",
    "softmax": "log_softmax",
    "log_softmax": "softmax",
    "layer_norm": "rms_norm",
    "rms_norm": "layer_norm",
    "cross_entropy": "softmax",
    "sinusoid": "rotate",
    "rotate": "activation",
    "rotate_linear": "rotate",
    "rotate_dynamic": "rotate",
    "rotate_llama3": "rotate",
    "rotate_yarn": "rotate",
    "relative_bias": "look_up",
    "largest": "dot_product",
    "chain_sum": "chain_best",
    "chain_best": "chain_sum",
    "chain_end": "chain_best_end",
    "chain_best_end": "chain_end",
    "best_path": "chain_best",
    "difference": "add",
    "may_look": "scale",
    "fill_set": "fill_add",
    "fill_add": "fill_set",
}
"""For each rule another that is not the same by another name (the three sums of products are one)."""

SETTINGS: dict[str, Any] = {"over": "channel", "by": 1.5, "kind": "gelu", "base": 10000.0}
"""What another rule is given where it needs more than the operands of the first."""

OTHER_WORDS: dict[str, str] = {
    "relu": "gelu",
    "gelu": "gelu_tanh",
    "gelu_tanh": "gelu",
    "silu": "gelu",
    "tanh": "silu",
    "sigmoid": "tanh",
    "log_sigmoid": "sigmoid",
    "paper": "halves",
    "halves": "paper",
    "tensor2tensor": "halves",
    "-inf": "lowest",
}


@dataclass(frozen=True)
class Broken:
    """A formula with one thing wrong, and what is wrong."""

    what: str
    formula: Formula


def mutations(formula: Formula, names: Mapping[str, torch.Tensor]) -> Iterator[Broken]:
    """Every field of the formula and of its rule, broken in turn. Operands that must be there cannot be left out."""
    rule: Any = formula.rule
    yield Broken("rule", replace(formula, rule=another_rule(formula)))
    axes = formula.axes.split()
    if len(axes) > 1:
        yield Broken("axes: swapped", replace(formula, axes=" ".join([*axes[:-2], axes[-1], axes[-2]])))
        yield Broken("axes: one too few", replace(formula, axes=" ".join(axes[1:])))
    for field in fields(rule):
        for what, value in broken_field(formula, field, getattr(rule, field.name), names):
            yield Broken(f"{field.name} {what}", replace(formula, rule=replace(rule, **{field.name: value})))
    if {"token", "query"} & set(axes):
        yield Broken("tokens", replace(formula, tokens=OTHER_SIDE[formula.tokens]))
    if "key" in axes:
        yield Broken("keys", replace(formula, keys=OTHER_SIDE[formula.keys]))


def another_rule(formula: Formula) -> Rule:
    """Another rule for the same operands; one that has none gets the tensor itself."""
    kind: Any = RULES[WRONG_RULE[formula.rule.name]]
    operands = formula.rule.operands or {"x": Operand(formula.name, formula.axes)}
    left = cycle(operands.values())
    given: dict[str, Any] = {}
    for field in fields(kind):
        if field.name == "terms":
            given["terms"] = operands
        elif hasattr(formula.rule, field.name):
            given[field.name] = getattr(formula.rule, field.name)
        elif field.default is MISSING:
            given[field.name] = next(left) if field.type in (Operand, "Operand") else SETTINGS[field.name]
    made: Rule = kind(**given)
    return made


def broken_field(
    formula: Formula, field: Field[Any], value: Any, names: Mapping[str, torch.Tensor]
) -> Iterator[tuple[str, Any]]:
    """What is wrong, and the wrong value."""
    if isinstance(value, Operand):
        yield from broken_operand(formula, value, names)
    elif isinstance(value, Mapping):
        for role, operand in value.items():
            left = {name: kept for name, kept in value.items() if name != role}
            yield from ((f"{role} missing", left),) if left else ()
            for what, broken in broken_operand(formula, operand, names):
                yield f"{role} {what}", {**value, role: broken}
    elif field.name == "over":
        yield "another axis", next(axis for axis in AXES if axis != value)
    elif field.name in UNUSED.get(formula.rule.name, ()) and getattr(formula.rule, "out_of_reach", None) is None:
        return
    elif value is not None or field.name == "window":
        yield "changed", other(value)
    if value is not None and field.default not in (MISSING, value) and field.name != "over":
        yield "missing", field.default


UNUSED = dict.fromkeys(("fill_set", "fill_add"), ("causal", "window", "out_of_reach"))
"""What a fill does not read unless it distinguishes what is out of reach."""

AXES = ("channel", "token")
OTHER_SIDE = {"inputs": "decoder_inputs", "decoder_inputs": "inputs"}


def broken_operand(
    formula: Formula, operand: Operand, names: Mapping[str, torch.Tensor]
) -> Iterator[tuple[str, Operand]]:
    """What is wrong with an operand, and the wrong one."""
    shape = names[operand.name].shape
    alike = [name for name, tensor in names.items() if tensor.shape == shape and name != operand.name]
    alike = [name for name in alike if not torch.equal(names[name], names[operand.name]) and name != formula.name]
    if alike:
        yield "another tensor", replace(operand, name=alike[0])
    yield "unknown", replace(operand, name="encoder.nothing")
    steps = operand.axes.replace("(", "").replace(")", "").split()
    if len(steps) > 1 and "(" not in operand.axes:
        yield "axes swapped", replace(operand, axes=" ".join([*steps[:-2], steps[-1], steps[-2]]))
    if "(" in operand.axes:
        yield "axes renamed", replace(operand, axes=operand.axes.replace("channel)", "other)"))
    yield "axes one too many", replace(operand, axes=f"bucket {operand.axes}")


def other(value: Any) -> Any:
    """A value that means something else."""
    if isinstance(value, bool):
        return not value
    if value is None:
        return 1
    if isinstance(value, str):
        return OTHER_WORDS[value]
    return type(value)(value * 1.5 + 1 if value >= 0 else value * 1.5)


def with_all_heads(config: ModelConfig) -> ModelConfig:
    """Besides scores for the vocabulary, several labels for a text and tags by a CRF."""
    sentence = SentenceHeadConfig(labels=3, pooling="max", several=True)
    return config.model_copy(update={"sentence_head": sentence, "token_head": TokenHeadConfig(labels=4, crf=True)})


def with_a_pair_and_words(config: ModelConfig) -> ModelConfig:
    """Besides scores for the vocabulary, labels of a pair, to which words add."""
    return config.model_copy(update={"sentence_head": SentenceHeadConfig(labels=3, pooling="pair", words=11)})


MODELS = (
    row_named("slides"),
    row_named("slides, zeroed after the position"),
    row_named("bert, next sentence"),
    Row("bert, -inf", "bert", change=with_fill("set", "-inf")),
    row_named("modernbert"),
    Row("modernbert, masked words", "modernbert", change=hiding("add", -1000.0)),
    row_named("gpt2"),
    Row("gpt2, masked words", "gpt2", change=hiding("set", -1000.0, window=2)),
    row_named("llama"),
    row_named("llama, stretched linear"),
    row_named("llama, stretched dynamic"),
    row_named("llama, stretched llama3"),
    row_named("llama, stretched yarn"),
    row_named("tensor2tensor"),
    row_named("marian"),
    row_named("bart"),
    row_named("t5, gated and untied"),
    Row("bert, all heads", "bert", change=with_all_heads),
    Row("bert, a pair and words", "bert", change=with_a_pair_and_words),
)


def traced(row: Row) -> Trace:
    """A run in which every fact that can forbid does forbid, and which has a loss."""
    inputs, decoder_inputs = row.batch(padding="right")
    assert inputs.ids is not None
    documents = torch.zeros_like(inputs.ids)
    documents[:, -2:] = 1
    mask = torch.ones(1, *inputs.ids.shape[1:] * 2, dtype=torch.bool)
    mask[0, 3, :2] = False
    mask[0, 2, 3:5] = False
    labelled = torch.ones_like(documents, dtype=torch.bool)
    labelled[:, ::3] = False
    inputs = replace(inputs, documents=documents, may_look=mask, labelled=labelled)
    answering = inputs if decoder_inputs is None else decoder_inputs
    assert answering.ids is not None
    labels = torch.full(answering.ids.shape, -100)
    labels[0, 1], labels[1, 2] = 4, 7
    return trace(row.model(), inputs, decoder_inputs, labels=labels)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", MODELS, ids=str)
def test_every_broken_formula_is_noticed(row: Row) -> None:
    found = traced(row)
    source = found.hold(found)
    names = {**found.fetch(found), **found.parameters, **found.facts}
    missed, tried = [], 0
    for name, formula in found.statement.formulas.items():
        assert check(formula, source).error <= 1e-12
        for broken in mutations(formula, names):
            tried += 1
            if check(broken.formula, source).error <= 1e-12 and broken.what not in harmless(found, formula):
                missed.append((name, broken.what))
    assert missed == []
    assert tried > 10 * len(found)


def harmless(found: Trace, formula: Formula) -> set[str]:
    """What is another formula for the same numbers, with its reason."""
    free = set()
    if isinstance(formula.rule, FillSet) and formula.rule.fill == "-inf":
        free.add("rule")  # −∞ in a score's place and −∞ added to it are the same
    if formula.rule.name == "softmax" and formula.name.endswith("probabilities"):
        free.add("x another tensor")  # log-probabilities are the scores less one number, which a softmax ignores
    if formula.rule.name == "best_path":
        free |= {"x another tensor", "last another tensor"}  # other scores may have the same best sequence
    if found[formula.name].dim() == 4 and found[formula.name].shape[2] == 1:
        free.add("tokens")  # one row shared by all queries counts none of them
    return free


def test_each_rule_is_broken_somewhere() -> None:
    met = {formula.rule.name for row in MODELS for formula in traced(row).statement.formulas.values()}
    assert met == set(RULES)


def test_a_wrong_number_in_the_model_is_noticed_where_it_is() -> None:
    row = row_named("bert")
    inputs, _ = row.batch()
    found = trace(row.model(), inputs)
    name = "encoder.blocks.1.self_attention.weights"
    wrong = found[name].clone()
    wrong[1, 2, 3, 0] += 1e-9
    checked = replace(found, stored={**found.stored, name: wrong}).verify(name)
    assert not checked.holds
    assert checked.worst.worst == (1, 2, 3, 0)
    assert "DO NOT all agree" in str(checked)
    nan = wrong.masked_fill(wrong == wrong[1, 2, 3, 0], float("nan"))
    assert replace(found, stored={**found.stored, name: nan}).verify(name).worst.error == float("inf")


def test_inputs_without_anything_to_forbid_have_formulas_without_it() -> None:
    found = trace(row_named("bert").model(), Inputs(ids=torch.tensor([[4, 5, 6]])))
    assert found.statement.formulas["encoder.blocks.0.self_attention.may_look"].rule.operands == {}
