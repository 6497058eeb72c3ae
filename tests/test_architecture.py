"""The page about the rooms is what the imports say, and what it names exists."""

import ast
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.architecture import BANDS, PAGE, PICTURE, House, Size, house, picture, sizes_in, table, with_table
from tests.imports import PACKAGE, ROOMS

TEXT = PAGE.read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", TEXT)


@pytest.fixture(scope="module")
def today() -> House:
    return house()


def test_the_bands_are_the_rooms_in_their_order() -> None:
    assert tuple(room for rooms in BANDS.values() for room in rooms) == ROOMS[:-1]


def test_the_page_has_the_sizes_of_today(today: House) -> None:
    """A tenth more or less is let through, so that not every change of a file changes the picture."""
    written = sizes_in(TEXT)
    assert set(written) == set(today.sizes)
    for name, size in written.items():
        now = today.sizes[name]
        assert abs(size.files - now.files) <= max(2, now.files / 10), f"{name}: run make architecture"
        assert abs(size.lines - now.lines) <= max(100, now.lines / 10), f"{name}: run make architecture"


def test_the_picture_and_the_table_are_drawn_from_the_imports(today: House) -> None:
    as_written = replace(today, sizes=sizes_in(TEXT))
    assert with_table(TEXT, table(as_written)) == TEXT, "run make architecture"
    assert picture(as_written) == PICTURE.read_text(encoding="utf-8"), "run make architecture"


def test_another_import_or_folder_changes_them(today: House) -> None:
    lower, higher = list(BANDS)[1], list(BANDS)[-1]
    fewer = {pair: count for pair, count in today.imports.items() if pair != (higher, lower)}
    assert len(fewer) == len(today.imports) - 1
    assert picture(replace(today, imports=fewer)) != picture(today)
    more = replace(today, sizes={**today.sizes, "base/new": Size(1, 10)})
    assert table(more) != table(today)
    assert sizes_in(table(more)) == more.sizes


def test_each_room_says_in_one_line_what_it_holds(today: House) -> None:
    """The picture has room for so many letters, in the widest of the usual fonts."""
    assert {room: text for room, text in today.holds.items() if not 20 <= len(text) <= 67} == {}


def test_the_picture_is_readable(today: House) -> None:
    drawn = ElementTree.fromstring(picture(today))
    texts = {each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {*ROOMS[:-1], *BANDS} <= texts
    assert min(map(int, re.findall(r"(\d+)px", picture(today)))) >= 11


def exists(file: str, name: str) -> bool:
    """Whether the package, or the repository, has such a file, and the file such a function, class or method."""
    path = next((place / file for place in (PACKAGE, PACKAGE.parent) if (place / file).is_file()), None)
    if path is None:
        return False
    inside: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for step in filter(None, name.split(".")):
        found = [node for node in inside if getattr(node, "name", None) == step]
        if not found:
            return False
        inside = getattr(found[0], "body", [])
    return True


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_the_page_names_exists(file: str, name: str) -> None:
    assert exists(file, name)


def test_what_is_gone_is_noticed() -> None:
    assert exists("run/train.py", "train")
    assert not exists("run/train.py", "trained")
    assert not exists("artefact/train.py", "")
    assert not exists("look/trace/run.py", "Run.gone")


def test_the_page_names_what_a_walk_passes() -> None:
    assert len(NAMED) > 20


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`(web/src/[\w/]+\.tsx?)`", TEXT))))
def test_the_files_of_the_page_exist(file: str) -> None:
    assert (PACKAGE.parent / file).is_file()
