"""The task translate: what is read, what a row holds, and that a pair in a row is learned as if it stood alone."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.families import marian, modernbert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.run.evaluate import evaluate
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.sizes import translator_sizes
from glassformer.saved.recipe import resolve
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.predictor import Context
from glassformer.tasks.writing.pair_source import PairSource
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.tasks.writing.translate.task import Translate
from glassformer.tasks.writing.translator import Translator
from glassformer.text.special import NONE
from glassformer.text.train import train_tokenizer
from glassformer.training.progress import NoProgress
from glassformer.training.tune import trained
from tests.contracts.tasks import TASKS
from tests.refusals import refused
from tests.translators import translating

ROW = next(row for row in TASKS if row.task == "translate")
# Sums of a few thousand float64 numbers near 1, in another order.
ORDER = 1e-11


class Kept(NoProgress):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def prepared_from(folder: Path, *, progress: NoProgress | None = None, **changes: Any) -> Prepared:
    """The contract's recipe with single settings changed."""
    recipe = resolve(ROW.recipe(folder), {name.replace("__", "."): value for name, value in changes.items()})
    return prepare_run(recipe, folder / "run", progress or NoProgress())


def source_of(prepared: Prepared) -> PairSource:
    source = prepared.feed.source
    assert isinstance(source, PairSource)
    return source


def smoothed(logits: Tensor, labels: Tensor, pad_id: int | None) -> Tensor:
    """The sum of the cross-entropies with a share of 0.1 for all tokens alike that an answer can have: not padding."""
    logarithms = logits.log_softmax(dim=-1)  # [N, V]
    possible = [token for token in range(logits.shape[-1]) if token != pad_id]
    right = logarithms.gather(1, labels[:, None])  # [N, 1]
    return -(0.9 * right.sum() + 0.1 * logarithms[:, possible].mean(dim=-1).sum())


# --------------------------------------------------------------------------- rows


def test_the_decoder_reads_the_target_shifted_by_one(tmp_path: Path) -> None:
    prepared = prepared_from(tmp_path)
    source, tokenizer = source_of(prepared), prepared.tokenizer
    batch = prepared.feed.batch(0)
    assert batch.decoder_inputs is not None
    ids, targets = batch.decoder_inputs.ids, batch.labels["target"]
    documents, positions = batch.decoder_inputs.documents, batch.decoder_inputs.positions
    assert ids is not None
    assert documents is not None
    assert positions is not None
    seen = set()
    for row in range(len(ids)):
        for number in range(int(documents[row].max()) + 1):
            here = (documents[row] == number) & (targets[row] != IGNORED)
            if not here.any():
                continue
            read, learned = ids[row, here].tolist(), targets[row, here].tolist()
            assert read == [tokenizer.pad_id, *learned[:-1]]
            assert learned[-1] == tokenizer.end_id
            assert positions[row, here].tolist() == list(range(len(learned)))
            seen.add(tokenizer.decode(learned))
    assert seen <= set(source.examples.targets)
    assert batch.counts["target"] == int((targets != IGNORED).sum()) == batch.tokens


def test_a_pair_in_a_row_is_learned_as_if_it_stood_alone(tmp_path: Path) -> None:
    prepared = prepared_from(tmp_path)
    source, model = source_of(prepared), prepared.module.double().eval()
    assert len(source) < len(source.examples)  # several pairs in a row
    loss = torch.zeros((), dtype=torch.float64)
    for number, shape in enumerate(source.packed.shapes.tolist()):
        rows = np.flatnonzero(source.packed.shape_of == number)
        (of_shape,) = prepared.task.losses(model, source.batch(rows, rows * 0, shape=(len(rows), *shape))).values()
        loss = loss + of_shape
    packed = torch.autograd.grad(loss, list(trained(model).values()))
    alone = torch.zeros((), dtype=torch.float64)
    for number in source.packed.members.values.tolist():
        text, target = source.examples[number]
        ids = torch.tensor([prepared.tokenizer.encode(text).ids])
        labels = torch.tensor([prepared.tokenizer.encode(str(target)).ids])
        read = torch.cat([torch.full((1, 1), prepared.tokenizer.pad_id or 0), labels[:, :-1]], dim=1)
        logits = model(Inputs(ids=ids), Inputs(ids=read)).logits
        alone = alone + smoothed(logits[0], labels[0], prepared.tokenizer.pad_id)
    assert loss.item() == pytest.approx(alone.item(), rel=ORDER)
    for one, other in zip(packed, torch.autograd.grad(alone, list(trained(model).values())), strict=True):
        assert (one - other).abs().max() < ORDER * max(1.0, float(other.abs().max()))


