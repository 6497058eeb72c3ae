"""Students and their teachers: the losses against torch's own, the layers a student begins with, what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError
from glassformer.models.transformer import fingerprint
from glassformer.run.first_weights import spread, student_of
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.resuming import earlier_recipe
from glassformer.saved.recipe import resolve, write_recipe
from glassformer.saved.sections import DistilSection
from glassformer.scoring.cross_entropy import cosine_loss, soft_loss
from glassformer.tasks.feed import COSINE, SOFT, TaughtFeed
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for

LAYERS = 4


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A model of four layers for two labels."""
    return model_for("classify", {"labels": ("0", "1")}, layers=LAYERS).save(tmp_path / "teacher")


def labelled(folder: Path, *, label: Any = None) -> str:
    """Texts of several lengths with a label each."""
    path = folder / "labelled.jsonl"
    rows = ({"text": f"{TEXTS[n % 2]} " * (1 + n % 3), "label": n % 2 if label is None else label} for n in range(40))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def recipe(teacher: Path, files: str, **more: Any) -> dict[str, Any]:
    changed: dict[str, Any] = {
        "task": {"name": "classify"},
        "data": {"files": [files], "validation": 0.2, "length": 32},
        "distil": {"teacher": str(teacher)},
        "train": {"steps": 4, "batch": 8, "compile": "off", "threads": 1, "precision": "float32",
                  "checkpoint_every": 2, "keep": 9, "evaluate_every": 2},
    }  # fmt: skip
    for name, value in more.items():
        table, _, key = name.partition("__")
        changed.setdefault(table, {})[key] = value
    return changed


def prepared(teacher: Path, files: str, folder: Path, **more: Any) -> Prepared:
    return prepare_run(resolve(recipe(teacher, files, **more)), folder / "run", NoProgress())


# --------------------------------------------------------------------------- losses


def test_the_losses_are_those_of_torch() -> None:
    """As the training of DistilBERT computes them: `kl_div` of both at T, times T², and `CosineEmbeddingLoss`."""
    rng = np.random.default_rng(0)
    student, teacher = (torch.tensor(rng.normal(size=(6, 5))) for _ in range(2))
    divergence = F.kl_div((student / 3).log_softmax(-1), (teacher / 3).softmax(-1), reduction="batchmean") * 9
    # A few roundings of numbers near 1.
    assert float(soft_loss(student, teacher, torch.ones(6), 3.0)) == pytest.approx(6 * float(divergence), abs=1e-13)
    weights = torch.tensor([1.0, 0, 2, 1, 1, 0.5], dtype=torch.float64)
    each = torch.stack([soft_loss(student[n : n + 1], teacher[n : n + 1], torch.ones(1), 3.0) for n in range(6)])
    torch.testing.assert_close(soft_loss(student, teacher, weights, 3.0), (each * weights).sum(), rtol=0, atol=1e-13)
    yes, its = (student / 3).sigmoid(), (teacher / 3).sigmoid()
    bernoulli = its * (its / yes).log() + (1 - its) * ((1 - its) / (1 - yes)).log()
    expected = 9 * float(bernoulli.mean(-1).sum())
    assert float(soft_loss(student, teacher, torch.ones(6), 3.0, several=True)) == pytest.approx(expected, abs=1e-12)

    states, other = (torch.tensor(rng.normal(size=(3, 4, 7))) for _ in range(2))
    real = torch.tensor([[True, True, True, False], [True, True, False, False], [True] * 4])
    counted = real & torch.tensor([[True], [True], [False]])  # the last row only fills the shape
    mean = F.cosine_embedding_loss(states[counted], other[counted], torch.ones(5))
    found = cosine_loss(states, other, real, torch.tensor([1.0, 0.5, 0.0]))
    assert float(found) == pytest.approx(5 * float(mean), abs=1e-12)


def test_a_student_that_answers_as_its_teacher_loses_nothing(teacher: Path, tmp_path: Path) -> None:
    found = prepared(teacher, labelled(tmp_path), tmp_path, distil__layers=LAYERS)
    model = found.module.double().eval()
    next(iter(found.feed.frozen.values())).double().eval()
    with torch.no_grad():
        losses = found.feed.losses(model, found.feed.batch(0))
    assert losses.keys() == {"label", SOFT, COSINE}
    assert float(losses[SOFT]) == pytest.approx(0, abs=1e-12)
    assert float(losses[COSINE]) == pytest.approx(0, abs=1e-12)
    assert float(losses["label"]) > 0.1


