from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import glassformer
from glassformer.artefact import store
from glassformer.artefact.model import Model
from glassformer.artefact.open import load
from glassformer.artefact.recipe import read_saved_recipe, resolve
from glassformer.convert.files import read_safetensors
from glassformer.errors import CheckpointError, ConfigError, GlassformerError, TokenizerError
from glassformer.models.families import t5
from glassformer.models.transformer import build
from glassformer.tasks.classify import ClassifyData, ClassifySection
from glassformer.text.special import BERT, SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.damage import flipped_bits
from tests.refusals import refused


def same_weights(one: Model, two: Model) -> bool:
    left, right = dict(one.module.named_parameters()), dict(two.module.named_parameters())
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


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


# --------------------------------------------------------------------------- whole or absent


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


def test_a_full_disk_leaves_the_old_model_whole(model: Model, tmp_path: Path) -> None:
    model.card = "# old"
    model.save(tmp_path / "saved")
    # The system refuses to let any file grow beyond 4 kB: what a full disk does, without one.
    code = (
        "import resource, sys, torch\n"
        "from glassformer.artefact.open import load\n"
        "from glassformer.errors import CheckpointError\n"
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
    assert "what was there before is unharmed" in done.stdout
    assert done.stdout.count("\n") == 2
    assert load(tmp_path / "saved").card == "# old"
    assert not fresh.exists()
    assert {path.name for path in (tmp_path / "saved").iterdir()} == set(store.FILES) - {"recipe.toml"}


# --------------------------------------------------------------------------- what is refused


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> Path:
    return model.save(tmp_path / "saved")


def test_a_checkpoint_cut_short(saved: Path) -> None:
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with refused(CheckpointError, wanted=str(path), do="again"):
        load(saved)


def test_another_version(saved: Path) -> None:
    path = saved / "glassformer.json"
    text = path.read_text(encoding="utf-8")
    assert f'"format": {store.FORMAT}' in text
    path.write_text(text.replace(f'"format": {store.FORMAT}', '"format": 7'), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        load(saved)
    assert str(path) in caught.value.wanted
    assert f"format {store.FORMAT}" in caught.value.wanted
    assert caught.value.got == "format 7"
    assert glassformer.__version__ in caught.value.do


def test_settings_that_are_none(saved: Path) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"]
    path.write_text(json.dumps({**values, "modle": 1}), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got=("'modle'", "'model'")):
        load(saved)
    path.write_text(json.dumps({**values, "task": {**values["task"], "name": "masked-ml"}}), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got=("'masked-ml'", "'masked-lm'")):
        load(saved)
    path.write_text("[1, 2]", encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="list"):
        load(saved)
    path.write_text('{"format": 1,', encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="line 1 column 14"):
        load(saved)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with refused(CheckpointError, wanted=str(saved / name), got="no such file"):
        load(saved)


# --------------------------------------------------------------------------- damage


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_flipped_bit_is_noticed(saved: Path, name: str) -> None:
    for place in flipped_bits(saved / name):
        with pytest.raises(GlassformerError) as caught:
            load(saved)
        assert "\n" not in str(caught.value), place
    load(saved)


def test_a_flipped_bit_of_the_settings_is_noticed_or_changes_nothing(saved: Path) -> None:
    known, noticed = load(saved), 0
    for place in flipped_bits(saved / "glassformer.json"):
        try:
            again = load(saved)
        except CheckpointError as error:
            noticed += "\n" not in str(error)
        else:
            assert same_weights(again, known), place
            assert (again.info(), again.config) == (known.info(), known.config), place
    assert noticed > 190


def test_a_flipped_bit_of_the_recipe_is_noticed_or_changes_nothing(model: Model, tmp_path: Path) -> None:
    model.recipe = resolve("classify")
    saved, noticed = model.save(tmp_path / "saved"), 0
    for place in flipped_bits(saved / "recipe.toml"):
        try:
            assert read_saved_recipe(saved) == model.recipe, place
        except ConfigError as error:
            noticed += "\n" not in str(error) and str(saved) in error.wanted
    assert noticed > 150  # the others are in the line of the checksum itself
    assert load(saved).recipe == model.recipe


def test_metrics_that_are_damaged_keep_no_good_model_from_being_opened(model: Model, tmp_path: Path) -> None:
    model.metrics = {"scores": {"loss": 1.5}}
    saved = model.save(tmp_path / "saved")
    for place in flipped_bits(saved / "metrics.json", count=20):
        again = load(saved)
        assert same_weights(model, again), place
        assert again.metrics == {}
        (told,) = again.info()["notes"]
        assert "metrics.json" in told
    assert load(saved).metrics == model.metrics
    assert load(saved).info()["notes"] == []
    (saved / "metrics.json").write_text("[" * 100_000)
    assert load(saved).metrics == {}


def test_weights_of_another_model_of_the_same_sizes_are_noticed(model: Model, saved: Path, tmp_path: Path) -> None:
    with torch.no_grad():
        model.module.word_table.add_(1)
    other = model.save(tmp_path / "other")
    (saved / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    with refused(CheckpointError, wanted=str(saved / "model.safetensors"), got="other bytes"):
        load(saved)


def test_a_model_that_was_saved_without_checksums_is_opened(model: Model, saved: Path) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"], values["checksums"]
    path.write_text(json.dumps(values), encoding="utf-8")
    assert same_weights(load(saved), model)


def test_who_changes_a_model_by_hand_deletes_the_line_of_the_checksum(model: Model, tmp_path: Path) -> None:
    model.task = ClassifySection(labels=("0", "1"))
    saved = model.save(tmp_path / "saved")
    path = saved / "glassformer.json"
    before = path.read_text(encoding="utf-8")
    changed = before.replace('"0"', '"no"').replace('"1"', '"yes"')
    assert changed != before
    path.write_text(changed, encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="checksum", do='"checksum"'):
        load(saved)
    lines = [line for line in changed.splitlines() if not line.startswith('  "checksum":')]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert load(saved).labels == ("no", "yes")


# --------------------------------------------------------------------------- settings that lie

# Opens a model in a process that may have 1 GB beyond what it has at the start.
_OPENED_IN_LITTLE_MEMORY = """
import resource, sys
from glassformer.artefact.open import load
from glassformer.errors import CheckpointError
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
try:
    load(sys.argv[1])
except CheckpointError as error:
    print(error)
"""


@pytest.mark.parametrize("whole", [True, False])
def test_a_hundred_thousand_blocks_are_refused_before_one_is_built(saved: Path, whole: bool) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell a process how much memory it has")
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    stack = values["model"]["encoder"]
    block = json.dumps(stack["blocks"][0], indent=2) if whole else "{}"
    stack["blocks"] = ["these"]
    path.write_text(json.dumps(values).replace('"these"', ",".join([block] * 100_000)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _OPENED_IN_LITTLE_MEMORY, str(saved)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert str(path) in done.stdout
    assert done.stdout.strip().endswith(f"{path.stat().st_size:,} bytes" if whole else "got 100000")


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, 1 << 70])
@pytest.mark.parametrize(
    "name", ["width", "vocabulary", "heads", "query_size", "max_length", "segments", "feed_forward"]
)
def test_sizes_that_the_weights_have_not_are_refused(saved: Path, name: str, size: int) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    stack = values["model"]["encoder"]
    attention = stack["blocks"][0]["self_attention"]["body"]
    if name == "width":
        stack["width"] = size
    elif name in ("vocabulary", "segments"):
        stack["embed"][name] = size
    elif name == "max_length":
        stack["embed"]["position"][name] = size
    elif name == "feed_forward":
        stack["blocks"][0]["feed_forward"]["body"]["width"] = size
    elif name == "heads":
        attention["heads"] = attention["key_value_heads"] = size
    else:
        attention[name] = size
    del values["checksum"]
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        load(saved)
    assert str(saved) in caught.value.wanted + caught.value.got
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", [1 << 40, 1 << 60, (1 << 64) - 1])
def test_a_header_that_lies_about_its_length_is_refused(saved: Path, length: int) -> None:
    path = saved / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    with refused(CheckpointError, wanted=str(path)):
        load(saved)


@pytest.mark.parametrize("shape", [[1 << 62], [1 << 63], [1 << 70], [0, 1 << 62], [-1], ["1"], 1])
def test_a_header_that_lies_about_its_shapes_is_refused(saved: Path, shape: object) -> None:
    path = saved / "model.safetensors"
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["encoder.embed.word.weight"]["shape"] = shape
    lying = json.dumps(header).encode()
    path.write_bytes(len(lying).to_bytes(8, "little") + lying + whole[8 + length :])
    with refused(CheckpointError, wanted=str(path)):
        load(saved)


def test_nothing_there(tmp_path: Path) -> None:
    with refused(CheckpointError, wanted=str(tmp_path / "nowhere"), got="no such folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with refused(CheckpointError, wanted=str(tmp_path / "empty"), got=("glassformer.json", "config.json")):
        load(tmp_path / "empty")
    (tmp_path / "file.txt").write_text("words")
    with refused(CheckpointError, wanted="folder", got=str(tmp_path / "file.txt")):
        load(tmp_path / "file.txt")


def test_a_run_that_has_not_ended(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("[train]\nsteps = 3\n")
    with refused(CheckpointError, wanted=str(tmp_path), do=f"--resume --out {tmp_path}"):
        load(tmp_path)


def test_a_card_that_is_no_utf8_keeps_nothing_from_being_opened(saved: Path, model: Model) -> None:
    (saved / "README.md").write_bytes(b"# caf\xe9\n")
    again = load(saved)
    assert same_weights(model, again)
    assert again.card == "# caf\ufffd\n"


def test_a_role_that_nobody_knows(saved: Path) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"]
    values["tokenizer"]["roles"]["begni"] = "[CLS]"
    path.write_text(json.dumps(values), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="tokenizer.roles.begni"):
        load(saved)
    values["tokenizer"]["roles"] = {"mask": 7}
    path.write_text(json.dumps(values), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got=("tokenizer.roles.mask", "7")):
        load(saved)


def test_weights_of_another_model(saved: Path) -> None:
    path = saved / "model.safetensors"
    state = load_file(path)
    name = "encoder.embed.word.weight"
    save_file({**state, "extra": torch.zeros(1)}, path)
    with refused(CheckpointError, wanted=str(path), got="extra"):
        load(saved)
    save_file({key: value for key, value in state.items() if key != name}, path)
    with refused(CheckpointError, wanted=str(path), got=name):
        load(saved)
    save_file({**state, name: state[name][:-1].clone()}, path)
    with refused(CheckpointError, wanted=(name, "[160, 16]"), got=("[159, 16]", str(path))):
        load(saved)
    save_file({**state, name: state[name].to(torch.int8)}, path)
    with refused(CheckpointError, wanted=name, got=("I8", str(path))):
        load(saved)


def test_a_tokenizer_that_does_not_fit(saved: Path) -> None:
    train_tokenizer("bpe", ["other words altogether " * 9], vocabulary=300).save(saved)
    with refused(TokenizerError, wanted="160", got="278"):
        load(saved)


def test_a_tokenizer_of_the_same_size_that_is_another_one(saved: Path) -> None:
    path = saved / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"she"', '"her"'), encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), do="tokens"):
        load(saved)


class Trap:
    """Running this would leave a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt", "model.pkl", "last.ckpt"])
def test_a_pickle_is_refused_and_never_opened(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / name).write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    for path in (folder, folder / name):
        with refused(CheckpointError, wanted="safetensors", got=(name, "pickle")):
            load(path)
    assert not (tmp_path / "mark").exists()


def test_a_pickle_under_the_name_of_safetensors(saved: Path, tmp_path: Path) -> None:
    (saved / "model.safetensors").write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    with refused(CheckpointError, got=(str(saved / "model.safetensors"), "pickle")):
        load(saved)
    torch.save({"weight": torch.zeros(2)}, saved / "model.safetensors")
    with refused(CheckpointError, got=(str(saved / "model.safetensors"), "pickle")):
        load(saved)
    assert not (tmp_path / "mark").exists()


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
