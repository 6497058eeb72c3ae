"""What a model knows of the order of words: a text and its words shuffled, with and without positions, under both masks
(C-1, C-44).

S tokens of a text · P words · W width
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.config import BlockConfig, PositionConfig, StackConfig
from glassformer.features.vectors import stack_of
from glassformer.look.trace.cell import BLANKS, unmarked
from glassformer.look.trace.trace import Trace
from glassformer.models.inputs import Inputs
from glassformer.models.stack import Stack
from glassformer.models.transformer import Transformer
from glassformer.text.special import UNKNOWN
from glassformer.text.tokenizer import MASK

MOST_TOKENS = 256
SHOWN = 6
"""So many numbers of a vector are shown."""
_MARK = re.compile(r"\[[A-Z]+\]|<[^<>]+>")


@dataclass(frozen=True)
class Way:
    """The last states of the words, [P, W], in the text and in the shuffled text, both in the order of the text, of the
    model with its `positions` or without, where every word sees all words or, if `causal`, none after it. A word of
    several tokens has their mean.
    """

    positions: bool
    causal: bool
    text: Tensor
    shuffled: Tensor

    @property
    def name(self) -> str:
        return ("neither", "causal mask", "positions", "both")[2 * self.positions + self.causal]

    @property
    def apart(self) -> list[float]:
        """The largest difference between both vectors of each word."""
        return (self.text - self.shuffled).abs().amax(dim=-1).tolist()


@dataclass(frozen=True)
class Shuffled:
    """The words of a text; `order` has the words of the shuffled text, by their place in the text."""

    words: tuple[str, ...]
    order: tuple[int, ...]
    ways: tuple[Way, ...]

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """As JSON, with the first `most` numbers of each vector, or all."""
        ways = [
            {
                "positions": way.positions,
                "causal": way.causal,
                "apart": way.apart,
                "text": way.text[:, :most].tolist(),
                "shuffled": way.shuffled[:, :most].tolist(),
            }
            for way in self.ways
        ]
        return {"words": self.words, "order": self.order, "width": self.ways[0].text.shape[1], "ways": ways}


def shuffled(trace: Trace, *, sentence: int = 0, seed: int = 0) -> Shuffled:
    """One text of a run, and its words in another order, in the four ways; the marks at its ends stay where they are.
    Of an encoder–decoder its encoder; of a model without positions the two ways without. Raises ConfigError for a run
    without its model, and for a text that has fewer than two different words or more than 256 tokens.
    """
    given = None if trace.replay is None else trace.replay.inputs
    if trace.original is None or given is None or given.ids is None:
        raise ConfigError("shuffling words needs a model that reads tokens", got="a run without", do="trace a text")
    tokens = list(trace.words.sentence("inputs", sentence))
    units = units_of(tokens)
    names = tuple("".join(unmarked(tokens[token]).removeprefix("##") for token in unit) for unit in units)
    if len(set(names)) < 2 or len(tokens) > MOST_TOKENS:
        got = f"words: {len(set(names))}, tokens: {len(tokens)}"
        raise ConfigError(f"a text to shuffle has at least 2 different words and at most {MOST_TOKENS} tokens", got=got)
    order: list[int] = torch.randperm(len(units), generator=torch.Generator().manual_seed(seed)).tolist()
    if all(names[word] == name for word, name in zip(order, names, strict=True)):
        order = [*order[1:], order[0]]
    first, last = units[0][0], units[-1][-1] + 1
    moved = [*range(first), *(token for word in order for token in units[word]), *range(last, len(tokens))]
    both = torch.tensor([list(range(len(tokens))), moved], device=given.ids.device)  # [2, S]
    back = torch.tensor([list(range(len(tokens))), [moved.index(token) for token in range(len(tokens))]])  # [2, S]
    own = {name: getattr(given, name) for name in ("ids", "segments", "masked_words")}
    inputs = Inputs(**{name: None if fact is None else fact[sentence][both] for name, fact in own.items()})
    ways = []
    config = trace.config.encoder or trace.config.decoder
    assert config is not None
    orderless = _without_positions(config)
    for positions in (False, True)[: 1 + (orderless != config)]:
        for causal in (False, True):
            way = (config if positions else orderless).model_copy(update={"causal": causal})
            with torch.no_grad():
                states = _stack(trace.original, way)(inputs).float().cpu()  # [2, S, W]
            text, other = (states[row][back[row]] for row in (0, 1))  # [S, W] each
            means = [torch.stack([each[unit].mean(dim=0) for unit in units]) for each in (text, other)]  # [P, W] each
            ways.append(Way(positions, causal, *means))
    return Shuffled(names, tuple(order), tuple(ways))


def units_of(tokens: Sequence[str]) -> list[list[int]]:
    """The places of the tokens of each word, without the marks at both ends."""
    is_mark = [_MARK.fullmatch(token) is not None and token not in (MASK, *UNKNOWN) for token in tokens]
    blanks = any(token.startswith(BLANKS) for token in tokens)
    units: list[list[int]] = []
    for place, token in enumerate(tokens):
        if is_mark[place] and (all(is_mark[:place]) or all(is_mark[place:])):
            continue
        inside = token.startswith("##") or (blanks and not token.startswith(BLANKS) and token[:1].isalnum())
        if units and inside and not is_mark[place]:
            units[-1].append(place)
        else:
            units.append([place])
    return units


def _stack(model: Transformer, config: StackConfig) -> Stack:
    """The stack that reads the text, with the same weights and another config."""
    weights = stack_of(model).state_dict()
    other = Stack(config)
    other.load_state_dict({name: weights[name] for name in other.state_dict()}, assign=True)
    return other.eval()


def _without_positions(config: StackConfig) -> StackConfig:
    """The same without anything, apart from a causal mask, that depends on the order."""
    update = {
        "blocks": tuple(map(_orderless, config.blocks)),
        "embed": config.embed.model_copy(update={"position": PositionConfig(kind="none")}),
        "relative_bias": None,
    }
    return config.model_copy(update=update)


def _orderless(block: BlockConfig) -> BlockConfig:
    attention = block.self_attention
    body = attention.body.model_copy(update={"rotary": None, "relative_bias": False, "window": None})
    return block.model_copy(update={"self_attention": attention.model_copy(update={"body": body})})
