"""Repetition, the end and forbidden sequences: against the same rules for one hypothesis at a time."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.decode.control import Control
from glassformer.decode.hypotheses import Hypotheses
from glassformer.decode.settings import DecodeSettings, SpecialIds

VOCABULARY, END = 12, 2
# Prompts of one and of two tokens, answers of different lengths: two hypotheses of each row.
TEXTS = [[[1, 5, 6, 5], [1, 7, 7, 7]], [[3, 4, 3, 4, 3, 4], [3, 4, 9, 3, 4, 9]], [[1, 8], [1, 1]]]
BEGINS = [1, 2, 1]
FORBIDDEN: list[Sequence[Sequence[int]]] = [((5, 6), (7,), (6, 5, 8)), (), ((8, 10), (1, 1, 11), (9, 9, 9))]


def hypotheses() -> Hypotheses:
    length = torch.tensor([len(row[0]) for row in TEXTS])
    tokens = torch.tensor([[[*text, *[0] * (6 - len(text))] for text in row] for row in TEXTS])
    none = torch.zeros(3, 2)
    begin = torch.tensor(BEGINS)
    return Hypotheses(
        tokens=tokens, log_probabilities=none, score=none, look=none, begin=begin, length=length, limit=begin + 5,
        likely=begin + 5, number=begin, complete=none, places=none, attention=none, coverage=none,
    )  # fmt: skip


def expected(text: list[int], begin: int, logits: Tensor, settings: DecodeSettings, forbidden: Any) -> Tensor:
    """The log-probabilities of one hypothesis, by the definitions."""
    logits = logits.clone()
    if settings.repetition_penalty != 1 and settings.penalized == "logits":
        for token in set(text):
            value = logits[token]
            logits[token] = value / settings.repetition_penalty if value > 0 else value * settings.repetition_penalty
    found = logits.log_softmax(dim=-1)
    if settings.repetition_penalty != 1 and settings.penalized == "log_probabilities":
        for token in set(text):
            found[token] *= settings.repetition_penalty
    size = settings.no_repeat_ngram
    for token in range(VOCABULARY):
        longer = [*text, token]
        new = any(longer[-len(word) :] == list(word) for word in forbidden)
        if size is not None:
            grams = [longer[at : at + size] for at in range(len(longer) - size + 1)]
            new = new or (len(grams) > 1 and grams[-1] in grams[:-1])
        if new or (token == END and len(text) - begin < settings.min_tokens):
            found[token] = -torch.inf
    if settings.forced_end and len(text) + 1 == begin + 5:
        found = torch.full_like(found, -torch.inf)
        found[END] = 0.0
    return found


SETTINGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "logits": {"repetition_penalty": 1.7},
    "fewer repetitions of log-probabilities": {"repetition_penalty": 1.7, "penalized": "log_probabilities"},
    "more repetitions": {"repetition_penalty": 0.6},
    **{f"no {size}-gram twice": {"no_repeat_ngram": size} for size in (1, 2, 3, 4, 7)},
    "late end": {"min_tokens": 4},
    "forced end": {"forced_end": True},
    "all": {"repetition_penalty": 1.7, "no_repeat_ngram": 2, "min_tokens": 4, "forced_end": True},
}


@pytest.mark.parametrize("words", ["none", "forbidden"])
@pytest.mark.parametrize("name", SETTINGS)
def test_rules_hold_for_each_hypothesis(name: str, words: str) -> None:
    settings = DecodeSettings(**SETTINGS[name])
    forbidden = FORBIDDEN if words == "forbidden" else [()] * 3
    logits = torch.randn(3, 2, VOCABULARY, dtype=torch.float64)
    given, total = logits.clone(), logits.logsumexp(dim=-1)
    control = Control(settings, SpecialIds(1, (END,)))
    for _ in range(2):  # the second time with the table of the first
        found, totals = control(hypotheses(), logits, total, forbidden)
    assert torch.equal(logits, given)
    for row in range(3):
        for beam in range(2):
            wanted = expected(TEXTS[row][beam], BEGINS[row], given[row, beam], settings, forbidden[row])
            torch.testing.assert_close(found[row, beam] - totals[row, beam], wanted, rtol=0, atol=1e-12)
