"""What a fitted pipeline of scikit-learn has learned on the vectors of a model, for the page that shows it."""

from typing import Protocol, runtime_checkable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from glassformer.base.errors import ConfigError
from glassformer.features.probe import Probe
from glassformer.features.strategies import Mix
from glassformer.features.vectors import VectorsOf


@runtime_checkable
class Vectorizer(Protocol):
    """An estimator whose features are vectors of texts, as `TextFeatures` is."""

    def vectors_of(self) -> tuple[VectorsOf, str]:
        """What makes the vectors, and the fingerprint of its model; after `fit`."""


def probe_of(pipeline: object) -> Probe:
    """The logistic regression of `make_pipeline(gf.TextFeatures(...), LogisticRegression())`, also with a
    `StandardScaler` between them, which is folded into the weights. Raises ConfigError for another pipeline, and where
    the features are several concatenated kinds of vectors; scikit-learn's NotFittedError before `fit`.
    """
    steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else [pipeline]
    features, *between, regression = steps if len(steps) > 1 else [*steps, None]
    scaler = between[0] if between else None
    if (
        not isinstance(features, Vectorizer)
        or not isinstance(regression, LogisticRegression)
        or not isinstance(scaler, StandardScaler | None)
        or len(between) > 1
    ):
        raise ConfigError(
            "a page shows a pipeline of TextFeatures and LogisticRegression",
            got=", ".join(type(step).__name__ for step in steps if step is not None),
            do="make_pipeline(gf.TextFeatures(...), LogisticRegression(max_iter=1000))",
        )
    check_is_fitted(features)
    check_is_fitted(regression)
    maker, model = features.vectors_of()
    if len(maker.features) > 1:
        raise ConfigError("a page shows one kind of vector", got=", ".join(each.name for each in maker.features))
    (feature,) = maker.features
    weights, bias = np.asarray(regression.coef_, np.float64), np.asarray(regression.intercept_, np.float64)
    if scaler is not None and scaler.with_std:
        weights = weights / np.asarray(scaler.scale_, np.float64)
    if scaler is not None and scaler.with_mean:
        bias = bias - weights @ np.asarray(scaler.mean_, np.float64)
    mix = feature.strategy.mix
    return Probe(
        strategy="mix" if isinstance(mix, Mix) else feature.strategy.name,
        pooling=feature.pooling,
        labels=tuple(str(label) for label in regression.classes_),
        weights=weights,
        bias=np.broadcast_to(bias, len(weights)).copy(),
        model=model,
        mix=mix,
        learned={"from": "a pipeline of scikit-learn"},
    )
