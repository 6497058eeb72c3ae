"""The second statement of the Transformer agrees with the first, tensor by tensor and cell by cell."""

import ast
import random
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import glassformer
from glassformer.api.trace import Trace, trace
from glassformer.config import ModelConfig, PositionConfig
from glassformer.look.formulas.rules import RULES
from glassformer.look.formulas.rules.notation import short
from glassformer.models.inputs import Inputs
from glassformer.models.names import tensor_names
from tests.contracts.families import Padding, Row, random_weights
from tests.look.rows import ALL, FILLS, row_named, with_stack

LOOK = Path(glassformer.__file__).parent / "look"


@pytest.mark.sampled(36)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("row", ALL, ids=str)
def test_every_tensor_agrees_with_its_formula(row: Row, dtype: torch.dtype) -> None:
    inputs, decoder_inputs = row.batch(padding="uneven")
    found = trace(row.model(dtype=dtype), inputs, decoder_inputs, keep=())
    checked = found.verify()
    assert {check.name for check in checked.checks} == set(tensor_names(row.model())) == set(found)
    assert checked.limit == {torch.float64: 1e-12, torch.float32: 1e-5}[dtype]
    assert checked.holds, str(checked)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", ALL, ids=str)
def test_cells_explained_one_by_one_agree_with_the_whole_tensor(row: Row) -> None:
    rng = random.Random(row.name)
    inputs, decoder_inputs = row.batch(padding="right")
    found = trace(row.model(), inputs, decoder_inputs, labels=None)
    for name, tensor in found.items():
        for _ in range(2):
            cell = {axis: rng.randrange(size) for axis, size in zip(found.axes(name), tensor.shape, strict=True)}
            explained = found.explain(name, cell)
            assert explained.value == float(tensor[tuple(cell.values())])
            assert explained.error <= 1e-12, explained
            for operand in rng.sample(explained.operands, min(8, len(explained.operands))):
                assert operand.name is not None
                again = found.explain(operand.name, operand.cell)
                assert again.value == operand.value
                assert again.error <= 1e-12


def everything_may_be_given(found: Trace) -> None:
    checked = found.verify()
    assert checked.holds, str(checked)
    assert checked.worst.error > 0


def test_vectors_documents_masks_and_positions_that_were_given() -> None:
    row = row_named("bert")
    inputs, _ = row.batch(padding="left")
    assert inputs.ids is not None
    batch, tokens = inputs.ids.shape
    generator = torch.Generator().manual_seed(5)
    given = Inputs(
        vectors=torch.randn(batch, tokens, 12, dtype=torch.float64, generator=generator),
        real=inputs.real,
        positions=torch.randint(0, 16, (batch, tokens), generator=generator),
        segments=torch.randint(0, 2, (batch, tokens), generator=generator),
        documents=torch.randint(0, 2, (batch, tokens), generator=generator),
        may_look=torch.rand(batch, tokens, tokens, generator=generator) < 0.7,
    )
    everything_may_be_given(trace(row.model(), given))


@pytest.mark.parametrize("row", FILLS, ids=str)
def test_rows_with_nothing_to_look_at(row: Row) -> None:
    inputs, _ = row.batch(padding="none")
    nobody = torch.ones(1, 7, 7, dtype=torch.bool)
    nobody[0, 2] = False
    found = trace(row.model(), replace(inputs, may_look=nobody))
    everything_may_be_given(found)
    weights = found["encoder.blocks.0.self_attention.weights"][:, :, 2]
    if row.name.endswith("-inf"):
        assert torch.equal(weights, torch.zeros_like(weights))
    elif "set" in row.name:
        torch.testing.assert_close(weights, torch.full_like(weights, 1 / 7))
    else:
        masked = found["encoder.blocks.0.self_attention.masked"][:, :, 2]
        torch.testing.assert_close(weights, masked.softmax(dim=-1))


