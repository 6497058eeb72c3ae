"""What the source documents show, for a page to compare with its run's own numbers."""

import tomllib
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Any

from glassformer.bundled.texts import notes
from glassformer.config import StackConfig
from glassformer.data.batches.corrupt import MaskingSection
from glassformer.look.summaries.printed import printed
from glassformer.look.texts.walkthrough import kinds_of
from glassformer.look.trace.trace import Trace
from glassformer.models.families.bert import bert

SIZES = ("base", "large")
"""The presets that the notes compare (1:30:46)."""


@cache
def documents() -> dict[str, Any]:
    """`pictures`: what each picture prints, by its name on the page; `sizes`: of BERT's two presets; `masking`: which
    share of the tokens is chosen in pre-training, and what becomes of those (Devlin et al. 2019, §3.1: the defaults);
    `scores`: the tables of scores and weights that the documents print.

    The sizes are those of Devlin et al. 2019, §3, as the presets of `models/families/bert.py` have them; the page
    counts their weights from them.
    """
    file = resources.files(__package__).joinpath("documents.toml")
    masking = MaskingSection()
    return {
        "pictures": tomllib.loads(file.read_text(encoding="utf-8")),
        "sizes": [_sizes(size) for size in SIZES],
        "masking": {name: getattr(masking, name) for name in ("rate", "mask", "random", "keep")},
        "scores": [asdict(table) for table in printed()],
    }


def _sizes(size: str) -> dict[str, Any]:
    stack: StackConfig | None = bert(size=size).encoder
    assert stack is not None
    block = stack.blocks[0]
    assert block.feed_forward is not None
    return {
        "name": f"BERT-{size.capitalize()}",
        "layers": len(stack.blocks),
        "width": stack.width,
        "heads": block.self_attention.body.heads,
        "feed_forward": block.feed_forward.body.width,
        "vocabulary": stack.embed.vocabulary,
        "positions": stack.max_length,
        "segments": stack.embed.segments,
    }


def expected(trace: Trace) -> list[dict[str, Any]]:
    """The words that were hidden, each with the places and ids of its tokens, where they were given."""
    if trace.origin is None:
        return []
    places = iter(range(len(trace.chosen_tokens)))
    return [
        {"word": word, "tokens": [[place, id_] for id_, place in zip(ids, places, strict=False)]}
        for word, ids in trace.origin.expected
    ]


def corrections(trace: Trace) -> list[dict[str, Any]]:
    """The corrections that belong to this run: `about` is those of their places that it has, endings of the names of
    its tensors and kinds of models (`task.answer`), `said_by` the documents in words.
    """
    here = (*kinds_of(trace), *trace.statement.formulas)
    found = ((note, note.places_in(*here)) for note in notes())
    return [
        {"number": note.number, "sentence": note.sentence, "said_by": note.said_elsewhere(""), "about": about}
        for note, about in found
        if about and (trace.config.decoder is None or not note.hidden_words)
    ]
