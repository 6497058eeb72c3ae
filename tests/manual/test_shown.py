"""What the pages of Do show under a command is what it prints; each page shows a result before its options."""

import re
import shlex
from importlib.resources import files
from pathlib import Path

import pytest

from glassformer.cli.__main__ import main
from manual.shown import PAGES, SHOWN, printed, shown, varies, with_results
from tests.docs.test_book import NUMBER, close

RESULT = re.compile(r"^```(?:text|json)\n", re.MULTILINE)
OPTIONS = re.compile(r"^\| (?:setting|option)\b", re.MULTILINE)
COMMAND = re.compile(r"^```(?:sh|python)\n", re.MULTILINE)
BARS = re.compile("[▁-▏█]+")
VARYING = [path for path in shown() if varies(path.read_text(encoding="utf-8"))]


def results(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What each block of a page prints, and what the page says, without bars: a share may round to another one."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    text = page.read_text(encoding="utf-8")
    found = [each["output"] for each in SHOWN.finditer(text)]
    return [(BARS.sub("", now), BARS.sub("", then)) for now, then in zip(printed(text), found, strict=True)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("page", [path for path in shown() if path not in VARYING], ids=lambda path: path.stem)
def test_a_command_prints_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If not: `python -m manual.shown`."""
    for now, then in results(page, tmp_path, monkeypatch):
        assert close(now, then), now


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", VARYING, ids=lambda path: path.stem)
def test_words_are_those_that_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers differ between machines: steps of a training multiply what rounding changes."""
    for now, then in results(page, tmp_path, monkeypatch):
        assert NUMBER.sub("#", now).split() == NUMBER.sub("#", then).split()


@pytest.mark.parametrize(
    "page", [path for path in PAGES.glob("*.md") if path.stem != "index"], ids=lambda path: path.stem
)
def test_a_page_shows_a_command_then_its_result_then_the_options(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    command, result, options = (
        found and found.start() for found in (each.search(text) for each in (COMMAND, RESULT, OPTIONS))
    )
    assert command is not None
    assert result is not None
    assert options is None or command < result < options


@pytest.mark.long
def test_a_run_says_what_the_page_on_transfer_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mails.csv").write_text(files("glassformer.bundled.recipes").joinpath("spam.csv").read_text("utf-8"), "utf-8")
    page = (PAGES / "transfer.md").read_text(encoding="utf-8")
    command, found = re.findall(r"^```(?:sh|text)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:2]
    assert main([*shlex.split(command)[1:], "--steps", "2"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert all(line in said for line in found.splitlines())


def test_only_a_block_that_follows_at_once_is_a_result() -> None:
    page = "```sh\na\n```\n\n```sh\nb\n```\n\n```text\nold\n```\n\nProse.\n\n```text\nkept\n```\n"
    assert [each["code"] for each in SHOWN.finditer(page)] == ["b\n"]
    assert with_results(page, ["new\n"]) == page.replace("old", "new")
    assert varies("```sh\nglassformer train spam\n```\n\n```text\nx\n```\n")
    assert not varies("```sh\nglassformer train spam\n```\n\n" + page)
