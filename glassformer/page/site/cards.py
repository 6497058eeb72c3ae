"""A card: one question about a model, the answer of a run in a sentence, a picture of it, and the place that shows it.

Q query tokens · K key tokens · H heads
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, GlassformerError
from glassformer.look.summaries.lens import chosen_places, logit_lens, side_of
from glassformer.look.summaries.rollout import rollout
from glassformer.look.summaries.ties import ties
from glassformer.look.trace.cell import unmarked, word_at
from glassformer.look.trace.trace import Trace
from glassformer.page.site.examples import Example, View, usual

SHOWN = 9
"""So many rows fit into a picture."""


@dataclass(frozen=True)
class Bar:
    """A row of a picture: its label, a share between 0 and 1, what is written at its end, and whether it is meant."""

    label: str
    share: float
    said: str
    meant: bool


@dataclass(frozen=True)
class Lines:
    """Weights between words: `left` look at `right`; a line has its two ends, its weight, and whether it is meant."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    lines: tuple[tuple[int, int, float, bool], ...]


Picture = Lines | tuple[Bar, ...]


@dataclass(frozen=True)
class Card:
    """A question, the answer of the run, the place of the page that shows it, and its picture."""

    question: str
    answer: str
    place: str
    picture: Picture


Found = tuple[str, str, Picture]


def card_of(trace: Trace, asked: Example) -> Card:
    """The card of a run, with the next view that it has; raises ConfigError, that of the last view, for a run
    without any.
    """
    order: list[View] = [asked.view] if asked.view else []
    order += [view for view in ("cross", "lens", "rollout") if view not in order]
    wrong: GlassformerError | None = None
    for view in order:
        try:
            answer, place, picture = MADE[view](trace, asked)
        except GlassformerError as error:
            wrong = error
            continue
        question = asked.question if view == asked.view and asked.question else usual(view)
        return Card(question, answer, place, picture)
    assert wrong is not None
    raise wrong


def tied(trace: Trace, asked: Example) -> Found:
    """The head that ties two words most."""
    word, one, *others = asked.words
    found = ties(trace, word, one, others)
    best = max(found.heads, key=lambda tie: tie.lead)
    row = weights_of(trace, best.attention)[best.head]
    side = found.word.side
    at = found.word.tokens[0]
    tokens = (at, found.one.tokens[0], *(other.tokens[0] for other in found.others))
    answer = (
        f"Block {head_name(best.attention, best.head)} gives “{found.one.text}” {best.one:.0%} of the attention of "
        f"“{found.word.text}”, and “{found.others[0].text}” {best.others[0]:.0%}."
    )
    return answer, place("ties", at=tokens), lines(trace, side, side, row, only=at, aim=tokens[1])


def looked(trace: Trace, asked: Example) -> Found:
    """What the first hidden word looks at, in the head that is clearest about it."""
    hidden = sorted(trace.words.answers or {})
    name = next((each for each in trace if each.endswith("self_attention.weights")), None)
    if not hidden or name is None:
        return crossed(trace, asked)
    sentence, token = hidden[0]
    attention = name.removesuffix(".weights")
    side = trace.statement.formulas[name].tokens
    weights = weights_of(trace, attention, sentence)  # [H, Q, K]
    words = trace.words.sentence(side, sentence)
    real = [key for key in spoken(words) if key != token and key < weights.shape[-1]]
    head = int(weights[:, token, real].max(-1).values.argmax())
    key = real[int(weights[head, token, real].argmax())]
    answer = (
        f"Block {head_name(attention, head)} gives “{shown(words[key])}” {weights[head, token, key]:.0%} of the "
        "attention of the hidden word."
    )
    where = place("head", tensor=name, cell=(sentence, head, token, key), sentence=(sentence,))
    return answer, where, lines(trace, side, side, weights[head], only=token, aim=key, sentence=sentence)


def crossed(trace: Trace, asked: Example) -> Found:
    """The cross-attention head whose tokens look most clearly at one word of the source each."""
    named = [name for name in trace if name.endswith("cross_attention.weights")]
    best: tuple[float, str, int] = (-1.0, "", 0)
    queries = spoken(trace.words.sentence("decoder_inputs", 0))
    keys = spoken(trace.words.sentence("inputs", 0))
    for name in named if queries and keys else ():
        weights = weights_of(trace, name.removesuffix(".weights"))  # [H, Q, K]
        clear = weights[:, queries][:, :, keys].max(-1).values.mean(-1)
        best = max(best, (float(clear.max()), name, int(clear.argmax())))
    _, name, head = best
    if not name:
        raise ConfigError("the flow between two texts needs cross-attention", got=f"the family {trace.config.family}")
    weights = weights_of(trace, name.removesuffix(".weights"))[head]
    own, source = trace.words.sentence("decoder_inputs", 0), trace.words.sentence("inputs", 0)
    clear = weights[queries][:, keys]
    query = queries[int(clear.max(-1).values.argmax())]
    key = keys[int(weights[query, keys].argmax())]
    answer = (
        f"In block {head_name(name.removesuffix('.weights'), head)}, “{shown(own[query])}” takes "
        f"{weights[query, key]:.0%} of its attention from “{shown(source[key])}”."
    )
    return (
        answer,
        place("head", tensor=name, cell=(0, head, query, key)),
        lines(trace, "decoder_inputs", "inputs", weights, queries=queries),
    )