# --------------------------------------------------------------------------- the student


def test_layers_are_spread_as_those_of_distilbert() -> None:
    assert spread(12, 6) == [0, 2, 4, 7, 9, 11]  # `extract_distilbert.py` of transformers' research projects
    assert spread(6, 3) == [0, 2, 5]
    assert (spread(6, 1), spread(4, 4)) == ([0], [0, 1, 2, 3])


def test_a_student_has_the_pooling_of_its_teacher(teacher: Path) -> None:
    of = gf.load(teacher)
    of.pooling = "max"
    assert student_of(of, DistilSection(teacher=str(teacher)))[0].pooling == "max"


def test_a_student_is_its_teacher_with_fewer_layers(teacher: Path, tmp_path: Path) -> None:
    student, theirs = weights(prepared(teacher, labelled(tmp_path), tmp_path).module), weights(gf.load(teacher).module)
    block = {"encoder.blocks.0.": "encoder.blocks.0.", "encoder.blocks.1.": f"encoder.blocks.{LAYERS - 1}."}
    assert len({name.split(".")[2] for name in student if name.startswith("encoder.blocks.")}) == 2
    for name, tensor in student.items():
        start = next((start for start in block if name.startswith(start)), "")
        assert torch.equal(tensor, theirs[block.get(start, "") + name.removeprefix(start)]), name


def trained(teacher: Path, files: str, out: Path, *, resume: bool = False, stop: int = 0) -> dict[str, Tensor]:
    made = prepare_run(resolve(recipe(teacher, files)), out, NoProgress())
    steps = fit(made.module, made.feed, made.recipe.train, out=out, held_out=made.held_out, resume=resume,
                log=lambda note: None)  # fmt: skip
    for step in steps:
        if step.step == stop:
            break
    steps.close()  # type: ignore[attr-defined]  # a generator
    assert isinstance(made.feed, TaughtFeed)
    assert fingerprint(made.feed.teacher) == fingerprint(gf.load(teacher).module)
    return weights(made.module)


def test_a_student_that_was_stopped_is_the_one_that_was_not(teacher: Path, tmp_path: Path) -> None:
    files = labelled(tmp_path)
    whole = trained(teacher, files, tmp_path / "whole")
    trained(teacher, files, tmp_path / "cut", stop=3)
    cut = trained(teacher, files, tmp_path / "cut", resume=True)
    assert all(torch.equal(tensor, cut[name]) for name, tensor in whole.items())
    held = {path.name for path in (tmp_path / "whole" / "checkpoints").rglob("*.safetensors")}
    assert held == {"model.safetensors", "optimizer.safetensors", "random.safetensors"}


def test_what_is_saved_says_who_taught_and_how_well(teacher: Path, tmp_path: Path) -> None:
    model = gf.train(recipe(teacher, labelled(tmp_path)), out=tmp_path / "run", progress=NoProgress())
    taught = model.metrics["teacher"]
    assert taught["fingerprint"] == fingerprint(gf.load(teacher).module)
    assert taught["layers"] == LAYERS
    assert taught["scores"].keys() >= {"loss", "accuracy"}
    made = prepared(teacher, labelled(tmp_path), tmp_path / "again")
    assert made.teacher is not None
    assert made.held_out is not None
    # With the temperature that suits the teacher, not that of the student.
    fitted = made.task.fitted(made.teacher.module, made.held_out.source, lambda note: None)
    own = fitted.evaluate(made.teacher.module, made.held_out.source).flat()
    assert taught["scores"] == pytest.approx({name: own[name] for name in taught["scores"]})
    saved = gf.load(tmp_path / "run")
    assert saved.recipe is not None
    assert saved.recipe.distil.fingerprint == taught["fingerprint"]
    assert str(teacher.name) in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert saved.classify(TEXTS[0]).label in ("0", "1")


def test_masked_words_have_teachers_too(tmp_path: Path) -> None:
    row = next(row for row in TASKS if row.name == "masked-lm")
    first = row.recipe(tmp_path)
    big = gf.train({**first, "train": {**first["train"], "steps": 2}}, out=tmp_path / "big", progress=NoProgress())
    changed = {**first, "model": {}, "tokenizer": {}, "distil": {"teacher": str(tmp_path / "big")}}
    student = gf.train(changed, out=tmp_path / "small", progress=NoProgress())
    assert len(student.config.output_stack.blocks) == 1
    assert len(big.config.output_stack.blocks) == 2
    assert student.metrics["teacher"]["scores"]["loss"] > 0
    lines = (tmp_path / "small" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1]).keys() >= {f"{name}_loss" for name in ("masked_words", SOFT, COSINE)}


