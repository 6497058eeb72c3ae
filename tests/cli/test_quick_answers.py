"""What a screen shows of a few texts is what torch shows, and torch is not imported for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.answering.engines import quick
from glassformer.bundled.travelling import located
from tests.cli.conftest import Run

FILLED = (
    "She [MASK] the summer better",
    "[MASK]",
    "The [MASK] sat on the [MASK], and [MASK] else did.",
    "héllo [MASK]",
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "words",
    [
        *(["fill", "english", text] for text in FILLED),
        ["fill", "sentences", *FILLED, "--top", "9"],
        ["fill", "english", "no mask here"],
        ["classify", "next-sentence", "He went home.", "--pair", "He was tired."],
        ["classify", "next-sentence", "He went home."],
        ["classify", "english", "He went home."],
    ],
    ids=" ".join,
)
def test_what_is_shown_is_what_torch_shows(words: list[str], run: Run, opened: list[object]) -> None:
    assert run(*words) == run(*words, "--engine", "torch")
    assert len(opened) == 1  # not for --engine torch


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What `quick.opened` gives, call by call."""
    found, real = list[object](), quick.opened

    def watched(path: str | Path, verb: str, characters: int) -> object:
        found.append(real(path, verb, characters))
        return found[-1]

    monkeypatch.setattr(quick, "opened", watched)
    return found


def test_all_digits_and_files_are_those_of_torch(tmp_path: Path, run: Run, opened: list[object]) -> None:
    text = tmp_path / "text.txt"
    text.write_text(FILLED[0])
    for more in (
        ["--json"],
        ["--expect", "likes"],
        ["--fast"],
        ["--device", "cpu"],
        ["--threads", "1"],
        ["--out", tmp_path / "out.txt"],
    ):
        assert run("fill", "english", FILLED[0], *more).code == 0
    assert run("fill", "english", "--file", text).code == 0
    assert opened == []


def test_torch_is_not_imported() -> None:
    for words in (["fill", "She [MASK] it"], ["classify", "next-sentence", "He left.", "--pair", "He was tired."]):
        code = (
            "import sys; from glassformer.cli.__main__ import main; main(sys.argv[1:]); print('torch' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "%" in done.stdout
        assert done.stdout.split()[-1] == "False"


@pytest.mark.parametrize("name", ["model.safetensors", "glassformer.json", "tokenizer.json"])
def test_damage_is_reported_as_by_torch(name: str, tmp_path: Path, run: Run) -> None:
    folder = Path(located("english"))
    for number, damaged in enumerate((b"", b"{", (folder / name).read_bytes()[:-3] + b"abc")):
        copied = tmp_path / str(number)
        shutil.copytree(folder, copied)
        (copied / name).write_bytes(damaged)
        done = run("fill", copied, FILLED[0])
        assert done.code == 2
        assert done == run("fill", copied, FILLED[0], "--engine", "torch")
