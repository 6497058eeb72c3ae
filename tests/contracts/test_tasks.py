"""What every task promises: a table of tasks × promises, on tiny models and real files."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.answering.answers import answer
from glassformer.base.errors import ConfigError, DataError
from glassformer.models.transformer import Transformer
from glassformer.run.evaluate import evaluate
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.runtime import compiler
from glassformer.saved.recipe import resolve
from glassformer.scoring.baselines import repeated
from glassformer.scoring.score import THIS_MODEL, flat_name
from glassformer.scoring.verdict import lower_is_better
from glassformer.tasks import predictor_of, task_named
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.predictor import Context
from glassformer.tasks.tables import TableTask
from glassformer.training.checkpoint import Checkpoints, weights
from glassformer.training.compiled import LossAndGradient
from glassformer.training.loop import counts_of, fit, step_seed
from glassformer.training.progress import NoProgress
from glassformer.training.settings import AdapterSection, TuneSection
from tests.contracts.tasks import TASKS, Row
from tests.training.toy import machine_of

EVERY = pytest.mark.parametrize("row", TASKS, ids=[row.name for row in TASKS])
# Sums of at most a few thousand float64 numbers near 1, in another order.
ORDER = 1e-12


def quiet(message: str) -> None:
    """Take a note and forget it."""


def prepared_for(row: Row, folder: Path) -> Prepared:
    return prepare_run(resolve(row.recipe(folder)), folder / "run", NoProgress())


Made = Callable[[Row], Prepared]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """What is prepared for a row, once for all tests that change nothing of it: they train a copy of the model."""
    known: dict[str, Prepared] = {}

    def prepared_once(row: Row) -> Prepared:
        if row.name not in known:
            known[row.name] = prepared_for(row, tmp_path_factory.mktemp("prepared"))
        return known[row.name]

    return prepared_once


@pytest.fixture(scope="module", params=TASKS, ids=[row.name for row in TASKS])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, gf.Model, Path]:
    """Each task's model after its six steps, and its folder."""
    row: Row = request.param
    folder = tmp_path_factory.mktemp(row.name.replace(" ", "-"))
    return row, gf.train(row.recipe(folder), out=folder / "run", progress=NoProgress()), folder


