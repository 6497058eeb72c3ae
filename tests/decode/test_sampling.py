"""Samples: the same for the same seed, as likely as the model says, and whole sequences of the right distribution."""

from collections import Counter

import pytest
import torch

from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings
from tests.decode.sentences import IDS, answers, log_probabilities, named, requests, whole

SAMPLES = DecodeSettings(method="sample", n_best=4, max_tokens=6)


def test_the_same_seed_gives_the_same_samples_and_another_seed_others() -> None:
    model = named("marian").model()
    asked = requests(model, 4)
    first, again, other = (
        answers(model, asked, SAMPLES.model_copy(update={"seed": seed}), slots=slots)
        for seed, slots in ((5, 2), (5, 64), (-6, 64))
    )
    tokens = [[[each.ids for each in found[number]] for number in range(4)] for found in (first, again, other)]
    assert tokens[0] == tokens[1]
    assert tokens[0] != tokens[2]
    assert all(len(set(of_one)) > 1 for of_one in tokens[0])


def test_a_sample_depends_on_its_own_number_alone() -> None:
    """Of more samples the first are the same; another request with the same text has others."""
    model = named("gpt2").model()
    asked = requests(model, 1)
    few, many = (answers(model, asked, SAMPLES.model_copy(update={"n_best": count}))[0] for count in (2, 5))
    assert [each.ids for each in many[:2]] == [each.ids for each in few]
    other = answers(model, [Request(1, prompt=asked[0].prompt)], SAMPLES)[1]
    assert [each.ids for each in other] != [each.ids for each in many[:4]]


def test_samples_are_as_likely_as_the_model_says() -> None:
    model = named("marian").model(vocabulary=5)
    request = requests(model, 1)[0]
    settings = DecodeSettings(method="sample", n_best=1000, max_tokens=2, temperature=1.5)
    drawn = Counter(whole(each)[0] for each in answers(model, [request], settings)[0])
    model_says = (log_probabilities(model, request, ())[0] / 1.5).softmax(dim=-1)
    for token in range(5):
        probability = float(model_says[token])
        # Four standard deviations of a share of 1,000; the seed is fixed.
        assert drawn[token] / 1000 == pytest.approx(
            probability, abs=4 * (probability * (1 - probability) / 1000) ** 0.5
        )


def test_a_low_temperature_or_one_token_to_draw_from_is_greedy_search() -> None:
    model = named("t5").model()
    asked = requests(model, 4)
    greedy = answers(model, asked, DecodeSettings(max_tokens=6))
    for change in ({"top_k": 1}, {"top_p": 1e-9}, {"min_p": 1.0}, {"temperature": 1e-6}):
        found = answers(model, asked, SAMPLES.model_copy(update=change))
        for number, samples in found.items():
            assert {each.ids for each in samples} == {greedy[number][0].ids}


def test_scores_of_samples_are_the_models_own_log_probabilities() -> None:
    model = named("marian").model()
    asked = requests(model, 3)
    settings = SAMPLES.model_copy(update={"temperature": 2.0, "top_k": 3})
    for number, samples in answers(model, asked, settings).items():
        for each in samples:
            logs = log_probabilities(model, asked[number], whole(each))
            expected = torch.stack([logs[place, token] for place, token in enumerate(whole(each))])
            assert each.score == pytest.approx(float(expected.sum()), abs=1e-12)
            assert IDS.end[0] not in each.ids
