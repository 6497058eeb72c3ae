"""The page of corrections: every number is there, and what it points to exists."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from glassformer.api.trace import trace
from glassformer.bundled.texts import Note, notes, notes_about
from glassformer.cli.look.explain import notes_for
from glassformer.cli.look.render import write
from glassformer.config import ModelConfig
from glassformer.look.texts.walkthrough import walkthrough
from glassformer.look.trace.trace import Origin
from glassformer.models.names import tensor_names
from glassformer.page.documents import corrections
from tests.contracts.families import ROWS

NUMBERS = [f"C-{number}" for number in range(1, 45)]
FILLED = {*NUMBERS}
"""Those that this part of the project proves; the others may wait for the part named."""

PARTS = {"Translation, chat and writing", "Explorer", "Fast, safe, wide"}
HEADING = re.compile(r"^### (C-\d+) · (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"`((?:tests|experiments)/[\w/]+\.py)(?:::(\w+))?`")


def entries(page: str) -> dict[str, str]:
    """The text under each number."""
    parts = HEADING.split(page)
    return dict(zip(parts[1::3], parts[3::3], strict=True))


def references(text: str) -> list[tuple[str, str]]:
    """Files and functions an entry points to."""
    return [(match[1], match[2] or "") for match in REFERENCE.finditer(text)]


def pointing_nowhere(text: str, repository: Path) -> list[str]:
    """References to a test or an experiment that does not exist."""
    wrong = []
    for file, function in references(text):
        path = repository / file
        names = set()
        if path.is_file():
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        if not path.is_file() or (function and function not in names):
            wrong.append(f"{file}::{function}")
    return wrong


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "measured" / "imprecise.md").read_text(encoding="utf-8")


def test_every_number_stands_once(page: str) -> None:
    found = [match[1] for match in HEADING.finditer(page)]
    assert sorted(found, key=lambda number: int(number[2:])) == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_each_entry_is_whole(number: str, page: str, repository: Path) -> None:
    text = entries(page)[number]
    for part in ("**Said**", "**Right**", "**Evidence**"):
        assert text.count(part) == 1, f"{number} lacks {part}"
    shown, promised = "**Shown by**" in text, re.search(r"\*\*Comes with\*\*: \*(.+)\*", text)
    assert pointing_nowhere(text, repository) == []
    if number in FILLED or shown:
        assert shown, f"{number} must point to what shows it"
        assert references(text.split("**Shown by**")[1]), f"{number} points to nothing"
    else:
        assert promised is not None, f"{number} neither shows nor promises"
        assert promised[1] in PARTS


def test_a_pointer_to_nothing_is_noticed(repository: Path) -> None:
    text = "`tests/docs/test_imprecise_page.py::test_there_is_none` and `tests/nowhere/test_x.py::test_y`"
    assert len(pointing_nowhere(text, repository)) == 2
    assert pointing_nowhere("`tests/docs/test_imprecise_page.py::test_each_entry_is_whole`", repository) == []


def test_the_notes_in_the_package_have_the_same_numbers() -> None:
    assert [note.number for note in notes()] == NUMBERS


@pytest.mark.parametrize("note", notes(), ids=lambda note: note.number)
def test_each_note_is_one_short_sentence_or_two(note: Note) -> None:
    assert note.title
    assert note.sentence.endswith(".")
    assert len(note.sentence) <= 130
    assert str(note).startswith(f"{note.number} {note.title}: ")


KINDS = {place for note in notes() for place in note.about if place.partition(".")[0] in ("task", "family", "stacks")}


def test_each_note_has_a_place_and_each_place_is_a_tensor_of_some_model_or_a_kind_of_models() -> None:
    known = {name for row in ROWS for name in tensor_names(row.model())}
    for note in notes():
        assert note.about, note.number
        for place in {*note.about} - KINDS - {"verb.matrix", "verb.guide", "verb.shuffle"}:
            assert any(name.endswith(f".{place}") or name == place for name in known), f"{note.number}: {place}"


@pytest.fixture(scope="module")
def walked() -> dict[str, tuple[dict[str, str], list[str]]]:
    """By kind: the corrections that a small model of it prints, with their steps, and those on its page."""
    found = {}
    models = {f"stacks.{'_'.join(sides_of(row.config()))}": row for row in ROWS if row.family != "mask_matrix"}
    models |= {kind: row for kind in KINDS for row in ROWS if kind == f"family.{row.family}"}
    for kind in sorted(KINDS):
        row = models[kind if kind in models else "stacks.encoder"]
        run = trace(row.model(), *row.batch(padding="none"))
        run = replace(run, origin=Origin((), (), task=kind.removeprefix("task.")))
        steps = list(walkthrough(run, notes=notes_for(run.config)))
        printed = {number: step.title for step in steps for number, *_ in step.notes}
        lines = "\n".join(write(steps))
        assert all(f"Note {number}" in lines for number in printed)
        found[kind] = printed, [each["number"] for each in corrections(run)]
    return found


def sides_of(config: ModelConfig) -> list[str]:
    return [side for side in ("encoder", "decoder") if getattr(config, side) is not None]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_small_model_of_each_kind_prints_the_corrections_about_it(
    kind: str, walked: dict[str, tuple[dict[str, str], list[str]]]
) -> None:
    printed, on_page = walked[kind]
    about = {note.number for note in notes_about(kind)}
    assert about
    assert about <= {*printed}
    assert about <= {*on_page}
    assert {*printed} == {*on_page}


def test_notes_are_found_by_tensor() -> None:
    found = [note.number for note in notes_about("encoder.blocks.0.self_attention.masked")]
    assert found == ["C-4", "C-34"]
    assert notes_about("loss") == ()
    assert notes_about("head.logits")
    assert notes_about("sentence_head.logits") == ()
