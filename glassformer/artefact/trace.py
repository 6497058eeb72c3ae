"""One text through a model with every tensor within reach, its cells called by the text's own words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from glassformer.artefact.forward import framed, tensors
from glassformer.errors import ConfigError, DataError
from glassformer.look.cell import Words
from glassformer.look.run import trace as look
from glassformer.look.trace import Trace

if TYPE_CHECKING:
    from glassformer.artefact.model import Model


def trace(
    model: Model, text: str, *, keep: Iterable[str] | str | None = None, dtype: torch.dtype | None = None
) -> Trace:
    """Run `text` and look; always in float32 or float64, whatever the model predicts in.

    A hidden word can be called by its piece, or by the model's own best guess for it. Raises ConfigError for an
    encoder–decoder, which needs two texts, DataError for a text of only blanks.
    """
    refuse_two_stacks(model)
    encoding = model.tokenizer.encode(text, special=False)
    if not len(encoding):
        raise DataError("a text with at least one word is needed", got=repr(text))
    row = framed(encoding, 0, len(encoding), model.tokenizer, [])
    inputs, _ = tensors([row], pad_id=model.tokenizer.pad_id or 0, device=model.device)
    before, after = model.tokenizer.frame_ids
    continued = model.config.encoder is None and model.config.head is not None and not any(row.hidden)
    # A text that is to be continued: what comes after its own last piece, not after the one that ends it.
    places = torch.tensor([len(before) + len(encoding) - 1], device=model.device) if continued else None
    pieces = [
        *(model.tokenizer.piece(id_) for id_ in before),
        *encoding.pieces,
        *(model.tokenizer.piece(id_) for id_ in after),
    ]
    return look(
        model.module,
        inputs,
        places=places,
        words=Words(
            inputs=[pieces],
            vocabulary=model.tokenizer.vocabulary(),
            labels=model.labels,
            answers=_guessed(model, text, [place for place, hidden in enumerate(row.hidden) if hidden]),
        ),
        keep=keep,
        dtype=dtype,
        predicts_in=torch.bfloat16 if model.fast else None,
    )


def refuse_two_stacks(model: Model) -> None:
    """One text cannot go through an encoder–decoder; raises ConfigError that says what can."""
    if model.config.encoder is not None and model.config.decoder is not None:
        raise ConfigError(
            "one text is looked at in a model of one stack",
            got=f"{model.config.family}, which has two",
            do="in Python, give it a source and a target, each as Inputs(ids=...): "
            "glassformer.trace(model.module, source, target), and verify() of what comes",
        )


def _guessed(model: Model, text: str, places: list[int]) -> dict[tuple[int, int], str]:
    """What the model says stands at the hidden places."""
    if not places or model.config.encoder is None or model.config.head is None:
        return {}
    masks = model.fill(text, top=1).masks
    return {(0, place): mask.guesses[0].word for place, mask in zip(places, masks, strict=True)}
