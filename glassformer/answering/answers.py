"""Predictions of a model for the verbs that answer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from glassformer.base.counting import number_of
from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.decode.options import WritingOptions
from glassformer.tasks import predictor_of, verb_named
from glassformer.tasks.predictor import Engine, Options, Predictor, predict

if TYPE_CHECKING:
    from glassformer.saved.artefact import Artefact
    from glassformer.saved.described import Described
    from glassformer.tasks.writing.writers import Writer


def answer(
    model: Described, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Options
) -> Iterator[Any]:
    """The prediction for each record (its values by role, and its file and line), in order, in bounded memory. Raises
    ConfigError for a model that does not answer this verb, DataError for a record that cannot be used.
    """
    predictor = predictor_for(model, verb, options)
    examples = (predictor.read(values, where) for values, where in records)
    return predict(predictor, model.module, examples, fast=model.fast, engine=model.rows_by or _engine_of(model))


def _engine_of(model: Described) -> Engine:
    from glassformer.answering.engines.choice import engine_of  # not at the top: it imports torch

    return engine_of(cast("Artefact", model))


def answers(model: Described, verb: str, records: Iterable[Mapping[str, object]], options: Options) -> list[Any]:
    """The prediction for each record, as `answer` gives them, of records that come from no file."""
    return list(answer(model, verb, numbered(list(records)), options))


def stream_answer(
    model: Artefact, verb: str, values: Mapping[str, object], where: str, options: WritingOptions
) -> Generator[str, None, Any]:
    """The characters of what is written for a record as they are decided; the generator returns the whole answer.
    Raises as `answer` does, and ConfigError where several answers are asked for.
    """
    writer = cast("Writer[Any, Any]", predictor_for(model, verb, options))
    return writer.stream(model.module, writer.read(values, where), fast=model.fast)


def predictor_for(model: Described, verb: str, options: Options) -> Predictor[Any, Any]:
    return predictor_of(verb, model.task_name, model.config).of(model.module, model.tokenizer, model.context(options))


def refusals(
    model: Described, verb: str, records: Iterable[tuple[Mapping[str, object], str]], options: Options
) -> Iterator[DataError | None]:
    """Why a verb cannot answer each record; None for one that it can."""
    predictor = predictor_for(model, verb, options)
    for values, where in records:
        try:
            next(iter(predictor.rows(predictor.read(values, where))), None)
        except DataError as error:
            yield error
        else:
            yield None


Texts = list[str] | tuple[str, ...]


def listed(text: object, role: str = "text", *, do: str = "") -> list[str]:
    """A text, or several, as a list; raises DataError, with this `do`, for anything else."""
    if isinstance(text, str):
        return [check_text(text, f"a {role}")]
    found = several(text, f"a {role}, or a list of them, is needed")
    do = f"of a table give one column, as table[{role!r}]" if is_table(text) else do
    return [check_text(each, f"{role} {number} of {len(found):,}", do=do) for number, each in enumerate(found, 1)]


def check_text(text: object, which: str, *, do: str = "") -> str:
    """A text of which any tokenizer can make tokens; raises DataError for anything else."""
    if not isinstance(text, str):
        raise DataError(f"{which} must be a text", got=repr(text)[:60], do=do)
    try:
        text.encode()
    except UnicodeEncodeError as error:  # a lone surrogate, which no file of text holds
        half = error.object[error.start]
        raise DataError(f"{which} must consist of whole characters", got=f"{half!r}, half of one") from None
    return text


def paired(text: object, others: object, what: str) -> list[tuple[str, Any]]:
    """Each text with what belongs to it; a single value belongs to each of several texts. Raises DataError."""
    texts = listed(text)
    its = [others] * len(texts) if isinstance(others, str) else several(others, f"a {what} is needed for each text")
    if len(its) != len(texts):
        raise DataError(f"each text needs its own {what}", got=f"{len(its):,} for {number_of(len(texts), 'text')}")
    return list(zip(texts, its, strict=True))


def is_table(given: object) -> bool:
    """Whether it is a DataFrame, of pandas or another library: as an iterable it is the names of its columns."""
    return hasattr(given, "columns") and hasattr(given, "to_numpy")


def several(given: Any, wanted: str) -> list[Any]:
    if is_table(given):
        given = given.to_numpy()  # [N, C]
    try:
        if isinstance(given, str | bytes | Mapping):
            raise TypeError
        found = iter(given)
    except TypeError:  # also of an array without an axis
        raise DataError(wanted, got=repr(given)[:60]) from None
    return list(found)


def records_for(verb: str, text: str | Texts, roles: Mapping[str, object]) -> list[dict[str, object]]:
    """Records of a text, or of several, with what belongs to each by its role; what is None is not given. Raises
    ConfigError for a role that the verb does not read, DataError where texts lack their own.
    """
    entry, texts = verb_named(verb), listed(text)
    records = texts_of(texts)
    for role, given in roles.items():
        if given is None:
            continue
        if role not in entry.columns:
            raise ConfigError(f"{verb} reads {' and '.join(entry.columns)}", got=f"{role}")
        what = {"pair": entry.second, "choices": "list of candidates"}.get(role, role)
        alone = role == "choices" and isinstance(text, str)
        for record, (_, its) in zip(records, paired(texts, [given] if alone else given, what), strict=True):
            record[role] = _listed(its) if role == "choices" else its
    return records


def options_for(verb: str, options: Mapping[str, Any]) -> Options:
    """The options of a verb as its predictor takes them; raises ConfigError for one that it does not have."""
    entry = verb_named(verb)
    own = [name for name, has in (("top", entry.top), ("expect", entry.masks)) if has]
    known = [each.name for each in fields(WritingOptions)] if entry.writes else own
    if not isinstance(options, Mapping):
        raise ConfigError("options are a dictionary: their names, and their values", got=repr(options)[:60])
    for name in options:
        if name not in known:
            near = did_you_mean(name, known) if known else "leave it out"
            raise ConfigError(f"{verb} has no option {name!r}", do=near)
    return WritingOptions(**options) if entry.writes else options


def _listed(given: object) -> object:
    return given if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def texts_of(text: str | Texts) -> list[dict[str, object]]:
    return [{"text": each} for each in listed(text)]


def texts_and_words(text: str | Texts, words: Iterable[Iterable[str]]) -> list[dict[str, object]]:
    """Records of texts, then of sentences whose words are already split; raises DataError for anything else."""
    texts = listed(text, do="give words that are already split as words=[[...], ...], a list for each sentence")
    sentences = several(words, "a list of sentences, each a list of words, is needed")
    records: list[dict[str, object]] = [{"text": each} for each in texts]
    for number, each in enumerate(sentences, 1):
        # A string is refused as a sentence: its characters would be taken for words.
        found = [] if isinstance(each, str | bytes | Mapping) or not isinstance(each, Iterable) else list(each)
        which = f"sentence {number} of {len(sentences):,}"
        if not found or not all(isinstance(word, str) and word.strip() for word in found):
            raise DataError(
                f"{which} must be a list of words, at least one and none of them blank",
                got=repr(each)[:60],
                do="put a single sentence into a list too: words=[[...]]" if isinstance(each, str) else "",
            )
        records.append({"words": [check_text(word, which) for word in found]})
    return records


def numbered(records: Sequence[Mapping[str, object]]) -> list[tuple[Mapping[str, object], str]]:
    """Records that come from no file, each with its number where there are several, for error messages."""
    count = len(records)
    return [(values, f"text {number} of {count:,}" if count > 1 else "") for number, values in enumerate(records, 1)]


def turns_of(turns: str | Sequence[object]) -> list[object]:
    return [turns] if isinstance(turns, str) else several(turns, "a turn, or a list of turns, is needed")
