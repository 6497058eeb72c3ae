"""The models of a server by name, and how a request becomes records that wait for their answers."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

from starlette.responses import Response

from glassformer.answering.answers import numbered
from glassformer.base.errors import DataError, GlassformerError, UnknownNameError, did_you_mean
from glassformer.run.serving.batching import Item, Worker, Written
from glassformer.run.serving.forms import Form, check_options, forms, key_of
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.refusals import TooLargeError
from glassformer.run.serving.routes import answered
from glassformer.run.serving.stopping import in_thread
from glassformer.runtime.threads import own_threads
from glassformer.saved.artefact import Artefact
from glassformer.tasks.predictor import SENTENCES, Predictor
from glassformer.tasks.rows import Row, located
from glassformer.tasks.writing.writers import Writer

_PREDICTORS = 64
# An answer of more tokens is written in a separate thread, and a request of more characters is read in one.
_AT_ONCE = 1024


class Served:
    """One model: the verbs that it answers, and the threads that do."""

    def __init__(
        self, name: str, model: Artefact, limits: Limits, taken: Callable[[int, int, float], None] = lambda *_: None
    ) -> None:
        self.name, self.model, self.limits = name, model, limits
        self.worker = Worker(model, limits, taken)
        self.forms = forms()
        self.predictors: OrderedDict[str, Predictor[Any, Any]] = OrderedDict()
        self.lock = threading.Lock()
        self.verbs = tuple(verb for verb, form in self.forms.items() if _answers(form, model))

    def warm(self) -> None:
        """Answer some texts with each verb, so that the first request does not wait until an engine is chosen."""
        for verb in self.verbs:
            _, predictor = self.predictor(self.forms[verb], _defaults(self.forms[verb]))
            rows: list[Row] = []
            for text in SENTENCES:
                with suppress(GlassformerError):  # a verb of pairs
                    rows += predictor.rows(predictor.read(predictor.record_of(text), ""))
            if not rows:
                continue
            with own_threads(self.worker.of_each):  # an engine is opened with as many
                found = self.worker.engine(predictor, self.model.module, rows, self.model.fast)
                if predictor.in_one_pass:  # what writes would take seconds
                    for _ in found:
                        pass

    def form(self, verb: str) -> Form:
        """The form of a verb that this model answers; raises UnknownNameError for another one."""
        if verb not in self.verbs:
            raise self.unknown(verb)
        return self.forms[verb]

    def unknown(self, verb: str) -> UnknownNameError:
        """The error for a verb that this model does not answer."""
        return UnknownNameError(f"{self.name} has no verb {verb!r}", do=did_you_mean(verb, self.verbs))

    def predictor(self, form: Form, options: Mapping[str, Any]) -> tuple[str, Predictor[Any, Any]]:
        """What answers with these options, and its key. Raises ConfigError, and TooLargeError for too large options."""
        check_options(options, self.limits)
        key = key_of(form.name, options)
        with self.lock:
            predictor = self.predictors.get(key)
        if predictor is None:  # nobody waits for the lock meanwhile
            predictor = form.predictor(self.model, options)
        with self.lock:
            self.predictors[key] = predictor
            self.predictors.move_to_end(key)
            while len(self.predictors) > _PREDICTORS:
                self.predictors.popitem(last=False)
        return key, predictor


class Models:
    """The models of a server. Two threads make rows of texts, so that a long text does not keep the others waiting."""

    def __init__(self, served: Iterable[Served], limits: Limits) -> None:
        self.served = {each.name: each for each in served}
        self.limits = limits
        self.readers = ThreadPoolExecutor(2, thread_name_prefix="read")
        self.ready = False

    def start(self) -> None:
        for each in self.served.values():
            each.worker.start()
        self.ready = True

    def end(self) -> None:
        """Take no more, and wait until all that was taken is answered."""
        self.ready = False
        for each in self.served.values():
            each.worker.end()
        for each in self.served.values():
            each.worker.join(self.limits.grace)
        self.readers.shutdown(wait=False, cancel_futures=True)

    def __getitem__(self, name: str) -> Served:
        if name not in self.served:
            raise UnknownNameError(f"there is no model {name!r} here", do=did_you_mean(name, self.served))
        return self.served[name]

    async def answers(
        self,
        served: Served,
        form: Form,
        records: Sequence[Mapping[str, object]],
        options: Mapping[str, Any],
        *,
        returned: bool = True,
    ) -> list[Item]:
        """Each record with its answer, in order; the numbers of answers are limited where they are `returned`. Raises
        what the verb raises, TooLargeError and OverloadedError.
        """
        items = await self.read(served, form, records, options)
        if returned:
            check_size(sum(item.numbers for item in items), self.limits.numbers, "numbers in their answers")
        await served.worker.answer(items)
        return items

    async def read(
        self, served: Served, form: Form, records: Sequence[Mapping[str, object]], options: Mapping[str, Any]
    ) -> list[Item]:
        """Records as they wait for their answers; raises DataError and TooLargeError."""
        self.check_number(records, min(self.limits.records, self.limits.waiting))
        loop = asyncio.get_running_loop()

        def made() -> list[Item]:
            key, predictor = served.predictor(form, options)
            found: list[Item] = []
            most, tokens, characters = self.limits.request_tokens, 0, 0
            if predictor.numbers_of_token:
                most = min(most, self.limits.numbers // predictor.numbers_of_token)
            for values, where in numbered(records):
                characters += self.characters(values, where)
                check_size(characters, self.limits.request_characters, "characters")
                example, rows = _read(predictor, values, where)
                rows = self.rows(predictor, example, rows, where)
                item = Item(key, predictor, example, rows, loop.create_future())
                found.append(item)
                tokens += item.tokens
                check_size(tokens, most, "tokens")
            return found

        return made() if _short(form, records, options) else await in_thread(self.readers, made)

    def check_number(self, records: Sequence[object], most: int) -> None:
        """Raise TooLargeError for a request with more records."""
        if len(records) > most:
            raise TooLargeError(
                f"a request must have at most {most:,} records",
                got=f"{len(records):,}",
                do=f"divide it into requests of at most {most:,}",
            )

    def characters(self, values: Mapping[str, object], where: str = "") -> int:
        """Those of all texts of a record; raises TooLargeError for more than its tokens could need."""
        found = sum(map(_length, values.values()))
        most = self.limits.token_characters * self.limits.tokens
        if found > most:
            wanted = located(where, f"a text must have at most {most:,} characters")
            raise TooLargeError(wanted, got=f"{found:,}", do="divide it")
        return found

    async def answered(self, make: Callable[[], Mapping[str, Any]], size: int) -> Response:
        """What is made, as JSON: of many tokens or numbers in a thread, so that others need not wait."""
        if size <= _AT_ONCE:
            return answered(make())
        return await in_thread(self.readers, lambda: answered(make()))

    def rows(self, predictor: Predictor[Any, Any], example: Any, made: Iterable[Row], where: str) -> list[Row]:
        """The rows of an example; raises TooLargeError for a text that is too long."""
        if predictor.shortens(example):
            raise TooLargeError(
                located(where, "a text must fit into what the model reads at once"),
                got="one that is longer",
                do="shorten it, or ask for fewer tokens",
            )
        rows, tokens = [], 0
        for row in made:
            rows.append(row)
            tokens += len(row.ids)
            if tokens > self.limits.tokens:
                wanted = located(where, f"a text must have at most {self.limits.tokens:,} tokens in all its windows")
                raise TooLargeError(wanted, got="more", do="divide it, or start the server with more --tokens")
        return rows

    async def write(
        self, served: Served, form: Form, record: Mapping[str, object], options: Mapping[str, Any]
    ) -> tuple[Written, Item]:
        """A text that is written word by word. Raises as `answers` does."""
        (item,) = await self.read(served, form, [record], options)
        written = Written(
            cast("Writer[Any, Any]", item.predictor), item.example, item.tokens, asyncio.get_running_loop()
        )
        served.worker.write(written)
        return written, item


def check_size(size: int, most: int, what: str) -> None:
    """Raise TooLargeError for a request whose texts have more tokens or characters."""
    if size > most:
        wanted = f"all texts of this request together must have at most {most:,} {what}"
        raise TooLargeError(wanted, got="more", do="ask for fewer at once")


def _short(form: Form, records: Sequence[Mapping[str, object]], options: Mapping[str, object]) -> bool:
    """Whether a request is read sooner than a thread is woken: a few texts of one record that is not written on."""
    few = len(records) == 1 and all(isinstance(each, str) for each in records[0].values())
    return few and not form.streams and _length([records[0], options]) <= _AT_ONCE


def _length(value: object) -> int:
    """Characters of a text, or of all in a list, as deep as turns have them."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_length, value.values()))
    return sum(map(_length, value)) if isinstance(value, list | tuple) else 0


def _read(predictor: Predictor[Any, Any], values: Mapping[str, object], where: str) -> tuple[Any, Iterable[Row]]:
    """An example and its rows, of a text or of tokens (`ids`). Raises DataError."""
    ids = values.get("ids")
    if not isinstance(ids, tuple):
        example = predictor.read(values, where)
        return example, predictor.rows(example)
    known = predictor.tokenizer.vocabulary_size
    if strange := [id_ for id_ in ids if not 0 <= id_ < known]:
        wanted = located(where, f"a token of this model is a number from 0 to {known - 1:,}")
        raise DataError(wanted, got=str(strange[0]), do="see /tokenize")
    return predictor.given_ids(ids, where)


def _defaults(form: Form) -> dict[str, Any]:
    defaults = {name: form.body.model_fields[name].default for name in form.options}
    return {name: value for name, value in defaults.items() if value is not None}


def _answers(form: Form, model: Artefact) -> bool:
    try:
        form.predictor(model, _defaults(form))
    except GlassformerError:
        return False
    return True
