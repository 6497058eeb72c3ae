"""What `glassformer embed compare` writes in addition to its table: the learned mix, and the best logistic regression.

E examples · K layers · F numbers of a vector
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.base.errors import DataError, from_system
from glassformer.cli.terminal.screen import note

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.features.pooling import Reals
    from glassformer.features.rank import Ranking
    from glassformer.scoring.score import Integers


@dataclass(frozen=True)
class Made:
    """A ranking with vectors [E, F] by name, layers [E, K, F] of a mix by pooling, labels and groups [E]."""

    ranking: Ranking
    vectors: Mapping[str, Reals]
    layers: Mapping[str, Reals]
    labels: Sequence[str]
    groups: Integers


def write_mix_of(path: Path, found: Ranking) -> None:
    from glassformer.features.strategies import write_mix

    names = [each.name for each in found.vectors if each.name.startswith("mix.")]
    pooling = names[0].removeprefix("mix.")
    with from_system(DataError, f"cannot write the mix to {path}"):
        write_mix(path, found.mixes[pooling])
    note(f"{path}: the mix learned with the pooling {pooling}, on all {found.examples:,} labels")


def write_probe_of(path: Path, made: Made, model: Model, files: Sequence[Path]) -> None:
    from glassformer.features.probe import learn_probe, write_probe
    from glassformer.models.transformer import fingerprint

    found = made.ranking
    best = found.vectors[0]
    strategy, _, pooling = best.name.rpartition(".")
    mix = found.mixes[pooling] if strategy == "mix" else None
    vectors = made.vectors[best.name] if mix is None else mix.of_pooled(made.layers[pooling])  # [E, F]
    score = best.scores[found.score]
    probe = learn_probe(
        vectors,
        made.labels,
        strategy=strategy,
        pooling=pooling,
        model=fingerprint(model.module),
        mix=mix,
        groups=made.groups,
        score=found.score,
        learned={
            "from": ", ".join(file.name for file in files),
            "texts": found.examples,
            "score": found.score,
            "value": score.value,
            "low": score.low,
            "high": score.high,
            "folds": found.folds,
            "baselines": {each.name: each.scores[found.score].value for each in found.baselines},
        },
    )
    with from_system(DataError, f"cannot write the logistic regression to {path}"):
        write_probe(path, probe)
    note(f"{path}: a logistic regression on {best.name}, learned on all {found.examples:,} labels")
