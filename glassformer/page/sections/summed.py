"""The sections of *Sum it up for me*, worked out from a run. Their shapes are in `sums.py`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from glassformer.base.errors import ConfigError, DataError, ShapeError, UnknownNameError
from glassformer.look.summaries.attributions import NOTE, Attributions, attribute, goals
from glassformer.look.summaries.contributions import Part, contributions_of, place_of
from glassformer.look.summaries.head_jobs import JOBS, RULE, heads
from glassformer.look.summaries.integrated import integrate
from glassformer.look.summaries.lens import Lens, chosen_places, logit_lens, side_of
from glassformer.look.summaries.rollout import FORMULA, rollout
from glassformer.look.summaries.shuffled import SHOWN, shuffled
from glassformer.look.summaries.ties import Span, Ties, span_of, ties
from glassformer.look.texts.importance import Importance, head_importance
from glassformer.look.texts.trace import reads_by_word
from glassformer.look.trace.cell import word_at
from glassformer.look.trace.trace import Trace
from glassformer.page.sections import sums
from glassformer.page.sections.held_out import held_out

if TYPE_CHECKING:
    from glassformer.saved.artefact import Artefact

MOST_SHARES = 40_000
"""So many numbers of a rollout stand in a page, all texts together; of longer ones only those after the last block."""
MOST_PLACES, MOST_GOALS, GUESSES = 16, 8, 5
# What the documents' pictures show: a word, the one it is tied to, and those it could be tied to as well.
QUESTIONS = (
    ("it", "animal", ("street", "tired")),
    ("you", "how", ("hi",)),
    ("you", "are", ("hi",)),
)
TIES_NOTE = (
    "Among many heads some look more at one word than at another whatever the words mean. A large weight is neither "
    "understanding nor likeness: the cosine of the two vectors is another number, and what the head is good for is "
    "measured by switching it off."
)


def heads_summary(trace: Trace) -> sums.HeadsSummary:
    """What every head does over all texts of the run."""
    rows = [
        {
            "attention": head.attention,
            "head": head.head,
            "job": head.job,
            "value": known(head.value),
            **{name: known(value) for name, value in head.measures.items()},
        }
        for head in heads(trace)
    ]
    texts = max((len(fact) for name, fact in trace.facts.items() if name.endswith((".ids", ".vectors"))), default=1)
    return {"texts": texts, "jobs": list(JOBS), "rule": RULE, "heads": rows}  # type: ignore[typeddict-item]  # the measures by name


def rollout_section(trace: Trace) -> sums.RolloutSection:
    """Rollout after each block, as far as it has room."""
    found = rollout(trace)
    own = "inputs" if found.encoder is None or found.decoder is None else "decoder_inputs"
    kinds = {
        "encoder": (found.encoder, "inputs", "inputs"),
        "decoder": (found.decoder, own, own),
        "cross": (found.cross, own, "inputs"),
    }
    shares = {kind: each for kind, each in kinds.items() if each[0] is not None}
    numbers = sum(tensor.numel() for tensor, *_ in shares.values() if tensor is not None)
    last = sum(tensor[-1].numel() for tensor, *_ in shares.values() if tensor is not None)
    if last > MOST_SHARES:
        reason = f"after the last block there are {last:,} shares: more than the {MOST_SHARES:,} that a page carries"
        return {"stacks": [], "formula": FORMULA, "left_out": reason}
    stacks: list[sums.RolledOut] = []
    for kind, (tensor, queries, keys) in shares.items():
        assert tensor is not None
        blocks = tensor if numbers <= MOST_SHARES else tensor[-1:]
        stacks.extend(
            {
                "kind": kind,
                "queries": queries,
                "keys": keys,
                "sentence": sentence,
                "first_block": len(tensor) - len(blocks),
                "blocks": [[digits(row) for row in block[sentence]] for block in blocks],
            }
            for sentence in range(tensor.shape[1])
        )
    left_out = "" if numbers <= MOST_SHARES else "the blocks before the last: these texts are too long for all of them"
    return {"stacks": stacks, "formula": FORMULA, "left_out": left_out}


def lens_section(trace: Trace) -> sums.LensSection:
    """The logit lens at the first places where the vocabulary was scored; of a decoder the last ones."""
    if "head.logits" not in trace:
        raise ConfigError("this model has no output layer over words: from no state does it guess words")
    every = chosen_places(trace)
    chosen = every[-MOST_PLACES:] if trace.config.output_stack.causal else every[:MOST_PLACES]
    found = logit_lens(trace, top=GUESSES, places=chosen)
    side = side_of(trace)
    places: list[sums.LensPlace] = [
        {
            "at": word(trace, side, sentence, token),
            "answer": guess(trace, int(found.answer[place]), found.answer_probability[-1, place]),
            "layers": [lens_layer(trace, found, layer, place) for layer in range(len(found.states))],
        }
        for place, (sentence, token) in enumerate(found.places)
    ]
    rest = len(every) - len(chosen)
    return {"places": places, "left_out": f"{rest} more places" if rest else ""}


def lens_layer(trace: Trace, found: Lens, layer: int, place: int) -> sums.LensLayer:
    """What the head would answer from one state at one place."""
    pairs = zip(found.tokens[layer, place].tolist(), found.probabilities[layer, place], strict=True)
    return {
        "state": found.states[layer],
        "block": layer - 1 if layer else None,
        "top": [guess(trace, id_, probability) for id_, probability in pairs],
        "rank": int(found.rank[layer, place]),
        "probability": digit(found.answer_probability[layer, place]),
        "entropy": digit(found.entropy[layer, place]),
    }


def guess(trace: Trace, id_: int, probability: Tensor) -> sums.Guess:
    """A token of the vocabulary with its probability."""
    return {"id": id_, "text": word_at(trace.words.vocabulary, id_), "probability": digit(probability)}


def attributions_section(trace: Trace) -> sums.AttributionsSection:
    """What the best answer of each of the first places owes to every token."""
    asked = goals(trace, MOST_GOALS)
    found = attribute(trace, asked)
    rows = trace.tensor(asked[0][0]).shape[:-1].numel()
    left_out = f"{rows - len(asked)} more answers" if rows > len(asked) else ""
    return {"goals": [goal(trace, each) for each in found], "note": NOTE, "left_out": left_out}


def goal(trace: Trace, found: Attributions) -> sums.Goal:
    """One answer and what it owes to the tokens of its own text."""
    axes, cell = trace.axes(found.goal), found.cell
    sentence, token = place_of(trace, cell)
    last = axes[-1]
    answer = word_at(trace.words.listed(last), cell[last])
    side = trace.statement.formulas[found.goal].tokens
    where = "" if token is None else f" at {word(trace, side, sentence, token)['text']}"
    parts = contributions_of(trace, found.goal, cell)
    return {
        "name": found.goal,
        "cell": list(cell.values()),
        "text": f"{answer}{where}",
        "value": digit(found.value),
        "sentence": sentence,
        "of": [
            {
                "side": each.side,
                "tensor": each.tensor,
                "gradient": digits(each.gradient[sentence]),
                "product": digits(each.product[sentence]),
            }
            for each in found.of
        ],
        "added": [added(part) for part in parts.parts],
        "constant": digit(parts.constant),
    }


def added(part: Part) -> sums.Added:
    """What one tensor of the stream added: of an attention the sum of its heads for each token, and of each head."""
    attends = part.words.dim() > 1
    return {
        "tensor": part.tensor,
        "value": digit(part.value),
        "side": part.side,
        "words": digits(part.words.sum(0) if attends else part.words),
        "heads": digits(part.words.sum(-1)) if attends else [],
        "bias": digit(part.bias),
    }


def integrated_section(trace: Trace, order: int) -> sums.IntegratedSection:
    """The integrated gradients of one of the goals."""
    asked = goals(trace, MOST_GOALS)
    if order >= len(asked):
        raise ConfigError(f"the run has {len(asked)} answers", got=f"number {order}")
    found = integrate(trace, *asked[order])
    sentence, _ = place_of(trace, found.cell)
    return {
        "value": digit(found.value),
        "baseline": digit(found.baseline),
        "missing": digit(found.missing),
        "shares": {side: digits(shares[sentence]) for side, shares in found.of.items()},
    }


def ties_section(trace: Trace) -> sums.TiesSection:
    """The questions of the documents that the texts of this run have the words for."""
    questions = []
    for sentence in range(len(trace.words.inputs)):
        for asked, one, others in QUESTIONS:
            there = [other for other in others if has(trace, other, sentence)]
            if there and has(trace, asked, sentence) and has(trace, one, sentence):
                questions.append(question(trace, ties(trace, asked, one, there, sentence=sentence)))
    return {"questions": questions, "note": TIES_NOTE}


def shuffled_section(trace: Trace) -> sums.ShuffledSection:
    """Each text of this run and its words in another order."""
    return {"texts": [shuffled(trace, sentence=text).to_dict(SHOWN) for text in range(len(trace.words.inputs))]}


def has(trace: Trace, word: str, sentence: int) -> bool:
    """Whether a text has a word, once."""
    try:
        span_of(trace.words, word, sentence=sentence)
    except UnknownNameError:
        return False
    return True


def question(trace: Trace, found: Ties) -> sums.Question:
    """One question with all heads."""
    first = found.tying[0] if found.tying else None
    return {
        "word": span(found.word),
        "one": span(found.one),
        "others": [span(other) for other in found.others],
        "heads": [
            {"attention": tie.attention, "head": tie.head, "one": digit(tie.one), "others": digits(tie.others)}
            for tie in found.heads
        ],
        "tying": len(found.tying),
        "best": None if first is None else found.heads.index(first),
        "similar": [
            {"tensor": each.tensor, "one": digit(each.one), "others": digits(each.others)} for each in found.similar
        ],
    }


def span(found: Span) -> sums.Word:
    """A word by its first token."""
    return {"side": found.side, "sentence": found.sentence, "token": found.tokens[0], "text": found.text}


def word(trace: Trace, side: str, sentence: int, token: int) -> sums.Word:
    """A token of a text."""
    text = word_at(trace.words.sentence(side, sentence), token)
    return {"side": side, "sentence": sentence, "token": token, "text": text}


LIVE_TEXTS = 16
"""So many sentences are enough for a page that waits; `glassformer heads` reads more."""


def importance_of_package(model: Artefact) -> Any:
    """What is lost without each head on sentences of the package, or why that cannot be measured."""
    if reads_by_word(model.config, model.tokenizer):
        return {
            "reason": "this model can read no text that it has not learned from: its vocabulary has only their words"
        }
    pairs = held_out()[:LIVE_TEXTS]
    two_stacks = model.config.encoder is not None and model.config.decoder is not None
    try:
        found = head_importance(model, [one for one, _ in pairs], [two for _, two in pairs] if two_stacks else None)
    except (ConfigError, DataError, ShapeError) as error:
        return {"reason": str(error)}
    return importance_section(found, f"{len(pairs)} sentences of the package that no model of it has learned from")


def importance_section(found: Importance, text: str) -> sums.ImportanceSection:
    """What is lost without each head; `text` says on what it was measured."""
    return {
        "measure": found.measure,
        "unit": found.unit,
        "baseline": digit(found.baseline),
        "rows": found.texts,
        "scored": found.scored,
        "text": text,
        "heads": [
            {
                "attention": each.attention,
                "head": each.head,
                "difference": digit(each.difference),
                "low": known(each.low),
                "high": known(each.high),
            }
            for each in found.heads
        ],
    }


def known(value: float) -> float | None:
    """A number, or null for one that is not known."""
    return None if math.isnan(value) else digit(value)


def digit(value: float | Tensor) -> float:
    """A number with six digits."""
    return float(f"{float(value):.6g}")


def digits(values: Tensor | Iterable[float]) -> list[float]:
    """Numbers with six digits each."""
    return [digit(value) for value in (values.tolist() if isinstance(values, Tensor) else values)]
