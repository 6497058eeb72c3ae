"""What a model that translates writes itself: the target of a trace where none is given, and the last steps of a
walk-through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp

from glassformer.artefact.artefact import Artefact
from glassformer.artefact.verbs import answer
from glassformer.decode.loop import decode
from glassformer.look.explanation import Limits
from glassformer.look.tables import Table
from glassformer.look.walkthrough import Step
from glassformer.tasks.rows import Row
from glassformer.tasks.translator import Translator
from glassformer.text.token_text import marked

WRITING = (
    "The decoder is given what it has written so far; the likeliest next token is appended; again, until the likeliest "
    "is the end. What was computed for earlier tokens stays: they do not look ahead."
)


def replies(model: Artefact, sources: Sequence[Row], start: int) -> list[list[int]]:
    """For each source what the decoder has read when it predicts the last token of its translation: `start`, then the
    translation. Raises ConfigError for a model that does not translate.
    """
    translator = Translator.of(model.module, model.tokenizer, replace(model.context({}), length=None))
    limit = model.module.output_stack.max_length
    found: dict[int, list[int]] = {}
    requests = (
        replace(translator.request(number, row.ids, translator.most_for(row.ids, limit)), prompt=(start,))
        for number, row in enumerate(sources)
    )
    for step in decode(model.module, requests, translator.settings, ids=translator.ids):
        for finished in step.finished:
            ids = [start, *finished.hypotheses[0].ids]
            found[finished.number] = ids if limit is None else ids[:limit]
    return [found[number] for number in range(len(sources))]


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
