"""Commands and Python that the pages tell people to type: each verb, option and public name is there."""

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer

import glassformer as gf
from glassformer.cli.__main__ import _command, verb_and_rest
from glassformer.cli.verbs import VERBS
from tests.conftest import REPOSITORY

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/measured/imprecise.md",
    "docs/how/adding-a-task.md",
    "docs/look/looking.md",
    "docs/look/page.md",
    "docs/reference/records.md",
    "docs/reference/scores.md",
    "docs/reference/stable.md",
    "docs/reference/platforms.md",
    "docs/start/doctor.md",
    "docs/reference/decoding.md",
    "docs/scale/ray.md",
    *(f"docs/do/{path.name}" for path in sorted((REPOSITORY / "docs" / "do").glob("*.md"))),
)
OWN_VERB = "order"
"""The verb of the task that docs/how/adding-a-task.md adds: the test of that page runs its commands."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(glassformer [^`]+)`")


def commands(page: str) -> list[list[str]]:
    """Each command line of ours on a page, as words, in blocks and inside sentences."""
    lines = [line for kind, block in BLOCK.findall(page) if kind == "sh" for line in block.splitlines()]
    found = [*lines, *INLINE.findall(BLOCK.sub("", page).replace("\n", " "))]
    return [shlex.split(line, comments=True) for line in found if line.startswith("glassformer ")]


def wrong(words: list[str]) -> list[str]:
    """What of a command is not there: its verb, or options of it."""
    verb, rest = verb_and_rest(words[1:])
    if verb == OWN_VERB:
        return []
    if verb.split()[0] not in {known for group in VERBS.values() for known in group}:
        return [verb]
    app = typer.Typer()
    app.command()(_command(verb))
    known = {option for parameter in typer.main.get_command(app).params for option in parameter.opts} | {"--help"}
    return [word for word in rest if word.startswith("--") and word not in known]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_on_a_page_has_its_verb_and_options(name: str, repository: Path) -> None:
    page = (repository / name).read_text(encoding="utf-8")
    assert [words for words in commands(page) if len(words) > 1 and wrong(words)] == []


def test_a_command_that_is_not_there_is_noticed() -> None:
    page = "Try `glassformer fil x`.\n```sh\nglassformer fill x --tpo 3  # guesses\nglassformer fill x --top 3\n```\n"
    assert [wrong(words) for words in commands(page)] == [["--tpo"], [], ["fil"]]


def test_the_readme_shows_commands_and_names_that_are_there(repository: Path) -> None:
    page = (repository / "README.md").read_text(encoding="utf-8")
    assert {words[1] for words in commands(page)} >= {"train", "fill", "explain", "verify"}
    trees = [ast.parse(block) for kind, block in BLOCK.findall(page) if kind == "python"]
    used = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gf"
    }
    assert used
    assert used <= set(gf.__all__)
