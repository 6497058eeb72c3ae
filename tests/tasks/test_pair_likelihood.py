"""The verb `score` of models that translate: forced log-probabilities."""

import math

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import DataError
from glassformer.models.inputs import Inputs
from glassformer.tasks.writing.likelihood import target_log_probabilities
from glassformer.tasks.writing.writers import special_ids
from tests.refusals import refused
from tests.translators import ENGLISH, FRENCH, translating

# Sums of a few hundred float64 numbers near 1, in another order.
ORDER = 1e-10


@pytest.fixture(scope="module")
def model() -> gf.Model:
    return translating()


def test_each_token_has_its_probability_after_those_before_it(model: gf.Model) -> None:
    found = model.score(ENGLISH[0], FRENCH[0])
    ids = special_ids(model.tokenizer)
    target = model.tokenizer.encode(FRENCH[0]).ids
    source = Inputs(ids=torch.tensor([model.tokenizer.encode(ENGLISH[0]).ids]))
    total = 0.0
    for place, token in enumerate(found.tokens):
        given = torch.tensor([[ids.begin, *target[:place]]])
        with torch.no_grad():
            logits = model.module(source, Inputs(ids=given)).logits[0, -1]
        expected = float(logits.log_softmax(-1)[target[place]])
        assert token.log_probability == pytest.approx(expected, abs=ORDER)
        assert token.token == model.tokenizer.token(target[place])
        total += expected
    assert len(found.tokens) == len(target)
    assert found.total == pytest.approx(total, abs=ORDER)
    assert found.perplexity == pytest.approx(math.exp(-total / len(target)), rel=ORDER)


def test_a_translation_of_its_own_has_the_same_probability_when_it_is_scored(model: gf.Model) -> None:
    found = model.translate(ENGLISH[1], beams=3, max_tokens=20)
    ids = torch.tensor([[model.tokenizer.id(each.token) or 0 for each in found.tokens]])
    source = Inputs(ids=torch.tensor([model.tokenizer.encode(ENGLISH[1]).ids]))
    with torch.no_grad():
        again = target_log_probabilities(model.module, source, ids, special_ids(model.tokenizer))
    assert again[0].tolist() == pytest.approx([each.log_probability for each in found.tokens], abs=ORDER)


def test_pairs_among_others_have_the_scores_that_they_have_alone(model: gf.Model) -> None:
    texts = [*ENGLISH, "He", "the winter"]
    targets = [*FRENCH, "Il adore cuisiner", "l'hiver"]
    for text, target, found in zip(texts, targets, model.score(texts, targets), strict=True):
        assert found.total == pytest.approx(model.score(text, target).total, abs=ORDER)
        assert found.to_dict()["target"] == target


def test_many_targets_go_through_the_decoder_in_parts(model: gf.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, targets = [*ENGLISH] * 3, [*FRENCH] * 3
    whole = [each.total for each in model.score(texts, targets)]
    monkeypatch.setattr("glassformer.tasks.writing.likelihood._TOGETHER", 20)
    assert [each.total for each in model.score(texts, targets)] == pytest.approx(whole, abs=ORDER)


def test_a_pair_needs_both_sides_of_a_length_that_the_model_reads(model: gf.Model) -> None:
    with refused(DataError, got="no translation", do="--target"):
        model.score(ENGLISH[0])
    limited = translating(limited=True)
    with refused(DataError, wanted="40", got="109"):
        limited.score(ENGLISH[0], "Elle aime l'été. " * 12)
    with refused(DataError, wanted="words"):
        model.score(ENGLISH[0], " ")
