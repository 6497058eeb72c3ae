"""explain and verify of an encoder–decoder: a source and a target."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.models.families import t5
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights

Run = Callable[..., Any]

SOURCE, TARGET = "She likes the summer better", "He loves it"
SENTENCES = ("She likes the summer better than the winter.", "He loves it to cook healthy food for his friends.")
CELLS = {
    "decoder.blocks.0.cross_attention.query[head=1,query=he,channel=0]": "decoder.embed.word[",
    "decoder.blocks.0.cross_attention.key[head=1,key=summer,channel=0]": "encoder.embed.word[",
}


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny T5 with a decoder of one block."""
    tokenizer = train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=150)
    config = t5(layers=1, width=20, heads=2, feed_forward=10, query_size=4, vocabulary=tokenizer.vocabulary_size)
    module = random_weights(build(config), seed=0)
    return Model(module, tokenizer).save(tmp_path_factory.mktemp("models") / "t5")


def test_all_three_checks_hold_with_a_target(run: Run, translator: Path) -> None:
    done = run("verify", translator, SOURCE, "--target", TARGET)
    assert (done.code, done.out.count("✓")) == (0, 3), done.out
    (record,) = run("verify", translator, SOURCE, "--target", TARGET, "--json").records
    assert record["holds"]
    assert record["independence"]["padding"] <= 1e-12
    assert "decoder.blocks.0.cross_attention.weights" in record["formulas"]


@pytest.mark.parametrize("word", [[], ["--word", "5"]])
def test_the_walk_goes_through_both_stacks(run: Run, translator: Path, word: list[str]) -> None:
    """A word of the source that the shorter target has no place for is the target's last."""
    done = run("explain", translator, SOURCE, "--target", TARGET, *word)
    assert done.code == 0, done.err
    titles = [line for line in done.out.splitlines() if line[:1].isdigit()]
    assert any("Encoder. Self-attention" in title for title in titles)
    assert any("Decoder. Self-attention" in title for title in titles)
    assert any("Decoder. Cross-attention" in title for title in titles)
    assert "Tracing does not change the output" in done.err
    assert "decoder.blocks.0.cross_attention.mixed" in done.out


def test_the_first_record_of_a_walk_has_the_tokens_of_both_texts(run: Run, translator: Path) -> None:
    first, *rest = run("explain", translator, SOURCE, "--target", TARGET, "--json").records
    tokenizer = load(translator).tokenizer
    *source, _ = tokenizer.encode(SOURCE).tokens
    assert first["tokens"]["inputs"][: len(source)] == source
    assert first["tokens"]["decoder_inputs"][1:] == tokenizer.encode(TARGET).tokens[:-1]  # its end is predicted
    assert not any("tokens" in record for record in rest)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("word", ["summer", "loves"])
def test_a_word_of_either_text_is_named_and_the_rows_are_said(run: Run, translator: Path, word: str) -> None:
    done = run("explain", translator, SOURCE, "--target", TARGET, "--word", word)
    assert done.code == 0, done.err
    assert word in done.err.splitlines()[0].split()
    assert f"row of {word}:" in done.out


@pytest.mark.parametrize(("cell", "end"), CELLS.items())
def test_one_number_is_followed_into_its_stack(run: Run, translator: Path, cell: str, end: str) -> None:
    done = run("explain", translator, SOURCE, "--target", TARGET, "--cell", cell)
    assert done.code == 0, done.err
    assert done.out.startswith(cell)
    assert end in done.out


@pytest.mark.sampled(1)
@pytest.mark.parametrize("verb", ["explain", "verify"])
def test_without_a_target_its_own_translation_is_read(run: Run, translator: Path, verb: str) -> None:
    done = run(verb, translator, SOURCE)
    assert done.code == 0, done.err
    own = load(translator).trace(SOURCE).facts["decoder_inputs.ids"][0].tolist()
    reply = load(translator).translate(SOURCE)
    tokenizer = load(translator).tokenizer
    assert [tokenizer.token(id_) for id_ in own] == [
        tokenizer.special.pad,
        *(each.token for each in reply.tokens[: len(own) - 1]),
    ]


@pytest.mark.parametrize("verb", ["explain", "verify"])
def test_a_target_is_no_pair_and_a_pair_no_target(run: Run, translator: Path, trained: Path, verb: str) -> None:
    for model, given, do in ((trained, "--target", "--pair"), (translator, "--pair", "--target")):
        done = run(verb, model, SOURCE, given, TARGET)
        assert (done.code, done.out) == (2, ""), done.err
        sentence = done.err.splitlines()[-1]
        assert f"{given} is" in sentence
        assert f"with {do}" in sentence
