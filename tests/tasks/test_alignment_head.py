"""The head that learns which words belong together: its loss is the formula, pair by pair, and learning lowers it."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.models.weights import cross_weights
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.recipe import resolve
from glassformer.tasks.writing.alignment import ALIGNMENT, alignment_loss
from glassformer.tasks.writing.pair_source import PairSource
from glassformer.training.progress import NoProgress
from glassformer.training.tune import trained
from tests.contracts.tasks import TASKS
from tests.refusals import refused

ROW = next(row for row in TASKS if "alignment" in row.section)
# Sums of a few hundred float64 numbers near 1, in another order.
ORDER = 1e-11


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return prepare_run(resolve(ROW.recipe(tmp_path)), tmp_path / "run", NoProgress())


def batches(prepared: Prepared) -> list[Batch]:
    """All pairs, in rows of each shape."""
    source = prepared.feed.source
    assert isinstance(source, PairSource)
    found = []
    for number, shape in enumerate(source.packed.shapes.tolist()):
        rows = np.flatnonzero(source.packed.shape_of == number)
        found.append(source.batch(rows, rows * 0, shape=(len(rows) + 1, *shape)))
    return found


def loss_of(prepared: Prepared, model: Transformer) -> Tensor:
    return torch.stack([prepared.task.losses(model, batch)[ALIGNMENT] for batch in batches(prepared)]).sum()


def expected_loss(prepared: Prepared, model: Transformer) -> tuple[Tensor, int]:
    """Of each pair alone, token by token, from the weights that the model itself has; and how many links there are."""
    source = prepared.feed.source
    assert isinstance(source, PairSource)
    assert model.decoder is not None
    last, total, links = len(model.decoder.blocks) - 1, torch.zeros((), dtype=torch.float64), 0
    for number in source.packed.members.values.tolist():
        text, target = source.examples[number]
        ids = prepared.tokenizer.encode(text).ids
        labels = prepared.tokenizer.target.encode(str(target)).ids
        read = [prepared.tokenizer.target.pad_id or 0, *labels[:-1]]
        with cross_weights(model.decoder, (last,)) as mean, cross_weights(model.decoder, (last,), 0) as own:
            model(Inputs(ids=torch.tensor([ids])), Inputs(ids=torch.tensor([read])))
        table = mean.mean()[0, :-1, :-1].tolist()  # without the end of either
        for t, row in enumerate(table):
            s = row.index(max(row))
            column = [each[s] for each in table]
            if column.index(max(column)) == t:
                total, links = total - own.mean()[0, t, s].log(), links + 1
    return total, links


def test_the_loss_is_that_of_the_links_of_each_pair(prepared: Prepared) -> None:
    model = prepared.module.double().eval()
    found, (expected, links) = loss_of(prepared, model), expected_loss(prepared, model)
    assert links > 50
    assert found.item() == pytest.approx(expected.item(), rel=ORDER)
    parameters = list(trained(model).values())
    ours, theirs = (torch.autograd.grad(loss, parameters, allow_unused=True) for loss in (found, expected))
    assert any(gradient is not None for gradient in theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one - other).abs().max() < ORDER * max(1.0, float(other.abs().max()))


def test_what_the_head_learns_is_what_its_block_looks_at(prepared: Prepared) -> None:
    model = prepared.module.double().eval()
    _, links = expected_loss(prepared, model)
    optimizer = torch.optim.Adam(trained(model).values(), lr=3e-3)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = loss_of(prepared, model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item() / links)
    assert losses[-1] < 0.7 * losses[0]


def test_blocks_that_run_twice_give_the_same_gradient(prepared: Prepared) -> None:
    found = []
    for recompute in (False, True):
        model = copy.deepcopy(prepared.module).double().train()
        assert model.decoder is not None
        model.decoder.recompute = recompute
        batch = batches(prepared)[0].with_dropout_key(torch.zeros((), dtype=torch.int32))
        torch.stack([*prepared.task.losses(model, batch).values()]).sum().backward()
        found.append([each.grad for each in model.parameters()])
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        torch.testing.assert_close(one, other, rtol=0, atol=ORDER)


def test_a_pair_without_words_has_no_link() -> None:
    scores = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    together = torch.ones(1, 3, 4, dtype=torch.bool)
    together[:, 2] = False  # padding that has nothing to look at
    some = torch.ones(1, 4, dtype=torch.bool)
    loss = alignment_loss(scores, together, ~some, some[:, :3])
    (gradient,) = torch.autograd.grad(loss, scores)
    assert loss.item() == 0
    assert not gradient.any()


def test_the_weight_is_a_share(tmp_path: Path) -> None:
    for weight in (-0.1, 1.5):
        with refused(ConfigError, wanted="task.alignment", got=str(weight)):
            resolve(ROW.recipe(tmp_path), {"task.alignment": weight})
