"""Predictions of a model for the verbs that answer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from glassformer.answering.texts import numbered
from glassformer.base.errors import DataError
from glassformer.saved.artefact import Artefact
from glassformer.tasks import predictor_of
from glassformer.tasks.predict import predict
from glassformer.tasks.predictor import Predictor

if TYPE_CHECKING:
    from glassformer.tasks.writing.translation import Translation


def answer(
    model: Artefact, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Mapping[str, Any]
) -> Iterator[Any]:
    """The prediction for each record (its values by role, and its file and line), in order, in bounded memory.

    Raises ConfigError for a model that does not answer this verb, DataError for a record that cannot be used.
    """
    predictor = _predictor(model, verb, options)
    examples = (predictor.example(values, where) for values, where in records)
    return predict(predictor, model.module, examples, fast=model.fast)


def answers(
    model: Artefact, verb: str, records: Iterable[Mapping[str, object]], options: Mapping[str, Any]
) -> list[Any]:
    """The prediction for each record, as `answer` gives them, of records that come from no file."""
    return list(answer(model, verb, numbered(list(records)), options))


def stream_answer(
    model: Artefact, verb: str, values: Mapping[str, object], where: str, options: Mapping[str, Any]
) -> Generator[str, None, Any]:
    """The characters of what is written for a record as they are decided, of `translate`, `generate` or `chat`; the
    generator returns the whole answer. Raises as `answer` does, and ConfigError where several answers are asked for.
    """
    if verb == "translate":
        return stream_translation(model, values, where, options)
    return stream_written(model, verb, values, where, options)


def stream_written(
    model: Artefact, verb: str, values: Mapping[str, object], where: str, options: Mapping[str, Any]
) -> Generator[str, None, Any]:
    """The characters behind the prompt of a record, or of the reply to a conversation, as they are decided; the
    generator returns the `Generation` or the `Reply`.

    Raises as `answer` does, and ConfigError where several texts are asked for.
    """
    writer: Any = _predictor(model, verb, options)
    words: Generator[str, None, Any] = writer.stream(model.module, writer.example(values, where), fast=model.fast)
    return words


def stream_translation(
    model: Artefact, values: Mapping[str, object], where: str, options: Mapping[str, Any]
) -> Generator[str, None, Translation]:
    """The characters of the translation of a record as they are decided; the generator returns the `Translation`.

    Raises as `answer` does, and ConfigError where several translations are asked for.
    """
    from glassformer.tasks.writing import translation_stream  # here, as other verbs do not need them
    from glassformer.tasks.writing.translator import Translator

    translator = Translator.of(model.module, model.tokenizer, model.context(options))
    example = translator.example(values, where)
    return translation_stream.stream_translation(translator, model.module, example, fast=model.fast)


def predictor_for(model: Artefact, verb: str, options: Mapping[str, Any]) -> Predictor[Any, Any]:
    """What answers this verb; raises ConfigError for a model that does not."""
    return _predictor(model, verb, options)


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
    return predictor_of(verb, model.task_name, model.config).of(model.module, model.tokenizer, model.context(options))
