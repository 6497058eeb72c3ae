"""The site: generated pages are as the code is, links are followed, the navigation has each page once."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from manual import recipes
from manual.build import navigation
from manual.gallery import live_pages
from manual.links import LARGEST, broken
from manual.python import PAGES, page
from manual.sections import SECTIONS, ordered
from manual.stage import DOCS, NotOnTheSiteError, places, relinked, stage
from manual.tables import GENERATED


@pytest.mark.parametrize("place", GENERATED)
def test_a_generated_page_is_as_the_code_is(place: str) -> None:
    assert (DOCS / place).read_text(encoding="utf-8") == GENERATED[place](), "python -m manual tables"


def test_a_signature_of_the_reference_has_each_keyword() -> None:
    python = page("python")
    for verb in ("translate", "generate", "chat", "stream_chat"):
        (written,) = re.findall(rf"^model\.{verb}\((.*?)\) ->", python, re.DOTALL | re.MULTILINE)
        names = list(inspect.signature(getattr(gf.Model, verb)).parameters)[1:]
        assert {*re.findall(r"(?:^|[,*]\s+)(\w+):", written)} == {*names}


def test_each_public_name_is_on_one_page() -> None:
    assert sorted(name for page in PAGES.values() for name in page.names) == sorted(gf.__all__)


def test_each_key_of_a_recipe_has_a_meaning() -> None:
    keys = list(recipes.every_key())
    assert [(section, key) for kind, section, key in keys if not recipes.meaning(kind, section, key)] == []
    found = {(section, key) for _, section, key in keys}
    assert {("train", "batch"), ("tune.adapters", "rank"), ("task", "crf"), ("data", "files")} <= found


def test_links_are_those_of_the_site() -> None:
    known = {"docs/do/a.md": "do/a.md", "docs/look/b.md": "look/b.md", "decisions/c.md": "decisions/c.md"}
    page = "[b](../look/b.md#x) [c](../../decisions/c.md) [d](https://d.org/e.md) ![a](a.md) [all](../../decisions/)\n"
    assert relinked(page, "docs/do/a.md", known) == (
        "[b](../look/b.md#x) [c](../decisions/c.md) [d](https://d.org/e.md) ![a](a.md) [all](../decisions/index.md)\n"
    )
    code = "```md\n[x](nowhere.md)\n```\n"
    assert relinked(code, "docs/do/a.md", known) == code
    with pytest.raises(NotOnTheSiteError, match=r"a\.md links to nowhere\.md"):
        relinked("[x](nowhere.md)", "docs/do/a.md", known)


def test_all_pages_can_be_staged_and_are_in_the_navigation_once(tmp_path: Path) -> None:
    staged = stage(tmp_path / "pages")
    nav = ordered_places(navigation(staged, tmp_path / "pages"))
    pages = [place for place in staged if place.endswith(".md")]
    assert sorted(nav) == sorted(pages)
    assert not any(re.search(r"\]\(\.\./\.\./", (tmp_path / "pages" / place).read_text("utf-8")) for place in pages)


def ordered_places(nav: Any) -> list[str]:
    """All pages of a navigation, in their order."""
    if isinstance(nav, str):
        return [nav]
    return [place for each in (nav.values() if isinstance(nav, dict) else nav) for place in ordered_places(each)]


def test_pages_that_no_one_ordered_follow_by_name() -> None:
    assert ordered("do", ["zebra", "tag", "index", "apple"]) == ["index", "tag", "apple", "zebra"]
    assert ordered("decisions", ["2026-01-01-a", "index", "2026-01-02-b"]) == ["index", "2026-01-02-b", "2026-01-01-a"]


def test_each_section_is_a_folder_and_each_folder_has_few_entries() -> None:
    folders = {Path(place).parts[0] for place in places().values() if len(Path(place).parts) > 1}
    assert folders - {"pictures", "notebooks"} <= {*SECTIONS}
    for folder in (path for path in DOCS.rglob("*") if path.is_dir() and path.name != "results"):
        assert len(list(folder.iterdir())) <= 24, folder


def test_the_gallery_names_each_live_page() -> None:
    page = (DOCS / "look" / "gallery.md").read_text(encoding="utf-8")
    files = [each.file for each in live_pages(DOCS) if each.section == "look"]
    assert re.findall(r"\(live/([\w-]+\.html)\)", page) == files


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<p id="here"><a href="sub/a.html#there">a</a><a href="#here">h</a></p>')
    (tmp_path / "sub" / "a.html").write_text('<h1 id="there">A</h1><a href="../index.html#here">back</a>')
    assert broken(tmp_path) == []
    (tmp_path / "sub" / "a.html").write_text(
        '<a href="../index.html#gone">x</a><a href="b.html">y</a><img src="https://a.org/b.png"><a href="../../z">z</a>'
        '<a href="https://a.org">out</a>' + " " * LARGEST
    )
    assert [line.split(": ")[0] for line in broken(tmp_path)] == ["index.html"] + ["sub/a.html"] * 5
    message = "\n".join(broken(tmp_path))
    for part in ("sub/a.html#there: no such anchor", "#gone: no such anchor", "b.html: no such file", "b.png is loaded",
                 "../../z: no such file", f"more than {LARGEST:,}"):  # fmt: skip
        assert part in message
