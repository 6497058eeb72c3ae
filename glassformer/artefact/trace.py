"""A trace of one text through a model, with cells named by the words of the text."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from glassformer.artefact.artefact import Artefact
from glassformer.artefact.verbs import answer
from glassformer.errors import ConfigError, DataError
from glassformer.look.cell import Words
from glassformer.look.run import trace as look
from glassformer.look.trace import Trace
from glassformer.tasks.rows import Row, collate, make_row
from glassformer.text.windows import Window, text_rows


def trace(
    model: Artefact,
    text: str,
    pair: str | None = None,
    *,
    keep: Iterable[str] | str | None = None,
    dtype: torch.dtype | None = None,
) -> Trace:
    """Run a text, or a pair, and trace it; always in float32 or float64, whatever type the model predicts in.

    A masked word can be named by its token, or by the model's best guess for it. Raises ConfigError for an
    encoder–decoder, which needs two texts, DataError for a text of only blanks.
    """
    refuse_two_stacks(model)
    row, tokens = row_of(model, text, pair)
    inputs = collate([row], pad_id=model.tokenizer.pad_id or 0).inputs.to(model.device)
    after = model.tokenizer.frame_ids[1]
    masked = row.masked_words or []
    continued = model.config.encoder is None and model.config.head is not None and not any(masked)
    # Of a decoder, look at what follows the last token of the text itself, not at what follows the end token.
    places = torch.tensor([len(row.ids) - len(after) - 1], device=model.device) if continued else None
    return look(
        model.module,
        inputs,
        scored_at=places,
        words=Words(
            inputs=[tokens],
            vocabulary=model.tokenizer.vocabulary(),
            labels=model.labels,
            answers=_guessed(model, text, [place for place, hides in enumerate(masked) if hides])
            if pair is None
            else {},
        ),
        keep=keep,
        dtype=dtype,
        predicts_in=torch.bfloat16 if model.fast else None,
    )


def row_of(model: Artefact, text: str, pair: str | None = None) -> tuple[Row, list[str]]:
    """A whole text or pair as one row, and its tokens as they are in the vocabulary; raises DataError for blanks."""
    tokenizer = model.tokenizer
    encoding = tokenizer.encode(text, special=False)
    if not len(encoding):
        raise DataError("a text with at least one word is needed", got=repr(text))
    if pair is not None:
        ((ids, segments),) = text_rows(tokenizer, text, pair, length=None)
        stack = model.config.output_stack
        row = Row(ids=ids, segments=segments if stack.embed.segments > 1 else None)
        return row, [tokenizer.token(id_) for id_ in ids]
    before, after = tokenizer.frame_ids
    row = make_row(encoding, Window(0, len(encoding), 0, len(encoding)), tokenizer)
    return row, [*map(tokenizer.token, before), *encoding.tokens, *map(tokenizer.token, after)]


def refuse_two_stacks(model: Artefact) -> None:
    """Raise ConfigError for an encoder–decoder, which one text is not enough for."""
    if model.config.encoder is not None and model.config.decoder is not None:
        raise ConfigError(
            "one text is looked at in a model of one stack",
            got=f"{model.config.family}, which has two",
            do="in Python, use a source and a target, each as Inputs(ids=...): "
            "glassformer.trace(model.module, source, target), and verify() of the trace",
        )


def _guessed(model: Artefact, text: str, places: list[int]) -> dict[tuple[int, int], str]:
    """The model's best guesses at the masked positions."""
    if not places or model.config.encoder is None or model.config.head is None:
        return {}
    (filled,) = answer(model, "fill", [({"text": text}, "")], {"top": 1})
    return {(0, place): mask.guesses[0].word for place, mask in zip(places, filled.masks, strict=True)}