# --------------------------------------------------------------------------- what is refused


def test_pairs_that_do_not_fit_are_refused(teacher: Path, tmp_path: Path) -> None:
    files = labelled(tmp_path)
    with refused(ConfigError, got="distil.layers = 9"):
        prepared(teacher, files, tmp_path, distil__layers=9)
    wide = model_for("classify", {"labels": ("0", "1")}, width=24).save(tmp_path / "wide")
    with refused(ConfigError, got=("24", "12"), do="--cosine 0"):
        prepared(teacher, files, tmp_path, model__start=str(wide))
    assert prepared(teacher, files, tmp_path, model__start=str(wide), distil__cosine=0.0).feed.weights.keys() == {
        "label", SOFT}  # fmt: skip
    reader = model_for("tag", {"labels": ("O", "B-LOC")}).save(tmp_path / "tagger")
    with refused(ConfigError, got="a model of tag"):
        prepared(reader, files, tmp_path)
    with refused(ConfigError, got="language-model", do="classify"):
        prepared(reader, files, tmp_path, task__name="language-model")
    with refused(DataError, got="'3'"):
        prepared(teacher, labelled(tmp_path, label="3"), tmp_path)


def test_a_student_of_a_shorter_or_a_pairing_teacher_is_refused(teacher: Path, tmp_path: Path) -> None:
    files = labelled(tmp_path)
    longer = model_for("classify", {"labels": ("0", "1")}, max_length=128).save(tmp_path / "longer")
    with refused(ConfigError, got="64", do="data.length"):
        prepared(teacher, files, tmp_path, model__start=str(longer), data__length=100)
    plain = model_for("classify", {"labels": ("0", "1")}, family="roberta").save(tmp_path / "plain")
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"a": TEXTS[0], "b": TEXTS[n % 2], "label": n % 2}) + "\n" for n in range(20)))
    with refused(ConfigError, got="roberta", do="--start"):
        prepared(teacher, str(pairs), tmp_path, model__start=str(plain), data__text="a", data__pair="b")
    assert prepared(teacher, files, tmp_path, model__start=str(plain)).teacher is not None


def test_a_stopped_student_goes_on_by_the_same_words_whatever_its_teacher_pools(tmp_path: Path) -> None:
    pooled = model_for("classify", {"labels": ("0", "1"), "pooling": "mean"}, layers=2).save(tmp_path / "pooled")
    files = labelled(tmp_path)
    made = prepared(pooled, files, tmp_path)
    (tmp_path / "run").mkdir(exist_ok=True)
    write_recipe(tmp_path / "run", made.recipe, made.tokenizer)
    again: Any = earlier_recipe(tmp_path / "run", resolve(recipe(pooled, files)), resume=True)
    assert again.task.pooling == "mean"
    with refused(ConfigError, wanted="task.pooling", got="max"):
        earlier_recipe(tmp_path / "run", resolve(recipe(pooled, files, task__pooling="max")), resume=True)
    assert prepared(pooled, files, tmp_path, task__pooling="max").task.section.model_dump()["pooling"] == "max"


def test_a_teacher_with_another_tokenizer_is_refused(teacher: Path, tmp_path: Path) -> None:
    from glassformer.models.families import bert
    from glassformer.models.transformer import build
    from glassformer.text.train import train_tokenizer

    tokenizer = train_tokenizer("wordpiece", ["other words are here"] * 9, vocabulary=60, lowercase=True)
    config = bert(vocabulary=tokenizer.vocabulary_size, layers=1, width=12, heads=3, feed_forward=20, max_length=64)
    student = Model(build(config), tokenizer).save(tmp_path / "student")
    with refused(ConfigError, got=str(teacher)):
        prepared(teacher, labelled(tmp_path), tmp_path, model__start=str(student))


def test_a_teacher_that_has_changed_is_refused_when_a_run_goes_on(teacher: Path, tmp_path: Path) -> None:
    files = labelled(tmp_path)
    gf.train(recipe(teacher, files), out=tmp_path / "run", progress=NoProgress())
    model = gf.load(teacher)
    with torch.no_grad():
        model.module.get_parameter("sentence_head.output.bias").add_(1.0)
    model.save(teacher)
    with refused(ConfigError, got=str(teacher)):
        gf.train(out=tmp_path / "run", resume=True, progress=NoProgress())
