"""What a page gets of a run before any number: words, formulas, axes, sizes, and where each token is in its text.

The parts that do not change from run to run, the vocabulary and the weights, are asked for apart.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from glassformer.base.json_text import in_json
from glassformer.look.texts.reader import Reader
from glassformer.look.texts.search_tree import writing_verb
from glassformer.look.trace.trace import Trace
from glassformer.page.sections.carried import Carried
from glassformer.page.sections.editing import editing_record
from glassformer.page.sections.record import record_without_model, run_record
from glassformer.page.sections.sections import MAKERS, MODEL_MAKERS
from glassformer.page.server.asked import Asked
from glassformer.page.server.sizes import numbers, shapes
from glassformer.saved.artefact import Artefact

MOST_WHOLE = 4_000_000
"""Bytes of a run, and of the weights of a model, that a page takes whole, so that it works out all numbers itself. For
a larger run a changed word would wait longer than for the pictures of the block that is shown."""

OF_MODEL = ("model", "formulas", "facts", "weights", "documents", "vectors")
"""What the runs of a model with the same formulas have in common: most of a record, sent once."""

Span = tuple[int, int, int] | None
"""Which of the texts of a row, and the characters [start, end) of it; None for a token that was added."""

UNKNOWN: dict[str, list[list[Span]] | None] = {"inputs": None, "decoder_inputs": None}


def overview(
    asked: Asked, trace: Trace, model: Artefact | None = None, more: Sequence[str] = ()
) -> tuple[dict[str, Any], bool]:
    """The record of a run, and whether its numbers may be sent whole. Without the model it is not known where a token
    is in its text, nor by which verb the model writes. `more` are sections that it has besides the usual ones.

    The honesty gate is no part of it: it takes as long as the run itself, and is asked for apart.
    """
    found = shapes(trace)
    weights = {name: shape for name, shape in found.items() if name.endswith("_attention.weights")}
    whole = numbers(found) * trace.dtype.itemsize <= MOST_WHOLE
    # A vocabulary has tens of thousands of words, and is asked for apart.
    quiet = replace(trace, measure_honesty=None, words=replace(trace.words, vocabulary=()))
    record = run_record(quiet, Carried(MOST_WHOLE), asked.model)
    live = {
        "editing": editing_record(trace, alone=False),
        "run": asked.key,
        "asked": asked.model_dump(mode="json"),
        "shapes": {name: list(shape) for name, shape in found.items()},
        "spans": UNKNOWN if model is None else spans(model, asked, trace),
        "attentions": {name.removesuffix(".weights"): shape[1] for name, shape in weights.items()},
        "whole": whole,
        "whole_weights": sum(4 * weight.numel() for weight in trace.parameters.values()) <= MOST_WHOLE,
        "sections": [*MAKERS, *(MODEL_MAKERS if model is not None else ()), *more],
        "writes": None if model is None or model.config.decoder is None else writing_verb(model),
    }
    return record | live, whole


def unfinished(asked: Asked) -> bytes:
    """The record of a run that is still trained: it has no model yet, so that a page shows its training alone."""
    record = record_without_model(asked.model)
    more = {"editing": None, "run": asked.key, "asked": asked.model_dump(mode="json"), "shapes": {}, "attentions": {}}
    return packed(record | more | {"spans": UNKNOWN, "whole": False, "whole_weights": False})


def packed(values: object, *, level: int = 3) -> bytes:
    """As compressed JSON; a higher level is for what is sent once and kept, as a vocabulary."""
    return compressed_json(json_bytes(values), level=level)


def json_bytes(values: object) -> bytes:
    """As JSON, with words for the numbers that it lacks: pydantic writes them in a fifth of the time."""
    try:
        return to_json(values, inf_nan_mode="strings")
    except PydanticSerializationError:  # a text with half of a surrogate pair, which `json` escapes
        return json.dumps(in_json(values), allow_nan=False, separators=(",", ":")).encode()


def compressed_json(text: bytes, *, level: int = 3) -> bytes:
    return gzip.compress(text, compresslevel=level, mtime=0)


def spans(model: Artefact, asked: Asked, trace: Trace) -> dict[str, list[list[Span]] | None]:
    """Where each token is in the texts that were asked for; None for a side whose tokens are no tokens of a text."""
    two_stacks = model.config.encoder is not None and model.config.decoder is not None
    seconds: Sequence[str] | None = asked.seconds
    firsts: Sequence[str] = asked.texts
    if asked.choices is not None:
        firsts, seconds = asked.texts * len(asked.choices), asked.choices
    before, after = (len(ids) for ids in model.tokenizer.frame_ids)
    sides = dict(UNKNOWN)
    if seconds is None or two_stacks:
        plain = [[*[None] * before, *tokens_of(model, 0, text), *[None] * after] for text in firsts]
        reader = Reader.of(model)
        sides["inputs"] = [[*[None] * len(reader.opening(len(row))), *row] for row in plain]
    else:
        frame = [[None] * len(ids) for ids in model.tokenizer.pair_frame_ids]
        sides["inputs"] = [
            [*frame[0], *tokens_of(model, 0, one), *frame[1], *tokens_of(model, 1, two), *frame[2]]
            for one, two in zip(firsts, seconds, strict=True)
        ]
    if seconds is not None and two_stacks:  # the start token, then all but the last
        rows = [[None, *[None] * before, *tokens_of(model, 1, text), *[None] * after] for text in seconds]
        sides["decoder_inputs"] = [row[:-1] if after else row for row in rows]
    lengths = {"inputs": trace.words.inputs, "decoder_inputs": trace.words.decoder_inputs}
    return {
        side: rows if rows is not None and list(map(len, rows)) == list(map(len, lengths[side])) else None
        for side, rows in sides.items()
    }


def tokens_of(model: Artefact, which: int, text: str) -> list[Span]:
    return [(which, start, end) for start, end in model.tokenizer.encode(text, special=False).offsets]
