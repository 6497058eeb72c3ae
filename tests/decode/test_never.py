"""Tokens that no answer has: of probability 0 in decoding and where a target is scored."""

from typing import Any

import pytest
import torch

from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.look.trace.watch import watch
from glassformer.models.inputs import Inputs
from tests.convert.translators import TEXTS, translator
from tests.decode.sentences import BEAM, IDS, ROUNDING, answers, log_probabilities, named, requests, whole

SAMPLES = DecodeSettings(method="sample", n_best=4, max_tokens=7, temperature=3.0)


@pytest.mark.parametrize("settings", [DecodeSettings(max_tokens=7), BEAM, SAMPLES], ids=lambda each: each.method)
def test_the_others_have_all_the_probability(settings: DecodeSettings) -> None:
    model = named("marian").model()
    asked = requests(model, 4)
    free = answers(model, asked, settings)
    usual = {token for found in free.values() for answer in found for token in answer.ids}
    never = tuple(sorted(usual)[:2])
    ids = SpecialIds(IDS.begin, IDS.end, never)
    for number, found in answers(model, asked, settings, ids=ids, slots=2).items():
        assert found
        for answer in found:
            tokens = whole(answer)
            assert not set(tokens) & set(never)
            logs = log_probabilities(model, asked[number], tokens)  # [T, V]
            logs = logs.index_fill(-1, torch.tensor(never), -torch.inf).log_softmax(dim=-1)
            expected = [float(logs[place, token]) for place, token in enumerate(tokens)]
            assert answer.token_log_probabilities == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_a_watcher_sees_the_logits_of_the_model(dtype: torch.dtype) -> None:
    model = named("marian").model().to(dtype)
    seen: Any
    with torch.inference_mode(), watch(model, "head.logits") as seen:
        answers(model, requests(model, 1), DecodeSettings(max_tokens=1), ids=SpecialIds(IDS.begin, IDS.end, (3,)))
    assert torch.isfinite(seen["head.logits"]).all()


def test_the_score_of_a_target_is_that_of_decoding() -> None:
    model = translator()
    tokenizer = model.tokenizer
    source, target = (tokenizer.encode(text).ids for text in TEXTS[:2])
    with torch.inference_mode():
        given = Inputs(ids=torch.tensor([[tokenizer.pad_id, *target[:-1]]]))
        logits = model.module(Inputs(ids=torch.tensor([source])), given).logits[0, :, :-1]  # all but padding
    expected = logits.log_softmax(dim=-1)[torch.arange(len(target)), target].tolist()
    found = model.score(TEXTS[0], TEXTS[1])
    assert [token.log_probability for token in found.tokens] == pytest.approx(expected, abs=ROUNDING)
