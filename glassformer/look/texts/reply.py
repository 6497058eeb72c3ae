"""What a model that translates or replies writes itself: the target of a trace where none is given, and the last steps
of a walk-through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp

from glassformer.answering.answers import answer
from glassformer.decode.loop import decode
from glassformer.decode.options import WritingOptions
from glassformer.look.drawing.tables import Table
from glassformer.look.texts.walkthrough import Step
from glassformer.look.trace.explanation import Limits
from glassformer.saved.artefact import Artefact
from glassformer.tasks.rows import Row
from glassformer.tasks.writing.chat.chatter import Chatter
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import number_of
from glassformer.text.token_text import marked

CHAT = "chat"
WRITING = (
    "The decoder is given what it has written so far; the likeliest next token is appended; again, until the likeliest "
    "is the end. What was computed for earlier tokens stays: they do not look ahead."
)


def replies(model: Artefact, sources: Sequence[Row], start: int) -> list[list[int]]:
    """For each source what the decoder has read when it predicts the last token of its answer: `start`, then the
    answer that `translate`, or of a model of dialogues `chat`, gives without options. Raises ConfigError for a model
    that does not translate.
    """
    context = replace(model.context({}), length=None)
    talks = model.task is not None and model.task.name == CHAT
    translator = (
        Chatter.of(model.module, model.tokenizer, context).translator
        if talks
        else Translator.of(model.module, model.tokenizer, context)
    )
    limit = model.module.output_stack.max_length
    found: dict[int, list[int]] = {}
    numbers = [number_of(row.ids) for row in sources]  # what is drawn follows from the number, as it does there
    requests = (
        replace(translator.request(ids, limit), prompt=(start,))
        for ids in {number: row.ids for number, row in zip(numbers, sources, strict=True)}.values()
    )
    for step in decode(model.module, requests, translator.settings, ids=translator.ids):
        for finished in step.finished:
            ids = [start, *finished.hypotheses[0].ids]
            found[finished.number] = ids if limit is None else ids[:limit]
    return [found[number] for number in numbers]


def writing(model: Artefact, text: str, limits: Limits) -> Step:
    """How the model writes its translation of a text: token by token, each the likeliest, until the end."""
    (greedy,) = answer(model, "translate", [({"text": text}, "")], WritingOptions(beams=1))
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
