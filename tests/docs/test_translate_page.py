"""The pages on translation and on decoding: their commands run with a tiny model."""

import shlex
from pathlib import Path

import pytest

from glassformer.cli.__main__ import main
from tests.docs.test_commands import BLOCK

SMALL = [
    *("--steps", "2", "--vocabulary", "300", "--length", "24", "--set", "train.compile=off"),
    *("--set", "model.settings.layers=1", "--set", "model.settings.width=16", "--set", "model.settings.heads=2"),
    *("--set", "model.settings.feed_forward=16", "--validation", "0.3"),
]
PAIRS = (
    ("Two dogs run.", "Deux chiens courent."),
    ("A man sleeps.", "Un homme dort."),
    ("A cat drinks milk.", "Un chat boit du lait."),
    ("Two men cook.", "Deux hommes cuisinent."),
)


def commands(page: Path) -> list[list[str]]:
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [shlex.split(line)[1:] for kind, block in blocks if kind == "sh" for line in block.splitlines()]


def write_pairs() -> None:
    """The files that the pages name, in the working folder."""
    rows = [(f"{one} Day {n}.", f"{two} Jour {n}.") for n in range(10) for one, two in PAIRS]
    for name, some in (("pairs", rows), ("test", rows[:4])):
        Path(f"{name}.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in some), encoding="utf-8")
        Path(f"{name}.en").write_text("".join(f"{one}\n" for one, _ in some), encoding="utf-8")
        Path(f"{name}.fr").write_text("".join(f"{two}\n" for _, two in some), encoding="utf-8")


@pytest.mark.long
def test_the_commands_of_both_pages_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs()
    ran = []
    for page in ("do/translate.md", "reference/decoding.md"):
        for words in commands(repository / "docs" / page):
            if "--minutes" in words:
                del words[words.index("--minutes") : words.index("--minutes") + 2]
            assert main(words + (SMALL if words[0] == "train" else [])) == 0, words
            ran.append(words[0])
    assert {"train", "translate", "score", "evaluate", "compare", "explain", "verify", "export", "import"} == set(ran)
    for kind, block in BLOCK.findall((repository / "docs" / "reference" / "decoding.md").read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block.replace("decoder.1.", "decoder.0."), "decoding.md", "exec"), {})  # one block, here
            ran.append(kind)
    assert ran[-1] == "python"
    assert len(Path("test.fr.out").read_text(encoding="utf-8").splitlines()) == 4
    assert "bleu" in capsys.readouterr().out
