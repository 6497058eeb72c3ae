"""A training from a model begins with the best linear layer on its frozen states, and never ends below it."""

import itertools
import json
import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.linear_model import LogisticRegression

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.models.families.heads import sentence_head_of, with_sentence_head
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.run import frozen_states
from glassformer.run import probe as module
from glassformer.run.frozen_states import Read
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.probe import STRENGTHS, Probe, output_of, scale_blocks
from glassformer.saved.recipe import resolve
from glassformer.saved.store import PROBE
from glassformer.tasks.records import RecordSource
from glassformer.training.progress import NoProgress
from tests.contracts.families import random_weights
from tests.contracts.tasks import TASKS
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for, spread_of

ROWS = tuple(
    row for row in TASKS if row.name in ("classify", "classify pairs", "classify several", "regress", "choose", "tag")
)
WORDS = sorted({word.strip(".,") for text in TEXTS for word in text.split()})


def table(folder: Path) -> Path:
    """Texts of a few words, and a label that one of the words decides."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(120)]
    rows = [{"text": text, "label": "warm" if "Paris" in text or "May" in text else "cold"} for text in texts]
    (path := folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def recipe(folder: Path, **more: Any) -> dict[str, Any]:
    start = model_for("masked-lm", {}, width=24, heads=3).save(folder / "start")
    train = {"steps": 2, "batch": 16, "compile": "off", "threads": 1, "precision": "float32", "evaluate_every": 1}
    return {
        "task": {"name": "classify"},
        "data": {"files": [str(table(folder))], "validation": 0.25, "length": 32},
        "model": {"start": str(start)},
        "train": {**train, **more},
    }


def prepared(folder: Path, **more: Any) -> Prepared:
    return prepare_run(resolve(recipe(folder, **more)), folder / "run", NoProgress())


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first steps of each fit alone, for what does not ask how good a layer is."""
    monkeypatch.setattr(module, "_FITTING", 0.0)


def test_the_layer_is_the_logistic_regression_of_scikit_learn(tmp_path: Path) -> None:
    """The same objective on the same standardized vectors: of the strengths one gives these probabilities."""
    made = prepared(tmp_path)
    assert made.probe is not None
    pooling = made.task.section.model_dump()["pooling"]
    assert made.probe.losses.keys() == {"first", "mean"}
    assert made.probe.losses[pooling] == min(made.probe.losses.values())
    start = gf.load(tmp_path / "start")
    scale_blocks(start.module, made.probe.scale)
    assert made.held_out is not None
    split: dict[str, Any] = {"train": made.feed.source, "held out": made.held_out.source}
    texts = {name: [each.text for each in source.examples] for name, source in split.items()}
    labels = [each.label for each in split["train"].examples]
    vectors = {name: start.embed(of, pooling=pooling).astype(np.float64) for name, of in texts.items()}
    mean, spread = vectors["train"].mean(axis=0), spread_of(vectors["train"])
    own = {name: (of - mean) / spread for name, of in vectors.items()}
    ours = vectors["held out"] @ made.probe.weight.double().numpy().T + made.probe.bias.numpy()  # [E, 2]
    ours = torch.tensor(ours).softmax(-1).numpy()
    apart = []
    for strength in STRENGTHS:
        # scikit-learn has one row of weights for two labels, ours two that are opposite: half the penalty.
        theirs = LogisticRegression(C=2 * strength, tol=1e-10, max_iter=5000).fit(own["train"], labels)
        apart.append(np.abs(theirs.predict_proba(own["held out"]) - ours).max())
    assert min(apart) < 2e-3  # ours stops after 60 steps in float32


@pytest.mark.long
@pytest.mark.usefixtures("briefly")
def test_a_run_that_only_gets_worse_ends_with_the_layer_that_it_began_with(tmp_path: Path) -> None:
    settings = recipe(tmp_path, learning_rate=5.0)
    model = gf.train(settings, out=tmp_path / "run", progress=NoProgress())
    kept = Probe.read(tmp_path / "run", prepared(tmp_path / "again").task)
    layer = output_of(model.module)
    assert torch.equal(layer.weight.detach(), kept.weight)
    assert torch.equal(layer.bias.detach(), kept.bias)
    assert model.task is not None
    assert model.task.model_dump()["pooling"] == kept.task.section.model_dump()["pooling"]
    scale_blocks(begun := gf.load(tmp_path / "start").module, kept.scale)
    frozen = begun.state_dict()
    same = [name for name, tensor in model.module.state_dict().items() if name in frozen]
    assert same
    assert all(torch.equal(model.module.state_dict()[name], frozen[name]) for name in same)


