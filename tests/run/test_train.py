"""Recipes to models, whole: text in, saved model out, and what is done with it."""

import json
import math
from pathlib import Path

import pytest
import torch

import glassformer
from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import ConfigError
from glassformer.run.evaluate import evaluate
from glassformer.run.prepare import prepare_run
from glassformer.saved.recipe import resolve
from glassformer.training.progress import ConsoleProgress, NoProgress
from tests.refusals import refused
from tests.run.runs import Listener, recipe, weights


def test_text_in_answers_out(run: Model, tmp_path: Path) -> None:
    again = glassformer.load(tmp_path / "run")
    assert all(torch.equal(tensor, weights(again)[name]) for name, tensor in weights(run).items())
    filled = again.fill("She [MASK] the summer", top=3)
    assert filled == run.fill("She [MASK] the summer", top=3)
    assert len(filled.masks[0].guesses) == 3
    assert (again.length, again.max_text_tokens) == (24, 22)
    assert again.recipe is not None
    assert again.recipe.train.steps == 6


def test_the_scores_can_be_measured_again(run: Model, text_file: Path, tmp_path: Path) -> None:
    again = load(tmp_path / "run")
    assert again.evaluate() == run.metrics["scores"]
    assert run.metrics["measured_on"] == "held-out text"
    # All of the text, training side included: more words than were held out.
    everything = again.evaluate(text_file)
    assert everything["targets"] > run.metrics["scores"]["targets"]
    assert {"loss", "perplexity", "accuracy", "unigram_loss"} <= everything.keys()


def test_a_text_that_is_another_by_now_is_reported_and_leaves_the_model_as_it_is(
    run: Model, text_file: Path, tmp_path: Path
) -> None:
    folder, listener = tmp_path / "run", Listener()
    before = sorted(folder.rglob("*"))
    assert evaluate(load(folder), progress=listener).flat() == run.metrics["scores"]
    assert listener.notes == []
    text_file.write_text(text_file.read_text(encoding="utf-8").replace("She", "They"), encoding="utf-8")
    assert evaluate(load(folder), progress=listener).flat() != run.metrics["scores"]
    assert [note for note in listener.notes if "has changed since training" in note]
    assert sorted(folder.rglob("*")) == before


