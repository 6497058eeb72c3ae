"""The pages on language models and on chat: their commands run with tiny models, their fields are those of records."""

import json
import shlex
from pathlib import Path

import pytest

import glassformer as gf
from glassformer.cli.__main__ import main
from tests.docs.test_commands import BLOCK
from tests.docs.test_fields_of_records import listed

SMALL = [
    *("--steps", "2", "--vocabulary", "300", "--length", "24", "--set", "train.compile=off"),
    *("--set", "model.settings.layers=1", "--set", "model.settings.width=16", "--set", "model.settings.heads=2"),
    *("--set", "model.settings.feed_forward=16", "--validation", "0.3"),
]
BOOK = "\n\n".join(f"Once upon a time there was a king of {n} towns.\nHe had {n} sons." for n in range(30))


@pytest.mark.long
def test_its_commands_run_and_its_fields_are_those_of_the_records(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text(BOOK, encoding="utf-8")
    Path("prompts.txt").write_text("Once upon\nThe king\n", encoding="utf-8")
    Path("other.txt").write_text("The king had two sons.\n\nOnce more.\n", encoding="utf-8")
    page = (repository / "docs/do/language-model.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    for line in (line for kind, block in blocks if kind == "sh" for line in block.splitlines()):
        words = shlex.split(line)[1:]
        if "--minutes" in words:
            del words[words.index("--minutes") : words.index("--minutes") + 2]
        assert main(words + (SMALL if words[0] == "train" else [])) == 0, words
    output = capsys.readouterr().out
    assert "bits per byte" in output
    records = [json.loads(line) for line in Path("written.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["prompt"] for record in records] == ["Once upon", "The king"]
    assert records[0].keys() == listed(page + "\n## ", "Write")
    assert records[0]["tokens"][0].keys() == {"token", "text", "log_probability"}
    (python,) = [block for kind, block in blocks if kind == "python"]
    exec(compile(python, "page", "exec"), {})
    scores = gf.load("writer").evaluate()
    assert {"loss", "perplexity", "bits_per_byte", "accuracy", "trigram_bits_per_byte"} <= scores.keys()
    assert "masked" not in Path("writer/README.md").read_text(encoding="utf-8")
    Path("other.txt").write_text("A king had sons.\n\nThey had towns.", encoding="utf-8")
    assert "trigram_bits_per_byte" in gf.load("writer").evaluate("other.txt")  # counted in the text of the training


@pytest.mark.long
def test_the_commands_of_chat_run_and_its_fields_are_those_of_the_records(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs/do/chat.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    (shown,) = [block for kind, block in blocks if kind == "json"]
    more = [json.dumps({"turns": [f"Hi {n}", f"I am {n}", f"Really {n}?"]}) for n in range(20)]
    Path("dialogues.jsonl").write_text("\n".join([*shown.splitlines(), *more]) + "\n", encoding="utf-8")
    for line in (line for kind, block in blocks if kind == "sh" for line in block.splitlines()):
        words = shlex.split(line)[1:]
        if "--minutes" in words:
            del words[words.index("--minutes") : words.index("--minutes") + 2]
        if "--file" in words:  # only rows of one column answer together
            Path("dialogues.jsonl").write_text("\n".join(more) + "\n", encoding="utf-8")
        assert main(words + (SMALL if words[0] == "train" else [])) == 0, words
    records = [json.loads(line) for line in Path("replies.jsonl").read_text(encoding="utf-8").splitlines()]
    assert records[0]["turns"] == ["Hi 0", "I am 0", "Really 0?"]
    assert records[0].keys() == listed(page, "Talk")
    card = Path("talker/README.md").read_text(encoding="utf-8")
    assert "masked" not in card
    assert "| trigram perplexity |" in card
    (python,) = [block for kind, block in blocks if kind == "python"]
    exec(compile(python, "page", "exec"), {})
