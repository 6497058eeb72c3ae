"""Dropout: it falls where the reference's falls, each path and kernel runs with it, and paths drop the same cells."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.convert.families import FAMILY_TABLES
from glassformer.models.inputs import Inputs, Output
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import Dropout, DropoutKey
from glassformer.parts.tap import watcher
from tests.contracts import reference as theirs
from tests.contracts.families import FAMILIES, ROWS, Row, real_of

# Every place of dropout that a family can tell apart gets its own rate.
RATES: dict[str, dict[str, float]] = {
    "bert": {"dropout": 0.1, "attention_dropout": 0.3},
    "distilbert": {"dropout": 0.1, "attention_dropout": 0.3},
    "roberta": {"dropout": 0.1, "attention_dropout": 0.3},
    "modernbert": {"dropout": 0.1, "attention_dropout": 0.3, "embed_dropout": 0.5},
    "gpt2": {"dropout": 0.1, "attention_dropout": 0.3, "embed_dropout": 0.5},
    "llama": {"dropout": 0.3},
    "marian": {"dropout": 0.1, "attention_dropout": 0.3, "activation_dropout": 0.5},
    "bart": {"dropout": 0.1, "attention_dropout": 0.3, "activation_dropout": 0.5},
    "t5": {"dropout": 0.3},
}


class Everything:
    """A watcher that wants each tensor, so that each attention walks its explicit path; it changes none."""

    def wants(self, owner: nn.Module, name: str) -> bool:
        return True

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        return tensor


def shrink(self: Dropout, x: Tensor, dropout_key: DropoutKey | None, tokens: Tensor | None = None) -> Tensor:
    """Our dropout, made certain: every number loses its share."""
    return x * (1 - self.rate) if self.training else x


def shrink_theirs(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Theirs, likewise."""
    return x * (1 - p) if training else x


@pytest.mark.parametrize("family", FAMILY_TABLES)
def test_dropout_falls_where_the_references_does(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row(family, family, RATES[family])
    model = row.model()
    reference = theirs.reference_of(model, tmp_path / "model", kernel="eager")
    # No padding: ModernBERT's explicit path makes NaN of its float64 mask, which it rounds to float32.
    inputs, decoder_inputs = row.batch(padding="none")
    real = real_of(decoder_inputs or inputs)
    monkeypatch.setattr(Dropout, "forward", shrink)
    monkeypatch.setattr(torch.nn.functional, "dropout", shrink_theirs)

    def both() -> tuple[Tensor, Tensor]:
        ours = theirs.our_answers(model(*theirs.as_ours(inputs, decoder_inputs, family)), model)
        other = theirs.their_answers(reference(**theirs.as_theirs(inputs, decoder_inputs, model.config)))
        return ours.named["tokens"][real], other.named["tokens"][real].double()

    calm, _ = both()
    model.train()
    reference.train()
    ours, other = both()
    # float32 inside some explicit paths of the reference; a dropout in the wrong place is off by a tenth
    torch.testing.assert_close(ours, other, rtol=1e-5, atol=1e-5)
    assert (ours - calm).abs().max() > 1e-2


@pytest.mark.sampled(24)
@pytest.mark.parametrize("row", [row.with_dropout() for row in ROWS], ids=str)
@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused where it can be"])
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_each_path_runs_forward_and_backward(row: Row, explicit: bool, training: bool) -> None:
    model = row.model().train(training)
    output = run(model, row, explicit=explicit)
    answers = [answer for answer in (output.logits, output.sentence_logits) if answer is not None]
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(answer.shape, generator=generator, dtype=answer.dtype) for answer in answers]
    torch.autograd.backward(answers, weights)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", [row.with_dropout() for row in ROWS], ids=str)
def test_both_paths_drop_the_same_cells(row: Row) -> None:
    for training in (True, False):
        model = row.model().train(training)
        one, two = run(model, row, explicit=True), run(model, row, explicit=False)
        # another order of the same sums, in float64
        torch.testing.assert_close(one.states, two.states, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("row", [row.with_dropout() for row in FAMILIES], ids=str)
def test_dropout_is_there_in_training_alone(row: Row) -> None:
    model = row.model()
    assert torch.equal(run(model, row).states, run(model, row, seed=8).states)
    model.train()
    assert torch.equal(run(model, row).states, run(model, row).states)
    assert not torch.allclose(run(model, row).states, run(model, row, seed=8).states)


def run(model: Transformer, row: Row, *, explicit: bool = False, seed: int = 7) -> Output:
    """One forward with a known noise; `explicit` watches everything."""
    inputs, decoder_inputs = (noisy(side, seed) for side in row.batch())
    token = watcher.set(Everything() if explicit else None)
    try:
        output: Any = model(inputs, decoder_inputs)
    finally:
        watcher.reset(token)
    assert isinstance(output, Output)
    return output


def noisy(side: Inputs | None, seed: int) -> Inputs | None:
    if side is None:
        return None
    rows = torch.arange(side.shape[0], dtype=torch.int32)
    dropout_key = DropoutKey(torch.tensor(seed, dtype=torch.int32), rows)
    return Inputs(**{**vars(side), "dropout_key": dropout_key})
