"""Worksheets to print, for the quiz and for each tour of the page: python -m manual worksheets FOLDER.

A sheet is one HTML file: the questions with space for answers, and the answers on a page of their own. Where Chromium
is installed it is a PDF too. The steps of a tour are written by the page's own code, with the numbers of a run.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from experiments.chromium import ARGUMENTS, MISSING, path
from manual.stage import REPOSITORY
from manual.teaching.quiz import chapter_title, questions

_SLIDES = 'slides "She [MASK] [MASK] summer better"'
_ENGLISH = 'english "He opened the [MASK] and went out." --megabytes 8'
RUNS: Mapping[str, str] = {
    "slides": _SLIDES,
    "notes": _ENGLISH,
    "post": _SLIDES,
    "guide": 'chat "Hi how are you" --megabytes 8',
    "translation": 'en-fr "I am a student." --megabytes 8',
    "decoder": 'writer "As Aliens entered our planet" --write 12 --megabytes 8',
    "bert": _ENGLISH,
}
"""Of each tour, the run that its sheet is about, as `glassformer explain` is given it."""

TELL = REPOSITORY / "tests" / "page" / "tell_tour.mjs"
SECONDS = 120

STYLE = """
body { font: 12pt/1.4 Georgia, serif; max-width: 44em; margin: 2em auto; padding: 0 1em; color: #111; background: #fff }
h1, h2 { font-family: system-ui, sans-serif; line-height: 1.2 } h1 { font-size: 1.5em } h2 { font-size: 1.1em }
h3 { font: bold 1em system-ui, sans-serif; margin: 0 0 .2em }
li { margin: 0 0 1.2em; break-inside: avoid } ol ul { list-style: none; padding: 0 } ol ul li { margin: .2em 0 }
.text { color: #444; margin: 0 } .question { font-weight: bold; margin: .3em 0 }
.space { height: 3.4em; border-bottom: 1px solid #999; border-top: 1px dotted #bbb } .answers { break-before: page }
.answers li { margin-bottom: .6em } @page { size: A4; margin: 18mm }
@media print { body { margin: 0; max-width: none } }
"""


class Item(NamedTuple):
    """A question of a sheet: what is above it, the question, its choices, and the answer."""

    title: str
    text: str
    question: str
    choices: Sequence[str]
    answer: str


def shown(text: str) -> str:
    """A text as HTML; words between asterisks are set apart."""
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", escape(text))


def sheet(title: str, about: str, items: Sequence[Item]) -> str:
    """A worksheet."""
    asked, answered = [], []
    for each in items:
        choices = "".join(f"<li>☐ {shown(choice)}</li>" for choice in each.choices)
        place = f"<ul>{choices}</ul>" if choices else '<div class="space"></div>'
        head = f"<h3>{shown(each.title)}</h3><p class=text>{shown(each.text)}</p>" if each.title else ""
        asked.append(f'<li>{head}<p class="question">{shown(each.question)}</p>{place}</li>')
        answered.append(f"<li>{shown(each.answer)}</li>")
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>\n'
        f"<h1>{shown(title)}</h1><p>{shown(about)}</p><p>Name: ____________________ Date: ____________</p>\n"
        f"<ol>\n{chr(10).join(asked)}\n</ol>\n"
        f'<section class="answers"><h2>{shown(title)}: answers</h2>\n'
        f"<ol>\n{chr(10).join(answered)}\n</ol></section></html>\n"
    )


def quiz_sheet() -> str:
    """The worksheet of the quiz."""
    items = [
        Item("", "", each.question, [f"{letter}) {text}" for letter, text in each.lettered],
             f"{each.right}) {each.because} (Chapter {chapter_title(each.chapter)})")
        for each in questions()
    ]  # fmt: skip
    return sheet("Quiz: ten questions about Transformers", "Each question has one right choice.", items)


def tour_sheets(tours: Sequence[str]) -> dict[str, str]:
    """The worksheet of each tour. Raises SystemExit where Node.js is missing or cannot write the steps."""
    from glassformer.cli.__main__ import main

    node = shutil.which("node")
    if node is None:
        raise SystemExit("The sheets of the tours need Node.js, which writes the steps: apt-get install nodejs")
    with tempfile.TemporaryDirectory() as folder:
        runs = list(dict.fromkeys(RUNS[tour] for tour in tours))
        pages = {run: str(Path(folder) / f"{number}.html") for number, run in enumerate(runs)}
        for run, page in pages.items():
            if main(["explain", *shlex.split(run), "--html", page, "--quiet"]):
                raise SystemExit(f"The page of a tour was not written: glassformer explain {run}")
        asked = json.dumps({tour: [pages[RUNS[tour]]] for tour in tours})
        done = subprocess.run([node, str(TELL), asked], capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        raise SystemExit(f"The steps of the tours could not be written: {done.stderr.strip()}")
    return {tour: _tour_sheet(tour, of_run) for tour, (of_run,) in json.loads(done.stdout).items()}


def _tour_sheet(tour: str, of_run: Mapping[str, Any]) -> str:
    prefix = "" if tour == "slides" else f"{tour}."
    rows = [(row["title"], row["marked"]) for row in of_run["rows"] if row["sentence"] == 0]
    items = [
        Item(f"{title} (#tour={prefix}{step})", said["text"], said["question"], (),
             " ".join(part for part in (said["answer"], said["note"]) if part))
        for step, (title, said) in enumerate(rows, start=1)
        if said["question"]
    ]  # fmt: skip
    run = RUNS[tour].removesuffix(" --megabytes 8")
    about = (
        f"Open the page: glassformer explore, or glassformer explain {run} --html page.html. The address of a step is "
    )
    return sheet(str(of_run["title"]), f"{about}in brackets. The numbers are those of this run.", items)


def write(folder: Path, tours: Sequence[str] = tuple(RUNS)) -> list[Path]:
    """Write all sheets into the folder; returns the files. Those of the same names are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    sheets = {"quiz": quiz_sheet(), **tour_sheets(tours)}
    files = [folder / f"{name}.html" for name in sheets]
    for file, text in zip(files, sheets.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    browser = path()
    if browser is None:
        print(f"No PDF was written: {MISSING}")
        return files
    for file in list(files):
        to = file.with_suffix(".pdf")
        options = ["--headless", *ARGUMENTS, "--no-pdf-header-footer", f"--print-to-pdf={to}"]
        subprocess.run([browser, *options, file.resolve().as_uri()], check=True, capture_output=True, timeout=SECONDS)
        files.append(to)
    return files
