"""What each step of a decoder looked at, kept while it writes.

Kept are the weights of every head of every block, in float32 (float64 of a model in float64), as each token was read:
4 bytes × blocks × heads × (P² + Σ n), n from P to the length before the last token, for each hypothesis; with an
encoder 4 bytes × blocks × heads × M more for each token. 12 blocks of 12 heads need 12 MB for a prompt of 64 tokens
and 128 more. What would need over MOST_BYTES is refused before anything is written.

R rows, one for each sentence · B hypotheses of a row · N sentences that begin · H heads · P tokens of a prompt
n tokens so far · K columns of the cache · M memory tokens · T tokens that were read
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import StackConfig
from glassformer.decode.hypotheses import Hypotheses, Sentence

MOST_BYTES = 256_000_000

Seen = Mapping[str, Tensor]
"""The weights of each attention by its name in a trace."""


@dataclass
class KeptAttention:
    """The attention of one request: of its prompt, and of each token that was read after it. `prompt` has for each
    attention the weights [H, P, P], or [H, P, M] of a cross-attention; `steps` has by the number of a node those with
    which its token was read, [H, n] or [H, M]. So a token was chosen with the row of the one before it.
    """

    prompt: dict[str, Tensor] = field(default_factory=dict)
    steps: dict[int, dict[str, Tensor]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Each attention, as a trace names its weights."""
        return tuple(self.prompt)

    @property
    def nbytes(self) -> int:
        return sum(weights.nbytes for each in (self.prompt, *self.steps.values()) for weights in each.values())

    def row(self, name: str, parent: int | None) -> Tensor:
        """Where the step after a node, or after the prompt, looked: [H, n], or [H, M]."""
        return self.prompt[name][:, -1] if parent is None else self.steps[parent][name]

    def whole(self, name: str, nodes: Sequence[int]) -> Tensor:
        """The weights as one run has them, [H, T, T] or [H, T, M]: prompt, then nodes; 0 where masked."""
        prompt = self.prompt[name]
        heads, given, keys = prompt.shape
        size = given + len(nodes)
        whole = prompt.new_zeros(heads, size, keys if _crosses(name) else size)
        whole[:, :given, :keys] = prompt
        for place, node in enumerate(nodes, start=given):
            row = self.steps[node][name]
            whole[:, place, : row.shape[1]] = row
        return whole


class AttentionKeeper:
    """Keeps the attention of each request, by its number; `tips` has the node of each of its hypotheses."""

    def __init__(self, tips: Mapping[int, Sequence[int | None]]) -> None:
        self.tips = tips
        self.kept: dict[int, KeptAttention] = {}

    def begin(self, sentences: Sequence[Sentence], lengths: Sequence[int], seen: Seen) -> None:
        """The prompts [N, H, P, P or M] of sentences were read."""
        for row, (sentence, length) in enumerate(zip(sentences, lengths, strict=True)):
            kept = self.kept.setdefault(sentence.request.number, KeptAttention())
            for name, weights in seen.items():
                keys = len(sentence.request.source or ()) if _crosses(name) else length
                kept.prompt[name] = _own(weights[row, :, :length, :keys])  # [H, P, P or M]

    def add(self, sentences: Sequence[Sentence | None], hypotheses: Hypotheses, seen: Seen) -> None:
        """The newest token of each hypothesis was read, with the weights [R, H, B, K or M]."""
        alive = hypotheses.score > -torch.inf  # [R, B]
        for row, sentence in enumerate(sentences):
            if sentence is None:
                continue
            kept = self.kept[sentence.request.number]
            for beam in alive[row].nonzero()[:, 0].tolist():
                node = self.tips[sentence.request.number][beam]
                if node is None:
                    continue
                columns = hypotheses.look[row, beam].nonzero()[:, 0]
                columns = columns[hypotheses.places[row, columns].argsort()]  # [n]
                memory = len(sentence.request.source or ())
                kept.steps[node] = {
                    name: _own(weights[row, :, beam, :memory] if _crosses(name) else weights[row, :, beam, columns])
                    for name, weights in seen.items()
                }


def bytes_for(stack: StackConfig, *, prompt: int, tokens: int, hypotheses: int, memory: int = 0, size: int = 4) -> int:
    """The most memory that attention needs for a prompt and so many tokens after it, of each of the hypotheses."""
    total = 0
    for block in stack.blocks:
        own = prompt**2 + hypotheses * sum(range(prompt + 1, prompt + tokens))
        total += size * block.self_attention.body.heads * own
        if block.cross_attention is not None:
            total += size * block.cross_attention.body.heads * memory * (prompt + hypotheses * max(0, tokens - 1))
    return total


def check_bytes(needed: int, most: int = MOST_BYTES) -> None:
    if needed > most:
        raise ConfigError(
            f"at most {most / 1e6:,.0f} MB of attention are kept while a text is written",
            got=f"{needed / 1e6:,.0f} MB for all heads, if it becomes as long as it may",
            do="write fewer tokens, fewer texts, or after a shorter prompt",
        )


def _crosses(name: str) -> bool:
    return ".cross_attention." in name


def _own(weights: Tensor) -> Tensor:
    """In memory of its own, on the processor, in float32 or float64."""
    weights = weights.detach().cpu()
    return (weights if weights.dtype == torch.float64 else weights.float()).clone()
