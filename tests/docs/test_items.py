"""docs/measured/items.md: each command is run in this process, and has to print the number that the table says."""

import base64
import gzip
import json
import math
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import glassformer as gf
from glassformer.cli.__main__ import main
from glassformer.page.tour import pictures
from glassformer.tasks import TASKS
from tests.docs.items import PAGE, Item, documents, items, table

ROWS = items()
SMALL = "--precision float32 --set train.compile=off --validation 0"
VERDICTS = ("holds", "in part", "does not hold", "not shown")
VECTOR = [(-1.0) ** at * (at + 1) / 8 for at in range(16)]
MAILS = {
    "spam": ("Help Prince Mayuko Transfer Huge Inheritance", "You won a free prize", "Claim a million dollars now"),
    "ham": ("Thanks for your help with the garden", "The train leaves at nine", "Lunch on Tuesday?"),
}
PAIRS = (("I am a student.", "Je suis étudiant."), ("He is a doctor.", "Il est médecin."))
PASSAGES = ("The storm sank the ship near the coast.", "The cook baked bread.", "A king ruled the country for years.")


class Words(NamedTuple):
    """What one head looks at: words and shares."""

    words: list[str]
    shares: list[float]


class Printed(dict[str, Any]):
    """What a command printed, by the names that a `check` uses; it runs when the first of them is asked for.

    `r`: its records, `one` the first of them; `out`: its lines without --json; `page`: the record of the page that it
    wrote, `sections` the names of its blocks.
    """

    def __init__(self, run: Callable[[str], str], words: str, more: str) -> None:
        super().__init__(self.helpers(), math=math, re=re, approx=pytest.approx)
        self.update(TASKS=TASKS, VECTOR=VECTOR, VERDICTS=VERDICTS)
        self.run, self.words, self.more = run, words, more

    def __missing__(self, name: str) -> Any:
        if name == "r":
            self[name] = [json.loads(line) for line in self.run(f"{self.words} --json {self.more}").splitlines()]
        elif name == "one":
            self[name] = self["r"][0]
        elif name == "out":
            self[name] = self.run(f"{self.words} {self.more}")
        elif name in ("page", "sections"):
            self["out"]  # written by then
            html = Path(self.words.partition("--html ")[2].split()[0]).read_text(encoding="utf-8")
            found = dict(re.findall(r'<script type="application/gzip" id="([\w-]+)">([^<]*)</script>', html))
            self["sections"] = {block.removeprefix("section-") for block in found}
            self["page"] = json.loads(gzip.decompress(base64.b64decode(found["record"])))
        else:
            raise KeyError(name)
        return self[name]

    def helpers(self) -> dict[str, Any]:
        """The functions that a `check` may call."""
        known: list[Callable[..., Any]] = [self.step, self.row, self.mixing, self.looks, self.value, self.terms]
        known += [self.factor, self.size, self.shown, self.ends, self.parts, close, opened, vector, picture, notebook]
        return {each.__name__: each for each in known}

    # What explain --json has: steps, or the numbers that were followed.

    def step(self, ending: str) -> Any:
        """The first step whose tensor ends so."""
        return next(step for step in self["r"] if step["name"].endswith(ending))

    def row(self, ending: str, at: int, table: int = 0) -> list[float]:
        """A row of numbers of a step's table."""
        return list(self.step(ending)["tables"][table]["rows"][at][1])

    def mixing(self, head: int) -> Any:
        """The words that a head mixes, each with its weight and the running sum."""
        return self.step("mixed")["mixings"][head]["moves"]

    def looks(self, word: str) -> list[Words]:
        """What each head of the first block looks at from a hidden word."""
        tables = self.step("weights")["tables"]
        return [
            Words(table["header"], shares) for table in tables for row, shares in table["rows"] if row == f"({word})"
        ]

    def value(self, at: int) -> float:
        """A number that was followed."""
        return float(self["r"][at]["value"])

    def terms(self, at: int) -> list[float]:
        """The values of its terms."""
        return [float(term["value"]) for term in self["r"][at]["terms"]]

    def factor(self, term: int, at: int = 0) -> Any:
        """A factor of a term of the first number."""
        return self["r"][0]["terms"][term]["factors"][at]

    # What explain prints.

    def size(self, name: str) -> list[int]:
        """The sizes of a tensor: they follow its name."""
        (found,) = re.findall(rf"^ +{re.escape(name)}\s+(\d+(?: × \d+)+) \(", self["out"], re.MULTILINE)
        return [int(part) for part in found.split(" × ")]

    def shown(self, name: str) -> list[list[float]]:
        """The numbers of a small tensor, a row for each word."""
        (step,) = re.findall(rf"^ +{re.escape(name)}\n.*?^\s*\n", self["out"], re.MULTILINE | re.DOTALL)
        lines = step.partition("rows look at columns")[2].splitlines()[2:]
        return [[float(cell) for cell in line.split()[1:] if cell[0].isdigit()] for line in lines if line.strip()]

    def ends(self, block: str) -> list[str]:
        """The last words of the names of a block's tensors, in the order of the steps."""
        return re.findall(rf"^ +{re.escape(block)}\.\w+\.(\w+)\s", self["out"], re.MULTILINE)

    def parts(self, block: str) -> list[str]:
        """The sublayers of a block, in the order of the steps."""
        return list(dict.fromkeys(re.findall(rf"^ +{re.escape(block)}\.(\w+)\.", self["out"], re.MULTILINE)))


