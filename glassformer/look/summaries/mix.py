"""How an attention mixes: one weighted value vector after the other, and each word's share in the sum.

H heads · K key tokens · E value size · B sentences · G key-value heads
"""

from collections.abc import Collection
from dataclasses import dataclass

from glassformer.look.formulas.explanation import Limits
from glassformer.look.formulas.named import Source
from glassformer.look.summaries.tables import shown_words
from glassformer.look.trace.tensors import Tensors


@dataclass(frozen=True)
class Move:
    """One step of mixing: a weight times a value vector, added to what was there."""

    word: str
    weight: float
    value: tuple[float, ...]
    added: tuple[float, ...]
    running: tuple[float, ...]
    absent: str = ""


@dataclass(frozen=True)
class Mixing:
    """How one head mixes the values of all words for one word, word by word."""

    head: int
    moves: tuple[Move, ...]
    more: str = ""


def mixing(
    trace: Tensors, attention: str, held: Source, sentence: int, query: int, head: int, limits: Limits
) -> Mixing:
    """One head's mixing for one word: each weight times its value vector, and the sum so far."""
    weights = held.tensor(f"{attention}.weights")[sentence, head, query]  # [K]
    values = held.tensor(f"{attention}.value")  # [B, G, K, E]
    group = head // (held.tensor(f"{attention}.weights").shape[1] // values.shape[1])
    values = values[sentence, group]  # [K, E]
    looks = held.tensor(f"{attention}.may_look")
    heads, queries = looks.shape[1], looks.shape[2]
    row = looks[min(sentence, looks.shape[0] - 1), min(head, heads - 1), min(query, queries - 1)]  # [K]
    formula = trace.statement.formulas[f"{attention}.weights"]
    masked_words = trace.facts.get(f"{formula.keys}.masked_words")
    known = shown_words(trace, formula.keys, sentence, len(weights))
    added = weights[:, None] * values  # [K, E]
    shown = sorted(weights.abs().topk(min(limits.words, len(weights))).indices.tolist())
    running = added[:0].sum(0)
    moves = []
    for key in shown:
        running = running + added[key]
        is_masked = masked_words is not None and bool(masked_words[sentence, key])
        reason = "" if row[key] else "absent: masked" if is_masked else "absent"
        value, plus, total = (tuple(each[: limits.cells].tolist()) for each in (values[key], added[key], running))
        moves.append(Move(known[key], float(weights[key]), value, plus, total, reason))
    left = len(weights) - len(shown)
    rest = added.sum(0) - running
    more = f"{left} more words: weights sum to {float(weights.sum() - weights[shown].sum()):.4f}" if left else ""
    more += f", vectors to [{' '.join(f'{number:+.4f}' for number in rest[: limits.cells].tolist())}]" if left else ""
    return Mixing(head, tuple(moves), more)


@dataclass(frozen=True)
class Share:
    """What one word gave to a mixed vector: the weight in each head, and the length of weight times value."""

    word: str
    weights: tuple[float, ...]
    length: float
    absent: str = ""


def shares(trace: Tensors, attention: str, *, query: int, sentence: int = 0) -> tuple[Share, ...]:
    """Each source word's share in the mixed vector of one word, over all heads; words not looked at are absent."""
    held = trace.hold([f"{attention}.{name}" for name in ("weights", "value", "may_look")])
    heads, keys = held.tensor(f"{attention}.weights").shape[1], held.tensor(f"{attention}.weights").shape[3]
    everything = Limits(words=keys, cells=1 << 30)
    mixings = [mixing(trace, attention, held, sentence, query, head, everything) for head in range(heads)]
    found = []
    for moves in zip(*(each.moves for each in mixings), strict=True):
        length = sum(number**2 for move in moves for number in move.added) ** 0.5
        absent = moves[0].absent if all(move.absent for move in moves) else ""
        found.append(Share(moves[0].word, tuple(move.weight for move in moves), length, absent))
    return tuple(found)


@dataclass(frozen=True)
class Look:
    """What one head looks at from one word: the cell of its largest weight on a word, and its largest weights."""

    attention: str
    query: str
    cell: tuple[int, int, int, int]
    largest: tuple[tuple[str, float], ...]


def looks(trace: Tensors, *, word: int, sentence: int = 0, special: Collection[int] = (), most: int = 3) -> list[Look]:
    """What each head looks at from a word, most on another word first; `special` tokens do not count for that."""
    found = []
    for name in (name for name in trace.statement.formulas if name.endswith("attention.weights")):
        formula = trace.statement.formulas[name]
        weights = trace.hold([name]).tensor(name)[sentence]  # [H, Q, K]
        query = min(word, weights.shape[1] - 1)
        words = shown_words(trace, formula.keys, sentence, weights.shape[2])
        own = shown_words(trace, formula.tokens, sentence, weights.shape[1])
        ids = trace.facts.get(f"{formula.keys}.ids")
        of_words = () if ids is None else ids[sentence, : len(words)].tolist()
        passed = {place for place, number in enumerate(of_words) if number in special}
        passed |= {query} if formula.keys == formula.tokens else set()
        for head, row in enumerate(weights[:, query].tolist()):
            order = sorted(range(len(row)), key=lambda key: -row[key])
            key = next((key for key in order if key not in passed), order[0])
            largest = tuple((words[each], row[each]) for each in order[:most])
            rank = 0.0 if key in passed else row[key]
            found.append((rank, Look(name.removesuffix(".weights"), own[query], (sentence, head, query, key), largest)))
    return [look for _, look in sorted(found, key=lambda each: -each[0])]
