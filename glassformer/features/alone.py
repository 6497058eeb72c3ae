"""The vector of a text that comes by itself, where an engine answers it. Between two of them the weights pass through
the processor's caches, and each step around the engine is read from memory again: here are as few as there can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.answering.answers import check_text
from glassformer.answering.engines.choice import reading
from glassformer.features.embed import vectors_of
from glassformer.features.vectors import VectorsOf

if TYPE_CHECKING:
    from glassformer.features.pooling import Reals
    from glassformer.saved.artefact import Artefact


def alone(model: Artefact, text: object, strategy: object, pooling: object, *, fast: bool | None) -> Reals | None:
    """The vector [F] of a text, or [1, F] of the only one of a list, as of `Model.embed`; None where it takes more than
    an engine that has answered such a text before.
    """
    given = text[0] if isinstance(text, list | tuple) and len(text) == 1 else text
    if not (isinstance(given, str) and isinstance(strategy, str) and isinstance(pooling, str)):
        return None
    known = reading(model)
    if known is None:
        return None
    key = strategy, pooling, model.length
    maker: VectorsOf | None = known.makers.get(key)
    if maker is None or maker.tokenizer is not model.tokenizer:
        maker = known.makers[key] = vectors_of(model, [strategy], [pooling])
    narrow = model.fast if fast is None else fast and model.can_be_fast
    engine = known.reading.get((VectorsOf, maker.asks, model.engine, True, narrow))
    if engine is None or engine.alone is None:
        return None
    example = maker.example({"text": check_text(given, "a text")}, "")
    row = maker.whole(example)
    pooled = None if row is None else engine.alone(maker, row)
    if pooled is None:
        return None
    vector: Reals = maker.merge(example, [pooled]).vectors[maker.features[0].name]
    return vector if isinstance(text, str) else vector[None]