@pytest.mark.parametrize("layout", ["paper", "tensor2tensor", "halves"])
def test_sinusoids_of_far_positions_in_single_precision(layout: str) -> None:
    def sinusoidal(config: ModelConfig) -> ModelConfig:
        position = PositionConfig.model_validate({"kind": "sinusoidal", "layout": layout})
        assert config.encoder is not None
        embed = config.encoder.embed.model_copy(update={"position": position})
        return with_stack(config, embed=embed)

    far = Row("far", "bert", change=sinusoidal)
    inputs = Inputs(ids=torch.full((1, 3), 4), positions=torch.tensor([[0, 499, 4001]]))
    checked = trace(far.model(dtype=torch.float32), inputs).verify("encoder.embed.*")
    assert checked.holds, str(checked)


@pytest.mark.parametrize("padding", ["none", "right", "left"])
def test_the_loss_has_a_formula_too(padding: Padding) -> None:
    row = row_named("t5")
    inputs, decoder_inputs = row.batch(padding=padding)
    assert decoder_inputs is not None
    labels = torch.full(decoder_inputs.shape, -100)
    labels[0, 1], labels[2, 3] = 4, 7
    found = trace(row.model(), inputs, decoder_inputs, labels=labels)
    assert found["head.logits"].shape == (2, 23)
    assert found.verify("loss").worst.error <= 1e-15
    explained = found.explain("loss")
    expected = torch.nn.functional.cross_entropy(found["head.logits"], torch.tensor([4, 7]))
    torch.testing.assert_close(torch.tensor(explained.recomputed, dtype=torch.float64), expected)
    assert [operand.name for operand in explained.operands] == ["head.log_probabilities"] * 2


@pytest.mark.long
def test_far_distances_are_in_the_buckets_the_model_uses() -> None:
    row = row_named("t5")
    for buckets, reach in ((8, 6), (32, 128), (10, 20)):
        settings = {**row.settings, "buckets": buckets, "max_distance": reach}
        model = Row("far", "t5", settings).model()
        long = Inputs(ids=torch.full((1, 300), 5))
        found = trace(random_weights(model, seed=1), long, Inputs(ids=torch.full((1, 290), 6)), keep=())
        for side in ("encoder", "decoder"):
            assert found.verify(f"{side}.relative_bias").worst.error == 0.0


def test_the_second_statement_imports_nothing_of_the_first() -> None:
    files = [*sorted((LOOK / "formulas").rglob("*.py")), LOOK / "trace" / "verify.py", LOOK / "trace" / "explain.py"]
    assert len(files) > 15
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        ours = {name for name in imported if name and name.startswith("glassformer")}
        assert all(name.startswith(("glassformer.look.", "glassformer.config", "glassformer.base.")) for name in ours)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("row", ALL, ids=str)
def test_every_formula_has_words_and_mathml(row: Row) -> None:
    inputs, decoder_inputs = row.batch()
    for name, formula in trace(row.model(), inputs, decoder_inputs).statement.formulas.items():
        element = ElementTree.fromstring(formula.in_mathml())
        assert element.tag == "math"
        text = "".join(element.itertext())
        assert name.rpartition(".")[2] in text
        assert formula.in_words().startswith(f"{short(name)} = ")
        for role, operand in formula.rule.operands.items():
            if role not in WITHOUT_SYMBOL.get(formula.rule.name, ("masked_words",)):
                assert short(operand.name) in text
            if role in ("x", "left", "right", "bias", "table", "gate"):
                assert short(operand.name) in formula.in_words()


WITHOUT_SYMBOL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((rule for rule in RULES if rule.startswith("rotate")), ("position",)),
    "cross_entropy": ("labels",),
    **dict.fromkeys(("chain_sum", "chain_best", "chain_end", "chain_best_end", "best_path"), ()),
    "may_look": (),
    "fill_set": ("real", "query_documents", "key_documents"),
    "fill_add": ("real", "query_documents", "key_documents"),
}
"""Operands that the MathML of a rule leaves out; of any other rule, the masked words."""
