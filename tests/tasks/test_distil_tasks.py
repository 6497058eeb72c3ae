"""Every task of an encoder has students: what they learn from a teacher, label by label in numpy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.api.model import Model
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch, Output
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.runtime import compiler
from glassformer.saved.recipe import resolve
from glassformer.tasks import task_named
from glassformer.tasks.feed import COSINE, SOFT, TaughtFeed
from glassformer.training.compiled import LossAndGradient
from glassformer.training.loop import counts_of
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS, Row
from tests.run.heads import model_for
from tests.training.toy import machine_of

ROWS = tuple(row for row in TASKS if task_named(row.task).soft)
SOME = (
    "bert",
    "annotated-masks",
    "classify several",
    "regress",
    "choose",
    "sentence order",
    "answer",
    "tag",
    "tag crf",
)


def taught(row: Row, folder: Path, shake: Callable[[nn.Module], None], **distil: Any) -> Prepared:
    """A student of an untrained teacher of this task, both in float64, neither of which knows what it should."""
    settings = row.recipe(folder)
    made = prepare_run(resolve(settings), folder / "teacher's", NoProgress())
    shake(made.module)
    teacher = Model(made.module.eval(), made.tokenizer, task=made.task.section, length=24, data=made.recipe.data)
    asked = {"teacher": str(teacher.save(folder / "teacher")), **distil}
    train = {**settings["train"], "precision": "float64"}
    own = {**settings, "task": {"name": row.task}, "model": {}, "tokenizer": {}, "distil": asked, "train": train}
    found = prepare_run(resolve(own), folder / "student's", NoProgress())
    found.module.double().eval()
    assert isinstance(found.feed, TaughtFeed)
    found.feed.teacher.double().eval()
    return found


def apart(teacher: Any, student: Any) -> float:
    """KL(teacher ‖ student) of logits [L], by numpy."""
    both = [np.asarray(each, np.float64) for each in (teacher, student)]
    right, mine = (each - np.log(np.exp(each - each.max()).sum()) - each.max() for each in both)
    return float((np.exp(right) * (right - mine)).sum())


def by_hand(name: str, batch: Batch, student: Output, teacher: Output, heat: float) -> float:
    """The soft loss and the loss of this name, label by label."""
    labels, weights = batch.labels[name].numpy(), batch.weights.tolist()
    real = np.ones(batch.inputs.shape, bool) if batch.inputs.real is None else batch.inputs.real.numpy()
    heads = "sentence_logits", "logits", "token_logits"
    its, mine = ({head: getattr(each, head) for head in heads} for each in (teacher, student))
    of, own = (
        {head: each.detach().numpy() / heat for head, each in of.items() if each is not None} for of in (its, mine)
    )
    if name == "masked_words":
        found = [apart(one, two) for one, two, each in zip(of["logits"], own["logits"], labels.ravel(), strict=True)
                 if each != IGNORED]  # fmt: skip
    elif name == "tag":
        found = [weights[row] * apart(of["token_logits"][row, at], own["token_logits"][row, at])
                 for row, at in np.argwhere(labels != IGNORED)]  # fmt: skip
    elif name in ("start", "end"):
        side = ("start", "end").index(name)
        found = [weight * apart(of["token_logits"][row, real[row], side], own["token_logits"][row, real[row], side])
                 for row, weight in enumerate(weights) if weight]  # fmt: skip
    elif name == "choice":
        groups = np.array(weights).reshape(-1, batch.rows_of_each)
        one, two = (each["sentence_logits"].reshape(groups.shape) for each in (of, own))
        found = [group[0] * apart(a[group > 0], b[group > 0]) for group, a, b in zip(groups, one, two, strict=True)
                 if group[0]]  # fmt: skip
    elif name == "number":
        found = [weight * (a - b) ** 2 for weight, a, b in zip(
            weights, of["sentence_logits"][:, 0], own["sentence_logits"][:, 0], strict=True)]  # fmt: skip
    else:
        pairs = zip(weights, of["sentence_logits"], own["sentence_logits"], strict=True)
        several = name == "label"  # of the row that is tested, each label is a choice of its own
        found = [weight * (np.mean([apart([a, 0], [b, 0]) for a, b in zip(one, two, strict=True)]) if several
                           else apart(one, two)) for weight, one, two in pairs]  # fmt: skip
    return heat**2 * float(np.sum(found))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SOME)
def test_every_task_of_an_encoder_has_students(name: str, tmp_path: Path, shake: Callable[[nn.Module], None]) -> None:
    row = next(row for row in ROWS if row.name == name)
    found = taught(row, tmp_path, shake, layers=2, temperature=1.7)
    feed, model = found.feed, found.module
    assert isinstance(feed, TaughtFeed)
    assert found.teacher is not None
    own = type(found.task.section).model_fields.keys() & {"labels", "several", "pooling", "crf", "mean", "deviation"}
    assert all(getattr(found.task.section, each) == getattr(found.teacher.task, each) for each in own)
    batch = feed.batch(0)
    soft = [SOFT] if len(row.losses) == 1 else [f"{SOFT}_{each}" for each in row.losses]
    with torch.no_grad():
        losses = feed.losses(model, batch)
        assert losses.keys() == {*row.losses, *soft, COSINE} == batch.counts.keys() == feed.weights.keys()
        for each in (*soft, COSINE):  # it answers as its teacher does
            assert float(losses[each]) == pytest.approx(0, abs=1e-10), each
        for each, loss in found.task.losses(model, batch).items():
            assert float(losses[each]) == pytest.approx(float(loss), rel=1e-12)
        torch.manual_seed(1)
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        losses = feed.losses(model, batch)
        mine, its_own = (each(batch.inputs, scored_at=batch.scored_at) for each in (model, feed.teacher))
    for each, its in zip(row.losses, soft, strict=True):
        assert batch.counts[its] == batch.counts[each]
        assert feed.weights[its] == 5 * found.task.weights[each]
        assert float(losses[its]) > 1e-6
        if row.name != "tag crf":  # tests/models/test_chain.py has its enumeration
            # Sums of some thousand float64 numbers near 1, in another order.
            heat = 1.0 if each == "number" else 1.7
            assert float(losses[its]) == pytest.approx(by_hand(each, batch, mine, its_own, heat), rel=1e-9), each
    gradients = []
    for parts in (1, 2):
        model.zero_grad()
        learn = LossAndGradient(feed, model, machine_of(found.recipe.train), compiled=False, log=lambda note: None)
        batches = [feed.batch(1, part, parts) for part in range(parts)]
        for each_batch in batches:
            learn(each_batch, counts_of(batches))
        gradients.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    for whole, cut in zip(*gradients, strict=True):
        torch.testing.assert_close(cut, whole, rtol=0, atol=1e-9)  # sums of float64 numbers near 10, in another order


def test_the_number_of_an_imported_teacher_has_the_unit_of_its_head(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.task == "regress")
    teacher = model_for("regress", {}).save(tmp_path / "teacher")
    settings = {**row.recipe(tmp_path), "model": {}, "tokenizer": {}, "distil": {"teacher": str(teacher)}}
    section: Any = prepare_run(resolve(settings), tmp_path / "run", NoProgress()).task.section
    assert (section.mean, section.deviation) == (0.0, 1.0)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["bert", "classify", "classify several", "regress", "choose", "answer", "tag", "tag crf"]
)
def test_compiled_every_task_learns_what_it_learns_eager(
    name: str, tmp_path: Path, shake: Callable[[nn.Module], None]
) -> None:
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    torch._dynamo.reset()
    found = taught(next(row for row in ROWS if row.name == name), tmp_path, shake, layers=1)
    batch, both = found.feed.batch(0), []
    for compiled in (False, True):
        found.module.zero_grad()
        said = list[str]()
        learn = LossAndGradient(
            found.feed, found.module, machine_of(found.recipe.train), compiled=compiled, log=said.append
        )
        losses = learn(batch, batch.counts)
        assert said == []
        both.append((losses, [each.grad.clone() for each in found.module.parameters() if each.grad is not None]))
    assert both[0][0] == pytest.approx(both[1][0], rel=1e-9)
    for eager, other in zip(both[0][1], both[1][1], strict=True):
        torch.testing.assert_close(other, eager, rtol=0, atol=1e-9)  # float64, fused in another order
