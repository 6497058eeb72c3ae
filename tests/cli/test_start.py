"""The first second: help that answers at once, and words that are not verbs."""

import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import glassformer
from glassformer.cli.verbs import PARTS, VERBS
from tests.cli.conftest import Run

from_this = [verb for group in VERBS.values() for verb in group]
with_parts = [*from_this, *(f"{verb} {part}" for verb, parts in PARTS.items() for part in parts)]
HEAVY = ("torch", "numpy", "pydantic", "rich", "typer", "safetensors", "tokenizers", "transformers")


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def modules_after(code: str) -> set[str]:
    done = python("-c", f"{code}\nimport sys; print('|', *sys.modules)")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("|")[2].split())


def test_help_imports_nothing_heavy() -> None:
    seen = modules_after("from glassformer.cli.__main__ import main; main(['--help'])")
    assert seen & set(HEAVY) == set()


def test_help_of_a_verb_does_not_wait_for_torch() -> None:
    """In one process, which ends at the first verb that has imported it."""
    code = (
        "import sys; from glassformer.cli.__main__ import main\n"
        f"for verb in {with_parts}:\n"
        "    assert main([*verb.split(), '--help']) == 0\n"
        "    assert 'torch' not in sys.modules, verb"
    )
    assert "typer" in modules_after(code)


def test_help_of_a_verb_draws_and_counts_nothing() -> None:
    unwanted = {"rich.console", "numpy", "pydantic", "importlib.metadata"}
    code = (
        "import sys; from glassformer.cli.__main__ import main\n"
        'for verb in ("fill", "translate", "embed", "evaluate", "train", "plan"):\n'
        "    assert main([verb, '--help']) == 0\n"
        f"    assert not {unwanted} & {{*sys.modules}}, verb"
    )
    assert "typer" in modules_after(code)


def test_every_other_verb_is_a_file_in_the_folder_of_its_purpose() -> None:
    from glassformer import tasks
    from glassformer.cli.verbs import FOLDERS, PARTS, VERBS

    folder = Path(glassformer.__file__).parent / "cli"
    for purpose, verbs in VERBS.items():
        for verb in verbs:
            files = {path.stem.strip("_") for path in (folder / FOLDERS[purpose]).glob("*.py")}
            assert (verb in files) != (verb in tasks.VERBS)
            assert {f"{verb}_{part}" for part in PARTS.get(verb, ())} <= files


def test_every_verb_that_answers_has_its_predictor_and_every_task_its_class() -> None:
    from glassformer import tasks

    for verb, entry in tasks.VERBS.items():
        assert tasks.predictor_of(verb).__name__ == entry.predictor.partition(":")[2]
    for name, task in tasks.TASKS.items():
        assert tasks.task_named(name).__name__ == task.task.partition(":")[2]


def test_python_dash_m_and_the_version() -> None:
    done = python("-m", "glassformer", "--version")
    assert (done.returncode, done.stdout) == (0, f"glassformer {glassformer.__version__}\n")
    assert python("-m", "glassformer").stdout.startswith("Transformers you can see through.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fil"], "glassformer: there is no command 'fil'; did you mean 'fill'?\n"),
        (["fill", "model", "--tpo", "3"], "glassformer: fill has no option '--tpo'; did you mean '--top'?\n"),
        (["train", "masked-lm", "--step", "3"], "glassformer: train has no option '--step'; did you mean '--steps'?\n"),
        (["info"], "glassformer: info: Missing argument 'MODEL'; see glassformer info --help\n"),
        (["fill"], "glassformer: fill needs a text; got none; see glassformer fill --help\n"),
    ],
)
def test_words_that_are_not_known(run: Run, words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.code, done.out, done.err) == (2, "", message)


# --------------------------------------------------------------------------- import glassformer


def test_every_public_name_is_there() -> None:
    for name in glassformer.__all__:
        assert getattr(glassformer, name) is not None
    assert set(glassformer.__all__) <= set(dir(glassformer))
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        glassformer.laod  # noqa: B018


def test_type_checkers_see_the_same_names() -> None:
    import ast

    tree = ast.parse(Path(glassformer.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {name.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert seen == {name: f"glassformer.{package}" for name, package in glassformer._MODULES.items()}
    assert sorted(seen) == sorted(glassformer.__all__)


@pytest.mark.long
def test_train_is_still_the_function_after_importing_the_package_and_scikit_learn_waits() -> None:
    seen = modules_after("import glassformer.training.loop, glassformer as gf\nassert callable(gf.train)")
    assert "glassformer.training.loop" in seen
    assert "sklearn" not in seen
    assert issubclass(glassformer.TextFeatures, BaseEstimator)
