"""Predictions of a model for the verbs that answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from glassformer.artefact.artefact import Artefact
from glassformer.errors import DataError
from glassformer.tasks import predictor_of
from glassformer.tasks.predict import predict
from glassformer.tasks.task import Predictor


def answer(
    model: Artefact, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Mapping[str, Any]
) -> Iterator[Any]:
    """The prediction for each record (its values by role, and its file and line), in order, in bounded memory.

    Raises ConfigError for a model that does not answer this verb, DataError for a record that cannot be used.
    """
    predictor = _predictor(model, verb, options)
    examples = (predictor.example(values, where) for values, where in records)
    return predict(predictor, model.module, examples, fast=model.fast)


def refusals(
    model: Artefact, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Mapping[str, Any]
) -> Iterator[DataError | None]:
    """Why a verb cannot answer each record; None for one that it can."""
    predictor = _predictor(model, verb, options)
    for values, where in records:
        try:
            next(iter(predictor.rows(predictor.example(values, where))), None)
        except DataError as error:
            yield error
        else:
            yield None


def _predictor(model: Artefact, verb: str, options: Mapping[str, Any]) -> Predictor[Any, Any]:
    return predictor_of(verb, model.task_name).of(model.module, model.tokenizer, model.context(options))
