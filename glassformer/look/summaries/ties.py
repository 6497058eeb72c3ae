"""Does a head tie one word to another? How much each head looks from a word at others, and how alike their vectors
are: two things that are easily taken for one another, and neither of which is understanding (C-38).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, UnknownNameError
from glassformer.look.summaries.head_measures import attentions
from glassformer.look.trace.cell import Words, find_word, unmarked, word_and_place
from glassformer.look.trace.tensors import Tensors, check_trace, states_of


@dataclass(frozen=True)
class Span:
    """A word of a text: the places of its tokens, in a row."""

    side: str
    sentence: int
    tokens: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Tie:
    """What a head gives, of the attention of a word, to another word (`one`) and to the `others`."""

    attention: str
    head: int
    one: float
    others: tuple[float, ...]

    @property
    def lead(self) -> float:
        """How much more the one gets than the strongest of the others; below 0 where one of them gets more."""
        return self.one - max(self.others)


@dataclass(frozen=True)
class Similar:
    """The cosine of the word's vector with that of the one and of the others, in one tensor of the run."""

    tensor: str
    one: float
    others: tuple[float, ...]


@dataclass(frozen=True)
class Ties:
    """What every self-attention head does with a word; `similar` goes from the embedding to the last state."""

    word: Span
    one: Span
    others: tuple[Span, ...]
    heads: tuple[Tie, ...]
    similar: tuple[Similar, ...]

    @property
    def tying(self) -> tuple[Tie, ...]:
        """The heads that look at the one more than at each of the others, the largest lead first."""
        return tuple(sorted((tie for tie in self.heads if tie.lead > 0), key=lambda tie: -tie.lead))


def ties(
    trace: Tensors, word: str, one: str, others: str | Sequence[str], *, sentence: int = 0, side: str = "inputs"
) -> Ties:
    """How much each head looks from `word` at `one`, and at each of `others`, in one text of a run. Words are written
    as in the text, `it` or `the@3` where one occurs twice. Of a word that was cut into several tokens the weights are
    summed where it is looked at and averaged where it looks; its vector is the mean of theirs. `side` is the text that
    has the words, in whose self-attention they meet: `inputs`, or `decoder_inputs` of an encoder-decoder. Raises
    UnknownNameError for words that the text does not have, ConfigError for a side without self-attention and for a
    sentence that the run does not have.
    """
    check_trace(trace)
    names = tuple(others) if isinstance(others, Sequence) and not isinstance(others, str) else (others,)
    if not names:
        raise ConfigError("a head is asked whether it looks at one word more than at another", got="no other word")
    if strange := [each for each in (word, one, *names) if not isinstance(each, str)]:
        raise ConfigError("words are strings, as in the text", got=repr(strange[0])[:60])
    formulas = trace.statement.formulas
    within = (name for name in attentions(trace) if name.endswith("self_attention"))
    own = [name for name in within if formulas[f"{name}.weights"].tokens == side]
    if not own:
        raise ConfigError(f"no self-attention looks from {side} at {side}", got=trace.config.family)
    count = len(trace[f"{own[0]}.weights"])
    if sentence not in range(count):
        raise ConfigError(f"sentence must count from 0 to {count - 1}", got=repr(sentence)[:60])
    at, first, *rest = (span_of(trace.words, each, sentence=sentence, side=side) for each in (word, one, *names))
    heads = []
    for attention in own:
        weights = trace[f"{attention}.weights"][sentence].double().cpu()  # [H, Q, K]
        looking = weights[:, list(at.tokens)].mean(1)  # [H, K]
        shares = [looking[:, list(span.tokens)].sum(-1).tolist() for span in (first, *rest)]
        for head, (most, *less) in enumerate(zip(*shares, strict=True)):
            heads.append(Tie(attention, head, most, tuple(less)))
    similar = []
    stack = own[0].partition(".")[0]
    for name in dict.fromkeys((f"{stack}.embed.word", *states_of(trace, stack))):
        states = trace[name][sentence].double().cpu()  # [S, W]
        mine, *theirs = (states[list(span.tokens)].mean(0) for span in (at, first, *rest))
        alike = [cosine(mine, vector) for vector in theirs]
        similar.append(Similar(name, alike[0], tuple(alike[1:])))
    return Ties(at, first, tuple(rest), tuple(heads), tuple(similar))


def span_of(words: Words, asked: str, *, sentence: int = 0, side: str = "inputs") -> Span:
    """A word of a text with all its tokens, in either case of its first letter; raises UnknownNameError."""
    named = asked
    try:
        first = find_word(words, asked, option="a tie", side=side, sentence=sentence)
    except UnknownNameError as error:
        named = asked[:1].swapcase() + asked[1:]
        try:
            first = find_word(words, named, option="a tie", side=side, sentence=sentence)
        except UnknownNameError:
            raise error from None
    row, (wanted, _) = words.sentence(side, sentence), word_and_place(named)
    joined, tokens = unmarked(row[first]) if first < len(row) else "", [first]
    alone = named.lstrip("-").isdigit() or first in words.positions(side, sentence, wanted)
    while not alone and len(joined) < len(wanted) and tokens[-1] + 1 < len(row):
        tokens.append(tokens[-1] + 1)
        joined += row[tokens[-1]].removeprefix("##")
    return Span(side, sentence, tuple(tokens), joined)


def cosine(one: Tensor, two: Tensor) -> float:
    """The cosine of the angle between two vectors; 0 where one of them is 0."""
    return float(torch.nn.functional.cosine_similarity(one, two, dim=0))
