"""A masked-word model trained under each reading of the mask-matrix post, from the recipe in the package.

Q query tokens · K key tokens
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.parts.activity import Reading
from glassformer.training.progress import NoProgress
from tests.refusals import refused

CYCLE = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
"""In the texts each word follows its neighbour here, so that a word is known by the one before and the one after."""

# Larger in nothing that decides: a model of seconds.
TINY = {
    "model.settings.width": 32,
    "model.settings.layers": 2,
    "model.settings.heads": 2,
    "model.settings.feed_forward": 48,
    "model.size": None,
    "data.length": 16,
    "data.pack": False,
    "data.validation": 0.0,
    "task.rate": 0.3,
    "tokenizer.kind": "words",
    "tokenizer.vocabulary": 20,
    "train.minutes": None,
    "train.steps": 100,
    "train.learning_rate": 1e-2,
    "train.precision": "float32",
}


NAMED = {"code": " & window(0)", "stated": " & causal & visible", "pairs": " & visible"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Reading], gf.Model]:
    """A model of each reading that a test asks for."""
    folder = tmp_path_factory.mktemp("readings")
    texts = [" ".join(CYCLE[(start + i) % 8] for i in range(length)) for start in range(8) for length in range(3, 10)]
    file, same = folder / "texts.txt", folder / "same.txt"  # the same texts, measured with other words masked
    for path in (file, same):
        path.write_text("\n\n".join(texts * 4), encoding="utf-8")
    more = {"data.files": [str(file)], "data.validation_files": [str(same)]}
    return cache(lambda reading: train(reading, folder / reading, {**TINY, **more}))


def train(reading: str, out: Path, settings: dict[str, object]) -> gf.Model:
    """The package's recipe under one reading."""
    changes = {**settings, "model.settings.reading": reading}
    return gf.train("mask-matrix", set=changes, out=out, progress=NoProgress())


@pytest.mark.long
def test_the_more_a_reading_shows_the_less_is_lost(trained: Callable[[Reading], gf.Model]) -> None:
    """A word that sees itself alone knows no more than the frequencies; the first word of a text has none before it."""
    scores = {reading: trained(reading).metrics["scores"] for reading in get_args(Reading)}
    assert scores["code"]["loss"] == pytest.approx(scores["code"]["unigram_loss"], abs=0.1)
    assert scores["stated"]["loss"] < scores["code"]["loss"] - 1.0
    assert scores["pairs"]["loss"] < scores["stated"]["loss"] - 0.05


@pytest.mark.sampled(1)
@pytest.mark.parametrize("reading", get_args(Reading))
def test_a_saved_model_looks_as_the_matrix_allows_in_every_layer(
    trained: Callable[[Reading], gf.Model], reading: Reading, tmp_path: Path
) -> None:
    trained(reading).save(tmp_path / "model")
    model = gf.load(tmp_path / "model")
    assert model.info()["sizes"]["encoder"]["attention_mask"].removeprefix("padding & document_mask") == NAMED[reading]
    trace = model.trace("[MASK] beta gamma [MASK] epsilon")
    words = trace.words.sentence("inputs", 0)
    hidden = [place for place, word in enumerate(words) if "MASK" in word]
    matrix = gf.activity_matrix(torch.zeros(len(words), 2), hidden, reading=reading, nothing_to_see="zero")
    assert len(hidden) == 2
    for layer in range(2):
        found = trace[f"encoder.blocks.{layer}.self_attention.weights"][0]  # [H, Q, K]
        assert torch.equal(found > 0, matrix.allowed.expand_as(found))
    assert trace.verify().holds


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("reading", "beta"), [("code", False), ("stated", False), ("pairs", True)])
def test_a_first_word_is_known_from_the_word_after_it_alone(
    trained: Callable[[Reading], gf.Model], reading: Reading, beta: bool
) -> None:
    best = trained(reading).fill("[MASK] gamma delta").masks[0].guesses[0]
    assert (best.word == "beta" and best.probability > 0.5) is beta


def test_another_reading_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("alpha beta")
    with refused(ConfigError, wanted=("code", "stated", "pairs"), got="'causal'"):
        train("causal", tmp_path / "run", {"data.files": [str(tmp_path / "text.txt")]})
