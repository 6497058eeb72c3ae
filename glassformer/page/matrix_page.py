"""The mask workshop as one HTML file: a text, its words' vectors, and what Python has made of them.

The page is that of a run whose model is left out: it has no formulas, only words and vectors, and opens the workshop.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from glassformer.page.page import OF_SERVER, document, own_memory, write_document
from glassformer.page.sections.record import record_without_model
from glassformer.parts.activity import ActivityMatrix
from glassformer.text.tokenizer import MASK

NOT_SHOWN = OF_SERVER | {
    *("tree", "writing", "decoder", "translation", "bert", "masked", "learning", "encodings", "turned", "chains"),
    *("trained", "texts_view", "padding", "sections"),
}
"""The chunks that draw what only a run of a model has."""


def write_matrix_page(
    path: str | Path,
    words: Sequence[str],
    masked_words: Sequence[int],
    features: Tensor,
    matrix: ActivityMatrix,
    *,
    overwrite: bool = False,
) -> None:
    """Write the page of a matrix; `features` is [words, size]. Raises DataError where it cannot be written."""
    title = "activity matrix"
    more = [f"{name}.{value}" for name in ("window", "prefix", "padding") if (value := getattr(matrix, name))]
    record = matrix_record(title, words, masked_words, (matrix.reading, matrix.rule, *more))
    blocks = {
        "record": json.dumps(record, allow_nan=False).encode(),
        "tensors": save(own_memory({"features": features[None], "python.weights": matrix.weights})),
        "weights": save({}),
    }
    write_document(path, lambda: document(title, blocks, without=NOT_SHOWN), overwrite=overwrite)


def matrix_record(
    title: str, words: Sequence[str], masked_words: Sequence[int], options: Sequence[str]
) -> dict[str, Any]:
    """What the page knows besides the numbers; a word that was written as [MASK] has no answer."""
    hidden = [place for place in masked_words if MASK not in words[place]]
    seen = [MASK if place in masked_words else word for place, word in enumerate(words)]
    record = record_without_model(title)
    answers = [[0, place, words[place]] for place in hidden]
    return record | {
        "words": record["words"] | {"inputs": [seen], "answers": answers},
        "facts": {"features": {"axes": ["sentence", "token", "channel"], "side": "inputs"}},
        "options": list(options),
    }