def close(one: float | Sequence[float], other: float | Sequence[float], within: float = 1e-4) -> bool:
    """Whether numbers are the same."""
    return bool(one == pytest.approx(other, abs=within))


def opened(model: str) -> gf.Model:
    """The model that a command has made or asked."""
    return gf.load(model)


def vector(model: str, word: str) -> list[float]:
    """The row of a word in the table of words."""
    found = gf.load(model)
    (row,) = (at for at, token in enumerate(found.tokenizer.vocabulary()) if token.strip("Ġ▁") == word)
    return list(next(weight for name, weight in found.module.named_parameters() if "embed.word" in name)[row].tolist())


def picture(key: str) -> Any:
    """A picture in the page's own list."""
    return next(row for row in pictures()["picture"] if row["key"] == key)


def notebook(name: str) -> Any:
    """A notebook of docs/."""
    return json.loads((PAGE.parents[1] / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's own files, in a folder of their own."""
    place = tmp_path_factory.mktemp("reader")
    mails = [f'"{text}",{label}' for label, texts in MAILS.items() for text in texts]
    (place / "mails.csv").write_text("\n".join(["text,label", *mails]))
    (place / "pairs.tsv").write_text("source\ttarget\n" + "".join(f"{one}\t{two}\n" for one, two in PAIRS * 12))
    (place / "passages.txt").write_text("\n".join(PASSAGES))
    (place / "vectors.txt").write_text("student " + " ".join(str(number) for number in VECTOR))
    return place


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "group",
    [
        each if each in ("matrix", "slides", "translate") else pytest.param(each, marks=pytest.mark.long)
        for each in sorted({row.group for row in ROWS if row.run})
    ],
)
def test_each_command_shows_what_the_table_says(
    group: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of one model in one test: a command that several of them name runs once."""
    monkeypatch.chdir(folder)
    known: dict[str, str] = {}

    def run(line: str) -> str:
        if line not in known:
            assert main([*shlex.split(line)]) == 0, f"{line}: {capsys.readouterr().err}"
            known[line] = capsys.readouterr().out
        return known[line]

    assert {row.number: why for row in ROWS if row.group == group and (why := fails(row, run))} == {}


def fails(row: Item, run: Callable[[str], str]) -> str:
    """Why the check of a row does not hold."""
    printed = Printed(run, row.run, row.more.format(small=SMALL))
    try:
        if row.first:
            run(f"{row.first} {row.more_first}")
        return "" if eval(row.check, printed) else row.check
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_the_page_is_of_these_rows_and_has_them_all() -> None:
    assert PAGE.read_text(encoding="utf-8") == table()
    assert len(documents()) == 4
    wanted = {f"S{at}-{number}" for at, count in enumerate((24, 43, 11, 24)) for number in range(1, count + 1)}
    assert [row.number for row in ROWS if row.number not in wanted] == []
    assert {row.number for row in ROWS} == wanted
    assert all(row.check or not row.run for row in ROWS)


def test_an_address_on_the_page_is_one_of_its_pictures() -> None:
    stated = {key for row in ROWS for key in re.findall(r"#level=pictures&picture=([\w-]+)", row.look)}
    assert stated
    assert stated <= {row["key"] for row in pictures()["picture"]}
