"""The pages of the site in one folder: those of docs/, and those that lie elsewhere in the repository. Relative links
are changed to where their targets are then; one to a file that the site lacks is an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from manual.gallery import live_pages

REPOSITORY = Path(__file__).parent.parent
DOCS, DECISIONS = REPOSITORY / "docs", REPOSITORY / "decisions"
ELSEWHERE = {"CHANGELOG.md": "reference/changes.md", "CONTRIBUTING.md": "how/contributing.md"}
"""Pages outside of docs/ and decisions/, and where the site has them."""

SKIPPED = "results"
"""The folder of docs/ with data, from which pages are made. So are its .toml files."""

NOTEBOOKS = "learn/notebooks.md"
"""The page that lists the notebooks, which stand for themselves in docs/notebooks."""

LINK = re.compile(r"(\]\()([^()\s#]+)(#[^()\s]*)?(\))")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


class NotOnTheSiteError(ValueError):
    """A page links to a file that the site does not have."""


def places() -> dict[str, str]:
    """Of each file of the site that is not generated, its path in the repository and on the site."""
    found = {}
    for path in sorted(DOCS.rglob("*")):
        inside = path.relative_to(DOCS)
        if path.is_file() and inside.parts[0] != SKIPPED and path.suffix != ".toml":
            found[f"docs/{inside.as_posix()}"] = re.sub(r"/README\.md$", "/index.md", inside.as_posix())
    found |= {f"decisions/{path.name}": f"decisions/{path.name}" for path in sorted(DECISIONS.glob("*-*.md"))}
    return found | ELSEWHERE


def relinked(text: str, origin: str, places: Mapping[str, str]) -> str:
    """A page with its relative links as they are on the site; `origin` is its path in the repository."""
    index = "decisions/index.md"
    known = {**places, "decisions": index, "decisions/README.md": index, "README.md": "index.md"}
    known["docs/notebooks"] = NOTEBOOKS

    def mended(found: re.Match[str]) -> str:
        target = found[2]
        if re.match(r"[a-z]+:", target):
            return found[0]
        path = os.path.normpath(os.path.join(os.path.dirname(origin), target))
        if path not in known:
            raise NotOnTheSiteError(f"{origin} links to {target}, which is no page of the site")
        to = os.path.relpath(known[path], os.path.dirname(places[origin]) or ".")
        return f"{found[1]}{Path(to).as_posix()}{found[3] or ''}{found[4]}"

    parts, at = [], 0
    for block in FENCED.finditer(text):
        parts += [LINK.sub(mended, text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, LINK.sub(mended, text[at:])])


def stage(folder: Path) -> list[str]:
    """Write all pages into the folder; returns their paths on the site."""
    shutil.rmtree(folder, ignore_errors=True)
    found = places()
    known = found | {f"docs/{each.place}": each.place for each in live_pages(DOCS)}
    for origin, place in found.items():
        to = folder / place
        to.parent.mkdir(parents=True, exist_ok=True)
        if to.suffix == ".md":
            text = (REPOSITORY / origin).read_text(encoding="utf-8")
            to.write_text(relinked(text, origin, known), encoding="utf-8")
        else:
            shutil.copyfile(REPOSITORY / origin, to)
    made = {"decisions/index.md": list_of_decisions(), NOTEBOOKS: list_of_notebooks()}
    for place, text in made.items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return [*found.values(), *made]


def title(page: str) -> str:
    """The first heading, without the marks of code."""
    found = HEADING.search(page)
    return found[1].replace("`", "") if found else ""


def list_of_decisions() -> str:
    """The index of decisions, the newest first."""
    rows = []
    for path in sorted(DECISIONS.glob("*-*.md"), reverse=True):
        name = re.sub(r"^\d{4}-\d\d-\d\d: ", "", title(path.read_text(encoding="utf-8")))
        rows.append(f"| {path.name[:10]} | [{name}]({path.name}) |")
    head = (DECISIONS / "README.md").read_text(encoding="utf-8")
    return f"{head}\n| date | decision |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def list_of_notebooks() -> str:
    """The notebooks with their first headings."""
    rows = []
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        first = title("".join(cells[0]["source"])) or path.stem
        rows.append(f"- [{first}](../notebooks/{path.name})")
    about = "Each opens where notebooks run, with the outputs that it had. The code needs only the package."
    return f"# Notebooks\n\n{about}\n\n" + "\n".join(rows) + "\n"
