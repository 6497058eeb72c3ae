"""Recipes to models, whole: text in, saved model out, and what is done with it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer
from glassformer.artefact import store
from glassformer.artefact.evaluate import evaluate
from glassformer.artefact.model import Model
from glassformer.artefact.open import load
from glassformer.artefact.progress import ConsoleProgress, NoProgress
from glassformer.artefact.train import train
from glassformer.data.split import hash_fraction, text_hash
from glassformer.errors import CheckpointError, ConfigError, DataError, DeviceError, TrainingError
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.score import interval
from glassformer.training.lock import exclusive
from glassformer.training.record import Step
from glassformer.training.stopping import Interrupted
from tests.refusals import refused


class Listener(NoProgress):
    """Remembers the notes and can stop a run as Ctrl-C does."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.notes: list[str] = []
        self.steps: list[int] = []
        self.stop_after = stop_after

    def note(self, message: str) -> None:
        self.notes.append(message)

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        for step in steps:
            self.steps.append(step.step)
            if step.step == self.stop_after:
                signal.raise_signal(signal.SIGINT)
            yield step


def recipe(text: Path, **train_settings: Any) -> dict[str, Any]:
    return {
        "task": {"name": "masked-lm"},
        "data": {"files": [str(text)], "length": 24, "validation": 0.2, "licence": "CC0 1.0"},
        "tokenizer": {"vocabulary": 160},
        "model": {"size": "tiny", "settings": {"layers": 1, "width": 16, "heads": 2}},
        "train": {"steps": 6, "batch": 4, "precision": "float32", "compile": "off", **train_settings},
    }


def weights(model: Model) -> dict[str, torch.Tensor]:
    return {name: parameter.detach() for name, parameter in model.module.named_parameters()}


@pytest.fixture
def run(text_file: Path, tmp_path: Path) -> Model:
    return train(recipe(text_file), out=tmp_path / "run", progress=Listener())


def test_text_in_answers_out(run: Model, tmp_path: Path) -> None:
    again = glassformer.load(tmp_path / "run")
    assert all(torch.equal(tensor, weights(again)[name]) for name, tensor in weights(run).items())
    filled = again.fill("She [MASK] the summer", top=3)
    assert filled == run.fill("She [MASK] the summer", top=3)
    assert len(filled.masks[0].guesses) == 3
    assert (again.length, again.max_text_tokens) == (24, 22)
    assert again.recipe is not None
    assert again.recipe.train.steps == 6


def test_the_scores_can_be_measured_again(run: Model, text_file: Path, tmp_path: Path) -> None:
    again = load(tmp_path / "run")
    assert again.evaluate() == run.metrics["scores"]
    assert run.metrics["measured_on"] == "held-out text"
    # All of the text, training side included: more words than were held out.
    everything = again.evaluate(text_file)
    assert everything["targets"] > run.metrics["scores"]["targets"]
    assert {"loss", "perplexity", "accuracy", "unigram_loss"} <= everything.keys()


def test_a_text_that_is_another_by_now_is_told_and_leaves_the_model_as_it_is(
    run: Model, text_file: Path, tmp_path: Path
) -> None:
    folder, listener = tmp_path / "run", Listener()
    before = sorted(folder.rglob("*"))
    assert evaluate(load(folder), progress=listener).flat() == run.metrics["scores"]
    assert listener.notes == []
    text_file.write_text(text_file.read_text(encoding="utf-8").replace("She", "They"), encoding="utf-8")
    assert evaluate(load(folder), progress=listener).flat() != run.metrics["scores"]
    assert [note for note in listener.notes if "has changed since training" in note]
    assert sorted(folder.rglob("*")) == before


def test_a_side_that_was_not_held_out(run: Model) -> None:
    with pytest.raises(ConfigError) as caught:
        evaluate(run, split="test")
    assert "test" in caught.value.wanted
    assert "validation" in caught.value.got
    assert "validation" in caught.value.do