@pytest.mark.long
@pytest.mark.usefixtures("briefly")
def test_a_resumed_run_reads_its_layer_and_refuses_a_damaged_one(tmp_path: Path) -> None:
    gf.train(recipe(tmp_path), out=tmp_path / "run", progress=NoProgress())
    before = (tmp_path / "run" / PROBE).read_bytes()
    gf.train(None, out=tmp_path / "run", resume=True, set={"train.steps": 3}, progress=NoProgress())
    assert (tmp_path / "run" / PROBE).read_bytes() == before
    path = tmp_path / "run" / PROBE
    task = prepared(tmp_path / "again").task
    known = Probe.read(tmp_path / "run", task)
    (tmp_path / "cut").write_bytes(before[:50])
    save_file({"weight": known.weight, "bias": known.bias}, tmp_path / "without facts", {"chosen": "{}"})
    replace(known, weight=known.weight[:1], bias=known.bias[:1]).save(tmp_path)  # would be the same row for each label
    (tmp_path / PROBE).rename(tmp_path / "of one label")
    for damaged in ("cut", "without facts", "of one label"):
        path.write_bytes((tmp_path / damaged).read_bytes())
        with refused(CheckpointError, do=PROBE):
            gf.train(None, out=tmp_path / "run", resume=True, set={"train.steps": 4}, progress=NoProgress())
    for place in range(8, len(before), 11):  # a blank at the end of the header may differ
        path.write_bytes(bytes([*before[:place], before[place] ^ 1, *before[place + 1 :]]))
        with suppress(CheckpointError):
            found = Probe.read(tmp_path / "run", task)
            assert torch.equal(found.weight, known.weight)
            assert torch.equal(found.bias, known.bias)
            assert (found.task.section, found.start) == (known.task.section, known.start)
            assert found.scale == known.scale


@pytest.mark.long
def test_blocks_that_harm_begin_with_smaller_matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All other weights stay as they were, to the bit; not where a part is frozen, nor of few rows."""
    settings = recipe(tmp_path, steps=1)
    start = gf.load(tmp_path / "start")
    scale_blocks(start.module, 4)  # the states say less of the words
    start.save(tmp_path / "harmful")
    settings["model"]["start"] = str(tmp_path / "harmful")
    few = prepare_run(resolve(settings), tmp_path / "run", NoProgress()).probe
    assert few is not None
    assert few.scale == 1
    monkeypatch.setattr(module, "_FEWEST", 50)
    made = prepare_run(resolve(settings), tmp_path / "run", NoProgress())
    assert made.probe is not None
    assert made.probe.scale == 0.25
    before, after = start.module.state_dict(), made.module.state_dict()
    for name in before.keys() & after.keys():
        scaled = ".blocks." in name and before[name].dim() == 2
        assert torch.equal(after[name], before[name] * (made.probe.scale if scaled else 1)), name
    made.probe.save(tmp_path)
    assert Probe.read(tmp_path, made.task).scale == made.probe.scale
    for tune in ({"freeze": ["encoder.embed.*"]}, {"adapters": {"rank": 2}}):
        whole = prepare_run(resolve({**settings, "tune": tune}), tmp_path / "run", NoProgress()).probe
        assert whole is not None
        assert whole.scale == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_task_with_a_head_for_it_begins_below_its_baseline(row: Any, tmp_path: Path) -> None:
    start = model_for("masked-lm", {}, width=24, heads=3).save(tmp_path / "start")
    settings = {**row.recipe(tmp_path), "tokenizer": {}, "model": {"start": str(start)}}
    settings["data"] |= {"validation": 0.0}  # a fifth of the rows is set aside
    made = prepare_run(resolve(settings), tmp_path / "run", NoProgress())
    assert made.probe is not None
    assert made.feed.task.section == made.task.section
    losses = dict.fromkeys(made.feed.weights, 0.0)
    counts = dict(losses)
    made.module.eval()
    for step in range(round(made.feed.steps_per_epoch)):
        batch = made.feed.batch(step)
        for name, loss in made.feed.losses(made.module, batch).items():
            losses[name] += float(loss.detach())
            counts[name] += (batch.counts if batch.present is None else batch.present)[name]
    assert made.task.baseline_loss is not None
    # Of random vectors that tell nothing the biases alone are fitted: of three candidates there are none that count.
    floor = math.log(3) if row.task == "choose" else made.task.baseline_loss
    assert sum(losses[name] / counts[name] for name in losses) < floor + 0.01
    without = prepare_run(resolve({**settings, "tune": {"probe": False}}), tmp_path / "other", NoProgress())
    assert without.probe is None


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("row", [row for row in ROWS if row.name in ("regress", "choose")], ids=lambda row: row.name)
def test_a_pooler_alone_is_no_trained_head(row: Any, tmp_path: Path) -> None:
    """A number and a choice have no labels, and nor has a start whose pooler nothing follows."""
    start = model_for("masked-lm", {}, width=24, heads=3)
    config = start.module.config
    pooler = with_sentence_head(config, sentence_head_of(config, labels=0))
    folder = Model(random_weights(Transformer(pooler), seed=3), start.tokenizer).save(tmp_path / "start")
    settings = {**row.recipe(tmp_path), "tokenizer": {}, "model": {"start": str(folder)}}
    assert prepare_run(resolve(settings), tmp_path / "run", NoProgress()).probe is not None


@pytest.mark.long
@pytest.mark.usefixtures("briefly")
def test_a_refused_run_leaves_no_layer_and_a_new_one_reads_none(tmp_path: Path) -> None:
    settings = recipe(tmp_path)
    with refused(ConfigError, got="nothing"):
        gf.train({**settings, "tune": {"freeze": ["nothing.*"]}}, out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()
    found = prepared(tmp_path).probe
    assert found is not None
    (tmp_path / "run").mkdir(exist_ok=True)
    replace(found, weight=found.weight + 1).save(tmp_path / "run")
    again = prepared(tmp_path).probe
    assert again is not None
    assert torch.equal(again.weight, found.weight)


@pytest.mark.long
def test_fitting_stops_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any seconds each fit takes its first steps alone, and the layer is still better than none."""
    ends = []
    for share in (1e6, 0.0):
        monkeypatch.setattr(module, "_FITTING", share)
        steps: list[object] = []
        monkeypatch.setattr(torch.optim, "LBFGS", counting(steps))
        found = prepared(tmp_path).probe
        assert found is not None
        assert min(found.losses.values()) < math.log(2)
        ends.append(len(steps))
    assert ends[1] == 5 * (2 + len(STRENGTHS)) + 1  # two poolings and each strength in five folds, then the layer
    assert ends[0] > 2 * ends[1]


