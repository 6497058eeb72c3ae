"""Sections of a page about what was made with its model: a logistic regression on its vectors, an index of texts, and
the model that it was tuned from.

B texts of a run · S tokens · W width · F numbers of a vector · N texts of an index
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.features.pooling import Reals
from glassformer.features.probe import Probe, read_probe
from glassformer.features.search.index import SearchIndex
from glassformer.features.strategies import features_of
from glassformer.features.vectors import blocks_of, model_width
from glassformer.look.trace.tensors import layers_of, side_of_features
from glassformer.look.trace.trace import Trace
from glassformer.models.transformer import Transformer, fingerprint
from glassformer.page.sections.moved import moved_section, read_adapters
from glassformer.page.sections.vectors import strategy_record
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model

Index = SearchIndex | str | Path
Start = Artefact | str | Path

PROBE, NEIGHBOURS, MOVED = "probe", "neighbours", "moved"

CARRIED = 20
"""So many texts of an index, the nearest to each text of the run, come with their vectors."""
MOST_LETTERS = 400
"""Characters of a text of an index that a page shows."""

Maker = Callable[[Trace], Any]


def related_makers(
    model: Transformer | None,
    *,
    probe: Probe | str | Path | None = None,
    index: Index | None = None,
    start: Start | None = None,
    freeze: Sequence[str] = (),
    run: Path | None = None,
) -> dict[str, Maker]:
    """What makes each of the sections that were asked for, of any run of this model.

    `probe` is a `Probe` or the file of one; `index` an opened index or its folder;
    `start` the model that this one was tuned from, or where it is, `freeze` what the recipe kept from training, and
    `run` the folder of the training, which may hold low-rank adapters.
    Raises CheckpointError for what belongs to another model, and ConfigError for a trace without its model.
    """
    asked = {"a logistic regression": probe, "an index": index, "a start model": start}
    wanted = [what for what, value in asked.items() if value is not None]
    if not wanted:
        return {}
    if model is None:
        raise ConfigError(f"{wanted[0]} belongs to a model", got="a trace from a file", do="trace the text again")
    made: dict[str, Maker] = {}
    if probe is not None:
        found = probe if isinstance(probe, Probe) else read_probe(probe)
        if found.model not in ("", fingerprint(model)):
            raise _of_another("the logistic regression", "learn it on this one: glassformer embed compare --probe-out")
        section = probe_section(found, model)
        made[PROBE] = lambda trace: section
    if index is not None:
        opened = index if isinstance(index, SearchIndex) else SearchIndex.open(index)
        if fingerprint(opened.model.module) != fingerprint(model):
            raise _of_another("the index", "build it with this one: glassformer search build")
        made[NEIGHBOURS] = lambda trace: neighbours_section(trace, opened)
    if start is not None:
        before = open_model(start, Artefact) if isinstance(start, str | Path) else start
        changes = moved_section(model, before, freeze, read_adapters(run))
        made[MOVED] = lambda trace: changes
    return made


def _of_another(what: str, do: str) -> CheckpointError:
    return CheckpointError(f"{what} must be that of the model that is shown", got="one of another model", do=do)


def probe_section(probe: Probe, model: Transformer) -> dict[str, Any]:
    """Its weights, and which numbers of a run they are multiplied with."""
    (feature,) = features_of([probe.mix or probe.strategy], [probe.pooling], blocks_of(model))
    numbers = feature.strategy.width(model_width(model))
    if probe.weights.shape[1] != numbers:
        raise CheckpointError(
            f"a weight for each of the {numbers} numbers of a vector is needed", got=str(probe.weights.shape[1])
        )
    return {
        **strategy_record(feature.strategy),
        "strategy": probe.strategy,
        "pooling": probe.pooling,
        "labels": list(probe.labels),
        "weights": probe.weights.tolist(),
        "bias": probe.bias.tolist(),
        "learned": dict(probe.learned),
    }


def neighbours_section(trace: Trace, index: SearchIndex) -> dict[str, Any]:
    """The texts of an index nearest to the texts of a run, with their vectors, as the index has them: of length 1."""
    asked = text_vectors(trace, index)  # [B, F]
    hits = index.near(asked, top=CARRIED)
    rows = {hit.row: (hit, vector) for vector, of_text in zip(asked, hits, strict=True) for hit in of_text}
    (feature,) = index.maker.features
    return {
        **strategy_record(feature.strategy),
        "strategy": index.facts.strategy,
        "pooling": feature.pooling,
        "index": index.path.name,
        "texts": len(index),
        "near": [
            {
                "row": row,
                "id": None if hit.id is None else str(hit.id),
                "text": text[:MOST_LETTERS] + "…" * (len(text) > MOST_LETTERS),
                # The fewest digits that give the same float32.
                "vector": [float(str(number)) for number in index.vector(row, vector)],
            }
            for row, (hit, vector) in rows.items()
            for text in [hit.sentence or hit.text]
        ],
    }


def text_vectors(trace: Trace, index: SearchIndex) -> Reals:
    """The vectors of the texts of a run, [B, F], pooled from its states as those of the index were."""
    layers, word = layers_of(trace), f"{side_of_features(trace)}.embed.word"
    maker = index.maker
    states = {number: trace.tensor(word if number < 0 else layers[number]).cpu() for number in maker.needed}
    shape = next(iter(states.values())).shape[:2]
    real = trace.facts.get("inputs.real", torch.ones(1, 1)).cpu().bool().expand(shape)  # [B, S]
    return maker.of_layers(states, real)
