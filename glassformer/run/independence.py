"""Whether a model's output for a text depends on padding or on the other rows of its batch.

S tokens · V vocabulary
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.config import StackConfig
from glassformer.look.texts.reader import Given, Reader
from glassformer.parts.position import exact_device
from glassformer.saved.artefact import Artefact
from glassformer.tasks.rows import Row, collate

LIMIT = 1e-12
# Tokens of padding and other rows in the batch: enough to show a difference if there is one.
_PADDING, _BATCH_MATES = 7, 3


@dataclass(frozen=True)
class Independence:
    """Largest differences of the output in float64, relative to its largest value; `padding` None: not measured."""

    padding: float | None
    batch_mates: float
    limit: float = LIMIT

    @property
    def holds(self) -> bool:
        return max(self.padding or 0.0, self.batch_mates) <= self.limit

    def __str__(self) -> str:
        verdict = (
            "The output does not depend on padding or other rows of the batch"
            if self.holds
            else "THE OUTPUT DEPENDS ON PADDING OR OTHER ROWS OF THE BATCH"
        )
        padded = (
            "padding not measured, as the text has the model's maximum length"
            if self.padding is None
            else f"{self.padding:.1e} with padding"
        )
        return f"{verdict}: {padded}, {self.batch_mates:.1e} with other rows (limit {self.limit:.0e})"


def independence(model: Artefact, text: str, pair: str | None = None) -> Independence:
    """Compare a text or pair alone with the same padded, and in a batch. Raises ConfigError without a target."""
    device = exact_device(model.device)
    module = copy.deepcopy(model.module).to(device).double().eval()
    first, second = Reader.of(model).lines(Given((text,), None if pair is None else (pair,)))
    config = model.config
    stacks = [config.encoder or config.output_stack, config.output_stack]
    sides = [Side.of(rows[0].row, stack) for rows, stack in zip((first, second), stacks, strict=True) if rows]
    tokens = len(sides[-1].mine.ids)

    def answers(rows: Sequence[list[Row]]) -> list[Tensor]:
        """What each head says of the first row, or its states where there is no head."""
        both = model.tokenizer, model.tokenizer.target
        inputs = [
            collate(side, pad_id=tokenizer.pad_id or 0).inputs.to(device)
            for side, tokenizer in zip(rows, both, strict=False)
        ]
        with torch.no_grad():
            output = module(*inputs)
        found = [] if output.logits is None else [output.logits[0, :tokens]]  # [S, V]
        found += [] if output.sentence_logits is None else [output.sentence_logits[0]]  # [L]
        found += [] if output.token_logits is None else [output.token_logits[0, :tokens]]  # [S, L]
        return found or [output.states[0, :tokens]]  # [S, W]

    alone = answers([[side.mine] for side in sides])

    def difference(rows: Sequence[list[Row]]) -> float:
        pairs = zip(answers(rows), alone, strict=True)
        return max((other - own).abs().max().item() / own.abs().max().item() for other, own in pairs)

    return Independence(
        padding=difference([[side.mine, side.longer] for side in sides]) if any(s.padding for s in sides) else None,
        batch_mates=difference([[side.mine, *side.others] for side in sides]),
    )


@dataclass(frozen=True)
class Side:
    """One of the texts that a model reads: its row, a longer one that pads it by `padding`, and other rows."""

    mine: Row
    longer: Row
    padding: int

    @staticmethod
    def of(mine: Row, stack: StackConfig) -> Side:
        room = _PADDING if stack.max_length is None else min(_PADDING, stack.max_length - len(mine.ids))
        return Side(mine, Row(ids=[*mine.ids, *list(mine.ids)[:1] * room]), room)

    @property
    def others(self) -> list[Row]:
        return [Row(ids=list(self.mine.ids)[::-1]), *[self.longer] * (_BATCH_MATES - 1)]
