"""Questions about passages, by the command line alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.base.errors import DataError
from glassformer.cli.__main__ import main

Run = Callable[..., Any]
TINY = ["--steps", "2", "--vocabulary", "120", "--length", "32", "--batch", "4", "--set", "train.compile=off"]
PASSAGE = "She likes day 3, and [bold] he cooks on day 7."


@pytest.fixture(scope="module")
def squad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Passages with two questions each, the second of which has no answer."""
    path = tmp_path_factory.mktemp("squad") / "questions.json"
    paragraphs = [
        {
            "context": f"She likes day {number} and he cooks on day {number + 1}.",
            "qas": [
                {
                    "id": f"a{number}",
                    "question": "What does she like?",
                    "answers": [{"text": "day", "answer_start": 10}],
                },
                {"id": f"b{number}", "question": "Who sings?", "answers": [], "is_impossible": True},
            ],
        }
        for number in range(20)
    ]
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "days", "paragraphs": paragraphs}]}))
    return path


@pytest.fixture(scope="module")
def reader(squad: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "reader"
    assert main(["train", "answer", str(squad), *TINY, "--validation", "0.3", "--out", str(folder)]) == 0
    return folder


def test_an_answer_is_shown_in_its_passage_with_the_best_spans(run: Run, reader: Path) -> None:
    (record,) = run("answer", reader, "Who cooks?", "--pair", PASSAGE, "--json", "--top", "3").records
    found = load(reader).answer("Who cooks?", PASSAGE, top=3)
    assert record["answer"] == found.text
    assert record["no_answer_probability"] == pytest.approx(found.no_answer_probability, abs=1e-6)
    assert [span["text"] for span in record["best"]] == [
        PASSAGE[each["start"] : each["end"]] for each in record["best"]
    ]
    assert len(record["best"]) == 3
    done = run("answer", reader, "Who cooks?", "--pair", PASSAGE, "--top", "3")
    assert "Who cooks?" in done.out
    assert all(span.text in done.out for span in found.spans)
    assert f"{found.no_answer_probability:.1%}" in done.out
    assert f"{found.threshold:.2f}" in done.out
    if found.best is not None:
        before, after = PASSAGE[: found.best.start], PASSAGE[found.best.end :]
        assert f"{before}[{found.text}]{after}" in done.out
    else:
        assert "no answer" in done.out


def test_many_questions_from_a_file_are_those_of_squad_and_of_lines(
    run: Run, reader: Path, squad: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "asked.jsonl"
    rows = [
        {"id": each["id"], "question": each["question"], "context": paragraph["context"]}
        for paragraph in json.loads(squad.read_text())["data"][0]["paragraphs"]
        for each in paragraph["qas"]
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    nested = run("answer", reader, "--file", squad, "--json").records
    assert [each["question"] for each in nested] == [row["question"] for row in rows]
    flat = run("answer", reader, "--file", lines, "--json").records
    assert [each["answer"] for each in flat] == [each["answer"] for each in nested]


def test_many_questions_share_a_passage_or_have_one_each(reader: Path) -> None:
    model = load(reader)
    found = model.answer(["Who cooks?", "Who likes?"], PASSAGE, top=1)
    assert [each.question for each in found] == ["Who cooks?", "Who likes?"]
    assert [each.spans for each in found] == [
        each.spans for each in model.answer(["Who cooks?", "Who likes?"], [PASSAGE, PASSAGE], top=1)
    ]
    with pytest.raises(DataError) as caught:
        model.answer(["Who cooks?", "Who likes?", "Who?"], [PASSAGE, PASSAGE])
    assert caught.value.got == "2 for 3 texts"


def test_it_is_measured_as_the_official_scripts_do(run: Run, reader: Path, squad: Path) -> None:
    (record,) = run("evaluate", reader, squad, "--json").records
    assert record["targets"] == 40
    assert record["never_answering_exact_match"] == 0.5
    assert {"f1", "has_answer_f1", "no_answer_accuracy", "sliding_window_f1"} <= record.keys()
    found = [each["answer"] for each in run("answer", reader, "--file", squad, "--json").records]
    exact = [text == ("day" if number % 2 == 0 else "") for number, text in enumerate(found)]
    assert record["exact_match"] == pytest.approx(sum(exact) / 40)


def test_bad_input_is_refused_in_one_line(run: Run, reader: Path, trained: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"data": [\n{"paragraphs"')
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "Who?", "context": "She."}\n{"question": "Who?", "context": ""}\n')
    for words, part in (
        (("answer", reader, "Who?"), "--pair"),
        (("answer", reader, " ", "--pair", "She."), "question"),
        (("answer", reader, "--file", broken), "line 2"),
        (("answer", reader, "--file", rows), f"{rows}, line 2"),
        (("answer", trained, "Who?", "--pair", "She."), "train answer"),
        (("train", "answer", broken, "--out", tmp_path / "run"), "line 2"),
        (("fill", reader, "She [MASK]."), "train masked-lm"),
    ):
        done = run(*words)
        assert (done.code, part in done.err, "Traceback" in done.err) == (2, True, False), done.err
    assert not (tmp_path / "run").exists()
