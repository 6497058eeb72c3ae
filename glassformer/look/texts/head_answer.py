"""What a model answers to a text, in words: the last step of its walk-through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import Any

from glassformer.answering.answers import answer
from glassformer.base.errors import DataError
from glassformer.look.formulas.explanation import Limits
from glassformer.look.summaries.tables import Table
from glassformer.look.texts.walkthrough import Step
from glassformer.saved.artefact import Artefact
from glassformer.scoring.bio import is_scheme
from glassformer.tasks import task_named
from glassformer.tasks.labels.answer.spans import Answer
from glassformer.tasks.labels.choose.candidates import Choice
from glassformer.tasks.labels.tag.tagging import Tagging
from glassformer.text.token_text import marked

ALONE = (
    "None for one candidate alone: choose compares the scores of all candidates by a softmax over them. Give each with "
    "--choice."
)
LEGAL = "A tag that may not follow the one before it is ruled out: I- goes on with a span of its own label."
WRITING = (
    "The decoder is given what it has written so far; the likeliest next token is appended; again, until the likeliest "
    "is the end. What was computed for earlier tokens stays: they do not look ahead."
)
# Characters of an answer that are repeated.
_SHOWN = 200


def head_answer(
    model: Artefact, text: str, pair: str | None, limits: Limits, choices: Sequence[str] = ()
) -> Step | None:
    """The answer of a model's head for labels to a text or pair, or to a text with candidates, as its verb gives it, or
    how it writes a translation; None where it has none. What its task does to the scores before is told: it is no
    tensor of the trace.
    """
    if model.task_name is None:
        return None
    task = task_named(model.task_name)
    if task.verbs.get("head") == "translate":
        return writing(model, text, limits)
    verb = task.verbs.get("sentence_head", task.verbs.get("token_head"))
    if verb == "choose" and not choices:
        return Step("The model's answer", remarks=(ALONE,))
    if verb is None or (task.of_pairs and pair is None and not choices):
        return None
    texts: dict[str, object] = {"text": text} if pair is None else {"text": text, "pair": pair}
    texts |= {"choices": list(choices)} if choices else {}
    try:
        (found,) = answer(model, verb, [(texts, "")], {})
    except DataError as error:
        return Step("The model's answer", remarks=(f"none: {error}",))
    tables, remarks = _WRITE[verb](found, limits)
    if found.windows > 1:
        windows = f"{verb} reads a text of this length in {found.windows:,} windows; the steps before read it in one."
        remarks = (windows, *remarks)
    if verb == "tag" and is_scheme(model.labels):
        remarks = (*remarks, LEGAL)
    if verb == "classify":
        remarks = (*_between(model.task), *remarks)
    return Step("The model's answer", tables=tables, remarks=remarks)


def writing(model: Artefact, text: str, limits: Limits) -> Step:
    """How the model writes its translation of a text: token by token, each the likeliest, until the end."""
    (greedy,) = answer(model, "translate", [({"text": text}, "")], {"beams": 1, "length_penalty": None})
    (found,) = answer(model, "translate", [({"text": text}, "")], {})
    kept = greedy.tokens[: 4 * limits.words]
    rows = tuple((marked(each.text), (exp(each.log_probability),)) for each in kept)
    left = len(greedy.tokens) - len(kept)
    table = Table("what is appended", ("probability",), rows, more=f"{left:,} more tokens" if left else "")
    remarks = [WRITING, f"The reply: {greedy.translation}"]
    if found.translation != greedy.translation:
        remarks.append(f"translate searches with several beams, and finds: {found.translation}")
    if greedy.windows > 1:
        remarks.append(f"translate reads a text of this length in {greedy.windows:,} parts.")
    return Step("The likeliest is appended, until the end", tables=(table,), remarks=tuple(remarks))


Written = tuple[tuple[Table, ...], tuple[str, ...]]


def _classified(prediction: Any, limits: Limits) -> Written:
    """The label or labels with the probabilities of all, or the number."""
    found = prediction.to_dict()
    if "probabilities" not in found:
        return (), (f"The number: {found['number']:.4g}.",)
    order = sorted(found["probabilities"].items(), key=lambda each: -each[1])
    kept = order[: 2 * limits.answers]
    more = f"{len(order) - len(kept):,} more labels" if len(order) > len(kept) else ""
    table = Table("", ("probability",), tuple((label, (chance,)) for label, chance in kept), more=more)
    if "chosen" in found:
        labels = ", ".join(found["chosen"])
        return (table,), (f"The labels: {labels}." if labels else "None of the labels is likely enough.",)
    return (table,), (f"The label: {found['label']} ({found['probabilities'][found['label']]:.1%}).",)


def _between(section: Any) -> tuple[str, ...]:
    """What the task does to the scores of the head, the last numbers before the answer."""
    temperature, deviation = getattr(section, "temperature", 1.0), getattr(section, "deviation", None)
    if temperature != 1.0:
        return (f"The scores are first divided by the temperature {temperature:.4g}, fitted on held-out records.",)
    if deviation is not None and (section.mean, deviation) != (0.0, 1.0):
        return (f"The mean and the deviation of the training numbers: {section.mean:.4g} + {deviation:.4g} × score.",)
    return ()


def _tagged(found: Tagging, limits: Limits) -> Written:
    """The tag of each word, and the spans that the tags mark."""
    words = found.words
    kept = 2 * limits.words
    more = f"{len(words) - kept:,} more words" if len(words) > kept else ""
    table = Table("the tag of each word", (), tuple((word, ()) for word in words[:kept]), found.tags[:kept], more)
    if len(found.spans) == len(words):  # each word has a tag of its own
        return (table,), ()
    told = [
        f"{span.text[:_SHOWN]}: {span.label} ({span.probability:.1%}), characters {span.start:,} to {span.end:,}."
        for span in found.spans[: 2 * limits.answers]
    ]
    left = len(found.spans) - len(told)
    return (table,), (*told, *([f"{left:,} more spans."] if left else []), *([] if told else ["No span is marked."]))


def _answered(found: Answer, limits: Limits) -> Written:
    """The span of the passage, or that there is none."""
    rows = [(" ".join(span.text.split())[:_SHOWN], (span.probability,)) for span in found.spans[: limits.answers]]
    if found.no_answer_probability is not None:
        rows.append(("(no answer)", (found.no_answer_probability,)))
    table = Table("the best spans", ("probability",), tuple(rows))
    best = found.best
    if best is None:
        return (table,), ("The answer: none, the passage does not hold it.",)
    where = f"characters {best.start:,} to {best.end:,} of the passage"
    return (table,), (f"The answer: {best.text[:_SHOWN]} ({where}).",)


def _chosen(found: Choice, limits: Limits) -> Written:
    """How likely each candidate is, the likeliest first."""
    order = sorted(zip(found.choices, found.probabilities, strict=True), key=lambda each: -each[1])
    kept = order[: 2 * limits.answers]
    more = f"{len(order) - len(kept):,} more candidates" if len(order) > len(kept) else ""
    rows = tuple((" ".join(choice.split())[:_SHOWN], (chance,)) for choice, chance in kept)
    chance = f"{found.probabilities[found.index]:.1%}, candidate {found.index}"
    return (Table("", ("probability",), rows, more=more),), (f"The choice: {found.choice[:_SHOWN]} ({chance}).",)


_WRITE: dict[str, Callable[[Any, Limits], Written]] = {
    "choose": _chosen,
    "classify": _classified,
    "tag": _tagged,
    "answer": _answered,
}
