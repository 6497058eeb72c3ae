"""Each family computes what `transformers` computes: answers and all gradients, in eval and in train mode."""

from pathlib import Path

import pytest
import torch
from torch import nn

from glassformer.config.parts import YarnStretch
from glassformer.convert.families import FAMILY_TABLES
from glassformer.models.transformer import Transformer
from tests.contracts import reference as theirs
from tests.contracts.families import FAMILIES, ROWS, STRETCHES, Padding, Row, real_of

# Sums of a few hundred products of size 1 in float64, in another order than ours.
FLOAT64 = 1e-10
# Where the reference rounds inner steps to float32 (7 digits), two or three layers deep.
FLOAT32_INSIDE = 1e-5
# Which of their lines round, see `reference.in_float64`.
ROUNDED = ("modernbert", "llama", "marian", "t5")

ACTIVATED = tuple(
    Row(f"{family}, {name}", family, {"activation": name})
    for family in ("distilbert", "roberta", "modernbert", "gpt2", "llama", "marian", "bart", "t5")
    for name in ("relu", "gelu", "gelu_tanh", "silu", "tanh")
) + tuple(
    Row(f"{family}, {name}", family, {"activation": name})
    for family in ("distilbert", "llama")
    for name in ("relu2", "quick_gelu", "gelu_10", "mish")
)
HEADLESS = tuple(
    Row(f"{name}, body alone", name, {"vocabulary_head": False})
    for name, family in FAMILY_TABLES.items()
    if (False, False) in family.classes
)
WHOLE_PAIRS = YarnStretch(factor=4.0, original_length=40, attention_factor=0.9, beta_fast=5.0, beta_slow=0.3)
MORE = (
    Row("bert, next sentence alone", "bert", {"sentence_labels": 2, "vocabulary_head": False}),
    Row("roberta, pooler alone", "roberta", {"sentence_labels": 0, "vocabulary_head": False}),
    Row("roberta, another padding token", "roberta", {"position_offset": 1}),
    Row("bert, untied", "bert", {"tied": False}),
    Row("bert, untied, next sentence", "bert", {"tied": False, "sentence_labels": 2}),
    Row("roberta, untied", "roberta", {"tied": False}),
    Row("distilbert, untied", "distilbert", {"tied": False}),
    Row("modernbert, untied", "modernbert", {"tied": False}),
    Row("modernbert, every second layer global", "modernbert", {"global_every": 2, "reach": 1}),
    Row("llama, as many key-value heads", "llama", {"key_value_heads": 4}),
    Row("llama, stretched by whole pairs", "llama", {"query_size": 12, "stretch": WHOLE_PAIRS}),
    Row("modernbert, stretched", "modernbert", {"global_stretch": STRETCHES[2], "local_stretch": STRETCHES[1]}),
    Row("gpt2, unscaled", "gpt2", {"scaled": False}),
    Row("gpt2, unscaled, divided by layer", "gpt2", {"scaled": False, "divided_by_layer": True}),
    Row("bert, classifier", "bert", {"sentence_labels": 3, "vocabulary_head": False}),
    Row("roberta, classifier", "roberta", {"sentence_labels": 3, "vocabulary_head": False}),
    Row("modernbert, classifier", "modernbert", {"sentence_labels": 3, "vocabulary_head": False}),
    Row("t5, tied, unscaled", "t5", {"scaled_head": False}),
    Row("t5, untied, plain", "t5", {"tied": False}),
    Row("t5, gated exact gelu", "t5", {"gated": True, "activation": "gelu"}),
)
# A norm on the branch and a BERT without segments are nothing that Hugging Face can say.
UNSAID = ("bert, norm on the branch", "bert, no segments")
COMPARED = tuple(
    row for row in (*ROWS, *ACTIVATED, *HEADLESS, *MORE) if row.family in FAMILY_TABLES and row.name not in UNSAID
)
PADDINGS: tuple[Padding, ...] = ("none", "right", "left", "uneven")


@pytest.fixture
def float64(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs.in_float64(monkeypatch)


@pytest.mark.sampled(10)
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("row", COMPARED, ids=str)
def test_answers_and_gradients_are_the_references(row: Row, tmp_path: Path) -> None:
    model = row.model()
    reference = theirs.reference_of(model, tmp_path / "model")
    for training in (False, True):
        model.train(training)
        reference.train(training)
        for padding in PADDINGS:
            agree(row, model, reference, padding, FLOAT64)


@pytest.mark.parametrize("row", [row for row in FAMILIES if row.family in ROUNDED], ids=str)
def test_the_unpatched_reference_agrees_as_far_as_its_float32_steps_allow(row: Row, tmp_path: Path) -> None:
    model = row.model()
    reference = theirs.reference_of(model, tmp_path / "model")
    agree(row, model, reference, "right", FLOAT32_INSIDE)
    with pytest.raises(AssertionError):  # else the patches of the other test would be for nothing
        agree(row, model, reference, "right", FLOAT64)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("row", [row for row in FAMILIES if row.family in FAMILY_TABLES], ids=str)
def test_another_weight_would_be_noticed(row: Row, tmp_path: Path) -> None:
    model = row.model()
    reference = theirs.reference_of(model, tmp_path / "model")
    with torch.no_grad():
        next(model.parameters()).view(-1)[-1].add_(1e-6)
    with pytest.raises(AssertionError):
        agree(row, model, reference, "right", FLOAT64)


def agree(row: Row, model: Transformer, reference: nn.Module, padding: Padding, tolerance: float) -> None:
    """One batch through both; answers at real tokens and all gradients are compared."""
    inputs, decoder_inputs = row.batch(padding=padding)
    model.zero_grad()
    reference.zero_grad()
    real = real_of(decoder_inputs or inputs)
    ours = theirs.our_answers(model(*theirs.as_ours(inputs, decoder_inputs, row.family)), model)
    other = theirs.their_answers(reference(**theirs.as_theirs(inputs, decoder_inputs, model.config)))
    assert set(ours.named) == set(other.named)
    if padding in ("left", "uneven"):  # theirs lets the first column speak for the sentence, even where it is padding
        ours, other = (
            theirs.Answers({k: v for k, v in each.named.items() if k != "sentence"}) for each in (ours, other)
        )
    if not ours.named:
        return
    for name, answer in ours.named.items():
        keep = real if answer.dim() == 3 else slice(None)
        torch.testing.assert_close(
            answer[keep], other.named[name][keep].double(), rtol=tolerance, atol=tolerance, msg=f"{name}, {padding}"
        )
    ours.loss(real).backward()
    other.loss(real).backward()
    found, wanted = theirs.our_gradients(model), theirs.their_gradients(reference, model)
    for name, gradient in found.items():
        if name == "head.bias" and row.family in ("bart", "marian"):
            continue  # theirs is a buffer, which has no gradient
        torch.testing.assert_close(
            gradient, wanted[name].double(), rtol=tolerance, atol=tolerance, msg=f"gradient of {name}, {padding}"
        )
