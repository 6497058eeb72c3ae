"""On a small vocabulary, beams wide enough find the best of all possible answers, with their exact scores."""

from itertools import product
from typing import Any

import pytest
import torch

from glassformer.decode.loop import decode
from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.decode.sentences import BEAM, IDS, ROUNDING, answers, named, requests, whole, words

VOCABULARY, LONGEST = 5, 4
ALL = VOCABULARY**LONGEST


def small(name: str, seed: int = 0) -> Transformer:
    return named(name).model(vocabulary=VOCABULARY, seed=seed)


def every_score(model: Transformer, request: Request, alpha: float, form: str) -> list[tuple[float, tuple[int, ...]]]:
    """All answers of at most so many tokens with their scores, best first, computed without a cache.

    An end stands last, or nowhere in the longest ones.
    """
    inner = [token for token in range(VOCABULARY) if token not in IDS.end]
    prompt = list(request.prompt or (IDS.begin,))
    fed = torch.tensor([[*prompt, *tokens] for tokens in product(inner, repeat=LONGEST - 1)])  # [N, T]
    source = None if request.source is None else Inputs(ids=torch.tensor([list(request.source)] * len(fed)))
    with torch.inference_mode():
        logits = model(Inputs(ids=fed)).logits if source is None else model(source, Inputs(ids=fed)).logits
    logs = logits[:, len(prompt) - 1 :].log_softmax(dim=-1).tolist()  # [N][T][V]
    scored = {}
    for given, of_tokens in zip(fed[:, len(prompt) :].tolist(), logs, strict=True):
        for size in range(1, LONGEST + 1):
            lasts = range(VOCABULARY) if size == LONGEST else IDS.end
            for last in lasts:
                tokens = (*given[: size - 1], last)
                total = sum(of_tokens[place][token] for place, token in enumerate(tokens))
                scored[tokens] = total / (size**alpha if form == "power" else ((5 + size) / 6) ** alpha)
    return sorted(((score, tokens) for tokens, score in scored.items()), reverse=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("alpha", "form"), [(0.0, "gnmt"), (0.6, "gnmt"), (3.0, "gnmt"), (-0.5, "gnmt"), (1.0, "power")]
)
@pytest.mark.parametrize("name", ["marian", "t5", "gpt2"])
def test_beams_find_the_best_of_all_answers(name: str, alpha: float, form: Any) -> None:
    model = small(name)
    request = requests(model, 1)[0]
    settings = DecodeSettings(
        method="beam", beams=ALL, n_best=12, max_tokens=LONGEST, length_penalty=alpha, length_penalty_form=form
    )
    found = answers(model, [request], settings)[0]
    expected = every_score(model, request, alpha, form)[:12]
    assert [whole(answer) for answer in found] == [tokens for _, tokens in expected]
    for answer, (score, _) in zip(found, expected, strict=True):
        assert answer.score == pytest.approx(score, abs=ROUNDING)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["marian", "gpt2"])
def test_beams_with_forced_and_forbidden_words_find_the_best_of_the_answers_that_are_left(name: str) -> None:
    model = small(name)
    forced, forbidden = ((3,), (4, 0)), ((3, 3), (4, 1))
    request = requests(model, 1, forced=words(*forced), forbidden=forbidden)[0]
    settings = BEAM.model_copy(update={"beams": ALL, "n_best": 5, "max_tokens": LONGEST})
    found = answers(model, [request], settings, forced=True)[0]
    left = [
        (score, tokens)
        for score, tokens in every_score(model, request, 0.0, "gnmt")
        if all(holds(tokens, word) for word in forced)
        and not any(holds((*(request.prompt or ()), *tokens), word) for word in forbidden)
    ]
    assert [whole(answer) for answer in found] == [tokens for _, tokens in left[:5]]
    assert len(found) == min(5, len(left))


def holds(tokens: tuple[int, ...], word: tuple[int, ...]) -> bool:
    return "".join(map(chr, word)) in "".join(map(chr, tokens))


def test_a_large_limit_costs_nothing_where_answers_are_likely_to_be_short() -> None:
    """Divided by the penalty of 100,000 tokens, no unfinished answer would be hopeless for hundreds of steps."""
    model = named("marian").model()
    assert model.head is not None
    assert model.head.bias is not None
    with torch.no_grad():
        model.head.bias[IDS.end[0]] += 4.0
    settings = BEAM.model_copy(update={"n_best": 1, "length_penalty": 0.8})
    steps = {}
    for most, likely in ((12, None), (100_000, 12), (100_000, None)):
        asked = requests(model, 4, max_tokens=most, likely=likely)
        found, count = dict[int, tuple[int, ...]](), 0
        for step in decode(model, asked, Wanted(settings, ids=IDS)):
            found |= {each.number: each.hypotheses[0].ids for each in step.finished}
            count += 1
            if count > 60:
                break
        steps[most, likely] = count, found
    assert steps[100_000, 12] == steps[12, None]
    assert steps[100_000, None][0] > 60


def test_an_answer_beyond_the_likely_length_is_found_while_it_is_the_best() -> None:
    model = named("marian").model()
    settings = BEAM.model_copy(update={"n_best": 1, "length_penalty": 1.0, "min_tokens": 9})
    (answer,) = answers(model, requests(model, 1, max_tokens=12, likely=3), settings)[0]
    assert len(whole(answer)) >= 10


@pytest.mark.parametrize("seed", range(4))
def test_giving_up_hypotheses_early_changes_no_answer(seed: int) -> None:
    """A search in which nothing is ever given up: as many answers are asked for as there are beams."""
    model = small("marian", seed)
    asked = requests(model, 6)
    for alpha in (0.0, 0.8, 2.5):
        settings = BEAM.model_copy(update={"length_penalty": alpha, "beams": 4, "n_best": 1, "max_tokens": 6})
        early = answers(model, asked, settings)
        late = answers(model, asked, settings.model_copy(update={"n_best": 4}))
        assert {number: found[0].ids for number, found in early.items()} == {
            number: found[0].ids for number, found in late.items()
        }