def gradients(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


@pytest.mark.sampled(9)
@EVERY
def test_what_was_learned_is_known_again_when_it_is_measured(row: Row, made: Made) -> None:
    prepared = made(row)
    if not isinstance(prepared.task, TableTask):
        pytest.skip("only records are compared with those of training")
    source: Any = prepared.feed.source
    examples = list(source.examples)
    assert repeated(prepared.task.known_by, examples, examples[:3]) == 3
    assert repeated(prepared.task.known_by, [], examples[:3]) == 0


# --------------------------------------------------------------------------- training


@pytest.mark.sampled(4)
@EVERY
@pytest.mark.parametrize("parts", [2, 3, 8])
def test_parts_of_a_step_give_the_gradient_of_the_whole(row: Row, parts: int, made: Made) -> None:
    prepared = made(row)
    settings = prepared.recipe.train.model_copy(update={"precision": "float64"})
    found = []
    for count in (1, parts):
        model = copy.deepcopy(prepared.module).double().train()
        learn = LossAndGradient(prepared.feed, model, machine_of(settings), compiled=False, log=quiet)
        batches = [prepared.feed.batch(1, part, count) for part in range(count)]
        counts = counts_of(batches)
        losses = [learn(batch.with_dropout_key(step_seed(0, 1)), counts) for batch in batches]
        found.append((counts, {name: sum(each[name] for each in losses) for name in losses[0]}, gradients(model)))
    (counts, whole, of_whole), (its_counts, cut, of_cut) = found
    assert counts == pytest.approx(its_counts, abs=ORDER)
    assert whole.keys() == set(row.losses)
    assert whole == pytest.approx(cut, abs=ORDER)
    assert of_whole.keys() == of_cut.keys()
    for name, gradient in of_whole.items():
        assert (gradient - of_cut[name]).abs().max() <= ORDER, name


@pytest.mark.sampled(6)
@EVERY
def test_rows_that_only_fill_the_shape_change_nothing(row: Row, made: Made) -> None:
    prepared = made(row)
    model = copy.deepcopy(prepared.module).double().eval()
    each = prepared.feed.source.rows_of_each
    batch = prepared.feed.source.batch(*_first(3), shape=(3 * each, *row.lengths))
    filled = prepared.feed.source.batch(*_first(3), shape=(7 * each, *row.lengths))
    assert batch.counts == filled.counts
    for name, loss in prepared.task.losses(model, batch).items():
        other = prepared.task.losses(model, filled)[name]
        assert other.item() == pytest.approx(loss.item(), abs=ORDER)


def _first(count: int) -> tuple[Any, Any]:
    return np.arange(count), np.zeros(count, np.int64)


@pytest.mark.sampled(9)
@EVERY
def test_an_evaluation_has_the_mean_loss_of_the_examples(row: Row, made: Made) -> None:
    prepared = made(row)
    model, source = copy.deepcopy(prepared.module).double(), prepared.feed.source
    found = TaskFeed(prepared.task, source, batch=4).evaluate(model)["loss"]
    assert math.isfinite(found)
    if "loss" in prepared.task.evaluate_in_training(model, source).flat():
        return  # the task's own, which tests/scoring compares with other implementations
    every = np.arange(len(source))
    batch = source.batch(every, every * 0, shape=(len(every) * source.rows_of_each, *row.lengths))
    losses = prepared.task.losses(model.eval(), batch)
    means = {name: loss.item() / batch.counts[name] for name, loss in losses.items()}
    assert found == pytest.approx(sum(prepared.feed.weights[name] * mean for name, mean in means.items()), abs=ORDER)


@pytest.mark.sampled(3)
@EVERY
def test_the_loss_of_a_step_is_the_weighted_sum_of_its_losses(row: Row, tmp_path: Path) -> None:
    prepared = prepared_for(row, tmp_path)
    steps = fit(prepared.module, prepared.feed, prepared.recipe.train, out=tmp_path / "run", log=quiet)
    for step in steps:
        assert step.losses.keys() == set(row.losses) == step.counts.keys()
        assert step.loss == pytest.approx(sum(prepared.feed.weights[name] * loss for name, loss in step.losses.items()))
        assert all(count > 0 for count in step.counts.values())


@pytest.mark.sampled(3)
@EVERY
def test_killed_and_resumed_it_ends_with_the_same_bits(row: Row, tmp_path: Path) -> None:
    def train(out: Path, stop_after: int | None = None, *, resume: bool = False) -> Transformer:
        prepared = prepared_for(row, tmp_path)
        steps: Iterator[Any] = fit(
            prepared.module, prepared.feed, prepared.recipe.train, out=out, held_out=None, resume=resume, log=quiet
        )
        for step in steps:
            if step.step == stop_after:
                break
        return prepared.module

    whole = train(tmp_path / "whole")
    train(tmp_path / "killed", stop_after=3)  # the newest checkpoint is that of step 2
    newest = Checkpoints(tmp_path / "killed" / "checkpoints").newest()
    assert newest is not None
    assert newest.step == 2
    resumed = train(tmp_path / "killed", resume=True)
    for name, tensor in weights(whole).items():
        assert torch.equal(tensor, weights(resumed)[name]), name


@pytest.mark.sampled(5)
@EVERY
def test_adapted_it_ends_with_plain_weights_of_which_only_heads_and_adapted_layers_moved(
    row: Row, tmp_path: Path
) -> None:
    prepared = prepared_for(row, tmp_path)
    start = {name: tensor.clone() for name, tensor in weights(prepared.module).items()}
    settings = prepared.recipe.train.model_copy(update={"steps": 2})
    tune = TuneSection(adapters=AdapterSection(rank=2, layers=("*.value",)))
    notes: list[str] = []
    list(fit(prepared.module, prepared.feed, settings, tune=tune, out=tmp_path / "run", log=notes.append))
    now = weights(prepared.module)
    assert now.keys() == start.keys()
    moved = {name for name in start if not torch.equal(start[name], now[name])}
    layers = {name for name in start if name.endswith(".value.weight")}
    assert layers <= moved
    assert all(name.startswith(("head.", "sentence_head.", "token_head.")) for name in moved - layers)
    assert any(line.startswith("checked after step 1") for line in notes)


# Compiling is most of it: those whose step is like another's are longer proofs.
_LIKE_ANOTHER = ("regress", "classify several", "bert", "translate with two vocabularies and an alignment head")
COMPILED = pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=pytest.mark.long if row.name in _LIKE_ANOTHER else ()) for row in TASKS],
    ids=[row.name for row in TASKS],
)


