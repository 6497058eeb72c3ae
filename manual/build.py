"""Builds the site: pages into one folder, the navigation, Zensical, and the check of what came out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manual.gallery import LIVE, write_live_pages
from manual.links import broken
from manual.sections import SECTIONS, ordered
from manual.stage import DOCS, REPOSITORY, stage, title

FOLDER = REPOSITORY / "build" / "site"
PAGES, HTML = FOLDER / "pages", FOLDER / "html"
HERE = Path(__file__).parent / "site"


def navigation(places: Sequence[str], folder: Path = PAGES) -> list[dict[str, Any]]:
    """The home page, and each section that has pages; the folder holds them."""
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    for section, (name, _) in SECTIONS.items():
        pages = [Path(place).stem for place in places if re.fullmatch(rf"{section}/[^/]+\.md", place)]
        rows: list[Any] = []
        for page in ordered(section, pages):
            place = f"{section}/{page}.md"
            rows.append(place if page == "index" else {_short(folder / place): place})
        if rows:
            nav.append({name: rows})
    return nav


def _short(page: Path) -> str:
    """What the navigation calls a page: its title, without what follows a colon."""
    name, _, rest = title(page.read_text(encoding="utf-8")).partition(": ")
    if name == "Python":
        return f"{name}: {rest}"
    return rest if re.fullmatch(r"\d{4}-\d\d-\d\d", name) else name


def build(*, live: bool = True) -> Path:
    """Build and check the site; returns its folder. Raises SystemExit with what is wrong. `live`: with the pages of
    the gallery, which the package itself writes.
    """
    import tomli_w

    places = stage(PAGES)
    for name in ("site.css", "site.js", "iframe-worker.js"):
        shutil.copyfile(HERE / name, PAGES / name)
    write_live_pages(DOCS, PAGES, only_stubs=not live)
    settings = tomllib.loads((HERE / "zensical.toml").read_text(encoding="utf-8"))
    settings |= {"docs_dir": "pages", "site_dir": "html", "nav": navigation(places)}
    (FOLDER / "zensical.toml").write_text(tomli_w.dumps({"project": settings}), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", "zensical.toml"]
    done = subprocess.run(command, cwd=FOLDER, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True)
    if done.returncode:
        output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        raise SystemExit(f"Zensical: {output}")
    for path in HTML.rglob("*.html"):
        if path.parent.name != LIVE:  # a header without a word is a cell, to screen readers
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(r"<th[^>]*></th>", "<td></td>", text), encoding="utf-8")
    if wrong := broken(HTML):
        raise SystemExit("\n".join(wrong))
    return HTML
