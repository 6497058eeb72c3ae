"""glassformer matrix: the mask-matrix post, step by step.

Q query words · K key words
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.bundled.texts import quick_brown_fox, score_table, slides_model
from glassformer.cli.__main__ import main
from glassformer.parts.activity import activity_matrix

Run = Callable[..., Any]
SENTENCE = quick_brown_fox().sentence
PRINTED = ("--word-vectors", "printed")
STEPS = ("words", "words", "features", "empty", "pairs", "masked", "weights", "result")


def rows(out: str, step: int) -> list[list[float]]:
    """The numbers of a step of the printed output, where each row stands on one line."""
    (block,) = re.findall(rf"^{step}\. .*\n((?:[^\n]+\n)+)", out, flags=re.MULTILINE)
    lines = [line.split()[1:] for line in block.replace("−∞", "-inf").replace("−", "-").splitlines()]
    number = re.compile(r"-?(inf|\d+(\.\d+)?)$")
    return [[float(cell) for cell in line] for line in lines if line and all(map(number.match, line))]


@pytest.mark.parametrize("rule", ["itself", "zero"])
@pytest.mark.parametrize("reading", ["code", "stated", "pairs"])
def test_what_is_printed_is_what_is_computed(run: Run, reading: Any, rule: Any) -> None:
    words = [
        "matrix",
        SENTENCE.text,
        "--mask-fraction",
        "0.3",
        "--seed",
        "2",
        "--reading",
        reading,
        "--nothing-to-see",
        rule,
    ]
    shown, (record,) = run(*words).out, run(*words, "--json").records
    features = torch.tensor(record["features"])
    expected = activity_matrix(features, record["masked_words"], reading=reading, nothing_to_see=rule)
    assert record["reading"] == reading
    assert record["nothing_to_see"] == rule
    for number, (name, step) in enumerate(expected.steps.items(), start=4):
        as_floats = [[float(cell) for cell in row] for row in record[name]]
        assert as_floats == step.tolist()
        torch.testing.assert_close(torch.tensor(rows(shown, number)), step, rtol=0, atol=6e-5)


def test_the_masked_words_are_drawn_by_the_seed(run: Run) -> None:
    def masked(*words: str) -> list[int]:
        (record,) = run("matrix", SENTENCE.text, *words, "--json").records
        assert [word == "[MASK]" for word in record["seen"]] == [place in record["masked_words"] for place in range(9)]
        return list(record["masked_words"])

    assert [len(masked("--mask-fraction", share)) for share in ("0", "0.01", "0.11", "0.5", "0.9")] == [0, 1, 1, 4, 8]
    assert masked("--seed", "3") == masked("--seed", "3", "--mask-fraction", "0.11")
    assert len({tuple(masked("--seed", str(seed))) for seed in range(20)}) > 4


def test_words_written_as_masks_are_the_masked_ones(run: Run) -> None:
    (record,) = run("matrix", SENTENCE.masked, "--json").records
    assert record["masked_words"] == list(SENTENCE.masked_words)
    (record,) = run("matrix", SENTENCE.masked, "--mask-fraction", "0.2", "--json").records
    assert set(record["masked_words"]) >= set(SENTENCE.masked_words)
    (record,) = run("matrix", "over the [MASK].", "--json").records
    assert record["masked_words"] == [2]


def test_a_mask_is_composed_on_the_command_line(run: Run) -> None:
    words = ["matrix", SENTENCE.masked, "--window", "2", "--prefix-words", "1", "--padding-words", "2", "--json"]
    (record,) = run(*words).records
    assert record["mask"] == "(causal & window(2) | prefix(1)) & visible & padding"
    expected = [[(row - 2 <= key <= row or key == 0) and key != 3 and key < 7 for key in range(9)] for row in range(9)]
    assert [[float(cell) > float("-inf") for cell in row] for row in record["masked"]] == expected
    (record,) = run(*words, "--reading", "code").records
    assert record["mask"] == "(itself & window(2) | prefix(1)) & padding"
    # The first of all words is the only key that a padding word can see, and it is masked (C-29).
    (record,) = run(
        "matrix", "[MASK] the fox runs", "--padding-words", "3", "--prefix-words", "4", "--reading", "code", "--json"
    ).records
    assert record["without_keys"] == []
    (record,) = run("matrix", "[MASK] the fox runs", "--window", "1", "--nothing-to-see", "zero", "--json").records
    assert record["without_keys"] == [0]
    assert record["result"][0] == [0.0] * 4


def test_the_vectors_of_a_model(run: Run) -> None:
    """Rows of its table of words, [MASK] among them; pairs are their products."""
    (record,) = run("matrix", "the quick [MASK] fox", "--model", "english", "--json").records
    model = gf.load("english")
    table = model.module.word_table.detach()
    ids = model.tokenizer.encode("the quick [MASK] fox", special=False).ids
    torch.testing.assert_close(torch.tensor(record["features"]), table[ids].float(), rtol=0, atol=0)
    assert record["features_from"] == "english"
    (record,) = run("matrix", "She [MASK] better", "--model", str(slides_model()), "--json").records
    assert record["features"][1] == [0.0] * 6, "the slides' model zeroes masked words"
    assert max(map(len, run("matrix", "the fox", "--model", "english").out.splitlines())) <= 80


def test_the_posts_own_pictures_in_one_word(run: Run) -> None:
    """Its printed vectors, the identity of its code, and the two matrices of its text; which numbers fit together."""
    done = run("matrix", "--post")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    readings = run("matrix", "--post", "--json").records
    assert [record["reading"] for record in readings] == ["code", "stated", "pairs"]
    assert readings[0]["result"] == [list(map(float, row)) for row in quick_brown_fox().matrix]
    assert readings[1]["result"][8] == pytest.approx(
        [0.0756, 0.0590, 0.1378, 0, 0.1249, 0.1038, 0.2260, 0.0839, 0.1890], abs=5e-5
    )
    for record in readings:
        assert record["masked_words"] == list(SENTENCE.masked_words)
        assert record["pairs"][0] == pytest.approx(quick_brown_fox().second_pair_vectors, abs=1e-4)
    results = {record["reading"]: torch.tensor(record["result"]) for record in readings}
    same = [(str(int((found == results["code"]).sum())), name) for name, found in results.items()]
    assert re.findall(r"(\d+) of 81 in reading (\w+)", " ".join(done.out.split())) == same
    shifted = run("matrix", "--post", "--reading", "code", "--prefix-words", "1").out
    assert re.findall(r"(\d+) of 81 in\s+reading code", shifted) == ["65"]
    assert re.search(r"second pair_vectors.*row 0", done.out)
    assert re.search(r"first pair_vectors.*no row", done.out)
    assert len(run("matrix", "--post", "--reading", "pairs", "--json").records) == 1


@pytest.mark.parametrize("size", [1, 64, 1024])
def test_the_printed_scores_in_one_word(run: Run, size: int) -> None:
    done = run("matrix", "--guide", "--query-size", str(size), "--notes")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    notes, guide = run("matrix", "--guide", "--query-size", str(size), "--json").records
    for record, table in ((notes, [[112, 96]]), (guide, [list(row) for row in score_table().scores])):
        assert record["scores"] == table
        scaled = torch.tensor(table, dtype=torch.float64) / size**0.5
        torch.testing.assert_close(torch.tensor(record["scaled"], dtype=torch.float64), scaled, rtol=1e-15, atol=0)
        weights = torch.tensor(record["weights"], dtype=torch.float64)
        torch.testing.assert_close(weights, scaled.softmax(-1), rtol=1e-12, atol=0)
    assert (notes["rows_not_summing_to_1"], guide["rows_not_summing_to_1"]) == ([], [2])
    assert guide["printed_sums"] == [1, 1, 1.1, 1]
    if size == 64:
        assert [round(weight, 2) for weight in notes["weights"][0]] == notes["printed"][0] == [0.88, 0.12]
    (marked,) = (line for line in done.out.splitlines() if "1.1000" in line)
    assert marked.split()[0] == "are"
    assert "54 > 31" in done.out


def test_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    out = run("matrix", "the \x1b[31mred fox").out
    assert "\x1b" not in out
    assert r"\x1b[31mred" in out


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE.text,
        "a",
        "你好 世界 再见",
        "pneumonoultramicroscopicsilicovolcanoconiosis " * 3,
        "one two " * 20,
        "x" * 300,
    ],
)
@pytest.mark.parametrize("width", [1, 40])
def test_everything_fits_80_columns(run: Run, text: str, width: int) -> None:
    from rich.cells import cell_len

    done = run("matrix", text, "--width", str(width), "--notes", "--nothing-to-see", "zero")
    assert done.code == 0
    assert max(cell_len(line) for line in done.out.splitlines()) <= 80


@pytest.mark.parametrize("columns", [40, 120])
def test_a_pipe_is_as_wide_as_it_is_asked_to_be(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run("matrix", SENTENCE.text, "--notes").out.splitlines()
    assert columns - 12 < max(map(len, lines)) <= columns


def test_a_text_without_quotes_is_refused_with_what_to_do(run: Run) -> None:
    done = run("matrix", *SENTENCE.text.split())
    assert done.code == 2
    assert "quotes" in done.err


def test_the_notes_are_those_on_the_post(run: Run) -> None:
    out = run("matrix", SENTENCE.text, "--notes").out
    assert re.findall(r"C-\d+", out) == ["C-27", "C-28", "C-29", "C-35"]


def test_each_line_of_standard_input_is_a_text(run: Run) -> None:
    found = run("matrix", "-", "--json", stdin=b"a b\nc d e\n").records
    assert [record["words"] for record in found] == [["a", "b"], ["c", "d", "e"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((" ",), "512"),
        (("a " * 513,), "513"),
        (("a b", "--mask-fraction", "1.5"), "--mask-fraction"),
        (("a b", "--mask-fraction", "nan"), "--mask-fraction"),
        (("a b", "--reading", "identity"), "'identity'"),
        (("a b", "--word-vectors", "learned"), "'learned'"),
        (("a b", *PRINTED), "9"),
        (("a b", "--nothing-to-see", "nan"), "'nan'"),
        (("a b", "--seed", "-1"), "--seed"),
        (("a b", "--seed", str(2**64)), "--seed"),
        (("a b", "--width", "0"), "--width"),
        (("the quick brown fox jumps over the lazy dog", *PRINTED, "--width", "3"), "--width 3"),
        (("-",), "standard input"),
        ((), "--post"),
        (("a b", "--post"), "a text"),
        (("--guide", "--reading", "code"), "--reading"),
        (("--guide", "--query-size", "nan"), "--query-size"),
        (("--guide", "--post"), "take --post; leave"),
        (("a b", "--query-size", "4"), "--guide"),
        (("a b", "--window", "0"), "--window"),
        (("a b", "--prefix-words", "-1"), "--prefix-words"),
        (("a b", "--padding-words", "2"), "fewer --padding-words"),
        (("a b", "--mask-fraction", "1"), "hides all"),
        (("a b", "--model", "english", "--width", "4"), "--width"),
        (("a b", "--model", "englisch"), "englisch"),
        (("She runs", "--model", str(slides_model())), "'runs'"),
        (("a [MASK]", "--model", "en-fr"), "'[MASK]'"),
    ],
    ids=str,
)
def test_what_makes_no_matrix_is_refused_in_a_sentence(run: Run, words: tuple[str, ...], message: str) -> None:
    done = run("matrix", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_help_does_not_need_torch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--help"]) == 0
    assert "--reading" in capsys.readouterr().out
