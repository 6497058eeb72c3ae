"""transformers' side: the MarianMTModel and the loop of experiments/translation/peer.py, on dialogues.

B exchanges of a batch · T tokens of the reply
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from experiments.chat.plan import Dialogues, Exchange
from experiments.translation.peer import IGNORED, TOGETHER, Peer, padded
from experiments.translation.plan import Budget
from glassformer.saved.recipe import Recipe
from glassformer.scoring.score import Reals


class ChatPeer(Peer):
    """As for translation, without label smoothing, as ours."""

    def __init__(self, dialogues: Dialogues, run: Path) -> None:
        super().__init__(cast(Any, dialogues), dialogues.budget, run)

    def recipe_of(self, pairs: Dialogues, budget: Budget) -> Recipe:
        """Our recipe."""
        return pairs.recipe

    def lines_of(self, pairs: Dialogues) -> list[tuple[str, str]]:
        """The exchanges that ours learns from: none with a side of more tokens than a row of ours has."""
        sides = [self.ids([exchange[side] for exchange in pairs.train]) for side in (0, 1)]
        most = pairs.data.length
        return [
            (exchange.turns, exchange.reply)
            for exchange, *both in zip(pairs.train, *sides, strict=True)
            if max(map(len, both)) <= most
        ]

    @torch.inference_mode()
    def losses(self, exchanges: Sequence[Exchange]) -> tuple[Reals, Reals]:
        """The loss of the tokens of each reply after the right ones before them, in nats, and how many there are."""
        self.model.eval()
        pad = self.model.config.pad_token_id
        found = []
        for start in range(0, len(exchanges), TOGETHER):
            some = exchanges[start : start + TOGETHER]
            source, target = (padded(self.ids([exchange[side] for exchange in some])) for side in (0, 1))
            asked, real = target != IGNORED, source != IGNORED
            shifted = torch.full_like(target, pad)
            shifted[:, 1:] = target[:, :-1].masked_fill(~asked[:, :-1], pad)
            logits = self.model(
                input_ids=source.masked_fill(~real, pad), attention_mask=real.long(), decoder_input_ids=shifted
            ).logits
            each = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), target.flatten(), ignore_index=IGNORED, reduction="none"
            ).view(target.shape)  # [B, T]
            found.append(torch.stack([each.sum(dim=1), asked.sum(dim=1)]).double())
        losses, tokens = torch.cat(found, dim=1).numpy()
        return losses, tokens

    @torch.inference_mode()
    def replies(self, turns: Sequence[str], *, most: int) -> list[str]:
        """The greedy reply to each conversation."""
        self.model.eval()
        pad = self.model.config.pad_token_id
        found: list[str] = []
        for start in range(0, len(turns), TOGETHER):
            source = padded(self.ids(turns[start : start + TOGETHER]))
            real = source != IGNORED
            answers = self.model.generate(
                input_ids=source.masked_fill(~real, pad),
                attention_mask=real.long(),
                num_beams=1,
                do_sample=False,
                bad_words_ids=[[pad]],
                max_new_tokens=most,
            )
            found += [self.tokenizer.decode(answer).strip() for answer in answers.tolist()]
        return found
