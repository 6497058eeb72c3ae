"""What `doctor` finds, and that commands say the same of what is missing or old."""

import importlib
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.answering.engines.engine import ENGINES as REAL_ENGINES
from glassformer.api.load import load
from glassformer.base import installed, machine
from glassformer.base.errors import EXTRAS, MissingExtraError, PackageError
from glassformer.base.installed import OLDEST_TORCH, Requirement, check_torch, requirements, satisfies, torch_facts
from glassformer.base.paths import not_kept
from glassformer.bundled.travelling import travelling
from glassformer.cli.setup.doctor import ENGINES
from tests.cli.conftest import Run

TORCH = Requirement("torch", f">={OLDEST_TORCH}")


def findings(run: Run, code: int = 0) -> dict[str, dict[str, Any]]:
    """What doctor reports, by sentence."""
    done = run("doctor", "--json")
    assert done.code == code
    (facts,) = done.records
    return {each["sentence"]: each for each in facts["findings"]}


def test_the_facts_are_those_of_the_packages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert machine.threads() == machine.cores()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (facts,) = run("doctor", "--json").records
    assert facts["torch"] == torch.__version__ == torch_facts()["__version__"]
    assert facts["cuda"] == torch.version.cuda
    assert facts["packages"]["numpy"]["installed"] == metadata.version("numpy")
    assert facts["threads"] == 3
    assert facts["models"]["bundled"] == list(travelling())
    assert facts["cache"]["writable"]
    shown = run("doctor").out
    assert all(word in shown for word in (torch.__version__, *travelling(), facts["cache"]["folder"]))


def test_the_engines_are_those_that_answer() -> None:
    named = {engine().packages[0] for engine in REAL_ENGINES.values()}
    assert named == set(ENGINES)


def test_doctor_reads_no_torch() -> None:
    code = (
        "import sys; from glassformer.cli.__main__ import main; code = main(['doctor', '--json'])\n"
        "sys.exit(3 if {'torch', 'numpy', 'transformers'} & set(sys.modules) else code)"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_the_oldest_torch_is_that_of_the_package(repository: Path) -> None:
    promised = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"torch>={OLDEST_TORCH}" in promised


def test_an_old_torch(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "torch_facts", lambda: {"__version__": "2.3.1+cpu", "cuda": None})
    monkeypatch.setattr(metadata, "version", lambda name: {"torch": "2.3.1+cpu"}.get(name, "99"))
    sentence = str(PackageError("torch", needs=TORCH.versions, got="2.3.1+cpu"))
    done = run("fill", "english", "She [MASK].")
    assert (done.code, done.err) == (2, f"glassformer: {sentence}\n")
    found = findings(run, code=1)[sentence]
    assert (found["command"], found["serious"]) == (f"pip install 'torch>={OLDEST_TORCH}'", True)
    for asked in (check_torch, lambda: load("english")):
        with pytest.raises(PackageError) as caught:
            asked()
        assert str(caught.value) == sentence


def test_a_package_that_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence of a command that cannot import it is that of doctor."""
    real = metadata.version

    def without(name: str) -> str:
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    (sentence,) = [each for each, found in findings(run, code=1).items() if found["serious"]]
    assert sentence == str(PackageError("torch", needs=TORCH.versions, got=None))

    def absent(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(importlib, "import_module", absent)
    done = run("info", "english")
    assert (done.code, done.err) == (2, f"glassformer: {sentence}\n")


# Commands that need an extra, and end before they compute anything.
ASKS = {
    "hub": ("info", "hub:owner/name"),
    "serve": ("serve", "slides", "--port", "0"),
    "fast": ("fill", "slides", "She [MASK].", "--engine", "ctranslate2"),
    "onnx": ("export", "slides", "onnx", "--to", "onnx"),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra(run: Run, monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    """The sentence of the command that asks for it is that of doctor."""
    packages = [each.name for each in requirements() if each.extra == extra]
    real = metadata.version

    def without(name: str) -> str:
        if name in packages:
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    sentence = str(MissingExtraError(packages[0], extra=extra))
    found = findings(run)[sentence]
    assert (found["command"], found["serious"]) == (f"pip install 'glassformer[{extra}]'", False)
    if extra in ASKS:
        monkeypatch.setitem(sys.modules, packages[0], None)
        done = run(*ASKS[extra])
        assert (done.code, done.err) == (2, f"glassformer: {sentence}\n")


def test_each_extra_has_a_purpose(repository: Path) -> None:
    promised = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*EXTRAS} == {*promised} - {*installed.OF_DEVELOPERS}


def test_a_cache_folder_that_cannot_be_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in its place refuses root too, as a home without write permission refuses others."""
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "home" / "cache"))
    sentence = not_kept(NotADirectoryError(20, "Not a directory"))
    assert "GLASSFORMER_CACHE" in findings(run)[sentence]["command"]
    assert "cannot be written" in run("doctor").out
    if all(each.installed for each in requirements() if each.extra == "fast"):
        done = run("translate", "en-fr", "I am a student.", "--engine", "ctranslate2")
        assert (done.code, sentence in " ".join(done.err.split())) == (0, True)


def test_a_system_without_a_home(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("GLASSFORMER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert any("home directory" in sentence for sentence in findings(run))


def test_an_unknown_processor(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: ["processor\t: 0", "model name\t: an abacus"])
    assert machine.UNKNOWN in findings(run)
    assert machine.processor().startswith("an abacus, ")
    assert machine.UNKNOWN in " ".join(run("fill", "english", "She [MASK].", "--fast", "--engine", "torch").err.split())
    done = run("train", "slides", "--steps", "1", "--set", "train.precision=auto", "--out", tmp_path / "run")
    assert machine.UNKNOWN in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("version", "versions", "fits"),
    [
        ("2.13.0+cpu", ">=2.6", True),
        ("2.6.0", ">=2.6", True),
        ("2.5.1", ">=2.6", False),
        ("2.10", ">=2.9.1", True),
        ("3.0", "<3,>=2.3", False),
        ("2.4.1", "<3,>=2.3", True),
        ("0.1.0", "==0.1.0", True),
        ("1.0.0rc1", ">=1.0", True),
        ("4", "!=4", False),
        ("4", "", True),
    ],
)
def test_ranges_of_versions(version: str, versions: str, fits: bool) -> None:
    assert satisfies(version, versions) is fits


def test_what_is_required_is_read_as_pip_reads_it(repository: Path) -> None:
    """Against the project's own file; of the installed package, extras are written as markers."""
    table = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    always = {line.split(">=")[0] for line in table["dependencies"]}
    assert {each.name for each in requirements() if not each.extra} == always
    extras = {each.extra for each in requirements() if each.extra}
    assert extras <= set(table["optional-dependencies"]) - set(installed.OF_DEVELOPERS)
