"""Scores per token are compared only where two models have the same tokens."""

from pathlib import Path

import pytest

from glassformer.api.model import Model
from glassformer.base.errors import ConfigError
from glassformer.models.families import bert, gpt2, marian
from glassformer.models.transformer import build
from glassformer.run.compare import compare
from glassformer.run.evaluate import evaluate
from glassformer.scoring.score import THIS_MODEL
from glassformer.tasks.words.masked_lm.settings import MaskedLMSection
from glassformer.tasks.writing.language_model.task import LanguageModelSection
from glassformer.tasks.writing.translate.settings import TranslateData, TranslateSection
from glassformer.text.special import GPT2, MARIAN
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights
from tests.refusals import refused
from tests.translators import ENGLISH, FRENCH

SECTION = TranslateSection(beams=1)


def translator(vocabulary: int, *, seed: int) -> Model:
    tokenizer = train_tokenizer("bpe", [*ENGLISH, *FRENCH] * 3, vocabulary=vocabulary, lowercase=False, special=MARIAN)
    config = marian(layers=1, width=16, heads=2, feed_forward=16, max_length=40, vocabulary=tokenizer.vocabulary_size)
    return Model(random_weights(build(config), seed=seed), tokenizer, task=SECTION, length=40)


@pytest.mark.parametrize(("vocabulary", "left_out"), [(320, ()), (300, ("loss", "perplexity"))])
def test_losses_of_other_tokens_are_left_out(tmp_path: Path, vocabulary: int, left_out: tuple[str, ...]) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{one}\t{two}\n" for one, two in zip(ENGLISH, FRENCH, strict=True)), encoding="utf-8")
    found = compare(translator(320, seed=1), translator(vocabulary, seed=2), pairs)
    assert found.left_out == left_out
    assert found.to_dict()["left_out"] == [*left_out]
    assert found.differences.keys() == {"bleu", "chrf", "ter", "loss", "perplexity"} - {*left_out}


def guesser(*, seed: int, vocabulary: int = 60, **settings: float) -> Model:
    tokenizer = train_tokenizer("wordpiece", [*ENGLISH] * 3, vocabulary=vocabulary)
    config = bert(layers=1, width=8, heads=2, feed_forward=8, vocabulary=tokenizer.vocabulary_size, max_length=12)
    section = MaskedLMSection.model_validate(settings)
    return Model(random_weights(build(config), seed=seed), tokenizer, task=section, length=12)


def test_masked_words_are_compared_where_the_same_are_masked(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(ENGLISH), encoding="utf-8")
    one, two = guesser(seed=1), guesser(seed=2)
    found = compare(one, two, text)
    own, other = (evaluate(each, [text]) for each in (one, two))
    for name, each in found.differences.items():
        assert each.difference == own[name] - other[name]
        assert each.low <= each.difference <= each.high
    assert found.judged.difference != 0
    assert found.differences.keys() == {"loss", "perplexity", "accuracy"}
    assert found.judged.score == "loss"
    with refused(ConfigError, do="task.rate"):
        compare(one, guesser(seed=2, rate=0.4), text)
    with refused(ConfigError, got="other tokens"):  # the same are predicted, but nothing is masked
        compare(one, guesser(seed=2, mask=0.0, random=0.0, keep=1.0), text)
    with refused(ConfigError, do="tokens"):
        compare(one, guesser(seed=2, vocabulary=50), text)


def writer(*, length: int = 24, seed: int = 1) -> Model:
    tokenizer = train_tokenizer("bpe", [*ENGLISH] * 3, vocabulary=290, lowercase=False, special=GPT2)
    config = gpt2(layers=1, width=8, heads=2, feed_forward=8, vocabulary=tokenizer.vocabulary_size, max_length=32)
    return Model(random_weights(build(config), seed=seed), tokenizer, task=LanguageModelSection(), length=length)


def test_rows_of_other_text_are_not_compared_though_they_are_as_many(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(ENGLISH[0], encoding="utf-8")
    assert compare(writer(), writer(seed=2), text).count == compare(writer(length=22), writer(length=22), text).count
    with refused(ConfigError, got="other tokens"):
        compare(writer(), writer(length=22), text)


def test_translations_of_other_pairs_are_not_compared_though_they_are_as_many(tmp_path: Path) -> None:
    """A shorter model leaves a long reference out: of one that is as long as its source is left."""
    pairs = tmp_path / "pairs.tsv"
    rows = [f"{one}\t{two}\n{one}\t{two * 2}\n" for one, two in zip(ENGLISH, FRENCH, strict=True)]
    pairs.write_text("".join(rows), encoding="utf-8")
    short, long = translator(320, seed=1), translator(320, seed=1)
    longest = max(len(long.tokenizer.encode(two)) for two in FRENCH)
    long.length, short.length = 40, longest + 3
    measured = [evaluate(each, [pairs], baselines=False) for each in (short, long)]
    assert [len(scores.measures[THIS_MODEL]) for scores in measured] == [len(ENGLISH)] * 2
    with refused(ConfigError, do="data.length"):
        compare(short, long, pairs)
    assert compare(long, long, pairs).judged.difference == 0


def test_what_was_not_learned_from_is_measured_where_a_file_is_named(tmp_path: Path) -> None:
    """`data.remove` is about the pairs to learn from."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{one}\t{one}\n" for one in ENGLISH), encoding="utf-8")
    model = translator(320, seed=1)
    model.data = TranslateData(files=(str(tmp_path / "other.tsv"),), remove=("copy",))
    assert evaluate(model, [pairs], baselines=False).count == len(set(ENGLISH))


def test_the_loss_of_an_evaluation_is_that_of_scored_pairs(tmp_path: Path) -> None:
    """Weights at random give the padding, which no text has, a probability; both leave it out."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{one}\t{two}\n" for one, two in zip(ENGLISH, FRENCH, strict=True)), encoding="utf-8")
    model = translator(320, seed=1)
    scored = [model.score(one, two) for one, two in zip(ENGLISH, FRENCH, strict=True)]
    losses, tokens = (sum(values) for values in zip(*((-it.total, len(it.tokens)) for it in scored), strict=True))
    assert evaluate(model, [pairs], baselines=False)["loss"] == pytest.approx(losses / tokens, rel=1e-6)  # float32
