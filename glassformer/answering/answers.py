"""Predictions of a model for the verbs that answer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from glassformer.answering.texts import numbered
from glassformer.base.errors import DataError
from glassformer.saved.artefact import Artefact
from glassformer.tasks import predictor_of
from glassformer.tasks.predictor import Options, Predictor, predict

if TYPE_CHECKING:
    from glassformer.decode.options import WritingOptions
    from glassformer.tasks.writing.writers import Writer


def answer(
    model: Artefact, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Options
) -> Iterator[Any]:
    """The prediction for each record (its values by role, and its file and line), in order, in bounded memory.

    Raises ConfigError for a model that does not answer this verb, DataError for a record that cannot be used.
    """
    predictor = predictor_for(model, verb, options)
    examples = (predictor.example(values, where) for values, where in records)
    return predict(predictor, model.module, examples, fast=model.fast)


def answers(model: Artefact, verb: str, records: Iterable[Mapping[str, object]], options: Options) -> list[Any]:
    """The prediction for each record, as `answer` gives them, of records that come from no file."""
    return list(answer(model, verb, numbered(list(records)), options))


def stream_answer(
    model: Artefact, verb: str, values: Mapping[str, object], where: str, options: WritingOptions
) -> Generator[str, None, Any]:
    """The characters of what is written for a record as they are decided; the generator returns the whole answer.

    Raises as `answer` does, and ConfigError where several answers are asked for.
    """
    writer = cast("Writer[Any, Any]", predictor_for(model, verb, options))
    return writer.stream(model.module, writer.example(values, where), fast=model.fast)


def predictor_for(model: Artefact, verb: str, options: Options) -> Predictor[Any, Any]:
    """What answers this verb; raises ConfigError for a model that does not."""
    return predictor_of(verb, model.task_name, model.config).of(model.module, model.tokenizer, model.context(options))


def refusals(
    model: Artefact, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Options
) -> Iterator[DataError | None]:
    """Why a verb cannot answer each record; None for one that it can."""
    predictor = predictor_for(model, verb, options)
    for values, where in records:
        try:
            next(iter(predictor.rows(predictor.example(values, where))), None)
        except DataError as error:
            yield error
        else:
            yield None