def test_the_unigram_is_that_of_the_training_text(run: Model, tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.json"
    counts = json.loads(path.read_text(encoding="utf-8"))["unigram_counts"]
    assert len(counts) == run.tokenizer.vocabulary_size
    assert sum(counts) > 500
    other = tmp_path / "other.txt"
    other.write_text("\n\n".join(["They go to the winter mountains."] * 9), encoding="utf-8")
    known = run.evaluate(other)
    run.metrics = {}
    listener = Listener()
    counted_there = evaluate(run, [other], progress=listener)
    assert any("counted on the measured text" in note for note in listener.notes)
    assert counted_there["loss"] == known["loss"]
    assert counted_there["unigram_loss"] < known["unigram_loss"]


def test_the_card_says_what_is_known(run: Model, tmp_path: Path) -> None:
    card = run.card
    assert card.startswith("# run\n")
    assert "* Files: prose.txt" in card
    assert "* Licence: CC0 1.0" in card
    assert "of the documents, chosen by a hash of their text" in card
    assert f"| all | {sum(tensor.numel() for tensor in weights(run).values()):,} |" in card
    for score in ("loss", "perplexity", "unigram_loss"):
        assert f"| {score.replace('_', ' ')} | {run.metrics['scores'][score]:,.3f} |" in card
    low, high = interval(run.metrics["scores"]["accuracy"], run.metrics["scores"]["targets"])
    assert f"({low:.1%} … {high:.1%})" in card
    assert "rows of 24 " in card
    assert 'gf.load("run")' in card
    assert str(tmp_path) not in card  # whoever reads it need not know on which machine it was


def test_a_card_without_a_licence_says_so_and_a_useless_model_is_called_one(text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file, learning_rate=1e-9)
    del values["data"]["licence"]
    model = train(values, out=tmp_path / "useless", progress=Listener())
    assert "* Licence: not stated" in model.card
    assert "**Not better than the baseline**" in model.card


def test_stopped_and_resumed_is_the_run_that_was_not(text_file: Path, tmp_path: Path) -> None:
    whole = train(recipe(text_file), out=tmp_path / "whole", progress=Listener())
    with pytest.raises(Interrupted) as stopped:
        train(recipe(text_file), out=tmp_path / "parts", progress=Listener(stop_after=2))
    assert "--resume" in str(stopped.value)
    with refused(CheckpointError, wanted=str(tmp_path / "parts"), do="--resume"):
        load(tmp_path / "parts")
    listener = Listener()
    rest = train(recipe(text_file), out=tmp_path / "parts", resume=True, progress=listener)
    assert listener.steps[0] == 3
    assert all(torch.equal(tensor, weights(rest)[name]) for name, tensor in weights(whole).items())
    # And the recipe that the run wrote down is enough to go on with.
    assert train(tmp_path / "parts" / "recipe.toml", out=tmp_path / "parts", resume=True, progress=NoProgress())


def test_a_run_is_resumed_without_its_recipe(text_file: Path, tmp_path: Path) -> None:
    whole = train(recipe(text_file, steps=8), out=tmp_path / "whole", progress=NoProgress())
    with pytest.raises(Interrupted):
        train(recipe(text_file), out=tmp_path / "run", progress=Listener(stop_after=2))
    with pytest.raises(Interrupted):
        train(out=tmp_path / "run", resume=True, set={"train.steps": 8}, progress=Listener(stop_after=4))
    rest = train(out=tmp_path / "run", resume=True, progress=NoProgress())  # also what was changed on the way
    assert rest.metrics["steps"] == 8
    assert rest.recipe == whole.recipe
    assert weights(rest).keys() == weights(whole).keys()


def test_where_there_is_nothing_to_resume_it_is_said(text_file: Path, tmp_path: Path) -> None:
    for resume in (True, False):
        with pytest.raises(ConfigError) as caught:
            train(out=tmp_path / "new", resume=resume, progress=NoProgress())
        assert (str(tmp_path / "new") in caught.value.got) == resume
        assert not (tmp_path / "new").exists()
    listener = Listener()
    train(recipe(text_file), out=tmp_path / "new", resume=True, progress=listener)
    assert any(f"no run in {tmp_path / 'new'}" in note for note in listener.notes)


def test_a_run_killed_before_its_first_checkpoint_says_that_it_begins_again(text_file: Path, tmp_path: Path) -> None:
    folder, listener = tmp_path / "run", Listener()
    train(recipe(text_file), out=folder, progress=NoProgress())
    for path in (*store.FILES, "checkpoints"):  # as a kill would have left it
        if path not in ("tokenizer.json", "recipe.toml"):
            shutil.rmtree(folder / path) if (folder / path).is_dir() else (folder / path).unlink()
    again = train(out=folder, resume=True, progress=listener)
    assert listener.steps[0] == 1
    assert any(str(folder) in note and "no checkpoint" in note for note in listener.notes)
    assert again.metrics["steps"] == 6


def test_a_damaged_record_of_the_run_is_told(run: Model, text_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run" / "recipe.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("steps = 6", "steps = 7"), encoding="utf-8")
    for given in (None, recipe(text_file)):
        with pytest.raises(ConfigError) as caught:
            train(given, out=tmp_path / "run", resume=True, progress=NoProgress())
        assert str(path) in caught.value.wanted
        assert "last line" in caught.value.do


def test_after_a_full_disk_at_the_first_checkpoint_the_advice_works(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    whole = train(recipe(text_file), out=tmp_path / "whole", progress=NoProgress())
    for name in ("save_file", "atomic_write"):
        out = tmp_path / name
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["glassformer.training.checkpoint"], name, full)
            with pytest.raises(CheckpointError) as caught:
                train(recipe(text_file, checkpoint_every=1), out=out, progress=NoProgress())
        assert "No space left" in caught.value.got
        assert "make room and go on with --resume" in caught.value.do
        rest = train(recipe(text_file, checkpoint_every=1), out=out, resume=True, progress=NoProgress())
        assert all(torch.equal(tensor, weights(rest)[name]) for name, tensor in weights(whole).items())


def test_a_folder_removed_while_training_ends_it_with_a_sentence(text_file: Path, tmp_path: Path) -> None:
    class Removing(Listener):
        def training(self, steps: Iterator[Step]) -> Iterator[Step]:
            for step in super().training(steps):
                if step.step == 3:
                    shutil.rmtree(tmp_path / "run")
                yield step

    with pytest.raises(TrainingError) as caught:
        train(recipe(text_file, checkpoint_every=2), out=tmp_path / "run", progress=Removing())
    assert f"no {tmp_path / 'run'}" in caught.value.got
    assert "4 steps" in caught.value.got
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["pipe", "x" * 5000], ids=["a pipe", "a long name"])
def test_a_place_that_can_be_no_folder_is_refused(text_file: Path, tmp_path: Path, name: str) -> None:
    if name == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no pipes with names")
        os.mkfifo(tmp_path / name)
    out = tmp_path / name
    for resume in (False, True):
        with pytest.raises((TrainingError, ConfigError)) as caught:
            train(recipe(text_file), out=out, resume=resume, progress=NoProgress())
        assert name in caught.value.got
    with pytest.raises(CheckpointError):
        load(out)
    with pytest.raises(ConfigError):
        train(out=out, resume=True, progress=NoProgress())
    with pytest.raises(CheckpointError):
        Model(build(bert(vocabulary=9, layers=1, width=8, heads=2, feed_forward=8))).save(out)


