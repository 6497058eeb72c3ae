"""Scores per token are compared only where two models have the same tokens."""

from pathlib import Path

import pytest

from glassformer.api.model import Model
from glassformer.models.families import marian
from glassformer.models.transformer import build
from glassformer.run.compare import compare
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.text.special import MARIAN
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights
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
