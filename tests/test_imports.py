"""The order of the rooms, and what else keeps the package easy to hold in the head: read from the syntax trees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import FILES, PACKAGE, ROOMS, circles, edges, imports, lazy_imports, module_of, read, sources

ALONE: dict[str, tuple[str, ...]] = {
    "look.formulas": ("base", "config", "look.formulas"),
    "training": ("base", "config", "parts", "models", "text", "runtime", "data", "tasks.feed", "training"),
}
"""Rooms that are held to less than the order allows: formulas that read the modules they check would prove nothing, and
the training loop knows no task.
"""
INSIDE: dict[str, tuple[str, ...]] = {"look": ("formulas", "trace", "summaries", "texts")}
"""The folders of a room from the bottom up, where they have an order too. In look/: what a number is made of; a run of
ids with all its tensors; what many of them sum up to, and tables of them; runs of texts, which saved models read.
"""
ENTRIES, LINES = 24, 350

BANISHED_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}
HEAVY = {
    "fastapi",
    "numpy",
    "prometheus_client",
    "pyarrow",
    "pydantic",
    "rich",
    "sacrebleu",
    "safetensors",
    "sklearn",
    "starlette",
    "tokenizers",
    "torch",
    "transformers",
    "typer",
    "uvicorn",
}


def allowed(module: str, target: str) -> bool:
    """Whether the module may import the target (a module, or a name inside one)."""
    if not module or target == "__version__":
        return True
    for room, its in ALONE.items():
        if module == room or module.startswith(f"{room}."):
            return any(target == one or target.startswith(f"{one}.") for one in its)
    mine, other = module.split(".")[0], target.split(".")[0]
    if mine == "tasks" and task_folder(target) not in ("", task_folder(module)):
        return False
    if mine == other and mine in INSIDE:
        folders = [INSIDE[mine].index(each.split(".")[1]) for each in (module, target) if "." in each]
        return sorted(folders, reverse=True) == folders
    return mine in ROOMS and other in ROOMS and ROOMS.index(other) <= ROOMS.index(mine)


def task_folder(module: str) -> str:
    """The folder of a task that a module is in (`tasks.labels.tag`), "" for the protocol and the core of a clan."""
    steps = module.split(".")
    folder = PACKAGE.joinpath(*steps[:3])
    return ".".join(steps[:3]) if steps[0] == "tasks" and len(steps) >= 3 and folder.is_dir() else ""


def trespasses(module: str, source: str, *, package: bool) -> list[str]:
    """Every import of ours that this module may not make."""
    found = [*imports(source, module, package=package), *lazy_imports(source)]
    return [f"{module or 'glassformer'}:{line} imports {name}" for line, name in found if not allowed(module, name)]


def test_imports_go_down_the_order() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in FILES}
    found = [
        trespass
        for path, source in sources.items()
        for trespass in trespasses(module_of(path), source, package=path.name == "__init__.py")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("parts.mask", "from glassformer.models.stack import Stack"),
        ("parts.mask", "def late():\n    from glassformer import models"),
        ("parts.mask", "import glassformer.look.trace as t"),
        ("models.stack", "from ..look import watch"),
        ("look.formulas.stacks", "from glassformer.parts.attention import Attention"),
        ("look.trace.trace", "if TYPE_CHECKING:\n    from glassformer.page.notebook import Shown"),
        ("look.trace.trace", "from glassformer.look.texts.reader import Reader"),
        ("look.summaries.mix", "if TYPE_CHECKING:\n    from ..texts.tree import SearchTree"),
        ("look.formulas.stacks", "from glassformer.look.trace.cell import Words"),
        ("training.loop", "from glassformer.tasks.words.masked_lm.task import MaskedLM"),
        ("training.loop", "from glassformer.tasks.task import Task"),
        ("text.load", "import importlib\nimportlib.import_module('glassformer.data')"),
        ("base.errors", "from glassformer.config import ModelConfig"),
        ("scoring.verdict", "from glassformer.tasks.task import Task"),
        ("tasks.labels.tag.task", "from glassformer.tasks.labels.answer.answers import Span"),
        ("tasks.labels.labels", "from glassformer.tasks.labels.answer.answers import Span"),
        ("run.train", "from glassformer.api.model import Model"),
        ("page.server.app", "from glassformer.cli.ask import ask"),
    ],
)
def test_a_wrong_import_is_noticed(module: str, source: str) -> None:
    assert len(trespasses(module, source, package=False)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("look.trace.watch", "from glassformer.parts.tap import tap"),
        ("look.texts.trace", "from ..trace.run import run_of\nfrom .reader import Reader"),
        ("training.loop", "from glassformer.tasks.feed import Feed"),
        ("tasks.feed", "from glassformer.runtime.device import recomputing"),
        ("tasks.labels.tag.task", "from glassformer.tasks.labels.labels import Labelled\nfrom .scores import f1"),
        ("models.stack", "from ..parts.mask import causal\nfrom .inputs import Inputs"),
        ("api.trace", "def show():\n    from glassformer.page import page"),
    ],
)
def test_a_right_import_is_let_through(module: str, source: str) -> None:
    assert trespasses(module, source, package=False) == []


def test_no_files_import_one_another_in_a_circle() -> None:
    graph = edges(sources())
    assert sum(map(len, graph.values())) > len(FILES)
    assert circles(graph) == []


@pytest.mark.parametrize(
    "circle",
    [
        {"a.one": "from glassformer.a.two import f", "a.two": "def late():\n    from glassformer.a import one"},
        {
            "a.one": "from glassformer.a.two import f",
            "a.two": "from glassformer.a.three import f",
            "a.three": "if TYPE_CHECKING:\n    from .one import f",
        },
        {
            "a.one": "from glassformer.a.two import f",
            "a.two": "import importlib\nimportlib.import_module('glassformer.a.one')",
        },
    ],
    ids=["late", "for types, over three", "by name"],
)
def test_a_circle_is_noticed(circle: dict[str, str]) -> None:
    other = {"a.four": "from .one import f"}
    graph = edges({module: (source, False) for module, source in (circle | other).items()})
    assert circles(graph) == [sorted(circle)]


def test_every_room_has_its_place() -> None:
    assert {module_of(path).split(".")[0] for path in FILES} - {""} == set(ROOMS)


def entries(folder: Path) -> list[str]:
    """The names of what a folder of the package holds."""
    return sorted(each.name for each in folder.iterdir() if each.name != "__pycache__")


def test_no_folder_is_a_drawer() -> None:
    folders = [PACKAGE, *(each for each in PACKAGE.rglob("*") if each.is_dir() and each.name != "__pycache__")]
    folders = [
        each for each in folders if "built" not in each.parts
    ]  # one file for each part of the page, not written by hand
    assert len(folders) > len(ROOMS)
    found = {str(folder.relative_to(PACKAGE)): len(entries(folder)) for folder in folders}
    assert {folder: count for folder, count in found.items() if count > ENTRIES} == {}


def test_no_file_is_a_drawer() -> None:
    found = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {module: count for module, count in found.items() if count > LINES} == {}


def test_no_room_without_a_meaning() -> None:
    names = {step.removesuffix(".py").strip("_") for path in FILES for step in path.relative_to(PACKAGE).parts}
    assert names & BANISHED_NAMES == set()


NAMING = ("tasks/", "api/", "cli/train/demo_")
"""Who names tasks and verbs: the tasks, the methods of `Model`, the estimators, and the demo, which trains two models.
"""
WORDS_TOO = {"answer", "score", "bert"}
"""Names of tasks and verbs that are also other words here: an answer and its score, and the family."""


def named(source: str) -> list[str]:
    """Tasks and verbs that a file names as a whole text of its own."""
    from glassformer.tasks import TASKS, VERBS

    return sorted(({*TASKS, *VERBS} - WORDS_TOO) & read(source).texts)


def test_only_tasks_name_a_task_or_a_verb() -> None:
    found = {
        place: names
        for path in FILES
        if not (place := path.relative_to(PACKAGE).as_posix()).startswith(NAMING)
        and (names := named(path.read_text(encoding="utf-8")))
    }
    message = (
        "only tasks/ may have the name of a task or a verb as a text: ask TASKS or VERBS, or choose another name "
        "for the verb where the word is in use already"
    )
    assert found == {}, message


def test_a_named_task_is_noticed() -> None:
    assert named('if task == "classify":\n    verbs = {"fill": 1}') == ["classify", "fill"]


SECTIONS = ("section", "task", "teacher", "student")


def asked_by_name(source: str) -> list[str]:
    """Settings that a file asks a `[task]` table for by their names, where the table may lack them."""
    return [
        ast.unparse(call)
        for call in read(source).nodes
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("getattr", "hasattr")
        and isinstance(call.args[1], ast.Constant)
        and ast.unparse(call.args[0]).split(".")[-1] in SECTIONS
    ]


def test_only_tasks_know_the_names_of_their_settings() -> None:
    found = {
        place: asked
        for path in FILES
        if not (place := path.relative_to(PACKAGE).as_posix()).startswith("tasks/")
        and (asked := asked_by_name(path.read_text(encoding="utf-8")))
    }
    assert found == {}, "give TaskSection a property with a default, and read that"
    assert asked_by_name("getattr(model.task, 'temperature', 1)") == ["getattr(model.task, 'temperature', 1)"]


def test_importing_the_package_is_light() -> None:
    code = f"import sys, glassformer; print(*sorted({HEAVY!r} & set(sys.modules)))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == ""