@pytest.mark.parametrize("share", ["validation", "test"])
def test_a_run_goes_on_with_its_own_split(run: Model, text_file: Path, tmp_path: Path, share: str) -> None:
    other = recipe(text_file, steps=7)
    other["data"][share] = 0.4
    with pytest.raises(ConfigError) as caught:
        train(other, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert f"data.{share} = {0.2 if share == 'validation' else 0.0}" in caught.value.wanted
    assert caught.value.got == "0.4"
    assert load(tmp_path / "run").metrics == run.metrics


def test_a_share_that_was_widened_is_the_same_when_it_is_asked_for_again(text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file)
    values["data"]["validation"] = 1e-6
    first = train(values, out=tmp_path / "run", progress=NoProgress())
    assert first.data is not None
    assert first.data.validation > 1e-6
    values["train"]["steps"] = 7
    again = train(values, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert again.data == first.data
    values["data"]["validation"] = 0.3
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert f"data.validation = {first.data.validation}" in caught.value.wanted
    assert caught.value.got == "0.3"


def test_a_text_that_has_changed_is_told_and_split_as_before(run: Model, text_file: Path, tmp_path: Path) -> None:
    # Nothing of the held-out side is left: were the split dealt anew, its share would be widened.
    documents = text_file.read_text(encoding="utf-8").split("\n\n")
    learned = [document for document in documents if hash_fraction(text_hash(document), 0) >= 0.2]
    text_file.write_text("\n\n".join(learned), encoding="utf-8")
    listener = Listener()
    model = train(recipe(text_file, steps=7), out=tmp_path / "run", resume=True, progress=listener)
    told = [note for note in listener.notes if "may differ" in note]
    assert "the text, or how it is cut and masked, has changed since" in told[0]
    assert not any(len(word) > 40 for word in " ".join(told).split())  # no hash
    assert model.data == run.data


def test_another_run_is_not_written_over(run: Model, text_file: Path, tmp_path: Path) -> None:
    before = weights(load(tmp_path / "run"))
    with pytest.raises(ConfigError) as caught:
        train(recipe(text_file), out=tmp_path / "run", progress=NoProgress())
    assert str(tmp_path / "run") in caught.value.got
    assert "--resume" in caught.value.do
    changed = recipe(text_file)
    changed["model"]["settings"]["layers"] = 2
    with pytest.raises(ConfigError) as caught:
        train(changed, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert "model.settings" in caught.value.wanted
    assert "'layers': 2" in caught.value.got
    changed = recipe(text_file) | {"task": {"name": "masked-lm", "rate": 0.3}}
    with pytest.raises(ConfigError) as caught:
        train(changed, out=tmp_path / "run", resume=True, progress=NoProgress())
    assert "task.rate = 0.15" in caught.value.wanted
    assert caught.value.got == "0.3"
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(load(tmp_path / "run")).items())


def test_a_second_training_in_a_folder_changes_nothing(text_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="Windows has no lock on a folder")
    with exclusive(tmp_path / "run"):
        with refused(TrainingError, got=str(tmp_path / "run"), do="--out"):
            train(recipe(text_file), out=tmp_path / "run", progress=Listener())
        assert list((tmp_path / "run").iterdir()) == []
    train(recipe(text_file), out=tmp_path / "run", progress=Listener())


def test_begin_from_an_earlier_model(run: Model, text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file, learning_rate=1e-9, steps=1)
    values["model"] = {"start": str(tmp_path / "run")}
    values.pop("tokenizer")
    tuned = train(values, out=tmp_path / "tuned", progress=NoProgress())
    assert tuned.tokenizer.vocabulary() == run.tokenizer.vocabulary()
    # One step with a rate of nearly nothing: the weights are still those it began from.
    for name, tensor in weights(run).items():
        assert torch.allclose(tensor, weights(tuned)[name], atol=1e-6)
    values["model"] = {"start": str(tmp_path / "run"), "size": "mini"}
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "refused", progress=NoProgress())
    assert "model.start" in caught.value.got
    assert "model.size" in caught.value.got


def test_settings_of_a_tokenizer_that_is_not_learned(run: Model, text_file: Path, tmp_path: Path) -> None:
    values = {**recipe(text_file), "model": {"start": str(tmp_path / "run")}}
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "refused", progress=NoProgress())
    assert caught.value.got == "model.start together with tokenizer.vocabulary"
    values = recipe(text_file)
    values["tokenizer"]["file"] = str(tmp_path / "run" / "tokenizer.json")
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "refused", progress=NoProgress())
    assert caught.value.got == "tokenizer.file together with tokenizer.vocabulary"
    assert not (tmp_path / "refused").exists()