def test_the_unigram_is_that_of_the_training_text(run: Model, tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.json"
    counts = json.loads(path.read_text(encoding="utf-8"))["unigram_counts"]
    assert len(counts) == run.tokenizer.vocabulary_size
    assert sum(counts) > 500
    other = tmp_path / "other.txt"
    other.write_text("\n\n".join(["They go to the winter mountains."] * 9), encoding="utf-8")
    known = run.evaluate(other)
    run.metrics = {}
    listener = Listener()
    counted_there = evaluate(run, [other], progress=listener)
    assert any("counted on the measured text" in note for note in listener.notes)
    assert counted_there["loss"] == known["loss"]
    assert counted_there["unigram_loss"] < known["unigram_loss"]


def test_the_card_says_what_is_known(run: Model, tmp_path: Path) -> None:
    card = run.card
    assert card.startswith("# run\n")
    assert "* Files: prose.txt" in card
    assert "* Licence: CC0 1.0" in card
    assert "of the documents, chosen by a hash of their text" in card
    assert f"| all | {sum(tensor.numel() for tensor in weights(run).values()):,} |" in card
    for score in ("loss", "perplexity", "unigram_loss"):
        low, high = run.metrics["intervals"][score]
        shown = f"{run.metrics['scores'][score]:,.3f} ({low:,.3f} … {high:,.3f})"
        assert f"| {score.replace('_', ' ')} | {shown} |" in card
    assert "rows of 24 " in card
    assert 'gf.load("run")' in card
    assert str(tmp_path) not in card  # a reader need not know on which machine it was


def test_a_card_gives_each_score_the_interval_of_its_own_count(text_file: Path, tmp_path: Path) -> None:
    """There are fewer pairs than masked words, so their accuracy varies more."""
    model = train(recipe(text_file) | {"task": {"name": "bert"}}, out=tmp_path / "pairs", progress=Listener())
    assert model.metrics["intervals"].keys() == model.metrics["scores"].keys() - {"targets"}
    words, pairs = (model.metrics["intervals"][f"{of}_accuracy"] for of in ("masked_words", "next_sentence"))
    assert pairs[1] - pairs[0] > words[1] - words[0]


def test_a_card_without_a_licence_says_so_and_a_useless_model_is_called_one(text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file, learning_rate=1e-9)
    del values["data"]["licence"]
    model = train(values, out=tmp_path / "useless", progress=Listener())
    assert "* Licence: not stated" in model.card
    assert model.metrics["verdict"].startswith("worse")
    assert model.metrics["verdict"][1:] in model.card


def test_begin_from_an_earlier_model(run: Model, text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file, learning_rate=1e-9, steps=1)
    values["model"] = {"start": str(tmp_path / "run")}
    values.pop("tokenizer")
    tuned = train(values, out=tmp_path / "tuned", progress=NoProgress())
    assert tuned.tokenizer.vocabulary() == run.tokenizer.vocabulary()
    # One step with a rate of nearly nothing: the weights are still those it began from.
    for name, tensor in weights(run).items():
        assert torch.allclose(tensor, weights(tuned)[name], atol=1e-6)
    values["model"] = {"start": str(tmp_path / "run"), "size": "mini"}
    with pytest.raises(ConfigError) as caught:
        train(values, out=tmp_path / "refused", progress=NoProgress())
    assert "model.start" in caught.value.got
    assert "model.size" in caught.value.got


def test_a_tokenizer_that_is_there_is_not_said_to_be_learned(
    run: Model, text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = recipe(text_file) | {"tokenizer": {"file": str(tmp_path / "run" / "tokenizer.json")}}
    model = train(values, out=tmp_path / "second", progress=ConsoleProgress())
    assert model.tokenizer.vocabulary() == run.tokenizer.vocabulary()
    shown = capsys.readouterr().err
    assert "splitting the text into tokens" in shown
    assert "learning a vocabulary" not in shown


def test_vectors_are_used_and_stay_frozen(text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("summer " + " ".join(["0.5"] * 16) + "\n")
    values = recipe(text_file)
    values["model"] |= {"vectors": str(tmp_path / "glove.txt"), "freeze_vectors": True}
    listener = Listener()
    model = train(values, out=tmp_path / "run", progress=listener)
    assert any(note.startswith("1 of ") and note.endswith("frozen") for note in listener.notes)
    assert model.module.word_table[model.tokenizer.id("summer")].tolist() == [0.5] * 16


def test_files_that_are_held_out_whole(text_file: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.txt"
    held.write_text("\n\n".join(f"In winter she likes to cook, {number} times a day." for number in range(30)))
    values = recipe(text_file)
    values["data"]["validation_files"] = [str(held)]
    model = train(values, out=tmp_path / "run", progress=NoProgress())
    assert "* Held out: held.txt" in model.card
    assert load(tmp_path / "run").evaluate() == pytest.approx(model.metrics["scores"], rel=1e-5)
    # Nothing of the training files was held out as well.
    assert model.data is not None
    assert model.data.validation == 0.0
    assert model.evaluate(held) == pytest.approx(model.metrics["scores"], rel=1e-5)


@pytest.mark.parametrize("packed", [True, False])
def test_packed_or_a_row_for_each_document(text_file: Path, tmp_path: Path, packed: bool) -> None:
    values = recipe(text_file)
    values["data"]["pack"] = packed
    assert train(values, out=tmp_path / "run", progress=NoProgress()).metrics["scores"]["targets"] > 10


@pytest.mark.parametrize(
    ("chosen", "fill"),
    [
        ({"fill": -math.inf}, ("set", "-inf")),
        ({"fill": "-inf"}, ("set", "-inf")),
        ({"fill": "lowest"}, ("set", "lowest")),
        ({"fill_rule": "add"}, ("add", -1000.0)),
        ({"fill_rule": "add", "fill": -math.inf, "positions": "none"}, ("add", "-inf")),
    ],
)
def test_the_slides_with_another_fill(tmp_path: Path, chosen: dict[str, object], fill: tuple[str, object]) -> None:
    changes = {"train.steps": 2, **{f"model.settings.{name}": value for name, value in chosen.items()}}
    model = train("slides", out=tmp_path / "slides", set=changes, progress=NoProgress())
    reopened = load(tmp_path / "slides")
    for each in (model, reopened):
        stack = each.config.encoder
        assert stack is not None
        found = stack.blocks[0].self_attention.body.fill
        assert (found.rule, found.value) == fill
    trace = reopened.trace("She [MASK] [MASK] summer better")
    assert trace.verify().holds
    hidden = trace["encoder.blocks.0.self_attention.weights"][..., 1:3]
    assert hidden.max() < 1e-12


@pytest.mark.parametrize("fill", [math.nan, math.inf, 0.0, "minus", None])
def test_a_fill_that_hides_nothing_leaves_nothing_behind(tmp_path: Path, fill: object) -> None:
    with refused(ConfigError, wanted="fill"):
        train("slides", out=tmp_path / "slides", set={"model.settings.fill": fill}, progress=NoProgress())
    assert not (tmp_path / "slides").exists()


def test_torch_is_left_as_it_was(tmp_path: Path) -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    train("slides", out=tmp_path / "slides", set={"train.steps": 2, "train.threads": 3}, progress=NoProgress())
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_the_slides_know_their_four_words(tmp_path: Path) -> None:
    model = train("slides", out=tmp_path / "slides", set={"train.steps": 120}, progress=NoProgress())
    shown = ["She [MASK] [MASK] summer better", "He loves to [MASK] healthy", "They go hiking quite [MASK]"]
    said = [mask.guesses[0].word for filled in model.fill(shown, top=1) for mask in filled.masks]
    assert said == ["likes", "the", "cook", "often"]
    assert model.metrics["measured_on"] == "the training text"
    assert model.metrics["scores"]["accuracy"] == 1.0
    stated = {row["name"]: row for row in model.info()["not_in_this_document"]}
    assert not any(stated[name]["on"] for name in ("scaled", "norm", "biases", "layers", "dropout"))
    switched = train(
        "slides",
        out=tmp_path / "switched",
        set={f"model.settings.{name}": True for name in ("scaled", "norm", "biases", "feed_forward_residual")}
        | {"model.settings.layers": 2, "model.settings.dropout": 0.1, "train.steps": 1},
        progress=NoProgress(),
    )
    assert all(row["on"] for row in switched.info()["not_in_this_document"])


def test_a_trace_is_called_by_the_texts_own_words(run: Model) -> None:
    trace = run.trace("She likes the [MASK]")
    name = "encoder.blocks.0.self_attention.weights"
    weight = trace.explain(name, "head=0,query=she,key=likes")
    assert weight.value == pytest.approx(trace[name][0, 0, 1, 2].item())
    guess = run.fill("She likes the [MASK]", top=1).masks[0].guesses[0].word
    assert trace.explain(name, f'head=0,query="{guess}",key=she').cell["query"] == 4
    assert trace.verify().holds
    assert trace.honesty.holds


def test_independence_holds_and_would_notice(run: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.models import stack
    from glassformer.parts.mask import document_mask
    from glassformer.run.independence import independence

    assert independence(run, "She likes the summer").holds
    # Without the padding mask the padded text must answer otherwise.
    monkeypatch.setattr(stack, "padding", document_mask)
    module = type(run.module)(run.config)
    module.load_state_dict(run.module.state_dict())
    broken = Model(module, run.tokenizer)
    assert not independence(broken, "She likes the summer").holds


def test_a_text_that_fills_the_model_leaves_padding_untried(run: Model) -> None:
    from glassformer.run.independence import independence

    limit, frame = run.config.output_stack.max_length, sum(len(ids) for ids in run.tokenizer.frame_ids)
    assert limit is not None
    for words, tried in ((limit - frame - 1, True), (limit - frame, False)):
        own = independence(run, " ".join(["she"] * words))
        assert own.holds
        assert (own.padding is not None) == tried
        assert ("padding not measured" in str(own)) != tried


def test_a_vocabulary_that_has_to_be_larger_is_reported(text_file: Path, tmp_path: Path) -> None:
    listener = Listener()
    model = train(
        recipe(text_file, steps=1) | {"tokenizer": {"vocabulary": 8}}, out=tmp_path / "run", progress=listener
    )
    size = model.tokenizer.vocabulary_size
    assert size > 8
    (message,) = [note for note in listener.notes if f"a vocabulary of {size} " in note]
    assert "not 8:" in message


def test_nothing_was_held_out(text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file)
    values["data"]["validation"] = 0.0
    model = train(values, out=tmp_path / "run", progress=NoProgress())
    assert "* Held out: nothing" in model.card
    assert "No held-out text was used" in model.card
    with pytest.raises(ConfigError) as caught:
        model.evaluate()
    assert "all of its text" in caught.value.got
    assert "name files" in caught.value.do
    with pytest.raises(ConfigError) as caught:
        Model(model.module, model.tokenizer).evaluate()
    assert caught.value.got == "none"


def test_the_screen_shows_a_run(text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(recipe(text_file), out=tmp_path / "run", progress=ConsoleProgress())
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("learning a vocabulary of 160 ", "held out", "step 6: loss", "s/s", "held-out loss"):
        assert part in shown.err


def test_bars_on_a_terminal(text_file: Path, tmp_path: Path) -> None:
    import io

    from rich.console import Console

    paper = io.StringIO()
    screen = ConsoleProgress(Console(file=paper, force_terminal=True, width=100))
    train(recipe(text_file), out=tmp_path / "run", progress=screen)
    assert "6/6" in paper.getvalue()
    assert "loss" in paper.getvalue()


def test_more_words_are_masked_in_training_than_in_evaluation(run: Model, text_file: Path, tmp_path: Path) -> None:
    usual = recipe(text_file)
    changed = usual | {"task": {"name": "masked-lm", "training_rate": 0.45}}
    one, two = (
        prepare_run(resolve(each), tmp_path / name, NoProgress()) for name, each in (("one", usual), ("two", changed))
    )
    assert two.feed.batch(0).counts["masked_words"] > 2 * one.feed.batch(0).counts["masked_words"]
    assert one.held_out is not None
    assert two.held_out is not None
    assert two.held_out.batch(0).counts == one.held_out.batch(0).counts
    trained = train(changed, out=tmp_path / "more", progress=NoProgress())
    assert trained.metrics["scores"]["targets"] == run.metrics["scores"]["targets"]
    assert load(tmp_path / "more").evaluate() == trained.metrics["scores"]


@pytest.mark.long
def test_the_name_of_a_task_means_its_recipe_with_or_without_a_start(run: Model, tmp_path: Path) -> None:
    """Without one a small model, as the command makes it, not the large one whose weights a start would bring."""
    rows = "".join(f"the cat sat {number},a\nthe dog ran {number},b\n" for number in range(20))
    (file := tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    few = {"data.files": [str(file)], "data.length": 12, "train.steps": 1, "train.compile": "off"}
    alone = train("classify", out=tmp_path / "alone", set=few, progress=NoProgress())
    assert (alone.config.family, len(alone.config.output_stack.blocks), alone.config.output_stack.width) == (
        "modernbert", 2, 128,
    )  # fmt: skip
    start = str(run.save(tmp_path / "start"))
    tuned = train("classify", out=tmp_path / "tuned", set={**few, "model.start": start}, progress=NoProgress())
    assert tuned.config.output_stack == run.config.output_stack
    assert train("masked-lm", out=tmp_path / "words", set=few, progress=NoProgress()).task_name == "masked-lm"