def test_a_step_has_so_many_tokens_of_the_target(tmp_path: Path) -> None:
    prepared = prepared_from(tmp_path)
    source = source_of(prepared)
    feed = TaskFeed(prepared.task, source, tokens=100)
    for step in range(int(feed.steps_per_epoch)):
        rows, target = feed.batch(step).labels["target"].shape
        assert rows == max(1, 100 // target)
        assert feed.rows(step) == rows
    assert feed.shapes == len(source.packed.shapes) <= 12


def test_any_task_may_count_the_tokens_of_its_steps(tmp_path: Path) -> None:
    row = next(row for row in TASKS if row.name == "classify")
    prepared = prepare_run(resolve(row.recipe(tmp_path)), tmp_path / "run", NoProgress())
    source = prepared.feed.source
    feed = TaskFeed(prepared.task, source, tokens=96)
    steps = [feed.batch(step) for step in range(int(feed.steps_per_epoch))]
    assert all(batch.inputs.shape[0] == max(1, 96 // batch.inputs.shape[1]) for batch in steps)
    assert source.total_counts is not None
    assert sum(batch.counts["label"] for batch in steps) == pytest.approx(source.total_counts["label"])
    assert sum(float(batch.weights.sum()) for batch in steps) == pytest.approx(source.total_counts["label"])


# --------------------------------------------------------------------------- reading


def test_tables_and_parallel_files_hold_the_same_pairs(tmp_path: Path) -> None:
    table = Path(ROW.recipe(tmp_path)["data"]["files"][0])
    pairs = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
    sides = [tmp_path / "a.en.gz", tmp_path / "a.fr"]
    sides[0].write_bytes(gzip.compress("\n".join(one for one, _ in pairs).encode()))
    sides[1].write_text("\n".join(two for _, two in pairs), encoding="utf-8")
    lines = tmp_path / "pairs.jsonl"
    lines.write_text("\n".join(json.dumps({"en": one, "fr": two}) for one, two in pairs), encoding="utf-8")
    named = tmp_path / "named.csv"
    named.write_text("source,target\n" + "\n".join(f'"{one}","{two}"' for one, two in pairs), encoding="utf-8")
    found = [
        source_of(prepared_from(tmp_path, **changes)).fingerprint
        for changes in (
            {},
            {"data__files": [str(sides[0])], "data__target_files": [str(sides[1])]},
            {"data__files": [str(lines)], "data__text": "en", "data__target": "fr"},
            {"data__files": [str(named)]},
        )
    ]
    assert len(set(found)) == 1


def test_all_translations_of_a_source_are_in_one_split(tmp_path: Path) -> None:
    path = tmp_path / "several.tsv"
    path.write_text("".join(f"text {n % 20}\ttexte {n}\n" for n in range(60)), encoding="utf-8")
    prepared = prepared_from(tmp_path, data__files=[str(path)])
    assert prepared.held_out is not None
    held_out: Any = prepared.held_out.source
    assert not set(source_of(prepared).examples.sources) & set(held_out.examples.sources)
    assert len(held_out.examples) % 3 == 0


def test_problems_of_pairs_are_shown_and_removed_by_choice(tmp_path: Path) -> None:
    table = Path(ROW.recipe(tmp_path)["data"]["files"][0])
    path = tmp_path / "bad.tsv"
    path.write_text(table.read_text(encoding="utf-8") + "\nonly a source\t\nthe same\tthe same\n", encoding="utf-8")
    with refused(DataError, wanted=(str(path), "line 62")):
        prepared_from(tmp_path, data__files=[str(path)])
    progress = Kept()
    changes: dict[str, Any] = {"data__files": [str(path)], "data__validation": 0.0}
    prepared = prepared_from(tmp_path, progress=progress, data__remove=["empty", "copy"], **changes)
    assert len(source_of(prepared).examples) == 60
    assert any("2 removed, 60 kept" in note for note in progress.notes)


# --------------------------------------------------------------------------- refusing


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.en", "b.en", "a.fr")]
    for number, path in enumerate(paths):
        path.write_text("\n".join(f"line {n} of {number}" for n in range(30)) + "\n" * (number == 2), encoding="utf-8")
    with refused(ConfigError, wanted="data.target_files", got="2 and 1"):
        prepared_from(tmp_path, data__files=[str(paths[0]), str(paths[1])], data__target_files=[str(paths[2])])
    with refused(ConfigError, wanted="data.validation_target_files", got="1 and 0"):
        prepared_from(
            tmp_path,
            data__files=[str(paths[0])],
            data__target_files=[str(paths[2])],
            data__validation_files=[str(paths[1])],
            data__validation=0.0,
        )


def test_pairs_that_are_all_too_long_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"{'a b ' * 40}{n}\t{'c d ' * 40}{n}\n" for n in range(9)), encoding="utf-8")
    with refused(DataError, wanted="24", got="9", do="data.length"):
        prepared_from(tmp_path, data__files=[str(path)], data__validation=0.0)


def test_where_no_pair_is_left_there_is_nothing_to_learn(tmp_path: Path) -> None:
    path = tmp_path / "copies.tsv"
    path.write_text("".join(f"number {n}\tnumber {n}\n" for n in range(9)), encoding="utf-8")
    with refused(DataError, do="columns"):
        prepared_from(tmp_path, data__files=[str(path)], data__validation=0.0, data__remove=["copy"])


def test_a_model_or_tokenizer_that_cannot_translate_is_refused() -> None:
    encoder = modernbert(size="tiny", layers=1, width=8, heads=2, feed_forward=8, vocabulary=60)
    with refused(ConfigError, got="modernbert", do="marian"):
        Translate.check_body(TranslateSection(), encoder)
    bare = train_tokenizer("words", ["some words"], vocabulary=30, special=NONE)
    model = build(marian(size="tiny", layers=1, width=8, heads=2, feed_forward=8, vocabulary=30))
    with refused(ConfigError, do="tokenizer.file"):
        Translator.of(model, bare, Context())


def test_targets_belong_to_pairs() -> None:
    with refused(ConfigError, got="--target-file with classify"):
        requested_recipe("classify", ["a.tsv"], settings={"data.target_files": ["a.fr"]}, assignments=[])


# --------------------------------------------------------------------------- choosing and measuring


def test_sizes_follow_the_data_and_the_minutes(tmp_path: Path) -> None:
    small, large = tmp_path / "small.tsv", tmp_path / "large.tsv"
    small.write_bytes(b"a\tb\n" * 50_000)
    large.write_bytes(b"a\tb\n" * 4_000_000)
    short, long = (translator_sizes([str(small)], minutes).settings for minutes in (2.0, 120.0))
    assert (short["model.size"], long["model.size"]) == ("tiny", "tiny")
    assert short["train.batch_tokens"] < long["train.batch_tokens"]  # type: ignore[operator]  # numbers
    assert short["model.settings.dropout"] < long["model.settings.dropout"]  # type: ignore[operator]  # numbers
    more = translator_sizes([str(large)], 6000.0).settings
    assert more["model.size"] == "small"
    assert more["tokenizer.vocabulary"] > short["tokenizer.vocabulary"]  # type: ignore[operator]  # numbers
    assert translator_sizes([str(small)], None, tokenizer=False).settings == {}
    each = translator_sizes([str(small)], 2.0, shared=False).settings  # of half of the text
    assert each["tokenizer.vocabulary"] < short["tokenizer.vocabulary"]  # type: ignore[operator]


def test_pairs_that_are_too_long_to_be_measured_are_counted(tmp_path: Path) -> None:
    model = translating(double=False)
    model.task = TranslateSection(beams=1)
    pairs = [("She likes the summer.", "Elle aime."), ("He " * 30, "Il cuisine."), ("He loves.", "Il adore " * 20)]
    path, long = tmp_path / "pairs.tsv", tmp_path / "long.tsv"
    path.write_text("".join(f"{one}\t{two}\n" for one, two in pairs))
    long.write_text("".join(f"{one}\t{two}\n" for one, two in pairs[1:]))
    noted = Kept()
    scores = evaluate(model, [path], progress=noted)
    assert (scores.count, scores.report["pairs_left_out"]) == (1, 2)
    assert any("2 of 3 pairs" in note and "24" in note for note in noted.notes)
    with refused(DataError, wanted="24", got="2"):
        evaluate(model, [long])
    long.write_text("".join(f"{one}\t{two}\n" for one, two in pairs[:1] * 2))
    noted.notes.clear()
    assert evaluate(model, [long], progress=noted).report["pairs_left_out"] == 0
    assert not any("pairs" in note for note in noted.notes)


def test_the_loss_without_context_is_smoothed_as_in_training(tmp_path: Path) -> None:
    prepared = prepared_from(tmp_path)
    task = prepared.task
    assert isinstance(task, Translate)
    frequent = torch.from_numpy(task.unigram.probability(np.arange(prepared.tokenizer.vocabulary_size)))
    tokens = torch.from_numpy(source_of(prepared).target_tokens.astype(np.int64))
    expected = smoothed(frequent.log().expand(len(tokens), -1), tokens, prepared.tokenizer.pad_id) / len(tokens)
    lost = -frequent.sum().log().item()  # one more token counts as possible than the vocabulary has
    assert task.baseline_loss == pytest.approx(expected.item() + lost, rel=1e-12)


def test_the_best_model_may_be_chosen_by_bleu(tmp_path: Path) -> None:
    recipe = resolve(ROW.recipe(tmp_path), {"task.best": "bleu", "task.beams": 2, "train.steps": 3})
    model = gf.train(recipe, out=tmp_path / "run", progress=NoProgress())
    scores = model.metrics["scores"]
    assert {"bleu", "chrf", "ter", "loss", "perplexity", "accuracy", "copy_source_bleu", "unigram_loss"} <= {*scores}
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert any("bleu" in json.dumps(step) for step in steps)
    found = model.translate(["She likes", "They go hiking"])
    assert [each.text for each in found] == ["She likes", "They go hiking"]
    assert all(each.log_probability <= 0 and each.windows == 1 for each in found)


def test_word_vectors_may_be_given_and_frozen(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    rows = {word: [n / 16] * 16 for n, word in enumerate(("the", "She", "Il"))}
    vectors.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()), encoding="utf-8")
    changes = {"model__vectors": str(vectors), "model__freeze_vectors": True}
    progress = Kept()
    prepared = prepared_from(tmp_path, progress=progress, **changes)
    table = prepared.module.word_table
    assert not table.requires_grad
    (message,) = (note for note in progress.notes if str(vectors) in note)
    assert message.split()[0] in ("2", "3", "4")
    batch = prepared.feed.batch(0)
    (loss,) = prepared.task.losses(prepared.module, batch).values()
    loss.backward()
    assert table.grad is None
    assert all(parameter.grad is not None for parameter in trained(prepared.module).values())


def test_a_row_that_is_set_aside_has_all_its_columns(tmp_path: Path) -> None:
    table, aside = tmp_path / "pairs.csv", tmp_path / "aside.jsonl"
    rows = [f"{number},la mer {number},the sea {number},Ann" for number in range(60)]
    table.write_text("\n".join(["id,fr,en,who", *rows, "60,,the stone,Bob"]), encoding="utf-8")
    prepared_from(tmp_path, data__files=[str(table)], data__text="en", data__target="fr", data__rejects=str(aside))
    (found,) = map(json.loads, aside.read_text(encoding="utf-8").splitlines())
    assert found["row"] == {"id": "60", "fr": "", "en": "the stone", "who": "Bob"}
