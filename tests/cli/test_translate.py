"""glassformer translate and score with a model that translates: texts and files, blank lines, notes, refusals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.cli.ask.ask import CHATTING, DECODING
from glassformer.cli.terminal.options import TYPED
from glassformer.tasks.writing.translate.settings import TranslateData
from glassformer.text.token_text import marked
from tests.translators import ENGLISH, FRENCH, translating

Run = Callable[..., Any]
FEW = ("--max-tokens", "5")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return translating(double=False).save(tmp_path_factory.mktemp("models") / "en-fr")


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "source.en"
    path.write_text(f"{ENGLISH[0]}\n\n{ENGLISH[1]}\n \nHe\n", encoding="utf-8")
    return path


def test_lines_keep_their_order_and_blank_ones_stay(run: Run, translator: Path, lines: Path, tmp_path: Path) -> None:
    one, two, three = (found.translation for found in load(translator).translate([*ENGLISH, "He"], max_tokens=5))
    expected = f"{one}\n\n{two}\n\n{three}\n"
    done = run("translate", translator, "--file", lines, *FEW)
    assert (done.code, done.out) == (0, expected)
    assert run("translate", translator, "-", *FEW, stdin=lines.read_bytes()).out == expected
    assert run("translate", translator, *ENGLISH, *FEW).out == f"{one}\n{two}\n"
    out = tmp_path / "target.fr"
    assert run("translate", translator, "--file", lines, "--out", out, *FEW).code == 0
    assert out.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("", "{source}\t{target}"),
        ("source\ttarget", "{source}\t{target}"),
        ("target\tid\tsource", "{target}\t7\t{source}"),
    ],
    ids=["no header", "both names", "another order"],
)
def test_a_table_of_pairs_has_the_columns_that_it_names_else_the_first_two(
    header: str, row: str, run: Run, tmp_path: Path
) -> None:
    table = tmp_path / "pairs.tsv"
    rows = [row.format(source=source, target=target) for source, target in zip(ENGLISH, FRENCH, strict=True)]
    table.write_text("\n".join([*filter(None, [header]), *rows]) + "\n", encoding="utf-8")
    model = translating(double=False)
    model.data = TranslateData()
    folder = model.save(tmp_path / "model")
    expected = [found.translation for found in model.translate(list(ENGLISH), max_tokens=5)]
    assert run("translate", folder, "--file", table, *FEW).out.splitlines() == expected
    scored = run("score", folder, "--file", table, "--json").records
    assert [found["total"] for found in scored] == [
        pytest.approx(model.score(source, target).total) for source, target in zip(ENGLISH, FRENCH, strict=True)
    ]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.jsonl", "-"])
def test_a_model_that_knows_no_data_reads_the_columns_of_pairs(
    name: str, run: Run, translator: Path, tmp_path: Path
) -> None:
    """As an imported one."""
    rows = [{"source": source, "target": target} for source, target in zip(ENGLISH, FRENCH, strict=True)]
    objects = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "pairs.jsonl").write_text(objects)
    (tmp_path / "pairs.tsv").write_text(
        "".join("\t".join(row) + "\n" for row in [("source", "target"), *zip(ENGLISH, FRENCH, strict=True)])
    )
    path = "-" if name == "-" else tmp_path / name
    given = {"stdin": objects.encode()} if name == "-" else {}
    expected = run("translate", translator, *ENGLISH, *FEW).out
    assert run("translate", translator, "--file", path, *FEW, **given).out == expected
    scored = run("score", translator, "--file", path, "--json", **given)
    assert [each["target"] for each in scored.records] == [*FRENCH]
    assert scored.err == ""


@pytest.mark.long
def test_columns_of_a_table_that_are_not_read_are_reported(run: Run, translator: Path, tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{s}\t{t}\tCC-BY {n}\n" for n, (s, t) in enumerate(zip(ENGLISH, FRENCH, strict=True))))
    for words in (("translate", translator, "--file", table, *FEW), ("score", translator, "--file", table)):
        done = run(*words)
        assert done.code == 0
        said = " ".join(done.err.split())  # it is wrapped at 80 columns
        assert said.count("not read") == 1
        assert f"not read: {'2' if words[0] == 'score' else '1, 2'}" in said
    kept = run("translate", translator, "--file", table, "--keep", "2", *FEW)
    assert "not read: 1 " in f"{' '.join(kept.err.split())} "
    named = run("translate", translator, "--file", table, "--text-column", "0", *FEW)
    assert named.code == 0
    assert "not read" not in named.err  # it was asked for
    wrong = run("translate", translator, "--file", table, "--text-column", "source", *FEW)
    assert (wrong.code, wrong.out) == (2, "")  # the first column is not what was asked for
    for part in (run("evaluate", translator, table), run("compare", translator, translator, table)):
        assert part.code == 0
        assert " ".join(part.err.split()).count("not read: 2") == 1
        assert "baseline is fitted" not in part.err  # none is


def test_a_stopped_command_goes_on(run: Run, translator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = tmp_path / "source.en", tmp_path / "target.fr"
    source.write_text("\n".join(f"{ENGLISH[n % 2]} {n}" for n in range(70)) + "\n", encoding="utf-8")
    whole = run("translate", translator, "--file", source, *FEW).out
    words = ("translate", translator, "--file", source, "--out", out, *FEW)
    calls = 0

    def interrupted(*given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 66:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("glassformer.cli.ask.asked.note_windows", interrupted)
        assert run(*words).code == 130
    assert not out.exists()
    assert run(*words, "--resume").code == 0
    assert out.read_text(encoding="utf-8") == whole


def test_records_carry_tokens_scores_alignment_and_the_best(run: Run, translator: Path) -> None:
    (found,) = run("translate", translator, ENGLISH[0], "--json", "--n-best", "2", "--beams", "3", *FEW).records
    assert found["text"] == ENGLISH[0]
    assert len(found["tokens"]) == 5
    assert found["n_best"][0]["translation"] == found["translation"]
    assert found["n_best"][0]["score"] >= found["n_best"][1]["score"]
    for link in found["alignment"]:
        assert set(link) == {"source", "target", "weight"}
        assert ENGLISH[0][slice(*link["source"])].strip()
        assert found["translation"][slice(*link["target"])].strip()
    assert found["alignment"]


def test_what_is_shown_where_more_is_asked_for(run: Run, translator: Path) -> None:
    lines = run("translate", translator, ENGLISH[0], "--n-best", "3", *FEW).out.splitlines()
    scores = [float(line.split("\t")[0]) for line in lines]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    shown = run("translate", translator, ENGLISH[0], "--alignment", *FEW).out
    assert "attention" in shown
    assert "←" in shown


def test_paragraphs_keep_their_lines(run: Run, translator: Path) -> None:
    text = f"{ENGLISH[0]} {ENGLISH[1]}\n\n{ENGLISH[0]}"
    one, two = (found.translation for found in load(translator).translate([*ENGLISH], max_tokens=5))
    assert run("translate", translator, text, "--paragraphs", *FEW).out == f"{one} {two}\n\n{one}\n"


def test_what_a_reader_should_know_is_noted(run: Run, translator: Path) -> None:
    unseen = run("translate", translator, "She likes 冬", *FEW)
    assert unseen.code == 0
    assert "冬" in unseen.err
    long = run("translate", translator, " ".join(ENGLISH), *FEW)
    assert "2" in long.err
    many = run("translate", translator, *[f"冬 {n}" for n in range(9)], *FEW)
    assert many.err.count("冬 ") <= 2 * 5
    assert "13" in many.err.splitlines()[-1]  # two of each: an unknown word, and an answer that is cut off


def test_empty_translations_are_counted(run: Run, translator: Path) -> None:
    first = load(translator).translate(ENGLISH[0], max_tokens=5).translation[0]
    done = run("translate", translator, *[ENGLISH[0]] * 9, " ", "--stop", first, "--json", *FEW)
    assert [record["empty"] for record in done.records] == [1] * 9 + [0]
    assert "9" in done.err.splitlines()[-2]
    assert "4" in done.err.splitlines()[-1]  # more notes than are shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--length-penalty", "1e9"), "--length-penalty"),
        (("--length-penalty", "nan"), "--length-penalty"),
        (("--length-penalty", "-inf"), "--length-penalty"),
        (("--force", "food.", "--stop", "."), "food."),
        (("--beams", "0"), "--beams"),
        (("--beams", "2", "--n-best", "4"), "4"),
        (("--temperature", "-1"), "temperature"),
        (("--seed", "-1"), "--seed"),
        (("--force", "food", "--forbid", "food"), "food"),
        (("--force", "healthy food", "--max-tokens", "1"), "1"),
        (("--force", " "), "force"),
        (("--min-tokens", "9", "--max-tokens", "3"), "9"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_sentence(
    run: Run, translator: Path, words: tuple[str, ...], message: str
) -> None:
    done = run("translate", translator, ENGLISH[0], *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_each_option_is_called_as_it_is_typed() -> None:
    for setting, (kind, _) in CHATTING.items() | DECODING.items():
        option = kind.__metadata__[0]
        typed = TYPED.get(setting, f"--{setting}")  # those that show an answer are called as they are
        assert typed in {word for given in (option.default, *option.param_decls) for word in given.split("/")}


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("--beams", "2", "--top-k", "3"), ("--beams 2", "--top-k 3", "leave one")),
        (("--beams", "1", "--force", "chiens"), ("--force chiens", "--beams 1", "raise --beams")),
        (("--top-p", "1.5"), ("--top-p", "1.5")),
        (("--groups", "2", "--beams", "5"), ("--groups 2", "--beams 5")),
    ],
)
def test_options_are_checked_before_a_model_is_read(
    run: Run, translator: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], messages: tuple[str, ...]
) -> None:
    monkeypatch.setattr(
        "glassformer.cli.terminal.opened.Machine.open", lambda *given, **more: pytest.fail("a model was read")
    )
    done = run("translate", translator, ENGLISH[0], *words)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in messages)


def test_samples_are_the_same_for_a_seed(run: Run, translator: Path) -> None:
    def samples(*words: str) -> str:
        return run("translate", translator, ENGLISH[0], "--sample", "--n-best", "4", *FEW, *words).out

    assert samples() == samples("--seed", "0") != samples("--seed", "1")
    assert (
        samples("--top-k", "1").splitlines()[0].split("\t")[1]
        in run("translate", translator, ENGLISH[0], "--beams", "1", *FEW).out
    )


def test_pairs_are_scored(run: Run, translator: Path, tmp_path: Path) -> None:
    (found,) = run("score", translator, ENGLISH[0], "--target", FRENCH[0], "--json").records
    expected = load(translator).score(ENGLISH[0], FRENCH[0])
    assert found["total"] == pytest.approx(expected.total)
    assert FRENCH[0] in run("score", translator, ENGLISH[0], "--target", FRENCH[0]).out
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in zip(ENGLISH, FRENCH, strict=True))
    )
    records = run("score", translator, "--file", path, "--json").records
    assert [each["target"] for each in records] == [*FRENCH]
    assert records[0]["total"] == pytest.approx(expected.total, abs=1e-4)  # float32, in another batch
    without = run("score", translator, ENGLISH[0])
    assert (without.code, without.out) == (2, "")
    assert "--target" in without.err


def test_a_target_of_a_model_with_one_stack_is_refused(run: Run) -> None:
    done = run("score", "english", "She likes", "--target", "Elle aime")
    assert (done.code, done.out) == (2, "")
    assert "--target" in done.err


@pytest.mark.long
def test_the_walk_ends_with_how_the_translation_is_written(run: Run, translator: Path) -> None:
    walk = run("explain", translator, "She likes").out
    found = load(translator).translate("She likes", beams=1)
    last = walk[walk.rindex("Argmax") :]
    assert found.translation in " ".join(last.split())
    own = load(translator).trace("She likes").words.sentence("decoder_inputs", 0)
    reply = load(translator).translate("She likes")
    assert own[1:] == [marked(each.text) for each in reply.tokens[: len(own) - 1]]
    assert run("verify", translator, "She likes").out.count("✓") == 3