def test_a_tokenizer_that_is_there_is_not_said_to_be_learned(
    run: Model, text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = recipe(text_file) | {"tokenizer": {"file": str(tmp_path / "run" / "tokenizer.json")}}
    model = train(values, out=tmp_path / "second", progress=ConsoleProgress())
    assert model.tokenizer.vocabulary() == run.tokenizer.vocabulary()
    shown = capsys.readouterr().err
    assert "splitting the text into tokens" in shown
    assert "learning a vocabulary" not in shown


def test_vectors_are_used_and_stay_frozen(text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("summer " + " ".join(["0.5"] * 16) + "\n")
    values = recipe(text_file)
    values["model"] |= {"vectors": str(tmp_path / "glove.txt"), "freeze_vectors": True}
    listener = Listener()
    model = train(values, out=tmp_path / "run", progress=listener)
    assert any(note.startswith("1 of ") and note.endswith("frozen") for note in listener.notes)
    assert model.module.word_table[model.tokenizer.id("summer")].tolist() == [0.5] * 16


def test_files_that_are_held_out_whole(text_file: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.txt"
    held.write_text("\n\n".join(f"In winter she likes to cook, {number} times a day." for number in range(30)))
    values = recipe(text_file)
    values["data"]["validation_files"] = [str(held)]
    model = train(values, out=tmp_path / "run", progress=NoProgress())
    assert "* Held out: held.txt" in model.card
    assert load(tmp_path / "run").evaluate() == pytest.approx(model.metrics["scores"], rel=1e-5)
    # Nothing of the training files was held out beside them.
    assert model.data is not None
    assert model.data.validation == 0.0
    assert model.evaluate(held) == pytest.approx(model.metrics["scores"], rel=1e-5)


@pytest.fixture
def refused_late(monkeypatch: pytest.MonkeyPatch) -> str:
    """The loop refuses what could not be known before it; gives back what it says."""

    def refuse(*arguments: object, **options: object) -> None:
        raise ConfigError("known late")

    monkeypatch.setattr("glassformer.artefact.train.fit", refuse)
    return "known late"


def test_what_fit_refuses_leaves_nothing_either(text_file: Path, tmp_path: Path, refused_late: str) -> None:
    with refused(ConfigError, wanted=refused_late):
        train(recipe(text_file), out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("section", "settings", "wanted", "got", "do"),
    [
        ("train", {"accumulate": 5}, "train.accumulate", "5", ""),
        ("train", {"average": 2}, "train.average", "", "train.checkpoint_every"),
        ("train", {"patience": 2}, "train.patience", "", "data.validation"),
        ("train", {"schedule": "noam", "warmup": 0}, "noam", "train.warmup = 0", ""),
        ("train", {"steps": None}, "end", "none", "train.steps"),
        ("data", {"length": 2}, "", "data.length = 2", ""),
    ],
)
def test_what_no_text_can_mend_is_refused_before_any_is_read(
    text_file: Path, tmp_path: Path, section: str, settings: dict[str, Any], wanted: str, got: str, do: str
) -> None:
    text_file.write_bytes(b"\xff")
    values = recipe(text_file)
    values["data"]["validation"] = 0.0
    values[section] |= settings
    with refused(ConfigError, wanted=wanted, got=got, do=do):
        train(values, out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()


def test_rows_longer_than_the_model_to_start_from(run: Model, text_file: Path, tmp_path: Path) -> None:
    values = {**recipe(text_file), "model": {"start": str(tmp_path / "run")}, "tokenizer": {}}
    values["data"]["length"] = 600
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "longer", progress=NoProgress())
    assert "data.length = 600" in caught.value.wanted
    assert "512" in caught.value.got


@pytest.mark.parametrize("packed", [True, False])
def test_packed_or_a_row_for_each_document(text_file: Path, tmp_path: Path, packed: bool) -> None:
    values = recipe(text_file)
    values["data"]["pack"] = packed
    assert train(values, out=tmp_path / "run", progress=NoProgress()).metrics["scores"]["targets"] > 10


def test_the_slides_know_their_four_words(tmp_path: Path) -> None:
    model = train("slides", out=tmp_path / "slides", set={"train.steps": 120}, progress=NoProgress())
    shown = ["She [MASK] [MASK] summer better", "He loves to [MASK] healthy", "They go hiking quite [MASK]"]
    said = [mask.guesses[0].word for filled in model.fill(shown, top=1) for mask in filled.masks]
    assert said == ["likes", "the", "cook", "often"]
    assert model.metrics["measured_on"] == "the training text"
    assert model.metrics["scores"]["accuracy"] == 1.0
    told = {row["name"]: row for row in model.info()["not_in_this_document"]}
    assert not any(told[name]["on"] for name in ("scaled", "norm", "biases", "layers", "dropout"))
    switched = train(
        "slides",
        out=tmp_path / "switched",
        set={f"model.settings.{name}": True for name in ("scaled", "norm", "biases", "feed_forward_residual")}
        | {"model.settings.layers": 2, "model.settings.dropout": 0.1, "train.steps": 1},
        progress=NoProgress(),
    )
    assert all(row["on"] for row in switched.info()["not_in_this_document"])


# --------------------------------------------------------------------------- looking


def test_a_trace_is_called_by_the_texts_own_words(run: Model) -> None:
    trace = run.trace("She likes the [MASK]")
    name = "encoder.blocks.0.self_attention.weights"
    weight = trace.explain(name, "head=0,query=she,key=likes")
    assert weight.value == pytest.approx(trace[name][0, 0, 1, 2].item())
    guess = run.fill("She likes the [MASK]", top=1).masks[0].guesses[0].word
    assert trace.explain(name, f'head=0,query="{guess}",key=she').cell["query"] == 4
    assert trace.verify().holds
    assert trace.honesty.holds


def test_independence_holds_and_would_notice(run: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.artefact.independence import independence
    from glassformer.models import stack
    from glassformer.parts.mask import document_mask

    assert independence(run, "She likes the summer").holds
    # Without the padding mask the padded text must answer otherwise.
    monkeypatch.setattr(stack, "padding", document_mask)
    module = type(run.module)(run.config)
    module.load_state_dict(run.module.state_dict())
    broken = Model(module, run.tokenizer)
    assert not independence(broken, "She likes the summer").holds


def test_a_text_that_fills_the_model_leaves_padding_untried(run: Model) -> None:
    from glassformer.artefact.independence import independence

    limit, frame = run.config.output_stack.max_length, sum(len(ids) for ids in run.tokenizer.frame_ids)
    assert limit is not None
    for words, tried in ((limit - frame - 1, True), (limit - frame, False)):
        own = independence(run, " ".join(["she"] * words))
        assert own.holds
        assert (own.padding is not None) == tried
        assert ("padding not measured" in str(own)) != tried


# --------------------------------------------------------------------------- what is refused


def test_nothing_is_left_behind_by_what_cannot_be_done(text_file: Path, tmp_path: Path) -> None:
    missing = recipe(tmp_path / "nowhere.txt")
    with pytest.raises(DataError) as told:
        train(missing, out=tmp_path / "run", progress=NoProgress())
    assert str(tmp_path / "nowhere.txt") in told.value.wanted
    wide = recipe(text_file)
    wide["model"]["settings"]["heads"] = 3
    with refused(ConfigError, wanted=("heads", "16 / 3")):
        train(wide, out=tmp_path / "run", progress=NoProgress())
    with pytest.raises(ConfigError) as caught:
        train({"task": {"name": "classify"}}, out=tmp_path / "run", progress=NoProgress())
    assert "data.files" in caught.value.got
    assert "train classify" in caught.value.do
    with pytest.raises(ConfigError) as caught:
        train({}, out=tmp_path / "run", progress=NoProgress())
    assert "masked-lm" in caught.value.do
    with refused(DeviceError, wanted="'nonsense'"):
        train(recipe(text_file, device="nonsense"), out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_refused_takes_no_other_with_it(text_file: Path, tmp_path: Path, refused_late: str) -> None:
    """In a fresh project both make `runs/`; the one that is refused leaves the other's files and none of its own."""
    other = tmp_path / "runs" / "other" / "tokenizer.json"

    class Meanwhile(Listener):
        def note(self, message: str) -> None:
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text("another run's")

    with refused(ConfigError, wanted=refused_late):
        train(recipe(text_file), out=tmp_path / "runs" / "mine", progress=Meanwhile())
    assert other.read_text() == "another run's"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["other"]


def test_a_run_that_is_refused_leaves_a_folder_as_it_was(text_file: Path, tmp_path: Path, refused_late: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.md").write_text("a person's")
    with refused(ConfigError, wanted=refused_late):
        train(recipe(text_file), out=tmp_path / "mine", progress=NoProgress())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.md"]


def test_killed_while_it_writes_its_recipe_a_run_can_go_on(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    replace = os.replace

    def killed(draft: Path, target: Path) -> None:
        if Path(target).name == "recipe.toml":
            raise Killed
        replace(draft, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            train(recipe(text_file), out=tmp_path / "run", progress=NoProgress())
    assert not (tmp_path / "run" / "recipe.toml").exists()
    assert train(recipe(text_file), out=tmp_path / "run", resume=True, progress=NoProgress()).metrics["steps"] == 6


def test_asked_for_again_a_finished_run_still_knows_how_long_it_took(
    run: Model, text_file: Path, tmp_path: Path
) -> None:
    again = train(recipe(text_file), out=tmp_path / "run", resume=True, progress=NoProgress())
    assert again.metrics["steps"] == 6
    assert again.metrics == run.metrics


def test_a_vocabulary_that_has_to_be_larger_is_told(text_file: Path, tmp_path: Path) -> None:
    listener = Listener()
    model = train(
        recipe(text_file, steps=1) | {"tokenizer": {"vocabulary": 8}}, out=tmp_path / "run", progress=listener
    )
    size = model.tokenizer.vocabulary_size
    assert size > 8
    (told,) = [note for note in listener.notes if f"a vocabulary of {size} " in note]
    assert "not 8:" in told


def test_a_text_of_which_the_tokenizer_knows_nothing_is_refused(run: Model, tmp_path: Path) -> None:
    """Nothing could be asked: the loss would be zero from the first step on."""
    text = tmp_path / "runes.txt"
    text.write_text("\u16a0\u16a2 \u16a6\n\n\u16a8 \u16b1\u16b2 \u16a0\n\n\u16b1 \u16b2", encoding="utf-8")
    values = recipe(text) | {"tokenizer": {"file": str(tmp_path / "run")}}
    with pytest.raises(DataError) as caught:
        train(values, out=tmp_path / "unread", progress=Listener())
    assert "tokenizer" in caught.value.got
    assert "tokenizer" in caught.value.do


def annotated(path: Path) -> dict[str, Any]:
    return recipe(path) | {
        "task": {"name": "annotated-masks"},
        "data": {"files": [str(path)], "length": 24},
    }


def test_rows_that_cannot_be_used_are_left_out_of_annotated_masks_too(tmp_path: Path) -> None:
    rows = [{"text": "She [MASK] summer", "answers": ["likes"]}, {"text": "He [MASK]", "answers": []}]
    path = tmp_path / "annotated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = annotated(path)
    with pytest.raises(DataError) as caught:
        train(values, out=tmp_path / "run", progress=NoProgress())
    assert f"{path}, line 2" in caught.value.wanted
    values["data"]["on_bad_row"] = "skip"
    listener = Listener()
    model = train(values, out=tmp_path / "run", progress=listener)
    (told,) = [note for note in listener.notes if "line 2" in note]
    assert told.startswith("1 bad ")
    assert model.evaluate(path)["targets"] == model.metrics["scores"]["targets"] == 1


def test_annotated_masks_hold_nothing_out_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "annotated.jsonl"
    path.write_text('{"text": "She [MASK] summer", "answers": ["likes"]}\n' * 3)
    model = train(annotated(path), out=tmp_path / "run", progress=NoProgress())
    assert "* Held out: nothing" in model.card
    assert "No text was held out" in model.card
    assert model.info()["data"]["validation"] == 0.0
    again = train(annotated(path), out=tmp_path / "run", resume=True, progress=NoProgress())
    assert again.metrics == model.metrics
    rows = [{"text": f"She [MASK] summer {number}", "answers": ["likes"]} for number in range(30)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = annotated(path)
    values["data"]["validation"] = 0.3
    held = train(values, out=tmp_path / "held", progress=NoProgress())
    assert held.metrics["measured_on"] == "held-out text"
    assert 0 < held.metrics["scores"]["targets"] < 30
    assert load(tmp_path / "held").evaluate() == held.metrics["scores"]


def test_nothing_is_drawn_for_annotated_masks_and_no_text_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "annotated.jsonl"
    rows = ['{"text": "She [MASK] summer", "answers": ["likes"]}\n'] * 3
    path.write_text("".join(rows))
    values = annotated(path)
    with refused(ConfigError, wanted="'task.rate'"):  # what would be without effect is no setting of the task
        train(values | {"task": {"name": "annotated-masks", "rate": 0.3}}, out=tmp_path / "run", progress=NoProgress())
    with path.open("a") as more:
        more.write(json.dumps({"text": "She [MASK] " + "summer " * 30, "answers": ["likes"]}))
    with pytest.raises(DataError) as caught:
        train(values, out=tmp_path / "long", progress=NoProgress())
    assert f"{path}, line 4" in caught.value.wanted
    assert "row of 24 " in caught.value.wanted


@pytest.mark.parametrize("width", [40_960_000, 10**30])
def test_a_model_that_no_machine_holds_is_refused_before_the_text_is_read(tmp_path: Path, width: int) -> None:
    text = tmp_path / "broken.txt"
    text.write_bytes(b"\xff")
    values = recipe(text)
    values["model"]["settings"]["width"] = width
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "run", progress=NoProgress())
    assert " GB" in caught.value.got or "width" in caught.value.wanted
    assert not (tmp_path / "run").exists()


def test_nothing_was_held_out(text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file)
    values["data"]["validation"] = 0.0
    model = train(values, out=tmp_path / "run", progress=NoProgress())
    assert "* Held out: nothing" in model.card
    assert "No text was held out" in model.card
    with pytest.raises(ConfigError) as caught:
        model.evaluate()
    assert "all of its text" in caught.value.got
    assert "name files" in caught.value.do
    with pytest.raises(ConfigError) as caught:
        Model(model.module, model.tokenizer).evaluate()
    assert caught.value.got == "none"


# --------------------------------------------------------------------------- what a person sees


def test_the_screen_tells_of_a_run(text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(recipe(text_file), out=tmp_path / "run", progress=ConsoleProgress())
    shown = capsys.readouterr()
    assert shown.out == ""
    for told in ("learning a vocabulary of 160 ", "held out", "step 6: loss", "s/s", "held-out loss"):
        assert told in shown.err


def test_bars_on_a_terminal(text_file: Path, tmp_path: Path) -> None:
    import io

    from rich.console import Console

    paper = io.StringIO()
    screen = ConsoleProgress(Console(file=paper, force_terminal=True, width=100))
    train(recipe(text_file), out=tmp_path / "run", progress=screen)
    assert "6/6" in paper.getvalue()
    assert "loss" in paper.getvalue()
