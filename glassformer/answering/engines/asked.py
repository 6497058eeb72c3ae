"""What a verb asks of the decoding loop, and whether CTranslate2 can search so."""

import copy
from collections.abc import Iterable
from typing import Any, NoReturn

from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted
from glassformer.models.transformer import Answered, Transformer
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row, collate

# What only our own search has.
_OURS = (
    *("groups", "coverage_penalty", "repetition_penalty", "no_repeat_ngram"),
    *("min_tokens", "forced", "forbidden", "stop"),
)
# Its beams end at so many times `beams` complete answers, where ours end when no better one can follow.
PATIENCE = {"exact": 1.6, "full": 1.0}


class _Asked(Exception):  # noqa: N818 - it is no error
    def __init__(self, wanted: Wanted) -> None:
        super().__init__()
        self.wanted = wanted


def _stopped(requests: Iterable[Request], wanted: Wanted, own: Answered) -> NoReturn:
    raise _Asked(wanted)


def wanted_of(model: Transformer, predictor: Predictor[Any, Any], row: Row) -> Wanted | None:
    """What the predictor of a verb asks of the decoding loop; None where it writes nothing."""
    batch = collate([row], pad_id=predictor.tokenizer.pad_id or 0, axes=predictor.axes)
    probe = copy.copy(model)
    probe.loop = _stopped
    try:
        for _ in predictor.predict(probe, iter([batch])):
            pass
    except _Asked as asked:
        return asked.wanted
    return None


def cannot_search(wanted: Wanted) -> str:
    """Why CTranslate2 cannot search so, as the end of a sentence; "" where it can."""
    settings, usual = wanted.settings, DecodeSettings.model_fields
    if settings.method == "sample":
        return "samples follow our own seeds"
    if settings.method == "beam" and (settings.beams < 2 or settings.early_stopping not in PATIENCE):
        return "its beams stop in another way"
    name = next((name for name in _OURS if getattr(settings, name) != usual[name].default), None)
    if name is not None:
        return f"only our own search has {name}"
    return "" if wanted.ids.end else "the model has no token that ends a text"
