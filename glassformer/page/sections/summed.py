"""The sections of *Sum it up for me* that a page cannot work out itself, as `web/src/record/sums.ts` reads them.

A number has six digits; one that is not known is null. `text` is a token as people read it. A section that cannot be
made for a model (`lens` without a vocabulary head) is `{"reason": "one sentence"}` instead: see `sections.or_reason`.
"""

import math
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from torch import Tensor

from glassformer.base.errors import ConfigError, DataError, ShapeError
from glassformer.look.summaries.attributions import NOTE, Attributions, attribute, goals
from glassformer.look.summaries.contributions import Part, contributions_of, place_of
from glassformer.look.summaries.integrated import integrate
from glassformer.look.summaries.lens import Lens, chosen_places, logit_lens, side_of
from glassformer.look.summaries.shuffled import SHOWN, shuffled
from glassformer.look.texts.importance import Importance, head_importance
from glassformer.look.texts.trace import reads_by_word
from glassformer.look.trace.cell import word_at
from glassformer.look.trace.trace import Trace
from glassformer.saved.artefact import Artefact

Section = dict[str, Any]
MOST_PLACES, MOST_GOALS, GUESSES = 16, 8, 5


def lens_section(trace: Trace) -> Section:
    """The logit lens at the first places where the vocabulary was scored; of a decoder the last ones. Block null is the
    embedding; `rank` (from 1) and `probability` are those of the final answer.
    """
    if "head.logits" not in trace:
        raise ConfigError("this model has no output layer over words: from no state does it guess words")
    side, every = side_of(trace), chosen_places(trace)
    if (real := trace.facts.get(f"{side}.real")) is not None:
        every = [place for place in every if real.flatten()[place]]
    chosen = every[-MOST_PLACES:] if trace.config.output_stack.causal else every[:MOST_PLACES]
    found = logit_lens(trace, top=GUESSES, places=chosen)
    places = [
        {
            "at": word(trace, side, sentence, token),
            "answer": guess(trace, int(found.answer[place]), found.answer_probability[-1, place]),
            "layers": [lens_layer(trace, found, layer, place) for layer in range(len(found.states))],
        }
        for place, (sentence, token) in enumerate(found.places)
    ]
    rest = len(every) - len(chosen)
    return {"places": places, "left_out": f"places of this run that are not listed: {rest}" if rest else ""}


def lens_layer(trace: Trace, found: Lens, layer: int, place: int) -> Section:
    pairs = zip(found.tokens[layer, place].tolist(), found.probabilities[layer, place], strict=True)
    return {
        "state": found.states[layer],
        "block": layer - 1 if layer else None,
        "top": [guess(trace, id_, probability) for id_, probability in pairs],
        "rank": int(found.rank[layer, place]),
        "probability": written(found.answer_probability[layer, place]),
        "entropy": written(found.entropy[layer, place]),
    }


def guess(trace: Trace, id_: int, probability: Tensor) -> Section:
    return {"id": id_, "text": word_at(trace.words.vocabulary, id_), "probability": written(probability)}


def attributions_section(trace: Trace) -> Section:
    """What the best answer of each of the first places owes to every token."""
    asked = goals(trace, _most_goals(trace))
    found = attribute(trace, asked)
    rest = len(goals(trace, trace.tensor(asked[0][0]).shape[:-1].numel())) - len(asked)
    left_out = f"{rest} more answers" if rest else ""
    return {"goals": [goal(trace, each) for each in found], "note": NOTE, "left_out": left_out}


def _most_goals(trace: Trace) -> int:
    """At least one of each of the first texts."""
    return min(max(MOST_GOALS, len(trace.words.inputs)), 4 * MOST_GOALS)


def goal(trace: Trace, found: Attributions) -> Section:
    """One answer and what it owes to the tokens of its own text; `added` and `constant` sum to its value."""
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
        "value": written(found.value),
        "sentence": sentence,
        "of": [
            {
                "side": each.side,
                "tensor": each.tensor,
                "gradient": written(each.gradient[sentence]),
                "product": written(each.product[sentence]),
            }
            for each in found.of
        ],
        "added": [added(part) for part in parts.parts],
        "constant": written(parts.constant),
    }


def added(part: Part) -> Section:
    """What one tensor of the stream added: of an attention the sum of its heads for each token, and of each head."""
    attends = part.words.dim() > 1
    return {
        "tensor": part.tensor,
        "value": written(part.value),
        "side": part.side,
        "words": written(part.words.sum(0) if attends else part.words),
        "heads": written(part.words.sum(-1)) if attends else [],
        "bias": written(part.bias),
    }


def integrated_section(trace: Trace, order: int) -> Section:
    """The integrated gradients of one of the goals: `shares` sum to `value - baseline`, except for `missing`."""
    asked = goals(trace, _most_goals(trace))
    if order >= len(asked):
        raise ConfigError(f"the run has {len(asked)} answers", got=f"number {order}")
    found = integrate(trace, *asked[order])
    sentence, _ = place_of(trace, found.cell)
    return {
        "value": written(found.value),
        "baseline": written(found.baseline),
        "missing": written(found.missing),
        "shares": {side: written(shares[sentence]) for side, shares in found.of.items()},
    }


def shuffled_section(trace: Trace) -> Section:
    return {"texts": [shuffled(trace, sentence=text).to_dict(SHOWN) for text in range(len(trace.words.inputs))]}


def word(trace: Trace, side: str, sentence: int, token: int) -> Section:
    text = word_at(trace.words.sentence(side, sentence), token)
    return {"side": side, "sentence": sentence, "token": token, "text": text}


LIVE_TEXTS = 16
"""So many sentences are enough for a page that waits; `glassformer heads` reads more."""


def held_out() -> tuple[tuple[str, str], ...]:
    """Sentences that no model of the package has learned from, each in English and in French."""
    text = resources.files("glassformer.page").joinpath("held_out.toml").read_text(encoding="utf-8")
    return tuple((source, target) for source, target in tomllib.loads(text)["pairs"])


def importance_of_package(model: Artefact) -> Section:
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


def importance_section(found: Importance, text: str) -> Section:
    """What is lost without each head; `text` says on what it was measured."""
    return {
        "measure": found.measure,
        "unit": found.unit,
        "baseline": written(found.baseline),
        "rows": found.texts,
        "scored": found.scored,
        "text": text,
        "heads": [written(vars(each)) for each in found.heads],
    }


def written(value: Any) -> Any:
    """As JSON: tensors as lists, numbers with six digits, one that is not known as null."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {name: written(each) for name, each in value.items()}
    return [written(each) for each in value] if isinstance(value, list) else value