@pytest.mark.parametrize("minutes", [None, 30.0])
def test_without_minutes_the_clock_changes_no_number(
    minutes: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a slow rate the operations end the reading and each fit, whatever the machine's clock shows."""
    usual = prepared(tmp_path).probe
    monkeypatch.setattr(frozen_states, "_RATE", 2e4)
    found, time = list[Probe](), itertools.count(step=0.0)
    monkeypatch.setattr(frozen_states, "monotonic", lambda: next(time))
    for number, step in enumerate((0.0, 50.0)):
        time = itertools.count(step=step)
        made = prepare_run(resolve(recipe(tmp_path, minutes=minutes)), tmp_path / str(number), NoProgress()).probe
        assert made is not None
        found.append(made)
    still, away = found
    assert torch.equal(still.weight, away.weight) == (minutes is None)
    assert usual is not None
    assert torch.equal(still.weight, usual.weight) == (minutes is not None)


def counting(steps: list[object]) -> type[torch.optim.LBFGS]:
    class Counting(torch.optim.LBFGS):
        def step(self, closure: Any) -> Any:  # type: ignore[override]
            steps.append(None)
            return super().step(closure)  # type: ignore[no-untyped-call]

    return Counting


def test_a_number_that_is_nearly_constant_has_no_large_weight(tmp_path: Path) -> None:
    """Tuning would get out of hand by it: standardized it has a spread of 1 too, and noise that fits some labels."""
    settings = recipe(tmp_path)
    start = gf.load(tmp_path / "start")
    with torch.no_grad():
        for name, each in start.module.named_parameters():
            if "feed_forward.norm" in name:
                each[0] *= 1e-4
    start.save(tmp_path / "start")
    found = prepare_run(resolve(settings), tmp_path / "constant", NoProgress()).probe
    assert found is not None
    weight = found.weight.abs()
    assert weight[:, 0].max() <= weight[:, 1:].max()


def test_one_row_of_each_label_has_a_layer_of_finite_numbers(tmp_path: Path) -> None:
    settings = recipe(tmp_path)
    rows = [json.dumps({"text": text, "label": text}) for text in ("May", "Paris")]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    settings["data"] |= {"validation": 0.0}
    few = prepare_run(resolve(settings), tmp_path / "few", NoProgress()).probe
    assert few is not None
    assert few.weight.isfinite().all()


@pytest.mark.usefixtures("briefly")
def test_the_same_recipe_goes_on_and_another_pooling_is_refused(tmp_path: Path) -> None:
    settings = recipe(tmp_path, steps=1)
    gf.train(settings, out=tmp_path / "run", progress=NoProgress())
    model = gf.train(settings, out=tmp_path / "run", resume=True, set={"train.steps": 3}, progress=NoProgress())
    assert model.metrics["steps"] == 3
    assert model.task is not None
    other = {"first": "mean", "mean": "first"}[model.task.model_dump()["pooling"]]
    with refused(ConfigError, wanted="task.pooling", got=other):
        gf.train({**settings, "task": {"name": "classify", "pooling": other}}, out=tmp_path / "run", resume=True)


def test_labels_in_turn_are_in_each_part() -> None:
    """In a file whose five labels follow each other, every fifth row has the same one."""
    count = 100
    labels = torch.arange(count) % 5
    batch = Batch(
        inputs=Inputs(ids=torch.zeros(count, 1, dtype=torch.long)), labels={"label": labels}, counts={},
        row_ids=torch.arange(count), weights=torch.ones(count), tokens=count,
    )  # fmt: skip
    read = Read([torch.rand(count, 2)], batch, of_tokens=False, groups=torch.arange(count))
    parts = read.folds(np.arange(count))
    assert [len(part) for _, part in parts] == [20] * 5
    assert all(len(part.batch.labels["label"].unique()) > 3 for _, part in parts)
    assert torch.cat([part.groups for _, part in parts]).sort().values.tolist() == [*range(count)]


def test_rows_with_the_same_first_text_are_in_one_part(tmp_path: Path) -> None:
    """As they are in one split: a pair that was learned says what its first text is paired with."""
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"text": f"{one} food", "pair": two, "label": "a" if one > two else "b"} for one in WORDS for two in WORDS[:3]
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    asked = recipe(tmp_path)
    data = {"files": [str(path)], "validation": 0, "length": 16, "pair": "pair"}
    made = prepare_run(resolve({**asked, "data": data}), tmp_path / "run", NoProgress())
    source = made.feed.source
    assert isinstance(source, RecordSource)
    assert [*source.copies] == [row // 3 for row in range(len(rows))]


def test_what_is_learned_says_nothing_of_other_texts_by_copies_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With labels drawn at random, whatever a layer learned of a text, others are as hard as without it: log 2 or more.
    Copies, and windows of one text, are in one part of the rows.
    """
    rng, long = np.random.default_rng(0), 40
    texts = [*(" ".join(rng.choice(WORDS, 5)) for _ in range(9)), " ".join(rng.choice(WORDS, long))]
    rows = [{"text": text, "label": rng.choice(["a", "b"])} for text in texts for _ in range(4)]
    path = tmp_path / "random.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found, folds = [], Read.folds

    def watched(read: Read, copies: Any) -> list[tuple[Read, Read]]:
        found.append((copies, parts := folds(read, copies)))
        return parts

    monkeypatch.setattr(Read, "folds", watched)
    asked = recipe(tmp_path)
    begun = prepare_run(
        resolve({**asked, "data": {"files": [str(path)], "validation": 0, "length": 16}}), tmp_path / "r", NoProgress()
    )
    assert begun.probe is not None
    assert min(begun.probe.losses.values()) > 0.9 * math.log(2)
    copies, parts = found[-1]
    assert len(copies) > 4 * len(texts)  # the long one has windows
    for rest, part in parts:
        assert len(rest) + len(part) == len(copies)
        assert not {*copies[rest.groups]} & {*copies[part.groups]}
    assert {*copies.tolist()} == {*range(len(texts))}


@pytest.mark.parametrize(
    ("labels", "left"), [([[0], [2], [1]], [[0], [1]]), ([[2], [3]], [[2], [3]]), ([[0.0], [2.5]], [[0.0], [2.5]])]
)
def test_a_layer_is_not_measured_by_a_label_that_no_row_had(labels: list[list[float]], left: list[list[float]]) -> None:
    """All rows stay where none has a known label, and where labels are numbers."""

    def read(labels: list[list[float]]) -> Read:
        count, of = len(labels), torch.tensor(labels)
        inputs, rows = Inputs(ids=torch.zeros(count, 1, dtype=torch.long)), torch.arange(count)
        batch = Batch(
            inputs=inputs, labels={"label": of}, counts={}, row_ids=rows, weights=torch.ones(count), tokens=count
        )
        return Read([torch.rand(count, 2)], batch, of_tokens=False, groups=rows)

    kept = read(labels).known_to(read([[0], [1], [1]]))
    assert kept.batch.labels["label"].tolist() == left
    assert len(kept) == kept.examples == len(left)
