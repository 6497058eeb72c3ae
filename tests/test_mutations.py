"""The table of deliberate errors fits the checkout, and its runner lists which escape. No mutation of the table is run
here: `python -m tests.mutations run` does that.
"""

import ast
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.mutations.record import Mutation
from tests.mutations.runner import BROKEN, ESCAPED, NOTICED, Outcome, run_all
from tests.mutations.table import MUTATIONS

CHECKOUT = Path(__file__).resolve().parents[1]


@cache
def names_in(path: Path) -> frozenset[str]:
    """The functions of a file of tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_the_mutations_have_names_of_their_own() -> None:
    assert len(MUTATIONS) >= 60
    assert [name for name, count in Counter(each.name for each in MUTATIONS).items() if count > 1] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_fits_the_checkout(mutation: Mutation) -> None:
    changed = mutation.applied(CHECKOUT)
    assert changed != (CHECKOUT / mutation.file).read_text(encoding="utf-8")
    if mutation.file.endswith(".py"):
        ast.parse(changed)
    assert mutation.tests == (mutation.page_tests if mutation.of_page else mutation.python_tests) != ()
    for test in mutation.tests:
        path, _, name = test.partition("::")
        assert (CHECKOUT / path).is_file(), path
        assert not name or name.partition("[")[0] in names_in(CHECKOUT / path), test


SUM = "def total(numbers):\n    return sum(number for number in numbers if number > 0)\n"
TESTS = """from small import total

def test_total():
    assert total([2, 3]) == 5
"""


@pytest.mark.long
def test_the_runner_reports_what_escapes_and_leaves_the_checkout_as_it_was(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    files = {
        "small.py": SUM,
        "test_small.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    }
    for name, text in files.items():
        (checkout / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=checkout, check=True)
    noticed = Mutation("of the other sign", "small.py", "number > 0", "number < 0", ("test_small.py",))
    escaped = replace(noticed, name="of zero", new="number >= 0")
    broken = replace(noticed, name="of no test", tests=("test_small.py::test_nothing",))
    seen: list[Outcome] = []
    folder = tmp_path / "copies"
    found = run_all(checkout, folder, [noticed, escaped, broken], jobs=2, trust=True, see=seen.append)
    assert [each.verdict for each in found] == [NOTICED, ESCAPED, BROKEN]
    assert found[0].by == "test_small.py::test_total"
    assert {each.name for each in seen} == {"of the other sign", "of zero", "of no test"}
    for place in (checkout, folder / "0", folder / "1"):
        assert {name: (place / name).read_text() for name in files} == files
    (checkout / "test_small.py").write_text(TESTS.replace("== 5", "== 6"))
    with pytest.raises(RuntimeError, match="test_total"):
        run_all(checkout, tmp_path / "more", [noticed], jobs=1, trust=False, see=seen.append)


def test_a_text_that_occurs_twice_is_no_place_for_a_mutation(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SUM)
    with pytest.raises(ValueError, match="once in"):
        Mutation("twice", "small.py", "numbers", "none", ("test_small.py",)).applied(tmp_path)
