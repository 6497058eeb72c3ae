"""What the shells complete: bash runs its script here; zsh and fish read theirs where they are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from glassformer.bundled.travelling import travelling
from glassformer.cli.__main__ import main
from glassformer.cli.setup.completion import bash, fish, verbs, zsh
from glassformer.cli.verbs import PARTS, VERBS
from glassformer.tasks import TASKS
from tests.docs.options import options

ASK = """
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
source "$1" && _glassformer && printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "glassformer"
    path.write_text(bash(list(verbs())))
    return path


def completed(script: Path, *words: str) -> set[str]:
    """The words that bash offers in the place of the last one."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(
        [shell, "--norc", "-c", ASK, "bash", script, "glassformer", *words], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return {line for line in done.stdout.splitlines() if line}


def test_verbs_models_tasks_options_and_values(script: Path) -> None:
    assert completed(script, "") >= {verb for group in VERBS.values() for verb in group}
    assert completed(script, "fi") == {"fill"}
    assert completed(script, "fill", "") == set(travelling())
    assert completed(script, "train", "") >= set(TASKS)
    assert completed(script, "train", "classify", "--track", "") == {"tensorboard", "mlflow"}
    assert completed(script, "verify", "a text", "--precision", "float6") == {"float64"}
    assert completed(script, "search", "") == set(PARTS["search"])
    assert completed(script, "embed", "co") == {"compare"}
    assert completed(script, "fill", "a text", "") == set()  # bash then completes names of files
    assert completed(script, "nonsense", "") == set()


def test_every_option_of_every_verb_is_completed(script: Path) -> None:
    """Against the options of docs/reference/options.md, which are found in another way."""
    of_verbs: dict[str, set[str]] = {}
    for each in options():
        of_verbs.setdefault(each.verb, set()).update(name for name in each.names for name in name.split("/"))
    # A few verbs ask bash itself; the table that it reads is the same for all.
    for verb in ("train", "embed compare", "doctor"):
        assert completed(script, *verb.split(), "-") == of_verbs[verb] | {"--quiet", "-q", "--help"}
    known = {verb.name: {name for of in verb.options for name in of.names} for verb in verbs()}
    assert {verb: names | {"--quiet", "-q", "--help"} for verb, names in of_verbs.items()} == {
        verb: names for verb, names in known.items() if verb in of_verbs
    }


@pytest.mark.parametrize(("shell", "made"), [("zsh", zsh), ("fish", fish)], ids=["zsh", "fish"])
def test_the_shell_can_read_its_script(tmp_path: Path, shell: str, made: object) -> None:
    assert callable(made)
    path = tmp_path / "script"
    path.write_text(made(list(verbs())))
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", path], check=True)


def test_fish_offers_verbs_and_options(tmp_path: Path) -> None:
    program = shutil.which("fish")
    if program is None:
        pytest.skip("fish is not installed")
    path = tmp_path / "glassformer.fish"
    path.write_text(fish(list(verbs())))

    def offered(line: str) -> set[str]:
        ask = ["-c", f"source {path}; complete -C '{line}'"]
        done = subprocess.run([program, "--no-config", *ask], capture_output=True, text=True, check=True, cwd=tmp_path)
        return {each.partition("\t")[0] for each in done.stdout.splitlines()}

    assert offered("glassformer fi") == {"fill"}
    assert offered("glassformer verify a --precision ") == {"float32", "float64"}
    assert "--engine" in offered("glassformer fill --e")


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "'tcsh'" in capsys.readouterr().err
