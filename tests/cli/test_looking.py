"""The verbs explain and verify."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.api.load import load
from glassformer.bundled.texts import notes, notes_about
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.bert.settings import BertSection

Run = Callable[..., Any]

TEXT = "She [MASK] the summer [MASK]."
WEIGHT = "encoder.blocks.0.self_attention.weights[head=1,query=likes,key=She]"
SENTENCE = "She [MASK] [MASK] summer better"


def test_explain_at_the_board(run: Run, drawn: Path) -> None:
    done = run("explain", drawn, SENTENCE)
    assert done.code == 0
    titles = [line for line in done.out.splitlines() if line[:1].isdigit()]
    assert len(titles) > 15
    assert all(word in done.out for word in ("(likes)", "(the)"))
    assert "Tracing does not change the output" in done.err
    assert "Note C-2" not in done.out
    assert len(run("explain", drawn, SENTENCE, "--json").records) == len(titles)


def test_explain_begins_with_the_attributions_of_the_score_of_a_label(run: Run) -> None:
    done = run("explain", "next-sentence", "It rains.", "--pair", "I am wet.")
    trace = load("next-sentence").trace("It rains.", "I am wet.")
    owed = gf.attributions(trace)
    first = done.out.partition("\n\n")[0]
    assert f"{owed.value:.2f}" in first
    words, products = trace.words.inputs[0], owed.of[0].product[0].tolist()
    largest = sorted(zip(words, products, strict=True), key=lambda each: -abs(each[1]))
    assert " ".join(first.split()).partition(": ")[2] == ", ".join(f"{word} {value:+.2f}" for word, value in largest)
    step, *others = run("explain", "next-sentence", "It rains.", "--pair", "I am wet.", "--json").records
    label = load("next-sentence").labels[owed.cell["label"]]
    assert step["attributions"] == {"label": label, "score": owed.value, "input_times_gradient": products}
    assert len(step["tokens"]["inputs"]) == len(products)
    assert not any("attributions" in other for other in others)


def test_explain_shows_each_correction_once_at_the_first_tensor_it_is_about(run: Run, drawn: Path) -> None:
    steps = run("explain", drawn, SENTENCE, "--notes", "--json").records
    messages = {number: step["name"] for step in steps for number, *_ in step["notes"]}
    about = {note.number: step["name"] for step in reversed(steps) for note in notes_about(step["name"])}
    about |= {note.number: "" for note in notes_about("stacks.encoder")}  # the last step: of models of this kind
    assert messages == about
    assert messages["C-35"] == "encoder.blocks.0.self_attention.may_look"
    assert sum(len(step["notes"]) for step in steps) == len(messages) > 15
    lines = run("explain", drawn, SENTENCE, "--notes").out.splitlines()
    assert [line.split()[1].rstrip(":") for line in lines if line.startswith("   Note ")] == list(messages)


def test_the_corrections_of_the_slides_come_first_and_the_others_name_their_document(run: Run, drawn: Path) -> None:
    for step in run("explain", drawn, SENTENCE, "--notes", "--json").records:
        said_by = {note.number: note.said_by for note in notes()}
        elsewhere = ["slides" not in said_by[number] for number, *_ in step["notes"]]
        assert elsewhere == sorted(elsewhere)
        for number, _, documents in step["notes"]:
            assert all(name in documents for name in said_by[number]) != ("slides" in said_by[number])


@pytest.mark.parametrize(
    ("width", "options"),
    [
        (40, ("--notes",)),
        (40, ("--cell", WEIGHT)),
        (80, ("--notes",)),
        (60, ("--cell", WEIGHT)),
        (120, ("--cell", WEIGHT)),
    ],
)
def test_explain_fits_the_screen(
    run: Run, drawn: Path, monkeypatch: pytest.MonkeyPatch, width: int, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = run("explain", drawn, SENTENCE, *options)
    assert max(map(len, [*done.out.splitlines(), *done.err.splitlines()])) <= width


def test_a_cell_of_a_model_with_long_names_fits_the_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    cell = "encoder.0.attention.weights[head=1,query=[MASK],key=cat]"
    done = run("explain", "english", "the cat sat on the [MASK] .", "--cell", cell)
    assert "numbers" in done.out
    assert max(map(len, [*done.out.splitlines(), *done.err.splitlines()])) <= 40


def test_several_texts_are_one_batch(run: Run, drawn: Path) -> None:
    texts = (SENTENCE, "He loves to [MASK] healthy", "They go hiking quite [MASK]")
    steps = run("explain", drawn, *texts, "--sentence", "1", "--word", "cook", "--json").records
    assert [len(table["rows"]) for table in steps[0]["tables"]] == [5, 5, 5]
    named = {step["name"]: step for step in steps}
    assert named["encoder.embed.sum"]["sizes"] == [3, 5, 6]
    assert {(cell["cell"]["sentence"], cell["cell"]["token"]) for cell in named["encoder.embed.sum"]["cells"]} == {
        (1, 3)
    }
    assert len(named["head.logits"]["tables"][0]["header"]) == 4
    done = run("explain", drawn, *texts, "--sentence", "3")
    assert (done.code, done.out) == (2, "")
    assert "--sentence counts from 0 to 2; got 3" in done.err


def test_explain_follows_one_number_home(run: Run, drawn: Path) -> None:
    done = run("explain", drawn, SENTENCE, "--cell", WEIGHT)
    assert done.out.startswith("encoder.blocks.0.self_attention.weights[head=1,query=(likes),key=She] = ")
    assert "encoder.embed.word[" in done.out
    records = run("explain", drawn, SENTENCE, "--cell", WEIGHT, "--json").records
    assert records[0]["value"] == pytest.approx(
        load(drawn).trace(SENTENCE)["encoder.blocks.0.self_attention.weights"][0, 1, 1, 0].item()
    )
    (cut, *_) = run("explain", drawn, SENTENCE, "--cell", WEIGHT, "--json", "--terms", "2").records
    assert (len(cut["terms"]), cut["terms_left_out"]) == (2, 3)
    total = sum(term["value"] for term in records[0]["terms"])
    assert sum(term["value"] for term in cut["terms"]) + cut["sum_left_out"] == pytest.approx(total)
    assert "3 more" in run("explain", drawn, SENTENCE, "--cell", WEIGHT, "--terms", "2").out


def test_explain_of_a_mixed_vector_lists_each_words_share(run: Run, drawn: Path) -> None:
    cell = "encoder.blocks.0.self_attention.mixed[head=0,query=She,channel=0]"
    done = run("explain", drawn, SENTENCE, "--cell", cell)
    assert "each word's share" in done.out
    assert done.out.count("absent: masked") >= 2


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("encoder.blocks.0.self_attention.wieghts[head=0,query=She,key=She]", "did you mean"),
        ("encoder.blocks.0.self_attention.weights[head=0,query=nobody,key=She]", "there is no query 'nobody'"),
        ("encoder.blocks.0.self_attention.weights[head=7,query=She,key=She]", "head"),
    ],
)
def test_explain_of_a_cell_that_is_not_there(run: Run, drawn: Path, cell: str, message: str) -> None:
    done = run("explain", drawn, SENTENCE, "--cell", cell)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("word", ["summer", "3", "summer@3", '"summer"'])
def test_explain_of_a_word_or_its_place(run: Run, drawn: Path, word: str) -> None:
    steps = {step["name"]: step for step in run("explain", drawn, SENTENCE, "--word", word, "--json").records}
    cells = steps["encoder.blocks.0.self_attention.scores"]["cells"]
    assert {cell["cell"]["query"] for cell in cells} == {3}


@pytest.mark.long
def test_explain_begins_with_what_the_word_looks_at(run: Run, tmp_path: Path) -> None:
    """In ten lines; then no word of the sentence is left out, and the page opens at the clearest head."""
    text = "The animal did not cross the street because it was too tired"
    done = run("explain", "english", text, "--word", "it")
    lines = done.out.splitlines()
    first = lines[: lines.index("")]
    assert len(first) == 10
    assert "more words" not in done.out
    found = load("english").trace(text)
    it = found.words.inputs[0].index("it")
    clearest = max(
        (float(found.tensor(name)[0, head, it, key]), name, head, key)
        for name in found.statement.formulas
        if name.endswith("self_attention.weights")
        for head in range(found.tensor(name).shape[1])
        for key in range(1, 13)
        if key != it
    )
    _, name, head, key = clearest
    assert f"block {name.split('.')[2]}, self-attention, head {head}: {found.words.inputs[0][key]}" in first[1]
    run("explain", "english", text, "--word", "it", "--html", tmp_path / "it.html")
    place = f"#level=number&amp;tensor={name}&amp;cell=0,{head},{it},{key}&amp;sentence=0"
    assert f'data-place="{place}"' in (tmp_path / "it.html").read_text()


@pytest.mark.parametrize("word", ["likes", "(likes)", "[MASK]@1"])
def test_explain_of_a_hidden_word_works_out_its_logits(run: Run, drawn: Path, word: str) -> None:
    steps = {step["name"]: step for step in run("explain", drawn, SENTENCE, "--word", word, "--json").records}
    assert {cell["cell"]["place"] for cell in steps["head.logits"]["cells"]} == {0}
    assert len(steps["head.logits"]["cells"]) == 15


@pytest.mark.parametrize(
    ("words", "ignored"),
    [
        (("explain", SENTENCE, "--html", "p.html", "--json"), "--json"),
        (("explain", SENTENCE, "--html", "p.html", "--notes"), "--notes"),
        (("explain", SENTENCE, "--html", "p.html", "--cell", WEIGHT), "--cell"),
        (("explain", SENTENCE, "--html", "p.html", "--terms", "2"), "--terms"),
        (("explain", SENTENCE, "--write", "2", "--word", "She"), "--word"),
        (("explain", SENTENCE, "--write", "2", "--html", "p.html", "--attention", "0.1"), "--attention"),
        (("embed", SENTENCE, "--compare-word", "She", "--strategy", "first"), "--strategy"),
        (("embed", SENTENCE, "--compare-word", "She", "--per-word"), "--per-word"),
    ],
)
def test_an_option_without_an_effect_is_refused(
    run: Run, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], ignored: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(words[0], drawn, *words[1:])
    assert (done.code, done.out, list(tmp_path.iterdir())) == (2, "", [])
    assert done.err.startswith(f"glassformer: {ignored} is ")


def test_explain_of_a_model_with_two_heads_is_of_its_labels(run: Run, tmp_path: Path) -> None:
    tokenizer = load("next-sentence").tokenizer
    module = build(bert(size="tiny", vocabulary=tokenizer.vocabulary_size, layers=1, sentence_labels=2))
    gf.Model(module, tokenizer, task=BertSection(), length=32).save(tmp_path / "both")
    step, *_ = run("explain", tmp_path / "both", "It rains.", "--pair", "I am wet.", "--json").records
    assert step["attributions"]["label"] in load(tmp_path / "both").labels


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("5", "--word counts from 0 to 4; got 5"),
        ("-1", "--word counts from 0 to 4; got -1"),
        ("sumer", "did you mean 'summer'"),
        ("[MASK]", "write --word [MASK]@1, --word [MASK]@2"),
        ("[MASK]@3", "write --word [MASK]@1, --word [MASK]@2"),
    ],
)
def test_explain_of_a_word_that_is_not_there_or_occurs_twice(run: Run, drawn: Path, word: str, message: str) -> None:
    done = run("explain", drawn, SENTENCE, "--word", word)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_texts_to_look_at_are_read_from_standard_input(run: Run, drawn: Path) -> None:
    typed = f"{SENTENCE}\n\nHe loves to cook\n".encode()
    walked = run("explain", drawn, "-", stdin=typed)
    assert walked.out == run("explain", drawn, SENTENCE).out + run("explain", drawn, "He loves to cook").out
    assert [record["text"] for record in run("verify", drawn, "-", "--json", stdin=typed).records] == [
        SENTENCE,
        "He loves to cook",
    ]


@pytest.mark.parametrize("verb", ["explain", "verify"])
def test_nothing_on_standard_input_cannot_be_looked_at(run: Run, drawn: Path, verb: str) -> None:
    done = run(verb, drawn, "-", stdin=b"\n")
    assert (done.code, done.out) == (2, "")
    assert "a text is needed; got nothing on standard input" in done.err


@pytest.mark.parametrize("verb", ["explain", "verify"])
def test_a_text_of_blanks_has_nothing_inside(run: Run, drawn: Path, verb: str) -> None:
    done = run(verb, drawn, "  ")
    assert (done.code, done.out) == (2, "")
    assert "a text with at least one word is needed; got '  '" in done.err


def test_verify(run: Run, trained: Path) -> None:
    done = run("verify", trained, TEXT)
    assert done.code == 0
    assert done.out.count("✓") == 3
    (record,) = run("verify", trained, TEXT, "--precision", "float64", "--json").records
    assert record["holds"]
    assert record["limit"] == 1e-12
    assert max(record["formulas"].values()) <= 1e-12
    assert record["independence"]["padding"] <= 1e-12


@pytest.mark.parametrize("text", ["[MASK]", "[MASK] [MASK] [MASK]", SENTENCE])
def test_verify_where_words_are_no_keys(run: Run, drawn: Path, text: str) -> None:
    """A text of nothing but masked words looks at itself, not at the padding after it."""
    done = run("verify", drawn, text)
    assert (done.code, done.out.count("✓")) == (0, 3), done.out


def test_verify_fails_with_1_when_a_formula_does_not_hold(
    run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glassformer.look.trace.verify import Verification

    monkeypatch.setattr(Verification, "holds", property(lambda self: False))
    done = run("verify", trained, TEXT)
    assert done.code == 1
    assert "✗" in done.out