@pytest.mark.sampled(3)
@COMPILED
def test_compiled_it_learns_as_eager_does(row: Row, tmp_path: Path) -> None:
    """One shape of each task, forward and back, by torch's own compiler."""
    if not compiler.has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    if row.task not in ("bert", "classify", "regress", "translate") or row.name in ("classify pairs", "translate"):
        pytest.skip("one loss at scored tokens is compiled by tests/training/test_compiled.py, a pair as a text is")
    torch._dynamo.reset()
    prepared = prepared_for(row, tmp_path)
    found = []
    for compiled in (False, True):
        model = copy.deepcopy(prepared.module).train()
        notes: list[str] = []
        learn = LossAndGradient(
            prepared.feed, model, machine_of(prepared.recipe.train), compiled=compiled, log=notes.append
        )
        batch = prepared.feed.batch(0)
        losses = learn(batch.with_dropout_key(step_seed(0, 0)), batch.counts)
        assert notes == []
        assert learn.compiled is compiled
        found.append((losses, gradients(model)))
    (eager, of_eager), (fused, of_fused) = found
    assert eager == pytest.approx(fused, rel=1e-5)
    for name, gradient in of_eager.items():
        assert (gradient - of_fused[name]).abs().max() < 1e-5, name  # float32, fused in another order


def test_two_losses_have_counts_of_their_own(made: Made) -> None:
    """The masked words of a pair are counted apart from its label."""
    row = next(each for each in TASKS if each.task == "bert")
    batch = made(row).feed.batch(0)
    pairs = batch.counts["next_sentence"]
    assert pairs == int((batch.labels["next_sentence"] >= 0).sum()) > 1
    assert batch.counts["masked_words"] == int((batch.labels["masked_words"] >= 0).sum()) > pairs


# --------------------------------------------------------------------------- answering


def plain(found: Any) -> Any:
    """A prediction as plain values, probabilities apart."""
    return json.loads(json.dumps(found.to_dict()))


def assert_same(mine: Any, its: Any) -> None:
    if isinstance(mine, dict):
        assert mine.keys() == its.keys()
        for key in mine:
            assert_same(mine[key], its[key])
    elif isinstance(mine, list):
        assert len(mine) == len(its)
        for one, other in zip(mine, its, strict=True):
            assert_same(one, other)
    elif isinstance(mine, float):
        assert mine == pytest.approx(its, abs=ORDER)
    else:
        assert mine == its


def asked(row: Row, model: gf.Model, records: Any) -> list[Any]:
    return [plain(found) for found in answer(model, row.verb, ((each, "") for each in records), {})]


