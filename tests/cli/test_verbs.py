"""Each verb on a model that the command line itself has trained."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glassformer.artefact.open import load
from glassformer.cli.texts import records, together
from glassformer.demo.notes import notes_about
from glassformer.models.inputs import Inputs
from glassformer.tasks.score import interval

Run = Callable[..., Any]
TEXT = "She [MASK] the summer [MASK]."


def test_train_leaves_a_model_and_says_where(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--steps", "2", "--size", "tiny", "--vocabulary", "100", "--length", "16", "--batch", "2"]
    first = run("train", "masked-lm", text_file, *words)
    assert (first.code, first.out) == (0, "runs/masked-lm\n")
    assert "step 2: loss" in first.err
    assert load("runs/masked-lm").recipe is not None
    second = run("train", "masked-lm", text_file, *words, "--json", "--set", "train.seed=5")
    (record,) = second.records
    assert record["model"] == "runs/masked-lm-2"
    assert record["steps"] == 2
    assert record["scores"]["targets"] > 0


def test_train_with_a_recipe_file(run: Run, text_file: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        f'[task]\nname = "masked-lm"\n[data]\nfiles = ["{text_file}"]\nlength = 16\n'
        '[tokenizer]\nkind = "words"\nvocabulary = 40\n'
        '[model]\nsize = "tiny"\n[train]\nsteps = 9\nbatch = 2\n'
    )
    done = run("train", recipe, "--set", "train.steps=1", "--out", tmp_path / "out")
    assert done.code == 0
    model = load(tmp_path / "out")
    assert model.metrics["steps"] == 1
    assert model.tokenizer.vocabulary_size <= 40


def test_steps_asked_for_are_not_cut_short_by_the_recipes_minutes(trained: Path) -> None:
    recipe = load(trained).recipe
    assert recipe is not None
    assert (recipe.train.steps, recipe.train.minutes, recipe.train.seed) == (4, None, 3)


def test_what_is_to_be_tried_can_be(run: Run, text_file: Path, tmp_path: Path) -> None:
    small = ["--steps", "1", "--vocabulary", "100", "--length", "16"]
    for words in (["slides", "--steps", "1"], ["masked-lm", text_file, "--size", "tiny", *small]):
        out = tmp_path / f"my {words[0]}"
        done = run("train", *words, "--out", out)
        _, told = done.err.splitlines()[-1].split("saved. Try: glassformer ")
        assert run(*shlex.split(told)).code == 0
        (shown,) = [line for line in (out / "README.md").read_text().splitlines() if "model.fill(" in line]
        assert json.loads(shown.removeprefix("print(model.fill(").removesuffix(").filled)")) == shlex.split(told)[-1]


def test_resuming_where_there_is_no_run_begins_one_and_says_so(run: Run, tmp_path: Path) -> None:
    words = ["train", "slides", "--steps", "1", "--out", tmp_path / "run", "--resume"]
    told = f"there is no run in {tmp_path / 'run'} to go on with: a new one begins"
    first, second = run(*words), run(*words)
    assert (first.code, second.code) == (0, 0)
    assert told in first.err
    assert told not in second.err


def test_a_run_is_resumed_by_its_folder_alone(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run("train", "slides", "--steps", "3", "--out", folder).code == 0
    done = run("train", "--resume", "--out", folder, "--steps", "5")
    assert (done.code, done.out.strip()) == (0, str(folder))
    assert "going on after step 3" in done.err
    done = run("train", "--resume", "--out", folder)
    assert "going on after step 5" in done.err
    other = run("train", "--resume", "--out", folder, "--set", "model.settings.dropout=0.5")
    assert (other.code, "model.settings" in other.err) == (2, True)


def test_resuming_without_a_recipe_where_there_is_no_run_is_refused(run: Run, tmp_path: Path) -> None:
    for words in ([], ["--resume"], ["--out", tmp_path / "run"], ["--resume", "--out", tmp_path / "run"]):
        done = run("train", *words)
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert "--resume" in done.err or str(tmp_path / "run") in done.err
    assert list(tmp_path.iterdir()) == []


def test_damaged_metrics_are_noted(run: Run, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    (folder / "metrics.json").write_text("{")
    done = run("fill", folder, "She likes the [MASK].")
    assert done.code == 0
    assert str(folder / "metrics.json") in done.err


def test_plan_tells_and_leaves_nothing(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["plan", "masked-lm", text_file, "--steps", "7", "--size", "tiny", "--vocabulary", "100"]
    words += ["--length", "16", "--batch", "2"]
    (record,) = run(*words, "--json").records
    assert record["steps"] == 7
    assert record["seconds"] > 0
    shown = run(*words)
    assert f"{record['parameters']:,}" in shown.out
    assert "7 steps" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_train_goes_on_from_a_saved_model(run: Run, trained: Path, text_file: Path, tmp_path: Path) -> None:
    words = ["--steps", "1", "--length", "16", "--batch", "2", "--out", tmp_path / "tuned"]
    assert run("train", "masked-lm", text_file, "--start", trained, *words).code == 0
    before, after = load(trained), load(tmp_path / "tuned")
    assert after.config == before.config
    assert after.tokenizer.vocabulary() == before.tokenizer.vocabulary()


# --------------------------------------------------------------------------- fill and score


def test_fill_draws_a_table(run: Run, trained: Path) -> None:
    done = run("fill", trained, TEXT, "--top", "2")
    assert (done.code, done.err) == (0, "")
    model = load(trained)
    filled = model.fill(TEXT, top=2)
    assert "[MASK] 1" in done.out
    assert "[MASK] 2" in done.out
    assert f"→ {filled.filled}" in done.out
    for mask in filled.masks:
        for guess in mask.guesses:
            assert guess.word in done.out
            assert f"{guess.probability:.1%}" in done.out


def test_fill_as_json_has_offsets_into_the_text_given(run: Run, trained: Path) -> None:
    (record,) = run("fill", trained, TEXT, "--json", "-k", "3").records
    assert record["text"] == TEXT
    assert [TEXT[mask["start"] : mask["end"]] for mask in record["masks"]] == ["[MASK]", "[MASK]"]
    assert [len(mask["guesses"]) for mask in record["masks"]] == [3, 3]
    assert record["masks"][0]["guesses"][0].keys() == {"word", "token", "probability", "joins"}


def test_many_texts_in_order_from_everywhere(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("first [MASK]\n\nsecond [MASK]\n")
    (tmp_path / "rows.jsonl").write_text(json.dumps({"said": "third [MASK]"}) + "\n")
    typed = b"".join(f"line {number} [MASK]\n".encode() for number in range(70))  # more than one batch
    files = ["--file", tmp_path / "lines.txt"]
    done = run("fill", trained, "zero [MASK]", "-", *files, "--json", stdin=typed)
    order = [record["text"] for record in done.records]
    assert order == ["zero [MASK]", *(f"line {number} [MASK]" for number in range(70)), "first [MASK]", "second [MASK]"]
    table = run("fill", trained, "--file", tmp_path / "rows.jsonl", "--column", "said", "--json")
    assert [record["text"] for record in table.records] == ["third [MASK]"]


def test_a_line_is_answered_before_the_next_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[object] = []

    class Typed(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            happened.append("wait")
            return self.read(7)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Typed(b"one\ntwo\n\nthree\nfour")))
    for batch in together(records(["zero", "-"], None, {"text": "text"})):
        happened.append([each.values["text"] for each in batch])  # noqa: PERF401 - the loop itself adds to the list
    assert happened == ["wait", ["zero", "one"], "wait", ["two"], "wait", ["three"], "wait", ["four"]]


def test_results_to_a_file(run: Run, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    done = run("fill", trained, TEXT, "--json", "--out", out)
    assert (done.code, done.out) == (0, "")
    before = out.read_text(encoding="utf-8")
    assert json.loads(before)["text"] == TEXT
    assert run("fill", trained, "no mask here", "--json", "--out", out).code == 2
    assert out.read_text(encoding="utf-8") == before  # what was there is kept
    assert [path.name for path in tmp_path.iterdir()] == ["answers.jsonl"]


def test_a_long_text_is_read_in_windows_and_that_is_said(run: Run, trained: Path) -> None:
    text = "She likes the summer better than the winter . " * 9 + "[MASK]"
    for verb in ("fill", "score"):
        done = run(verb, trained, text, "--json")
        assert done.code == 0
        assert "the 24 tokens" in done.err
        assert f"cut into {done.records[0]['windows']} windows" in done.err


def test_score(run: Run, trained: Path) -> None:
    text = "She likes the summer."
    (record,) = run("score", trained, text, "--json").records
    assert record["total"] == pytest.approx(sum(token["log_probability"] for token in record["tokens"]))
    shown = run("score", trained, text)
    assert f"pseudo-log-likelihood {record['total']:.3f} over {len(record['tokens'])} tokens" in shown.out
    assert f"perplexity {record['perplexity']:.2f}" in shown.out


def test_brackets_in_a_text_are_no_markup(run: Run, trained: Path) -> None:
    text = "[bold]She[/bold] [MASK] [/red]"
    assert text in run("fill", trained, text).out
    assert text in run("score", trained, text).out


# --------------------------------------------------------------------------- evaluate, info


def test_evaluate_reads_the_tables_of_a_folder_where_masks_stand_in_the_text(
    run: Run, drawn: Path, tmp_path: Path
) -> None:
    (tmp_path / "about.txt").write_text("what these tables are")
    (tmp_path / "more.jsonl").write_text('{"text": "She [MASK] the summer better", "answers": ["likes"]}\n')
    (record,) = run("evaluate", drawn, tmp_path, "--json").records
    assert record["targets"] == 1


def test_evaluate_finds_the_held_out_text_again(run: Run, trained: Path, text_file: Path) -> None:
    scores = load(trained).metrics["scores"]
    (record,) = run("evaluate", trained, "--json").records
    # The same words were masked; they were asked in other batches, which may round otherwise.
    assert record == pytest.approx(scores, rel=1e-5)
    shown = run("evaluate", trained)
    assert f"{scores['loss']:.4f}" in shown.out
    assert f"{scores['unigram_loss']:.4f}" in shown.out
    (all_of_it,) = run("evaluate", trained, text_file, "--json").records
    assert all_of_it["targets"] > record["targets"]


def test_evaluate_shows_systems_side_by_side(run: Run, trained: Path) -> None:
    """Scores are rows, the model and its baselines are columns; a share of trials has its interval."""
    scores = load(trained).metrics["scores"]
    head, *lines = [line for line in run("evaluate", trained).out.splitlines() if line.strip(" ─")]
    assert head.split() == ["this", "model", "unigram"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[:-1]}
    assert rows.keys() == {"loss", "perplexity", "accuracy"}
    assert rows["loss"] == [f"{scores['loss']:,.4f}", f"{scores['unigram_loss']:,.4f}"]
    low, high = interval(scores["accuracy"], scores["targets"])
    assert rows["accuracy"] == [
        f"{scores['accuracy']:.2%}",
        f"({low:.2%}",
        "…",
        f"{high:.2%})",
        f"{scores['unigram_accuracy']:.2%}",
    ]
    assert f"{scores['targets']:,.0f} " in lines[-1]


def test_info(run: Run, trained: Path, text_file: Path) -> None:
    (record,) = run("info", trained, "--json").records
    model = load(trained)
    count = sum(parameter.numel() for parameter in model.module.parameters())
    assert record["parameters"]["all"] == count == sum(record["parameters"].values()) / 2
    assert record["tokenizer"]["tokens"] == model.tokenizer.vocabulary_size
    assert record["reads_at_once"] == 22
    shown = run("info", trained).out
    for told in (f"{count:,}", "encoder.blocks", "float32", "22 ", str(text_file), "[MASK]", "masked-lm"):
        assert told in shown
    assert "not in this document" not in shown


def test_info_of_the_slides_says_what_they_do_not_draw(run: Run, drawn: Path) -> None:
    from glassformer.models.families import SLIDES_DO_NOT_DRAW

    shown = run("info", drawn).out
    assert "not in this document" in shown
    for name in SLIDES_DO_NOT_DRAW:
        assert name in shown
    assert "train --set model.settings.norm=true" in shown


# --------------------------------------------------------------------------- explain, verify

WEIGHT = "encoder.blocks.0.self_attention.weights[head=1,query=likes,key=She]"
SENTENCE = "She [MASK] [MASK] summer better"


def test_explain_at_the_board(run: Run, drawn: Path) -> None:
    done = run("explain", drawn, SENTENCE)
    assert done.code == 0
    titles = [line for line in done.out.splitlines() if line[:1].isdigit()]
    assert len(titles) > 15
    assert "[MASK]@1" in done.out
    assert "Looking does not change the answer" in done.err
    assert "Note C-2" not in done.out
    assert len(run("explain", drawn, SENTENCE, "--json").records) == len(titles)


def test_explain_tells_each_correction_once_at_the_first_tensor_it_is_about(run: Run, drawn: Path) -> None:
    steps = run("explain", drawn, SENTENCE, "--notes", "--json").records
    told = {number: step["name"] for step in steps for number, _ in step["notes"]}
    about = {note.number: step["name"] for step in reversed(steps) for note in notes_about(step["name"])}
    assert told == about
    assert told["C-35"] == "encoder.blocks.0.self_attention.may_look"
    assert sum(len(step["notes"]) for step in steps) == len(told) > 15
    lines = run("explain", drawn, SENTENCE, "--notes").out.splitlines()
    assert [line.split()[1].rstrip(":") for line in lines if line.startswith("   Note ")] == list(told)


def test_explain_follows_one_number_home(run: Run, drawn: Path) -> None:
    done = run("explain", drawn, SENTENCE, "--cell", WEIGHT)
    assert done.out.startswith("encoder.blocks.0.self_attention.weights[head=1,query=[MASK]@1,key=She] = ")
    assert "encoder.embed.word[" in done.out
    records = run("explain", drawn, SENTENCE, "--cell", WEIGHT, "--json").records
    assert records[0]["value"] == pytest.approx(
        load(drawn).trace(SENTENCE)["encoder.blocks.0.self_attention.weights"][0, 1, 1, 0].item()
    )


def test_explain_of_a_mixed_vector_lists_each_words_share(run: Run, drawn: Path) -> None:
    cell = "encoder.blocks.0.self_attention.mixed[head=0,query=She,channel=0]"
    done = run("explain", drawn, SENTENCE, "--cell", cell)
    assert "each word's share" in done.out
    assert done.out.count("absent: masked") >= 2


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("encoder.blocks.0.self_attention.wieghts[head=0,query=She,key=She]", "did you mean"),
        ("encoder.blocks.0.self_attention.weights[head=0,query=nobody,key=She]", "there is no query 'nobody'"),
        ("encoder.blocks.0.self_attention.weights[head=7,query=She,key=She]", "head"),
    ],
)
def test_explain_of_a_cell_that_is_not_there(run: Run, drawn: Path, cell: str, told: str) -> None:
    done = run("explain", drawn, SENTENCE, "--cell", cell)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_explain_of_a_word_that_is_not_there(run: Run, drawn: Path) -> None:
    done = run("explain", drawn, SENTENCE, "--word", "5")
    assert (done.code, done.out) == (2, "")
    assert "--word counts from 0 to 4; got 5" in done.err


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
    (record,) = run("verify", trained, TEXT, "--dtype", "float64", "--json").records
    assert record["holds"]
    assert record["limit"] == 1e-12
    assert max(record["formulas"].values()) <= 1e-12
    assert record["independence"]["padding"] <= 1e-12


@pytest.mark.parametrize("text", ["[MASK]", "[MASK] [MASK] [MASK]", SENTENCE])
def test_verify_where_words_are_no_keys(run: Run, drawn: Path, text: str) -> None:
    """A text of nothing but masked words looks at itself, not at the padding behind it."""
    done = run("verify", drawn, text)
    assert (done.code, done.out.count("✓")) == (0, 3), done.out


def test_verify_fails_with_1_when_a_formula_does_not_hold(
    run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glassformer.look.verify import Verification

    monkeypatch.setattr(Verification, "holds", property(lambda self: False))
    done = run("verify", trained, TEXT)
    assert done.code == 1
    assert "✗" in done.out


# --------------------------------------------------------------------------- import, export


def test_out_to_hugging_face_and_back_to_the_bit(run: Run, trained: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "theirs", tmp_path / "ours"
    assert run("export", trained, there).out == f"{there}\n"
    assert run("import", there, back).out == f"{back}\n"
    said = run("export", trained, tmp_path / "theirs too", "--json")
    assert said.records == [{"model": str(tmp_path / "theirs too"), "format": "huggingface"}]
    (record,) = run("import", there, tmp_path / "ours too", "--json").records
    assert (record["model"], record["family"]) == (str(tmp_path / "ours too"), "modernbert")
    assert record["architecture"] == "ModernBertForMaskedLM"
    assert all(isinstance(reason, str) for reason in {**record["settings_aside"], **record["tensors_aside"]}.values())
    card = (back / "README.md").read_text(encoding="utf-8")
    assert 'gf.load("ours")' in card
    assert str(tmp_path) not in card
    before, after = load(trained), load(back)
    state = dict(after.module.named_parameters())
    assert all(torch.equal(parameter, state[name]) for name, parameter in before.module.named_parameters())
    assert after.config == before.config
    assert load(there).config == before.config  # read as it is, too
    one, two = run("fill", trained, TEXT, "--json"), run("fill", there, TEXT, "--json")
    assert [mask["guesses"] for mask in one.records[0]["masks"]] == [
        mask["guesses"] for mask in two.records[0]["masks"]
    ]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_a_roberta_of_ours_can_be_exported(run: Run, text_file: Path, tmp_path: Path, kind: str) -> None:
    """Hugging Face's begins its positions after the padding, whose id is the tokenizer's choice."""
    words = ["--family", "roberta", "--steps", "1", "--length", "24", "--vocabulary", "300"]
    words += [f"--set=tokenizer.kind={kind}", "--set=train.compile=off", "--set=model.settings.layers=1"]
    words += ["--set=model.settings.width=16", "--set=model.settings.heads=2", "--set=model.settings.feed_forward=32"]
    assert run("train", "masked-lm", text_file, *words, "--out", tmp_path / "run").code == 0
    assert run("export", tmp_path / "run", tmp_path / "theirs").code == 0
    ours, theirs = load(tmp_path / "run"), transformers.RobertaForMaskedLM.from_pretrained(tmp_path / "theirs").eval()
    assert theirs.config.pad_token_id == ours.tokenizer.pad_id
    ids = torch.tensor([ours.tokenizer.encode("She likes the summer").ids])
    with torch.no_grad():
        mine, his = ours.module(Inputs(ids=ids)).logits, theirs(ids).logits
    assert mine is not None
    assert float((mine - his).abs().max()) < 1e-5  # float32, sums in another order


@pytest.mark.parametrize("target", ["trained", "imported", "theirs"])
@pytest.mark.parametrize("verb", ["import", "export", "train", "train --resume"])
def test_nothing_is_written_over_a_model(
    run: Run, trained: Path, text_file: Path, tmp_path: Path, verb: str, target: str
) -> None:
    theirs, out = tmp_path / "theirs", tmp_path / target
    assert run("export", trained, theirs).code == 0
    if target == "trained":  # without its checkpoints: nothing that a training could go on from
        shutil.copytree(trained, out, ignore=shutil.ignore_patterns("checkpoints"))
    elif target == "imported":
        assert run("import", theirs, out).code == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    training = ["train", "masked-lm", text_file, "--steps", "1", "--size", "tiny", "--out", out]
    words: dict[str, list[object]] = {
        "import": ["import", theirs, out],
        "export": ["export", trained, out],
        "train": training,
        "train --resume": [*training, "--resume"],
    }
    done = run(*words[verb])
    assert (done.code, done.out) == (2, "")
    assert f"needs a folder without a model; got {out}, which holds a model; choose another folder" in done.err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_family_that_hugging_face_does_not_have(run: Run, drawn: Path, tmp_path: Path) -> None:
    done = run("export", drawn, tmp_path / "theirs")
    assert done.code == 2
    assert "'slides'" in done.err
    assert not (tmp_path / "theirs").exists()
