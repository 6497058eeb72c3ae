"""The wheel holds every file that the package needs, the models too, and works from where it is unpacked."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from glassformer.api.model import Model
from glassformer.models.families import modernbert
from glassformer.models.transformer import build
from glassformer.saved.store import FILES
from glassformer.tasks import TASKS
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.train import train_tokenizer

STAND_IN = "stand-in"
BUILD = "import setuptools.build_meta as backend; print(backend.build_wheel('dist'))"
ASK = """
import json, pathlib, sys
import glassformer, glassformer.bundled.travelling as travelling
found = {}
for name in travelling.travelling():
    model = glassformer.load(name)
    if model.task.name == "translate":
        found[name] = model.translate("Go.").translation
    elif model.task.name == "chat":
        found[name] = model.chat("Hi how are you").reply
    elif model.task.name == "language-model":
        found[name] = model.generate("Once", max_tokens=4).text
    elif model.task.name == "sentence-order":
        found[name] = model.classify("He went.", "He came back.").label
    else:
        found[name] = model.fill("She [MASK]").masks[0].guesses[0].word
from glassformer.saved.recipe import resolve
from glassformer.tasks import TASKS
recipes = {name: resolve(entry.recipe).task.name for name, entry in TASKS.items()}
files = resolve("slides").data.files
hub = "huggingface_hub" in sys.modules
print(json.dumps({"recipes": recipes, "files": files, "from": glassformer.__file__, "found": found, "hub": hub}))
"""


@pytest.fixture(scope="module")
def source(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from, with one more model in it."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        if (repository / name).exists():
            shutil.copy(repository / name, folder / name)
    shutil.copytree(
        repository / "glassformer", folder / "glassformer", ignore=shutil.ignore_patterns("__pycache__", ".*")
    )
    tokenizer = train_tokenizer("wordpiece", ["She likes the summer better."] * 9, vocabulary=60)
    module = build(modernbert(size="tiny", layers=1, vocabulary=tokenizer.vocabulary_size)).bfloat16()
    model = Model(module, tokenizer, task=MaskedLMSection(), length=16)
    model.save(folder.joinpath("glassformer", "bundled", "models", STAND_IN))
    return folder


@pytest.mark.long
def test_the_wheel_holds_all_and_answers_where_it_is_unpacked(source: Path, tmp_path: Path) -> None:
    built = subprocess.run([sys.executable, "-c", BUILD], cwd=source, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    with zipfile.ZipFile(source / "dist" / built.stdout.splitlines()[-1]) as wheel:
        inside = {name for name in wheel.namelist() if name.startswith("glassformer/")}
        wheel.extractall(tmp_path / "unpacked")
    package = source / "glassformer"
    expected = {path.relative_to(source).as_posix() for path in package.rglob("*") if path.is_file()}
    saved_without_a_recipe = set(FILES) - {"recipe.toml"}
    assert expected >= {f"glassformer/bundled/models/{STAND_IN}/{name}" for name in saved_without_a_recipe}
    assert {name for name in expected if "__pycache__" not in name} == inside

    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "unpacked"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert Path(answer["from"]).is_relative_to(tmp_path / "unpacked")
    models = {path.name for path in (package / "bundled" / "models").iterdir() if path.is_dir()}
    assert set(answer["found"]) == models >= {STAND_IN}
    assert all(answer["found"].values())
    assert not answer["hub"]
    assert answer["recipes"] == {name: name for name in TASKS}
    assert [Path(file).is_file() for file in answer["files"]] == [True]
