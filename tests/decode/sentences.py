"""Tiny models and sentences to decode, and what they answer."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from glassformer.decode.loop import decode
from glassformer.decode.request import ForcedWord, Hypothesis, Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.decode.step import Wanted
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.contracts.families import FAMILIES, Row

IDS = SpecialIds(begin=1, end=(2,))
# The same sums in another order, in float64.
ROUNDING = 1e-12
BEAM = DecodeSettings(method="beam", beams=3, n_best=3, max_tokens=7)


def named(name: str) -> Row:
    """A family of the contracts' table."""
    return next(row for row in FAMILIES if row.name == name)


def requests(model: Transformer, count: int, **more: Any) -> list[Request]:
    """Sources or prompts of different lengths, always the same."""
    generator = torch.Generator().manual_seed(1)
    vocabulary = len(model.word_table)
    found = []
    for number in range(count):
        length = int(torch.randint(1, 7, (), generator=generator))
        text = torch.randint(3, vocabulary, (length,), generator=generator).tolist()
        source, prompt = (text, None) if model.encoder is not None else (None, [IDS.begin, *text])
        found.append(Request(number, source=source, prompt=prompt, **more))
    return found


def words(*each: Sequence[int]) -> tuple[ForcedWord, ...]:
    """Words to force, of these tokens wherever they stand."""
    return tuple(ForcedWord(tuple(ids)) for ids in each)


def answers(
    model: Transformer, asked: Sequence[Request], settings: DecodeSettings, **more: Any
) -> dict[int, list[Hypothesis]]:
    """The answers to each request by its number, each answered once."""
    found: dict[int, list[Hypothesis]] = {}
    for step in decode(model, asked, Wanted(settings, **{"ids": IDS, **more})):
        for each in step.finished:
            assert each.number not in found
            found[each.number] = each.hypotheses
    return found


def log_probabilities(model: Transformer, request: Request, tokens: Sequence[int]) -> Tensor:
    """Without a cache, the log-probabilities of all tokens [T, V] at each place of an answer and after it."""
    prompt = list(request.prompt or (IDS.begin,))
    side = Inputs(ids=torch.tensor([[*prompt, *tokens]]))
    with torch.inference_mode():
        source = None if request.source is None else Inputs(ids=torch.tensor([list(request.source)]))
        logits = model(side).logits if source is None else model(source, side).logits
    return logits[0, len(prompt) - 1 :].log_softmax(dim=-1)  # [T, V]


def whole(answer: Hypothesis) -> tuple[int, ...]:
    """The tokens that the model chose, the end among them."""
    return (*answer.ids, IDS.end[0]) if answer.ended else answer.ids
