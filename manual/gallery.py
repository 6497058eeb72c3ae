"""The live pages of a section: each is one file that the package writes, the page of a run, which needs no server.

The file `live.toml` of a section has the command of each page and the name of its file.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

LIVE = "live"
"""The folder of the live pages in a section."""

_TABLE, _PROCESSES = "live.toml", 2


class Live(NamedTuple):
    """A page: its section, its file, and the words of the command that writes it."""

    section: str
    file: str
    words: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.section}/{LIVE}/{self.file}"


def live_pages(docs: Path) -> list[Live]:
    """The live pages of all sections."""
    tables = {path: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(docs.glob(f"*/{_TABLE}"))}
    return [
        Live(path.parent.name, entry["file"], tuple(shlex.split(entry["command"])[1:]))
        for path, table in tables.items()
        for entry in table.values()
    ]


def write_live_pages(docs: Path, site: Path, *, only_stubs: bool = False) -> None:
    """Write the pages into the site; with `only_stubs` an empty page in place of each, so that links can be checked in
    seconds. Raises SystemExit where a command fails.
    """
    pages = live_pages(docs)
    for each in pages:
        (site / each.place).parent.mkdir(parents=True, exist_ok=True)
        if only_stubs:
            (site / each.place).write_text("<!doctype html>\n", encoding="utf-8")
    if only_stubs:
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two processes share the cores
    with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as pool:
        for each, code in zip(pages, pool.map(_write, pages, [docs] * len(pages), [site] * len(pages)), strict=True):
            if code:
                raise SystemExit(f"{each.place} was not written: {shlex.join(each.words)}")


def _write(page: Live, docs: Path, site: Path) -> int:
    """Run the command in the folder of its section, from which it may read files."""
    from glassformer.cli.__main__ import main

    os.chdir(docs / page.section)
    words = [str(site / page.place) if word == page.file else word for word in page.words]
    return main([*words, "--overwrite", "--quiet"])
