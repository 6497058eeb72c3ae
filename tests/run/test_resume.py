"""A run that was stopped, killed or ended goes on as if it had not been, and another one does not."""

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import CheckpointError, ConfigError, TokenizerError, TrainingError
from glassformer.data.stores.split import hash_fraction, text_hash
from glassformer.saved import store
from glassformer.training.progress import ConsoleProgress, NoProgress
from glassformer.training.record import Step
from glassformer.training.stopping import Interrupted, exclusive
from tests.refusals import refused
from tests.run.runs import Listener, recipe, weights


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


class Shown(ConsoleProgress):
    """Keeps what is shown of the losses by step, and stops a run as Ctrl-C does."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__()
        self.listener = Listener(stop_after)
        self.losses: dict[int, str] = {}

    def note(self, message: str) -> None:
        if found := re.match(r"step (\d+): loss (\d+\.\d+)", message):
            self.losses[int(found[1])] = found[2]

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        return super().training(self.listener.training(steps))


def test_the_losses_shown_after_a_resume_are_those_of_a_run_that_was_not_stopped(
    text_file: Path, tmp_path: Path
) -> None:
    whole, rest, settings = Shown(), Shown(), {"steps": 20, "learning_rate": 0.02}
    train(recipe(text_file, **settings), out=tmp_path / "whole", progress=whole)
    with pytest.raises(Interrupted):
        train(recipe(text_file, **settings), out=tmp_path / "parts", progress=Shown(stop_after=12))
    train(recipe(text_file, **settings), out=tmp_path / "parts", resume=True, progress=rest)
    assert min(rest.losses) == 13
    shared = rest.losses.keys() & whole.losses.keys()
    assert len(shared) >= 4
    assert {step: rest.losses[step] for step in shared} == {step: whole.losses[step] for step in shared}
    assert len(set(whole.losses.values())) > 4


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


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_run_whose_tokenizer_has_changed_is_not_resumed(text_file: Path, tmp_path: Path, checkpoint: bool) -> None:
    with pytest.raises(Interrupted):
        train(recipe(text_file), out=tmp_path / "run", progress=Listener(stop_after=2))
    path = tmp_path / "run" / "tokenizer.json"
    known = path.read_bytes()
    if not checkpoint:
        shutil.rmtree(tmp_path / "run" / "checkpoints")
    for content in (known.replace(b"the", b"eht"), known[:-9], None):
        path.unlink() if content is None else path.write_bytes(content)
        with refused(TokenizerError, wanted=str(tmp_path / "run"), do="--out"):
            train(out=tmp_path / "run", resume=True, progress=NoProgress())
        assert content is None or path.read_bytes() == content
    path.write_bytes(known)
    assert train(out=tmp_path / "run", resume=True, progress=NoProgress()).metrics["steps"] == 6


def test_a_recipe_that_is_damaged_says_how_to_go_on(text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(recipe(text_file), out=tmp_path / "run", progress=Listener(stop_after=2))
    path = tmp_path / "run" / "recipe.toml"
    for damage in (b"\xff", b"[[[", b'"'):  # no UTF-8, no TOML, and a change of a value
        path.write_bytes(damage + path.read_bytes())
        with refused(ConfigError, wanted=str(path), do="last line"):
            train(out=tmp_path / "run", resume=True, progress=NoProgress())


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


def test_a_damaged_record_of_the_run_is_reported(run: Model, text_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run" / "recipe.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("steps = 6", "steps = 7"), encoding="utf-8")
    for given in (None, recipe(text_file)):
        with pytest.raises(ConfigError) as caught:
            train(given, out=tmp_path / "run", resume=True, progress=NoProgress())
        assert str(path) in caught.value.wanted
        assert "last line" in caught.value.do


@pytest.mark.long
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
        assert "free disk space and continue with --resume" in caught.value.do
        rest = train(recipe(text_file, checkpoint_every=1), out=out, resume=True, progress=NoProgress())
        assert all(torch.equal(tensor, weights(rest)[name]) for name, tensor in weights(whole).items())


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


def test_a_text_that_has_changed_is_reported_and_split_as_before(run: Model, text_file: Path, tmp_path: Path) -> None:
    # Nothing of the held-out side is left: were the split dealt anew, its share would be widened.
    documents = text_file.read_text(encoding="utf-8").split("\n\n")
    learned = [document for document in documents if hash_fraction(text_hash(document), 0) >= 0.2]
    text_file.write_text("\n\n".join(learned), encoding="utf-8")
    listener = Listener()
    model = train(recipe(text_file, steps=7), out=tmp_path / "run", resume=True, progress=listener)
    notes = [note for note in listener.notes if "may differ" in note]
    assert "the text, or how it is cut and masked, has changed since" in notes[0]
    assert not any(len(word) > 40 for word in " ".join(notes).split())  # no hash
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