def settled(trace: Trace, asked: Example) -> Found:
    """The first guess from the state after each block, at the last place that was scored, or the first hidden word."""
    side, every = side_of(trace), chosen_places(trace)
    real, tokens = trace.facts.get(f"{side}.real"), trace.facts[f"{side}.positions"].shape[1]
    # Of the text that is shown, the first, without its padding.
    every = [each for each in every if each < tokens and (real is None or real[0, each])] or every
    at = every[-1] if trace.config.decoder is not None else every[0]
    found = logit_lens(trace, top=1, places=[at])
    vocabulary = trace.words.vocabulary
    answer = shown(word_at(vocabulary, int(found.answer[0])))
    shares = found.answer_probability[:, 0].tolist()
    first, ranks = found.probabilities[:, 0, 0].tolist(), found.rank[:, 0].tolist()
    wrong = max((layer for layer, rank in enumerate(ranks) if rank > 1), default=-1)
    when = "from the start" if wrong < 0 else f"from block {wrong} on"
    said = f"“{answer}” is the first guess {when}, at the end with {shares[-1]:.0%}."
    order = steps(len(shares))
    bars = tuple(
        Bar(
            "the words" if layer == 0 else f"block {layer - 1}",
            first[layer],
            f"{shown(word_at(vocabulary, int(found.tokens[layer, 0, 0])))} {first[layer]:.0%}",
            ranks[layer] == 1,
        )
        for layer in order
    )
    return said, place("lens"), bars


def rolled(trace: Trace, asked: Example) -> Found:
    """Of which words the state of one place is made after all blocks, by attention rollout."""
    found = rollout(trace).encoder
    if found is None:
        found = rollout(trace).decoder
    assert found is not None
    side = "inputs" if trace.config.encoder is not None or not trace.words.decoder_inputs else "decoder_inputs"
    words = trace.words.sentence(side, 0)
    hidden = sorted(key for key in trace.words.answers or {} if key[0] == 0)
    token = hidden[0][1] if hidden else 0
    shares = found[-1, 0, token].tolist()
    others = [each for each in spoken(words) if each != token and each < len(shares)]
    if not others:
        raise ConfigError("a card needs a word that another one is made of", got="none", do="give a longer text")
    best = max(others, key=lambda each: shares[each])
    of = "the hidden word" if hidden else f"“{shown(words[token])}”"
    said = f"After all blocks, {of} has more of “{shown(words[best])}” than of any other word: {shares[best]:.0%}."
    bars = tuple(
        Bar(shown(words[each]), shares[each], f"{shares[each]:.0%}", each == best)
        for each in window(len(words), best)
        if each < len(shares)
    )
    return said, place("rollout"), bars


MADE: Mapping[View, Callable[[Trace, Example], Found]] = {
    "ties": tied,
    "hidden": looked,
    "cross": crossed,
    "lens": settled,
    "rollout": rolled,
}


def lines(
    trace: Trace,
    queries_side: str,
    keys_side: str,
    weights: Tensor,
    *,
    only: int | None = None,
    aim: int = 0,
    queries: Sequence[int] = (),
    sentence: int = 0,
) -> Lines:
    """The weights [Q, K] of a head as lines between the words that fit, those around the query `only` and the key
    `aim`. The lines of that query are meant, or those of the `queries`.
    """
    left, right = (trace.words.sentence(side, sentence) for side in (queries_side, keys_side))
    rows = window(len(left), only or 0)
    columns = rows if queries_side == keys_side and aim in rows else window(len(right), aim)
    drawn = []
    for row, query in enumerate(rows):
        meant = query == only if only is not None else query in queries
        for column, key in enumerate(columns):
            if query < weights.shape[0] and key < weights.shape[1]:
                drawn.append((row, column, float(weights[query, key]), meant))
    return Lines(tuple(shown(left[each]) for each in rows), tuple(shown(right[each]) for each in columns), tuple(drawn))


def weights_of(trace: Trace, attention: str, sentence: int = 0) -> Tensor:
    """The weights of an attention for one text, [H, Q, K]."""
    return trace[f"{attention}.weights"][sentence].double().cpu()


def spoken(words: Sequence[str]) -> list[int]:
    """The places of words and hidden words, without marks and punctuation."""
    return [at for at, word in enumerate(words) if is_word(word)]


def is_word(token: str) -> bool:
    text = unmarked(token)
    if text.upper() in ("[MASK]", "<MASK>"):
        return True
    return not (text[:1] in "[<" and text[-1:] in "]>") and any(sign.isalnum() for sign in text)


def window(count: int, around: int) -> list[int]:
    """The places that fit into a picture, with the one in question among them."""
    start = max(0, min(around - SHOWN // 2, count - SHOWN))
    return list(range(start, min(count, start + SHOWN)))


def steps(count: int) -> list[int]:
    """The states that fit into a picture, evenly, the first and the last among them."""
    if count <= SHOWN:
        return list(range(count))
    return torch.linspace(0, count - 1, SHOWN).round().int().tolist()


def shown(token: str) -> str:
    """A token as people read it: no marks for blanks, and no sign that has no width."""
    text = unmarked(token).strip()
    return "".join(sign if sign.isprintable() else f"<U+{ord(sign):04X}>" for sign in text)


def head_name(attention: str, head: int) -> str:
    """`encoder.blocks.2.self_attention`, 1: `2, head 1`."""
    return f"{attention.split('.')[2]}, head {head}"


def place(level: str, **more: Sequence[int] | str) -> str:
    """The fragment of an address, as `web/src/address/state.ts` reads it."""
    parts = {name: value if isinstance(value, str) else ",".join(map(str, value)) for name, value in more.items()}
    return "&".join((f"level={level}", *(f"{name}={quote(value, safe='.,')}" for name, value in parts.items())))
