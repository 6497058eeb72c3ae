"""What a model answers to a text, in words: the last step of its walk-through."""

from collections.abc import Sequence
from math import exp

from glassformer.answering.answers import answer
from glassformer.base.errors import DataError
from glassformer.decode.options import WritingOptions
from glassformer.look.formulas.explanation import Limits
from glassformer.look.summaries.tables import Table
from glassformer.look.texts.walkthrough import Step
from glassformer.saved.artefact import Artefact
from glassformer.scoring.bio import is_scheme
from glassformer.tasks import VERBS, task_named
from glassformer.text.token_text import marked

ALONE = (
    "None for one candidate alone: choose compares the scores of all candidates by a softmax over them. Give each with "
    "--choice."
)
LEGAL = "A tag that may not follow the one before it is ruled out: I-X may follow B-X or I-X alone."
WRITING = (
    "The decoder is given what it has written so far; the likeliest next token is appended; again, until the likeliest "
    "is the end. What was computed for earlier tokens stays: they do not look ahead."
)


def head_answer(
    model: Artefact, text: str, pair: str | None, limits: Limits, choices: Sequence[str] = ()
) -> Step | None:
    """The answer of a model's head for labels to a text, a pair, or a text with candidates, as its verb gives it, or
    how it writes a translation; None where it has none. Remarks say what its task does to the scores before.
    """
    if model.task_name is None:
        return None
    task = task_named(model.task_name)
    head = VERBS.get(task.verbs.get("head", ""))
    if head is not None and head.writes == "translation":
        return writing(model, task.verbs["head"], text, limits)
    verb = task.verbs.get("sentence_head", task.verbs.get("token_head"))
    if verb is not None and "choices" in VERBS[verb].columns and not choices:
        return Step("The model's answer", remarks=(ALONE,))
    if verb is None or (task.of_pairs and pair is None and not choices):
        return None
    given: dict[str, object] = {"text": text, "pair": pair, "choices": list(choices) or None}
    texts = {role: value for role, value in given.items() if value is not None}
    try:
        (found,) = answer(model, verb, [(texts, "")], {})
    except DataError as error:
        return Step("The model's answer", remarks=(f"none: {error}",))
    in_words = found.in_words(limits.words, limits.answers)
    table = Table(in_words.title, in_words.columns, in_words.rows, in_words.tags, in_words.more)
    remarks = in_words.remarks
    if found.windows > 1:
        windows = f"{verb} reads a text of this length in {found.windows:,} windows; the steps before read it in one."
        remarks = (windows, *remarks)
    if "token_head" in task.verbs and is_scheme(model.labels):
        remarks = (*remarks, LEGAL)
    remarks = (*model.measured_as.after_scores, *remarks)
    return Step("The model's answer", tables=(table,) if in_words.rows else (), remarks=remarks)


def writing(model: Artefact, verb: str, text: str, limits: Limits) -> Step:
    """How the model writes its translation of a text: token by token, each the likeliest, until the end."""
    (greedy,) = answer(model, verb, [({"text": text}, "")], WritingOptions(beams=1))
    (found,) = answer(model, verb, [({"text": text}, "")], {})
    kept = greedy.tokens[: 4 * limits.words]
    rows = tuple((marked(each.text), (exp(each.log_probability),)) for each in kept)
    left = len(greedy.tokens) - len(kept)
    table = Table("what is appended", ("probability",), rows, more=f"{left:,} more tokens" if left else "")
    remarks = [WRITING, f"The translation: {greedy.translation}"]
    if found.translation != greedy.translation:
        remarks.append(f"{verb} searches with several beams, and finds: {found.translation}")
    if greedy.windows > 1:
        remarks.append(f"{verb} reads a text of this length in {greedy.windows:,} parts.")
    return Step("The likeliest is appended, until the end", tables=(table,), remarks=tuple(remarks))
