"""Each verb as a route: what its requests hold, made from the entry of the verb."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, Field, create_model

from glassformer.answering.answers import options_for, predictor_for
from glassformer.base.errors import ConfigError
from glassformer.base.settings import Settings
from glassformer.decode.options import OPTIONS, WritingOptions
from glassformer.features.embed import vectors_of
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.artefact import Artefact
from glassformer.tasks import VERBS, VerbEntry
from glassformer.tasks.predictor import Predictor

MOST_TOP = 1000
"""The most results of a text that may be asked for."""

# Only the first error is reported. Without fail_fast, 100,000 errors would be described first.
Texts = Annotated[tuple[str, ...], Field(fail_fast=True)]


def _of_layers(strategy: str) -> str:
    if strategy.startswith("mix:"):
        raise ValueError("a mix is in a file, and no file is read for a request")
    if len(strategy) > MOST_CHARACTERS:
        raise ValueError(f"there is no strategy of more than {MOST_CHARACTERS} characters for a request")
    return strategy


MOST_CHARACTERS = 100
Strategy = Annotated[str, AfterValidator(_of_layers)]
"""A choice of layers in a request."""


class Turn(Settings):
    """A turn of a conversation."""

    role: str
    content: str


# What a record holds in each role; a text in all others.
_HOLDS: Mapping[str, Any] = {"choices": Texts, "words": Texts}
_TURNS = str | Annotated[tuple[str | Turn, ...], Field(fail_fast=True)]


class Body(Settings):
    """A request to a verb: `texts` alone, or `records` with all that the verb reads, each with an `id` that comes back.

    Those of a verb add `records` and its options.
    """

    texts: Annotated[Texts, Field(min_length=1)] | None = None


@dataclass(frozen=True, kw_only=True)
class Form:
    """A verb over HTTP. `roles` are those of the fields of a record by their names; `options` the names of its options;
    `predictor` makes what answers, for a model and options; `entry` is the verb's, None of `embed`.
    """

    name: str
    help: str
    body: type[Body]
    predictor: Callable[[Artefact, Mapping[str, Any]], Predictor[Any, Any]]
    roles: Mapping[str, str] = field(default_factory=lambda: {"text": "text"})
    options: tuple[str, ...] = ()
    entry: VerbEntry | None = None

    @property
    def streams(self) -> bool:
        """Whether its answers can come word by word."""
        return self.entry is not None and bool(self.entry.writes)

    def asked(self, body: Body) -> tuple[list[dict[str, object]], list[dict[str, object]], dict[str, Any]]:
        """Records by role, what comes back with the answer to each, and options. Raises ConfigError."""
        given: Sequence[Settings] | None = getattr(body, "records", None)
        if (body.texts is None) == (given is None):
            both = "both" if given else "neither"
            raise ConfigError("a request has texts, or records", got=both, do="give one of them")
        options = {name: getattr(body, name) for name in self.options if getattr(body, name) is not None}
        if body.texts is not None:
            return [{"text": text} for text in body.texts], [{} for _ in body.texts], options
        records, kept = [], []
        for each in given or ():
            values = each.model_dump(mode="json", exclude_none=True)
            kept.append({"id": values.pop("id")} if "id" in values else {})
            records.append({self.roles[name]: value for name, value in values.items()})
        return records, kept, options


def forms() -> dict[str, Form]:
    """All verbs by name, and `embed`."""
    return {**{name: form_of(name) for name in VERBS}, "embed": embed_form()}


@cache
def form_of(verb: str) -> Form:
    entry = VERBS[verb]
    roles = {entry.usual.get(role, role): role for role in entry.columns}
    options = _options(entry)
    record = _record(verb, roles, turns=entry.turns, words="words" in entry.columns)

    def predictor(model: Artefact, asked: Mapping[str, Any]) -> Predictor[Any, Any]:
        return predictor_for(model, verb, options_for(verb, asked))

    return Form(
        name=verb,
        help=entry.help,
        body=_body(verb, record, {**options, **({"stream": (bool, False)} if entry.writes else {})}),
        predictor=predictor,
        roles=roles,
        options=tuple(options),
        entry=entry,
    )


@cache
def embed_form() -> Form:
    options = {
        "strategy": (Annotated[tuple[Strategy, ...], Field(min_length=1, max_length=8)], ("last",)),
        "pooling": (Annotated[Texts, Field(min_length=1, max_length=4)] | None, None),
        "per_word": (bool, False),
    }
    roles = {"text": "text", "words": "words"}

    def predictor(model: Artefact, asked: Mapping[str, Any]) -> Predictor[Any, Any]:
        return vectors_of(model, asked["strategy"], asked.get("pooling"), words=asked["per_word"])

    return Form(
        name="embed",
        help="compute vectors of texts or words",
        body=_body("embed", _record("embed", roles, turns=False, words=True), options),
        predictor=predictor,
        roles=roles,
        options=tuple(options),
    )


def _record(verb: str, roles: Mapping[str, str], *, turns: bool, words: bool) -> type[Settings]:
    held: dict[str, Any] = {}
    for name, role in roles.items():
        kind = _TURNS if turns else _HOLDS.get(role, str)
        needed = role == "text" and not words
        held[name] = (kind, ...) if needed else (kind | None, None)
    return create_model(f"{verb.capitalize()}Record", __base__=Settings, **held, id=(str | int | None, None))


def _body(verb: str, record: type[Settings], options: Mapping[str, Any]) -> type[Body]:
    several: Any = tuple[record, ...]  # type: ignore[valid-type]
    records: Any = Annotated[several, Field(min_length=1, fail_fast=True)]
    return create_model(f"{verb.capitalize()}Body", __base__=Body, records=(records | None, None), **options)


def _options(entry: VerbEntry) -> dict[str, Any]:
    """The options of a verb, as those of its command with --json."""
    found: dict[str, Any] = {}
    if entry.top:
        found["top"] = (Annotated[int, Field(ge=1, le=MOST_TOP)], 5)
    if entry.masks:
        found["expect"] = (Texts, ())
    if not entry.writes:
        return found
    kinds = get_type_hints(WritingOptions, localns={"DecodeSettings": object})
    for each in fields(WritingOptions):
        option = OPTIONS.get(each.name)
        if option is None or option.of not in ("", entry.writes):
            continue
        kind = Texts if kinds[each.name] == Sequence[str] else kinds[each.name]
        if option.least is not None:
            kind = Annotated[kind, Field(ge=option.least)]
        found[each.name] = (kind, True if each.name == "alignment" else each.default)
    return found


def check_options(options: Mapping[str, Any], limits: Limits) -> None:
    """Raise TooLargeError for options that ask for more than is allowed."""
    for name, most in (
        ("max_tokens", limits.new_tokens), ("min_tokens", limits.new_tokens),
        ("beams", limits.beams), ("n_best", limits.beams), ("groups", limits.beams),
    ):  # fmt: skip
        if (asked := options.get(name)) is not None and asked > most:
            raise TooLargeError(f"{name} is at most {most:,} here", got=f"{asked:,}")
    for name, asked in options.items():
        texts = asked if isinstance(asked, tuple) else (asked,) if isinstance(asked, str) else ()
        if len(texts) > limits.words or sum(map(len, texts)) > limits.characters:
            wanted = f"{name} has at most {limits.words:,} texts of {limits.characters:,} characters together"
            raise TooLargeError(wanted, got="more")


def key_of(verb: str, options: Mapping[str, Any]) -> str:
    """What texts have in common that are answered together."""
    return json.dumps([verb, options], sort_keys=True)