@pytest.mark.sampled(2)
def test_an_answer_is_the_same_alone_and_among_others_in_any_order(trained: tuple[Row, gf.Model, Path]) -> None:
    row, model, _ = trained
    exact = gf.Model(
        copy.deepcopy(model.module).double(),
        model.tokenizer,
        task=model.task,
        length=model.length,
        data=model.data,
        templates=model.templates,
    )
    together = asked(row, exact, row.records)
    backwards = asked(row, exact, row.records[::-1])[::-1]
    for record, found, other in zip(row.records, together, backwards, strict=True):
        (alone,) = asked(row, exact, [record])
        assert_same(found, alone)
        assert_same(found, other)


@pytest.mark.sampled(3)
def test_a_long_text_is_answered_through_its_windows(trained: tuple[Row, gf.Model, Path]) -> None:
    row, model, _ = trained
    if row.verb == "chat":  # of a long turn the end is read
        (found,) = asked(row, model, [{"text": " ".join(["the"] * 60)}])
        assert found["left_out"] > 0
        assert (found["read"], found["windows"]) == (1, 1)
        return
    long = [found for found in asked(row, model, row.records) if found["windows"] > 1]
    assert long
    if row.verb == "translate":
        predictor = predictor_of("translate").of(model.module, model.tokenizer, model.context({}))
        for record, found in zip(row.records, asked(row, model, row.records), strict=True):
            rows = list(predictor.rows(predictor.example(record, "")))
            assert found["windows"] == len(rows)
            assert max(len(each.ids) for each in rows) <= 24
    elif row.verb == "score":
        text = " ".join(["the"] * 60 + ["fox"] * 60)
        (found,) = asked(row, model, [{"text": text}])
        assert found["windows"] > 1
        assert [text[each["start"] : each["end"]].strip() for each in found["tokens"]] == [
            each["text"].strip() for each in found["tokens"]
        ]
        assert "".join(each["text"] for each in found["tokens"]) == text
    elif row.verb == "fill":
        text = " ".join(["the"] * 60 + ["[MASK]"] + ["fox"] * 60)
        (found,) = asked(row, model, [{"text": text}])
        assert found["windows"] > 1
        (mask,) = found["masks"]
        assert text[mask["start"] : mask["end"]] == "[MASK]"
    else:
        for record, found in zip(row.records, asked(row, model, row.records), strict=True):
            row.whole(record, found)


@pytest.mark.sampled(9)
def test_windows_of_a_text_share_a_weight_of_one(trained: tuple[Row, gf.Model, Path]) -> None:
    row, model, _ = trained
    if row.verb != "classify":
        pytest.skip("masked words and tags are cut and not shared out; for a choice see tests/tasks/test_choose.py")
    task = predictor_of(row.verb, row.task).of(model.module, model.tokenizer, model.context({}))
    for record in row.records:
        rows = list(task.rows(task.example({**record, "label": row.label}, "here")))
        assert sum(each.weight for each in rows) == pytest.approx(1)
        assert all(len(each.ids) <= 24 for each in rows)


@pytest.mark.sampled(3)
def test_saved_and_loaded_it_gives_the_same_answers(trained: tuple[Row, gf.Model, Path], tmp_path: Path) -> None:
    row, model, folder = trained
    loaded = gf.load(folder / "run")
    again = gf.load(loaded.save(tmp_path / "again"))
    assert loaded.task == model.task == again.task
    assert loaded.data == model.data == again.data
    assert asked(row, model, row.records) == asked(row, loaded, row.records) == asked(row, again, row.records)
    assert dict(loaded.metrics["scores"]) == dict(again.metrics["scores"])


@EVERY
def test_the_name_of_the_score_that_keeps_a_model_says_which_of_two_is_better(row: Row) -> None:
    kept = task_named(row.task).Section.model_validate({"name": row.task, **row.section}).kept_by
    assert kept.startswith("-") == lower_is_better(kept), "see _LOWER in scoring/verdict.py"


