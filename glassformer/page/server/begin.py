"""A run as a page asks for it: texts through a model, within the sizes that a server allows."""

from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.look.texts.trace import trace
from glassformer.models.transformer import Transformer
from glassformer.page.sections.sections import Maker
from glassformer.page.server.answers import MOST_TOKENS, Run
from glassformer.page.server.asked import Asked
from glassformer.page.server.numbers import Numbers
from glassformer.page.server.overview import overview
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.artefact import Artefact


def begin(
    model: Artefact,
    asked: Asked,
    numbers: Numbers,
    steps: Sequence[Any],
    makers: Mapping[str, Maker] | None = None,
    copy: Transformer | None = None,
) -> Run:
    """Run what was asked for; `copy` as in `trace.run.Options`. Raises what `Model.trace` raises, and TooLargeError."""
    texts = [*asked.texts, *(asked.seconds or ()), *(asked.choices or ())]
    lengths = [len(model.tokenizer.encode(text, special=False)) for text in texts]
    if max(lengths) > MOST_TOKENS or max(lengths) * len(texts) > 2 * MOST_TOKENS:
        raise TooLargeError(
            f"a page holds at most {MOST_TOKENS:,} tokens of a text, and {2 * MOST_TOKENS:,} of all texts with padding",
            got=f"{max(lengths):,} in the longest of {len(texts)}",
        )
    found = trace(
        model,
        list(asked.texts),
        None if asked.seconds is None else list(asked.seconds),
        choices=None if asked.choices is None else list(asked.choices),
        interventions=steps,
        target_ids=asked.target_ids,
        copy=copy,
    )
    record, whole = overview(model, asked, found, tuple(makers or ()))
    return Run(asked.key, found, record, whole, numbers, asked.model, model, makers or {})
