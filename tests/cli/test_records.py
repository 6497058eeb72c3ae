"""Records in, records out: order and ids kept, rows that cannot be used set aside; seeds, verdicts and comparisons."""

import json
import math
import statistics
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.api.load import load
from glassformer.base.errors import ConfigError, DataError, MissingColumnError
from glassformer.cli.__main__ import main
from glassformer.cli.terminal.partial import Partial
from glassformer.cli.terminal.readers import SentenceReader, TableReader, Text, read_lines_as
from glassformer.data.readers.lines import stop_unless
from tests.refusals import refused

Run = Callable[..., Any]
TINY = ["--steps", "4", "--vocabulary", "120", "--length", "24", "--batch", "4", "--set", "train.compile=off"]
WORDS = ("She likes the summer", "He cooks in the winter", "They hike on a day", "We sleep all week")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.tsv"
    path.write_text("".join(f"{WORDS[n % 4]} {n}\t{'yes' if n % 2 else 'no'}\n" for n in range(80)))
    return path


@pytest.fixture(scope="module")
def seeds(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ in their seed."""
    folder = tmp_path_factory.mktemp("runs") / "both"
    words = [
        "--text-column",
        "0",
        "--label-column",
        "1",
        *TINY,
        "--seeds",
        "2",
        "--validation",
        "0.3",
        "--out",
        str(folder),
    ]
    assert main(["train", "classify", str(table), *words]) == 0
    return folder


@pytest.fixture(scope="module")
def model(seeds: Path) -> Path:
    return seeds / "seed-0"


def test_a_table_with_names_is_read_by_them_where_the_training_had_numbers(
    run: Run, model: Path, tmp_path: Path
) -> None:
    named = tmp_path / "named.csv"
    named.write_text(f"id,text\n77,{WORDS[0]} 1\n78,{WORDS[1]} 2\n")
    found = run("classify", model, "--file", named, "--json")
    assert [each["text"] for each in found.records] == [f"{WORDS[0]} 1", f"{WORDS[1]} 2"]
    assert "read by the names text" in " ".join(found.err.split())
    chosen = run("classify", model, "--file", named, "--text-column", "0", "--json")
    assert [each["text"] for each in chosen.records] == ["77", "78"]


MIXED = (
    {"id": "a", "text": WORDS[0], "other": 3},
    {"id": 7, "text": "   "},
    {"text": WORDS[1]},
    {"id": None, "text": WORDS[2]},
    {"id": [1, "x"], "words": WORDS[2]},
    {"id": "last", "text": WORDS[3]},
)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Good records and bad ones, and a line that is no JSON."""
    path = tmp_path / "mixed.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in MIXED) + "{not json\n")
    return path


def test_ids_come_back_and_bad_rows_are_set_aside(run: Run, model: Path, mixed: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    done = run("classify", model, "--file", mixed, "--json", "--rejects", rejects)
    assert done.code == 0
    assert [{name: each[name] for name in ("id", "text") if name in each} for each in done.records] == [
        {"id": "a", "text": WORDS[0]},
        {"text": WORDS[1]},
        {"id": None, "text": WORDS[2]},
        {"id": "last", "text": WORDS[3]},
    ]
    fields = {"id", "text", "label", "probability", "probabilities", "windows"}
    assert all(each.keys() <= fields for each in done.records)
    found = sorted((json.loads(line) for line in rejects.read_text().splitlines()), key=lambda each: each["line"])
    assert [each["line"] for each in found] == [2, 5, 7]
    assert [each["row"] for each in found] == [MIXED[1], MIXED[4], "{not json"]
    assert {each["file"] for each in found} == {str(mixed)}
    assert all(f"line {each['line']}" in each["reason"] for each in found)
    assert str(rejects) in done.err


def test_without_rejects_the_first_bad_row_stops_with_its_line(run: Run, model: Path, mixed: Path) -> None:
    done = run("classify", model, "--file", mixed, "--json")
    assert (done.code, done.out) == (2, "")
    assert f"{mixed}, line 5" in done.err  # the first that cannot be read


def test_rejects_and_resume_go_together(
    run: Run, model: Path, mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, rejects = tmp_path / "many.jsonl", tmp_path / "rejects.jsonl"
    many.write_text(mixed.read_text() * 30)
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    words = ("classify", model, "--file", many, "--json", "--rejects", rejects)
    assert run(*words, "--out", whole).code == 0
    found, result = rejects.read_text(), Partial.whole

    def stopped(self: Partial) -> None:
        result(self)
        if self.results == 70:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Partial, "whole", stopped)
        assert run(*words, "--out", parts).code == 130
    assert not parts.exists()
    done = run(*words, "--resume", "--out", parts)
    assert "70" in done.err
    assert parts.read_text() == whole.read_text()
    assert rejects.read_text() == found


def test_a_model_for_numbers_sets_bad_rows_aside_too(run: Run, mixed: Path, tmp_path: Path) -> None:
    numbers, folder = tmp_path / "numbers.tsv", tmp_path / "run"
    numbers.write_text("".join(f"{WORDS[n % 4]} {n}\t{n % 5}\n" for n in range(40)))
    columns = ("--text-column", "0", "--label-column", "1")
    assert run("train", "regress", numbers, *columns, *TINY, "--out", folder).code == 0
    done = run("classify", folder, "--file", mixed, "--json", "--rejects", tmp_path / "rejects.jsonl")
    assert done.code == 0
    assert [each["text"] for each in done.records] == [WORDS[0], WORDS[1], WORDS[2], WORDS[3]]
    assert all("number" in each for each in done.records)
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == 3


def test_records_on_standard_input(run: Run, model: Path, mixed: Path) -> None:
    lines = b"".join(json.dumps(MIXED[number]).encode() + b"\n" for number in (0, 2, 5))
    done = run("classify", model, "--file", "-", "--json", stdin=lines)
    assert [each.get("id") for each in done.records] == ["a", None, "last"]
    done = run("classify", model, "--file", "-", "--json", stdin=lines + b"{}\n")
    assert done.code == 2
    assert "standard input, line 4" in done.err


@pytest.mark.parametrize("sent", ['[\n{"text": "Hello"}\n]\n', '[{"text": "Hello"}]\n'])
def test_an_array_of_json_on_standard_input_is_not_read_as_texts(run: Run, model: Path, sent: str) -> None:
    failed = run("classify", model, "--file", "-", "--json", stdin=sent.encode())
    assert (failed.code, failed.out) == (2, "")
    assert "standard input, line 1" in failed.err


def test_a_file_of_nothing_usable_fails(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "blank.jsonl"
    path.write_text('{"text": " "}\n')
    done = run("classify", model, "--file", path, "--rejects", tmp_path / "rejects.jsonl")
    assert done.code == 2
    assert "blank.jsonl, line 1" in done.err
    assert json.loads((tmp_path / "rejects.jsonl").read_text())["row"] == {"text": " "}


def test_rejects_never_replace_what_is_read_or_written(run: Run, model: Path, mixed: Path, tmp_path: Path) -> None:
    before = mixed.read_bytes()
    assert run("classify", model, "--file", mixed, "--rejects", mixed).code == 2
    out = tmp_path / "out.jsonl"
    assert run("classify", model, "--file", mixed, "--rejects", out, "--out", out).code == 2
    assert mixed.read_bytes() == before


def test_columns_that_are_kept_come_back(run: Run, model: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "tickets.csv", tmp_path / "answers.csv"
    table.write_text("id;Ticket;text;label\n1;007;Hello;yes\n2;1e5;Good bye;no\n", encoding="utf-8")
    keep = ("--keep", "Ticket", "--keep", "label")
    done = run("classify", model, "--file", table, *keep, "--json")
    assert [(each["id"], each["Ticket"], each["input_label"]) for each in done.records] == [
        ("1", "007", "yes"), ("2", "1e5", "no"),
    ]  # fmt: skip
    assert all(each["label"] in each["probabilities"] for each in done.records)
    run("classify", model, "--file", table, *keep, "--out", out)
    # The answers have the semicolons of the table, and no byte order mark, as it has none.
    assert out.read_bytes().splitlines()[0].startswith(b"id;Ticket;input_label;text;label;probability;")
    lines = b'{"text": "Hello", "Ticket": [1, 2]}\n'
    assert run("classify", model, "--file", "-", "--keep", "Ticket", "--json", stdin=lines).records[0]["Ticket"] == [
        1,
        2,
    ]
    (again,) = run("classify", model, "--file", "-", *keep[2:], "--keep", "input_label", "--json",
                   stdin=b'{"text": "Hello", "label": "yes", "input_label": "true"}').records  # fmt: skip
    assert (again["input_label"], again["input_input_label"]) == ("true", "yes")
    missing = run("classify", model, "--file", table, "--keep", "Number", "--json")
    assert (missing.code, missing.out) == (2, "")
    assert "'Number'" in missing.err
    (tmp_path / "texts.txt").write_text("Hello\n")
    assert run("classify", model, "--file", tmp_path / "texts.txt", "--keep", "Ticket", "--json").code == 2


@pytest.mark.parametrize(
    ("first", "column", "keep", "table"),
    [
        ("id;text;label", "text", (), True),
        ("\ufeffNr,Body of the mail,label", "Body of the mail", (), True),
        ("title\ttext", "text", ("title",), True),
        ("A comma, text", "text", (), False),
        ("text", "text", (), False),
        ("a;b;c", "text", (), False),
    ],
)
def test_a_table_on_standard_input_is_refused(first: str, column: str, keep: tuple[str, ...], *, table: bool) -> None:
    lines = [Text({"text": each}, f"standard input, line {n}") for n, each in enumerate((first, "1;a;b"), 1)]
    reader = TableReader({"text": column}, keep=keep)
    with refused(DataError, wanted="line 1", got="a table", do=".csv") if table else nullcontext():
        assert len([*read_lines_as(reader, lines, stop_unless("rejects"))]) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"text": "Anna left.", "nr": 7, "id": 1}\n{"words": ["Bo", "ran"], "nr": 8, "id": 2}\n'),
        ("a.csv", "id;nr;text\n1;7;Anna left.\n2;8;Bo ran\n"),
        ("a", '{"text": "Anna left.", "nr": 7, "id": 1}\n{"words": ["Bo", "ran"], "nr": 8, "id": 2}\n'),
    ],
)
def test_columns_of_sentences_are_kept(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    reader = SentenceReader({"text": "text"}, {}, keep=("nr",))
    found = [each.kept for each in reader.of_file(tmp_path / name, stop_unless("rejects"))]
    assert [{key: int(str(value)) for key, value in each.items()} for each in found] == [
        {"id": 1, "nr": 7},
        {"id": 2, "nr": 8},
    ]
    with refused(MissingColumnError, got="text"):
        list(SentenceReader({"text": "text"}, {}, keep=("no",)).of_file(tmp_path / name, stop_unless("rejects")))


def test_an_id_column_of_a_csv_comes_back(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"id,text\n12,{WORDS[0]}\n13,{WORDS[1]}\n")
    done = run("classify", model, "--file", path, "--text-column", "text", "--json")
    assert [each["id"] for each in done.records] == ["12", "13"]


# --------------------------------------------------------------------------- scores


def test_training_says_how_it_compares_with_its_baselines(model: Path) -> None:
    metrics = load(model).metrics
    assert {"most_frequent_accuracy", "tf_idf_accuracy"} <= metrics["scores"].keys()
    low, high = metrics["intervals"]["accuracy"]
    assert low <= metrics["scores"]["accuracy"] <= high
    assert metrics["verdict"]
    assert f"{metrics['verdict'][1:]}." in (model / "README.md").read_text(encoding="utf-8")


def test_evaluate_shows_intervals_and_the_verdict(run: Run, model: Path, table: Path, tmp_path: Path) -> None:
    (found,) = run("evaluate", model, "--json").records
    assert found["tf_idf_accuracy"] == load(model).metrics["scores"]["tf_idf_accuracy"]
    assert found["intervals"].keys() == {"this model", "most frequent", "TF-IDF"}
    shown = run("evaluate", model).out
    assert "TF-IDF" in shown
    assert f"{found['against']['sentence'][1:]}." in " ".join(shown.split())
    other = tmp_path / "other.tsv"
    other.write_text("".join(table.read_text().splitlines(keepends=True)[:20]) + "Something new\tyes\n")
    done = run("evaluate", model, other, "--json")
    assert "tf_idf_accuracy" in done.records[0]  # the training data are read again
    assert "of the 21 records have the text of a training record" in done.err


def test_evaluate_without_the_training_data_says_so(run: Run, model: Path, table: Path, tmp_path: Path) -> None:
    other, away = tmp_path / "other.tsv", table.with_name("away.tsv")
    other.write_text("Something new\tyes\nSomething old\tno\n")
    table.rename(away)
    try:
        done = run("evaluate", model, other, "--json")
    finally:
        away.rename(table)
    assert "tf_idf_accuracy" not in done.records[0]
    assert "no baseline is fitted" in done.err


def test_evaluate_sets_rows_aside(run: Run, model: Path, tmp_path: Path) -> None:
    path, rejects = tmp_path / "some.tsv", tmp_path / "rejects.jsonl"
    path.write_text("Something new\tyes\nSomething old\tperhaps\n\tno\nSomething\tno\n")
    done = run("evaluate", model, path, "--json")
    assert done.code == 2
    assert "some.tsv, line 2" in done.err
    assert "'perhaps'" in done.err
    done = run("evaluate", model, path, "--json", "--rejects", rejects)
    assert done.records[0]["targets"] == 2
    found = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [each["line"] for each in found] == [2, 3]
    assert [each["row"] for each in found] == [["Something old", "perhaps"], ["", "no"]]


def test_seeds_give_mean_and_deviation(run: Run, seeds: Path, table: Path) -> None:
    found = json.loads((seeds / "seeds.json").read_text())
    losses = [json.loads((seeds / f"seed-{n}" / "metrics.json").read_text())["scores"]["loss"] for n in range(2)]
    assert losses[0] != losses[1]
    assert found["scores"]["loss"]["mean"] == pytest.approx(statistics.mean(losses))
    assert found["scores"]["loss"]["deviation"] == pytest.approx(abs(losses[0] - losses[1]) / math.sqrt(2))
    assert found["best"] in ("seed-0", "seed-1")
    before = (seeds / "seed-0" / "model.safetensors").stat().st_mtime_ns
    done = run("train", "--resume", "--out", seeds, "--json")
    assert done.records[0]["seeds"]["scores"] == found["scores"]
    assert done.records[0]["model"] == str(seeds / found["best"])
    assert (seeds / "seed-0" / "model.safetensors").stat().st_mtime_ns == before  # finished runs are kept
    done = run(
        "train", "classify", table, "--text-column", "0", "--label-column", "1", *TINY, "--seeds", "2", "--out", seeds
    )
    assert done.code == 2


def test_compare_is_paired_and_in_words(run: Run, seeds: Path, table: Path) -> None:
    one, two = seeds / "seed-0", seeds / "seed-1"
    (found,) = run("compare", one, two, "--json").records
    mine, others = (load(each).metrics["scores"]["accuracy"] for each in (one, two))
    assert found["scores"]["accuracy"]["difference"] == pytest.approx(mine - others)
    assert found["verdict"] in ("better", "worse", "not different")
    assert found["sentence"][1:] in " ".join(run("compare", one, two).out.split())
    copied = table.with_name("copied.tsv")
    copied.write_bytes(table.read_bytes() + b"\n")  # not the file of the training, but with its texts
    noted = run("compare", one, two, copied).err
    assert " ".join(noted.split()).count("records have the text of a training record") == 2  # of each model
    compared = gf.compare(one, load(two), table)
    assert compared.count == 80
    swapped = gf.compare(two, one, table)
    assert swapped.judged.difference == pytest.approx(-compared.judged.difference)


def test_compare_refuses_other_labels_and_tasks(seeds: Path, table: Path, tmp_path: Path) -> None:
    model = load(seeds / "seed-0")
    other = load(seeds / "seed-0")
    assert other.task is not None
    other.task = other.task.model_copy(update={"labels": ("no", "perhaps")})
    with refused(ConfigError, got="perhaps"):
        gf.compare(model, other, table)
    other = load(seeds / "seed-0")
    assert other.data is not None
    other.data = other.data.model_copy(update={"seed": 5})
    with refused(ConfigError, got="5"):
        gf.compare(model, other)
    other.task = None
    with refused(ConfigError, got=("classify", "masked-lm")):
        gf.compare(model, other)
