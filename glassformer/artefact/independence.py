"""Whether an answer depends on its neighbours or its padding: measured on a model and a text of the user's own.

S pieces · V vocabulary
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.artefact.artefact import Artefact
from glassformer.artefact.trace import refuse_two_stacks, row_of
from glassformer.parts.position import exact_device
from glassformer.tasks.rows import Row, collate

LIMIT = 1e-12
# As many pieces of padding, and as many neighbours, as make a difference if there is one.
_PADDING, _NEIGHBOURS = 7, 3


@dataclass(frozen=True)
class Independence:
    """Largest differences of the answer in float64, as shares of its largest number.

    `padding` is None where it was not tried: a text that fills the model has no room for any.
    """

    padding: float | None
    neighbours: float
    limit: float = LIMIT

    @property
    def holds(self) -> bool:
        """Whether the text's answer is its own."""
        return max(self.padding or 0.0, self.neighbours) <= self.limit

    def __str__(self) -> str:
        verdict = "The answer is the text's own" if self.holds else "THE ANSWER DEPENDS ON ITS COMPANY"
        padded = (
            "padding not tried, the text fills the model"
            if self.padding is None
            else f"{self.padding:.1e} with padding"
        )
        told = f"{padded}, {self.neighbours:.1e} among neighbours"
        return f"{verdict}: {told} (limit {self.limit:.0e})"


def independence(model: Artefact, text: str, pair: str | None = None) -> Independence:
    """Compare a text or a pair alone with the same text padded, and in a batch with other texts.

    Raises ConfigError for an encoder–decoder, which needs two texts.
    """
    refuse_two_stacks(model)
    device = exact_device(model.device)
    module = copy.deepcopy(model.module).to(device).double().eval()
    mine, _ = row_of(model, text, pair)
    limit = model.config.output_stack.max_length
    room = _PADDING if limit is None else min(_PADDING, limit - len(mine.ids))
    longer = Row(ids=[*mine.ids, *list(mine.ids)[:1] * room])
    others = [Row(ids=list(mine.ids)[::-1]), *[longer] * (_NEIGHBOURS - 1)]

    def states(rows: list[Row]) -> Tensor:
        inputs = collate(rows, pad_id=model.tokenizer.pad_id or 0).inputs.to(device)
        with torch.no_grad():
            output = module(inputs)
        if output.sentence_logits is not None and output.logits is None:
            answer: Tensor = output.sentence_logits[:1]  # [1, L]
            return answer
        answer = output.states if output.logits is None else output.logits
        return answer[0, : len(mine.ids)]  # [S, V]

    alone = states([mine])
    largest = alone.abs().max().item()
    return Independence(
        padding=(states([mine, longer]) - alone).abs().max().item() / largest if room else None,
        neighbours=(states([mine, *others]) - alone).abs().max().item() / largest,
    )
