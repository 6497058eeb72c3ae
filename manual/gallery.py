"""The live pages of the gallery, each one file that the package writes: the page of a run, which needs no server."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

LIVE = "look/live"
"""The folder of the live pages."""


class Live(NamedTuple):
    """A page: its file, the command that writes it without its --html, and where it opens."""

    file: str
    command: tuple[str, ...]


GALLERY = (
    Live("slides.html", ("explain", "slides", "She [MASK] [MASK] summer better", "--notes")),
    Live("english.html", ("explain", "english", "She [MASK] the summer better")),
    Live("en-fr.html", ("explain", "en-fr", "I am a student.")),
    Live("story.html", ("generate", "writer", "As Aliens entered our planet", "--max-tokens", "12")),
)


def write_live_pages(folder: Path, *, only_stubs: bool = False) -> None:
    """Write the pages; with `only_stubs` an empty page in place of each, so that links can be checked in seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in GALLERY:
        path = folder / each.file
        if only_stubs:
            path.write_text("<!doctype html>\n", encoding="utf-8")
            continue
        from glassformer.cli.__main__ import main

        if main([*each.command, "--html", str(path), "--quiet", "--overwrite"]):
            raise SystemExit(f"{each.file} was not written")
