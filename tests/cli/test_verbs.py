"""Each verb on a model that the command line itself has trained."""

import io
import json
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.cli.terminal.readers import TableReader
from glassformer.cli.terminal.texts import batches, find_inputs, records

Run = Callable[..., Any]
TEXT = "She [MASK] the summer [MASK]."
CELL = "encoder.blocks.0.self_attention.weights[head=0,query=1,key=2]"


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
        _, output = done.err.splitlines()[-1].split("saved. Try: glassformer ")
        assert run(*shlex.split(output)).code == 0
        (shown,) = [line for line in (out / "README.md").read_text().splitlines() if "model.fill(" in line]
        assert json.loads(shown.removeprefix("print(model.fill(").removesuffix(").filled)")) == shlex.split(output)[-1]


def test_resuming_where_there_is_no_run_begins_one_and_says_so(run: Run, tmp_path: Path) -> None:
    words = ["train", "slides", "--steps", "1", "--out", tmp_path / "run", "--resume"]
    message = f"there is no run in {tmp_path / 'run'} to resume: a new one starts"
    first, second = run(*words), run(*words)
    assert (first.code, second.code) == (0, 0)
    assert message in " ".join(first.err.split())
    assert message not in " ".join(second.err.split())


def test_a_run_is_resumed_by_its_folder_alone(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run("train", "slides", "--steps", "3", "--out", folder).code == 0
    done = run("train", "--resume", "--out", folder, "--steps", "5")
    assert (done.code, done.out.strip()) == (0, str(folder))
    assert "continuing after step 3" in done.err
    done = run("train", "--resume", "--out", folder)
    assert (done.code, done.out.strip()) == (0, str(folder))
    assert "already ended, after step 5" in done.err
    assert "continuing" not in done.err
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


def test_plan_reports_and_leaves_nothing(
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
    table = run("fill", trained, "--file", tmp_path / "rows.jsonl", "--text-column", "said", "--json")
    assert [record["text"] for record in table.records] == ["third [MASK]"]


def test_a_line_is_answered_before_the_next_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[object] = []

    class Typed(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            happened.append("wait")
            return self.read(7)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Typed(b"one\ntwo\n\nthree\nfour")))
    for batch in batches(records(find_inputs(["zero", "-"], (), TableReader({"text": "text"})))):
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
        output = " ".join(done.err.split())
        assert " 24 that the model reads" in output
        assert f" {done.records[0]['windows']} parts" in output
        assert text[:30] in output  # which text it is


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


@pytest.mark.parametrize("words", [["fill"], ["score"], ["verify"], ["explain"], ["explain", "--cell", CELL]], ids=str)
def test_a_terminal_obeys_nothing_that_stands_in_a_text(run: Run, trained: Path, words: list[str]) -> None:
    """A colour, a title of the window, a bell, a carriage return, and a sequence that begins with one character."""
    text = "She \x1b[31mlikes\x1b]0;title\x07 the [MASK] \x9b2J\r summer"
    verb, *more = words
    done = run(verb, trained, text, *more)
    assert done.code == 0, done.err
    assert [sign for sign in done.out + done.err if sign != "\n" and unicodedata.category(sign) == "Cc"] == []
    if verb in ("fill", "score", "verify"):
        assert r"She \x1b[31mlikes\x1b]0;title\x07 the" in done.out


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
    assert {name: record[name] for name in scores} == pytest.approx(scores, rel=1e-5)
    shown = run("evaluate", trained)
    assert f"{scores['loss']:.4f}" in shown.out
    assert f"{scores['unigram_loss']:.4f}" in shown.out
    (all_of_it,) = run("evaluate", trained, text_file, "--json").records
    assert all_of_it["targets"] > record["targets"]


def test_evaluate_shows_systems_side_by_side(run: Run, trained: Path) -> None:
    """Scores are rows, the model and its baselines are columns; a share of trials has its interval."""
    scores, intervals = (load(trained).metrics[name] for name in ("scores", "intervals"))
    head, *lines = [line for line in run("evaluate", trained).out.splitlines() if line.strip(" ─")]
    assert head.split() == ["this", "model", "unigram"]
    table = takewhile(lambda line: not line.startswith("measured"), lines)
    rows = {line.split()[0]: line.split()[1:] for line in table}
    assert rows.keys() == {"loss", "perplexity", "accuracy"}
    low, high = intervals["loss"]
    bounds = [f"({low:,.4f}", "…", f"{high:,.4f})"]
    assert rows["loss"] == [f"{scores['loss']:,.4f}", *bounds, f"{scores['unigram_loss']:,.4f}"]
    low, high = intervals["accuracy"]
    assert rows["accuracy"] == [
        f"{scores['accuracy']:.2%}",
        f"({low:.2%}",
        "…",
        f"{high:.2%})",
        f"{scores['unigram_accuracy']:.2%}",
    ]
    assert f"{scores['targets']:,.0f} " in " ".join(lines[len(rows) :])


def test_info(run: Run, trained: Path, text_file: Path) -> None:
    (record,) = run("info", trained, "--json").records
    model = load(trained)
    count = sum(parameter.numel() for parameter in model.module.parameters())
    assert record["parameters"]["all"] == count == sum(record["parameters"].values()) / 2
    assert record["tokenizer"]["tokens"] == model.tokenizer.vocabulary_size
    assert record["reads_at_once"] == 22
    shown = run("info", trained).out
    for part in (f"{count:,}", "encoder.blocks", "float32", "22 ", str(text_file), "[MASK]", "masked-lm"):
        assert part in shown
    assert "not in this document" not in shown


def test_info_of_the_slides_says_what_they_do_not_draw(run: Run, drawn: Path) -> None:
    from glassformer.models.families import SLIDES_DO_NOT_DRAW

    shown = run("info", drawn).out
    assert "not in this document" in shown
    for name in SLIDES_DO_NOT_DRAW:
        assert name in shown


def test_the_commands_that_info_prints_do_what_they_say(run: Run, drawn: Path, tmp_path: Path) -> None:
    (record,) = run("info", drawn, "--json").records
    switches = {row["switch"]: row["name"] for row in record["not_in_this_document"]}
    printed = [line.strip() for line in run("info", drawn).out.splitlines() if line.startswith("  glassformer ")]
    assert printed == [switch for switch in switches if switch.startswith("glassformer ")]
    assert len(printed) > 3
    for number, command in enumerate(printed):
        out, words = tmp_path / str(number), shlex.split(command)[1:]
        assert run(*words, "--steps", "1", "--out", out).code == 0, command
        (changed,) = run("info", out, "--json").records
        on = {row["name"]: row["on"] for row in changed["not_in_this_document"]}
        assert on == {
            row["name"]: row["on"] or row["name"] == switches[command] for row in record["not_in_this_document"]
        }