@pytest.mark.sampled(9)
def test_it_is_measured_again_as_it_was(trained: tuple[Row, gf.Model, Path]) -> None:
    row, model, folder = trained
    scores = evaluate(gf.load(folder / "run"))
    assert scores.flat() == pytest.approx(model.metrics["scores"], rel=1e-6)  # float32, in other batches
    others = {flat_name(system, "").removesuffix("_") for system in scores.of if system != THIS_MODEL}
    assert others
    assert others <= set(task_named(row.task).baseline_names)


@pytest.mark.sampled(9)
def test_its_head_is_verified_and_explained(trained: tuple[Row, gf.Model, Path]) -> None:
    row, model, _ = trained
    record = {key: str(value) for key, value in row.records[1].items()}
    from glassformer.look.texts.trace import trace
    from glassformer.look.trace.run import Options

    found = trace(model, record["text"], record.get("pair"), options=Options(dtype=torch.float64))
    verified = found.verify()
    assert verified.holds
    assert f"{row.head}.logits" in {check.name for check in verified.checks}
    cell = ",".join(f"{axis}=0" for axis in found.axes(f"{row.head}.logits"))
    explanation = found.explain(f"{row.head}.logits", cell)
    assert explanation.value == pytest.approx(explanation.recomputed, abs=ORDER)


def test_its_section_says_what_the_outputs_of_a_head_for_texts_mean(
    trained: tuple[Row, gf.Model, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels as many as outputs, and a line for the README of an exported graph that runs."""
    _, model, _ = trained
    head = model.config.sentence_head
    if head is None:
        pytest.skip("its head is not for texts")
    outputs = model.measured_as.head_outputs
    assert len(outputs.labels) in (0, head.labels)
    assert outputs.several == (head.probabilities == "sigmoid")
    exec(outputs.code, {"np": np, "LABELS": list(outputs.labels), "logits": np.zeros((2, head.labels), np.float32)})
    assert capsys.readouterr().out.strip()


# --------------------------------------------------------------------------- refusing


@EVERY
@pytest.mark.parametrize("table", ["task", "data", "train"])
def test_an_unknown_key_is_refused_with_a_known_one(row: Row, table: str, tmp_path: Path) -> None:
    recipe = row.recipe(tmp_path)
    recipe[table]["lenght" if table == "data" else "nmae" if table == "task" else "stepz"] = 3
    with pytest.raises(ConfigError) as raised:
        resolve(recipe)
    near = {"data": "length", "task": "name", "train": "steps"}[table]
    assert near in raised.value.do


@pytest.mark.sampled(4)
@EVERY
def test_a_bad_row_is_named_with_its_line_before_training(row: Row, tmp_path: Path) -> None:
    if row.bad is None:
        pytest.skip("running text has no bad rows")
    recipe = row.recipe(tmp_path)
    path = Path(recipe["data"]["files"][0])
    lines = len(path.read_text(encoding="utf-8").splitlines())
    with path.open("a", encoding="utf-8") as file:
        file.write(row.bad + "\n")
    with pytest.raises(DataError) as raised:
        gf.train(recipe, out=tmp_path / "run", progress=NoProgress())
    assert f"{path}, line {lines + 1}" in raised.value.wanted
    assert not (tmp_path / "run").exists()
    recipe["data"]["on_bad_row"] = "skip"
    assert gf.train(recipe, out=tmp_path / "run", progress=NoProgress()).task is not None


@EVERY
def test_a_model_that_cannot_answer_its_verb_says_so(row: Row) -> None:
    from glassformer.models.families import bert, gpt2
    from glassformer.models.transformer import build
    from glassformer.text.train import train_tokenizer

    tokenizer = train_tokenizer("wordpiece", ["some words"], vocabulary=30)
    other = bert if row.task == "language-model" else gpt2
    model = build(other(layers=1, width=8, heads=2, vocabulary=tokenizer.vocabulary_size))
    with pytest.raises(ConfigError) as raised:
        predictor_of(row.verb, row.task).of(model, tokenizer, Context())
    assert "glassformer train" in raised.value.do
