"""Whether CTranslate2 can search as a verb asks the decoding loop to."""

from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted

# What only our own search has.
_OURS = (
    *("groups", "coverage_penalty", "repetition_penalty", "no_repeat_ngram"),
    *("min_tokens", "forced", "forbidden", "stop"),
)
# Its beams end at so many times `beams` complete answers, where ours end when no better one can follow.
PATIENCE = {"exact": 1.6, "full": 1.0}


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
