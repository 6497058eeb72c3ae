"""Whether a model's output for a text depends on padding or on the other rows of its batch.

S tokens · V vocabulary
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
# Tokens of padding and other rows in the batch: enough to show a difference if there is one.
_PADDING, _BATCH_MATES = 7, 3


@dataclass(frozen=True)
class Independence:
    """Largest differences of the output in float64, relative to its largest absolute value.

    `padding` is None where it was not measured: a text of the model's maximum length cannot be padded.
    """

    padding: float | None
    batch_mates: float
    limit: float = LIMIT

    @property
    def holds(self) -> bool:
        """Whether the output is independent of padding and batch mates."""
        return max(self.padding or 0.0, self.batch_mates) <= self.limit

    def __str__(self) -> str:
        verdict = (
            "The output is independent of padding and batch mates"
            if self.holds
            else "THE OUTPUT DEPENDS ON PADDING OR BATCH MATES"
        )
        padded = (
            "padding not measured, as the text has the model's maximum length"
            if self.padding is None
            else f"{self.padding:.1e} with padding"
        )
        return f"{verdict}: {padded}, {self.batch_mates:.1e} with batch mates (limit {self.limit:.0e})"


def independence(model: Artefact, text: str, pair: str | None = None) -> Independence:
    """Compare a text or a pair alone with the same text padded, and in a batch with other texts.

    Raises ConfigError for an encoder–decoder, which needs two texts.
    """
    refuse_two_stacks(model)
    device = exact_device(model.device)
    module = copy.deepcopy(model.module).to(device).double().eval()
    mine, _ = row_of(model, text, pair)
    limit = model.config.output_stack.max_length
    padding = _PADDING if limit is None else min(_PADDING, limit - len(mine.ids))
    longer = Row(ids=[*mine.ids, *list(mine.ids)[:1] * padding])
    others = [Row(ids=list(mine.ids)[::-1]), *[longer] * (_BATCH_MATES - 1)]

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
        padding=(states([mine, longer]) - alone).abs().max().item() / largest if padding else None,
        batch_mates=(states([mine, *others]) - alone).abs().max().item() / largest,
    )
