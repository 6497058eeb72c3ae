"""A model's folder: all of it comes back, it is whole or absent, and a place that cannot be written to is reported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError
from glassformer.convert.files import read_safetensors
from glassformer.models.families import t5
from glassformer.models.transformer import build
from glassformer.saved import store
from glassformer.saved.recipe import resolve
from glassformer.tasks.labels.classify.settings import ClassifyData, ClassifySection
from glassformer.text.special import BERT, SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.refusals import refused
from tests.run.runs import same_weights


def test_all_of_a_model_comes_back(model: Model, tmp_path: Path) -> None:
    model.task, model.data = ClassifySection(labels=("no", "yes"), pooling="first"), ClassifyData(pair="other")
    model.token_settings = {"decoder_start_token_id": 3}
    model.card, model.metrics = "# A card\n", {"scores": {"loss": 1.5, "worst": float("inf")}}
    model.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert same_weights(model, again)
    assert again.config == model.config
    assert (again.task, again.labels, again.length, again.card) == (model.task, ("no", "yes"), 16, "# A card\n")
    assert type(again.data) is ClassifyData
    assert (again.data, again.token_settings) == (model.data, {"decoder_start_token_id": 3})
    assert again.metrics == {"scores": {"loss": 1.5, "worst": None}}
    assert again.tokenizer.encode("She likes [MASK].") == model.tokenizer.encode("She likes [MASK].")
    assert again.fill("She [MASK] summer") == model.fill("She [MASK] summer")


def test_its_files_may_be_read_as_the_umask_says(model: Model, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        model.save(tmp_path / "saved")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "saved").iterdir()} == {0o640}


@pytest.mark.parametrize("name", ["recipe.toml", "tokenizer.json", "target_tokenizer.json"])
def test_no_file_of_the_user_is_replaced(model: Model, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with refused(CheckpointError, got=name):
        model.save(tmp_path)
    with refused(CheckpointError, got=name if name != "recipe.toml" else "vocab.txt"):
        (tmp_path / "vocab.txt").write_text("mine")
        model.export(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {name, "vocab.txt"}


def test_the_files_are_those_of_the_design(model: Model, tmp_path: Path) -> None:
    model.recipe = resolve("classify")
    model.save(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert names == {
        "glassformer.json", "model.safetensors", "tokenizer.json", "recipe.toml", "metrics.json", "README.md",
    }  # fmt: skip


def test_a_shared_tensor_is_stored_once(tmp_path: Path) -> None:
    module = build(t5(vocabulary=20, layers=1, width=8, heads=2, query_size=4, feed_forward=16))
    Model(module).save(tmp_path / "saved")
    stored = load_file(tmp_path / "saved" / "model.safetensors")
    assert "encoder.embed.word.weight" in stored
    assert "decoder.embed.word.weight" not in stored
    again = load(tmp_path / "saved")
    assert again.module.encoder is not None
    assert again.module.decoder is not None
    assert again.module.decoder.embed.word.weight is again.module.encoder.embed.word.weight
    assert same_weights(Model(module), again)


def test_roles_that_a_name_does_not_tell_come_back(tmp_path: Path) -> None:
    usual = train_tokenizer("wordpiece", ["some words and ||hide||"], vocabulary=60)
    saved = json.loads((usual.save(tmp_path)).read_text(encoding="utf-8"))
    text = json.dumps(saved).replace("[MASK]", "||hide||")
    roles = SpecialTokens(**{**vars(BERT), "mask": "||hide||"})
    tokenizer = Tokenizer(text, roles)
    module = build(t5(vocabulary=tokenizer.vocabulary_size, layers=1, width=8, heads=2, query_size=4, feed_forward=16))
    Model(module, tokenizer).save(tmp_path / "saved")
    assert load(tmp_path / "saved").tokenizer.special == roles


class Killed(BaseException):
    """The process ends here."""


def changes_of_name(monkeypatch: pytest.MonkeyPatch, *, die_at: int) -> list[str]:
    """Let the process die before the n-th change of a name in the file system; gives the changes made."""
    made: list[str] = []
    real = {name: getattr(os, name) for name in ("rename", "replace", "rmdir", "unlink")}

    def wrapped(name: str) -> Any:
        def change(*arguments: Any, **options: Any) -> Any:
            if len(made) == die_at:
                raise Killed
            made.append(name)
            return real[name](*arguments, **options)

        return change

    for name in real:
        monkeypatch.setattr(os, name, wrapped(name))
    return made


def test_killed_at_any_moment_the_old_or_the_new_model_is_there_whole(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def marked(number: float) -> None:
        model.card, model.metrics = f"# {number}", {"number": number}
        with torch.no_grad():
            model.module.word_table[0, 0] = number

    seen = set()
    for moment in range(40):
        folder = tmp_path / str(moment)
        marked(1.0)
        model.save(folder)
        marked(2.0)
        with monkeypatch.context() as patched:
            made = changes_of_name(patched, die_at=moment)
            # What a dead process would not do either: clear up after itself.
            patched.setattr("shutil.rmtree", lambda *arguments, **options: None)
            try:
                model.save(folder)
                finished = True
            except Killed:
                finished = False
        found = load(folder)
        number = found.module.word_table[0, 0].item()
        assert (found.card, found.metrics) == (f"# {number}", {"number": number})
        seen.add(number)
        marked(3.0)
        model.save(folder)  # and the next save mends whatever was left
        assert load(folder).metrics == {"number": 3.0}
        assert len([path for path in folder.iterdir() if path.name == ".saved"]) == 0
        if finished:
            break
    assert finished
    assert len(made) > 5
    assert seen == {1.0, 2.0}


@pytest.mark.long
def test_a_full_disk_leaves_the_old_model_whole(model: Model, tmp_path: Path) -> None:
    model.card = "# old"
    model.save(tmp_path / "saved")
    # The system refuses to let any file grow beyond 4 kB: what a full disk does, without one.
    code = (
        "import resource, sys, torch\n"
        "from glassformer.api.load import load\n"
        "from glassformer.base.errors import CheckpointError\n"
        "model = load(sys.argv[1]); model.card = '# new'\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: model.save(sys.argv[1])\n"
        "except CheckpointError as error: print(error)\n"
        "try: model.save(sys.argv[2])\n"
        "except CheckpointError as error: print('and')\n"
    )
    fresh = tmp_path / "fresh"
    command = [sys.executable, "-c", code, str(tmp_path / "saved"), str(fresh)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "what was there before is unchanged" in done.stdout
    assert done.stdout.count("\n") == 2
    assert load(tmp_path / "saved").card == "# old"
    assert not fresh.exists()
    assert {path.name for path in (tmp_path / "saved").iterdir()} == set(store.FILES) - {"recipe.toml"}


def test_a_card_that_is_no_utf8_keeps_nothing_from_being_opened(saved: Path, model: Model) -> None:
    (saved / "README.md").write_bytes(b"# caf\xe9\n")
    again = load(saved)
    assert same_weights(model, again)
    assert again.card == "# caf\ufffd\n"


@pytest.mark.parametrize("length", [0x0280, 0x0380, 0x0480, 0x0580])
def test_safetensors_that_begin_like_a_pickle_are_none(tmp_path: Path, length: int) -> None:
    """A file begins with the length of its header, and these lengths are written as a pickle begins."""
    path = tmp_path / "model.safetensors"
    tensors = {"a": torch.arange(3.0)}
    save_file(tensors, path, metadata={"filled": ""})
    limit = length - int.from_bytes(path.read_bytes()[:8], "little")
    save_file(tensors, path, metadata={"filled": "x" * limit})
    assert path.read_bytes().startswith(length.to_bytes(2, "little"))
    assert read_safetensors(path)["a"].tolist() == [0, 1, 2]


def test_a_place_that_cannot_be_written_to(model: Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with refused(CheckpointError, wanted=str(tmp_path / "file" / "model"), got="File exists"):
        model.save(tmp_path / "file" / "model")


@pytest.mark.parametrize("held", [store.CHECKPOINTS, store.PROBE])
def test_a_model_is_not_saved_over_the_run_of_another(model: Model, tmp_path: Path, held: str) -> None:
    again = load(model.save(tmp_path / "own"))
    for folder in ("own", "other"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / held).touch()
    assert again.save(tmp_path / "own") == tmp_path / "own"
    with refused(CheckpointError, got=held):
        again.save(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == [held]
