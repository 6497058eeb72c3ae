"""Which engine answers: chosen once for each model and verb, after a few rows that both have answered."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from threading import Lock
from typing import Any

import torch

from glassformer.answering.engines.compared import State, Watched, agreement, equal
from glassformer.answering.engines.engine import ENGINES, Engine, Plan, Scores, StandIn, missing, version
from glassformer.answering.engines.kept import comparisons, is_whole, keep_comparison, kept, place_of
from glassformer.base.errors import ConfigError, GlassformerError, MissingExtraError, did_you_mean
from glassformer.base.machine import processor
from glassformer.base.paths import not_kept
from glassformer.models.transformer import Transformer, fingerprint
from glassformer.runtime.pages import join_pages
from glassformer.saved.artefact import Artefact
from glassformer.tasks.predictor import Engine as Answers
from glassformer.tasks.predictor import Predictor, answer_rows
from glassformer.tasks.rows import Row

AUTO, TORCH = "auto", "torch"
COMPARED = 32
"""Rows that both answer before an engine is used: those of an even spread of lengths."""

_MANY = 4 * COMPARED
# Tokens from which on it pays to put the memory of torch into large pages (0.1 s).
_LONG = 1 << 14
# Seconds after which a comparison of rows that come one by one begins no further row.
MOST_SECONDS = 5.0
_SLOW = "it is not faster"


def check_engine(name: str) -> str:
    """The name of an engine; raises ConfigError for an unknown one, MissingExtraError for one not installed."""
    if name not in (AUTO, TORCH, *ENGINES):
        raise ConfigError(f"there is no engine {name!r}", do=did_you_mean(str(name), (AUTO, TORCH, *ENGINES)))
    if name in ENGINES and (package := missing(ENGINES[name]())) is not None:
        raise MissingExtraError(package, extra="fast")
    return name


@dataclass
class Chosen:
    """For a model's weights: open stand-ins by engine and folder, and which answers each request (None: torch)."""

    watched: Watched | None = None
    weights: State | None = None
    digest: str = ""
    int8: bool = False
    opened: dict[object, StandIn] = field(default_factory=dict)
    models: dict[object, StandIn | None] = field(default_factory=dict)
    # The engine of a verb that reads each row once: no option of such a verb changes who answers.
    reading: dict[object, StandIn] = field(default_factory=dict)
    # Predictors that are kept between calls, by their options.
    makers: dict[object, Any] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    # Those that may answer, by the name that is asked for; all rows so far, and by verb the last of them.
    engines: dict[str, list[Engine]] = field(default_factory=dict)
    # What has answered the last rows, by its name.
    answered: str = TORCH
    rows: int = 0
    tokens: int = 0
    joined: bool = False
    last: dict[object, deque[Row]] = field(default_factory=dict)

    def count(self, verb: object, rows: Sequence[Row], module: Transformer) -> None:
        """More rows of a verb."""
        self.rows += len(rows)
        self.tokens += sum(len(row.ids) for row in rows)
        if verb not in self.last:
            self.last[verb] = deque(maxlen=COMPARED)
        self.last[verb].extend(rows)
        if self.tokens >= _LONG and not self.joined and module.word_table.device.type == "cpu":
            self.joined = True
            join_pages()


def engine_of(model: Artefact, *, lasting: bool = False) -> Answers:
    """What answers rows for a saved model, as its `engine` says: for `predict`. In a `lasting` process, as a server,
    `auto` opens an engine however few the rows are, else as soon as all rows so far are enough. Several threads may
    ask: one at a time chooses.
    """
    choosing = Lock()

    def answered(
        predictor: Predictor[Any, Any], module: Transformer, rows: Sequence[Row], fast: bool
    ) -> Generator[tuple[int, Any], None, None]:
        with choosing:
            chosen = choice(predictor, module, rows, fast)
        return answered_by(chosen, module, predictor, rows, fast=fast)

    def choice(predictor: Predictor[Any, Any], module: Transformer, rows: Sequence[Row], fast: bool) -> StandIn | None:
        engines, verb = _candidates(model), (type(predictor), predictor.asks)
        known_of(model).count(verb, rows, module)
        known_of(model).answered = TORCH
        if not engines:
            return None
        known, key = current(model, module), (*verb, model.engine, len(rows) == 1, fast)
        chosen = known.reading.get(key)
        if chosen is None:
            found = (Trial(model, engine, module, predictor, rows, fast, lasting).result() for engine in engines)
            chosen = next((each for each in found if each is not None), None)
            if chosen is not None and predictor.in_one_pass:
                known.reading[key] = chosen
        if chosen is not None:
            known.answered = chosen.name
        return chosen

    return answered


def answered_by(
    stand_in: StandIn | None, module: Transformer, predictor: Predictor[Any, Any], rows: Sequence[Row], *, fast: bool
) -> Generator[tuple[int, Any], None, None]:
    """As `answer_rows`, by an engine or by torch; a row that comes alone in the shortest way that the engine has."""
    if stand_in is None:
        return answer_rows(predictor, module, rows, fast)
    found = stand_in.alone(predictor, rows[0]) if stand_in.alone is not None and len(rows) == 1 else None
    if found is None:
        return answer_rows(predictor, stand_in.model, rows, fast)
    return (each for each in ((0, found),))


def known_of(model: Artefact) -> Chosen:
    """What was found for a model."""
    if not isinstance(model.engines, Chosen):
        model.engines = Chosen()
    return model.engines


def count_answered(
    model: Artefact, predictor: Predictor[Any, Any], records: Iterable[tuple[Mapping[str, object], str]]
) -> None:
    """Count the rows of records that have their answers already: `auto` chooses an engine by all rows of a command."""
    if model.engine == AUTO and model.module.word_table.device.type == "cpu":
        rows = [row for _, its in predictor.cut(predictor.read(*each) for each in records) for row in its]
        known_of(model).count((type(predictor), predictor.asks), rows, model.module)


def current(model: Artefact, module: Transformer) -> Chosen:
    """What was found for its weights as they are now."""
    known = known_of(model)
    if known.watched is None or known.watched.module is not module:
        known.watched = Watched(module)
    weights = known.watched.state()
    if known.weights != weights:
        known.weights, known.digest, known.int8 = weights, "", model.int8
        known.opened, known.models, known.reading, known.makers = {}, {}, {}, {}
    return known


def reading(model: Artefact) -> Chosen | None:
    """The same, where an engine reads for it; None where torch does."""
    known = model.engines
    return current(model, model.module) if isinstance(known, Chosen) and known.reading else None


def _candidates(model: Artefact) -> list[Engine]:
    if model.engine == TORCH:
        return []
    known = known_of(model).engines
    if model.engine not in known:  # looking for packages takes as long as a short text
        engines = [ENGINES[name]() for name in (ENGINES if model.engine == AUTO else [check_engine(model.engine)])]
        known[model.engine] = [
            each for each in engines if missing(each) is None and (each.exact or model.engine == each.name)
        ]
    return known[model.engine]


@dataclass
class Trial:
    """One engine, and rows that it may answer."""

    model: Artefact
    engine: Engine
    module: Transformer
    predictor: Predictor[Any, Any]
    rows: Sequence[Row]
    fast: bool
    lasting: bool = False

    @property
    def asked(self) -> bool:
        return self.model.engine != AUTO

    @property
    def alone(self) -> bool:
        """Whether the rows are one: an engine may be faster for a row by itself and slower for many, or the reverse."""
        return len(self.rows) == 1

    def result(self) -> StandIn | None:
        """What answers the rows; None: not this engine."""
        if not self._pays(ready=True):
            return None
        plan, chosen = self._plan(), self.chosen
        if isinstance(plan, str):
            if self.asked:
                self._torch(plan)
            return None
        key = (self.engine.name, plan.depends, plan.asked, type(self.predictor), self.predictor.asks, self.alone)
        if key not in chosen.models:
            stand_in = self._opened(plan, chosen)
            if stand_in == "":
                return None
            begun = time.monotonic()
            try:
                reason = stand_in if isinstance(stand_in, str) else self._proved(stand_in, plan)
            except Exception:
                if time.monotonic() - begun > MOST_SECONDS:  # stopped, as nobody waits any more: not once again
                    chosen.models[key] = None
                raise
            chosen.models[key] = None if isinstance(stand_in, str) or reason else stand_in
            if reason and (self.asked or reason != _SLOW):
                self._torch(reason)
        return chosen.models[key]

    def _pays(self, *, ready: bool) -> bool:
        known = known_of(self.model)
        return self.asked or self.lasting or self.engine.pays(self.module, known.rows, known.tokens, ready=ready)

    def _opened(self, plan: Plan, chosen: Chosen) -> StandIn | str:
        """The engine's form of the model; why there is none, "" where `auto` has too few rows for it."""
        try:
            folder = self._place(plan)
            whole = is_whole(folder)
            # That torch answers COMPARED rows too costs little among many.
            cheap = chosen.rows >= _MANY or self._what(plan) in comparisons(folder)
            if not ((whole and cheap) or self._pays(ready=False)):
                return ""
            if not whole:
                kept(folder, plan.convert, model=self._named(), weights=chosen.digest)
            key = (self.engine.name, folder)
            if key not in chosen.opened:
                chosen.opened[key] = plan.opened(folder)
                chosen.opened[key].name = self.engine.name
            return chosen.opened[key]
        except OSError as error:
            return not_kept(error)
        except (GlassformerError, RuntimeError, ValueError) as error:
            return f"it refuses the model ({error})"

    def _plan(self) -> Plan | str:
        if self.module.word_table.device.type != "cpu":
            return "it is used on the CPU"
        if self.fast or self.module.dtype != torch.float32:
            return "it computes in float32"
        plan = self.engine.plan(self.module, self.predictor, self.rows)
        return "it computes in float32" if not isinstance(plan, str) and self.chosen.int8 else plan

    def _named(self) -> str:
        """What a model keeps when its weights change: where it was read from, else its config."""
        source = self.model.source
        return self.module.config.model_dump_json() if source is None else str(source.resolve())

    @cached_property
    def chosen(self) -> Chosen:
        return current(self.model, self.module)

    def _place(self, plan: Plan) -> Path:
        self.chosen.digest = self.chosen.digest or fingerprint(self.module)
        return place_of(self.engine.packages[0], version(self.engine), self.chosen.digest, plan.depends)

    def _what(self, plan: Plan) -> str:
        """What a comparison depends on besides the converted files: what is asked, the machine and the versions."""
        kind = type(self.predictor)
        asked = (self.engine.name, plan.asked, kind.__module__, kind.__qualname__, self.predictor.asks, self.alone)
        return hashlib.sha256(repr((asked, torch.__version__, processor())).encode()).hexdigest()

    def _proved(self, stand_in: StandIn, plan: Plan) -> str:
        """Why an engine must not answer, "" if it may. The comparison is kept with the converted files."""
        folder, what = self._place(plan), self._what(plan)
        name = f"{self.engine.name} {version(self.engine)}"
        if self.engine.exact and what in (before := comparisons(folder)):
            rows, faster = before[what]
            shown = f"at its first use {rows:.0f} rows as torch does"
        else:
            found = self._compared(stand_in)
            if isinstance(found, str):
                return found
            rows, faster, shown = found
            if self.engine.exact and rows == COMPARED:
                keep_comparison(folder, what, (COMPARED, faster))
        if not self.asked and faster < self.engine.least:
            return _SLOW
        self._say(f"{name} answers: {shown}{', one by one' if self.alone else ''}, {faster:.1f} times as fast")
        return ""

    def _compared(self, stand_in: StandIn) -> str | tuple[float, float, str]:
        """Some rows are answered by both, together or each alone, as the rows come that are asked for: why the engine
        is not to answer, or how many rows they were, how much faster it was, and how far they agree.
        """
        last = known_of(self.model).last.get((type(self.predictor), self.predictor.asks), ())
        rows = self.rows if len(self.rows) >= COMPARED else [*last]
        some = [rows[place] for place in spread([len(row.ids) for row in rows])]
        before, ours, theirs, times = stand_in.used, list[Any](), list[Any](), list[float]()
        begun = time.monotonic()
        if self.alone:  # the first answer of each sets up a part of it
            self._answered(stand_in, some[:1])
            self._answered(None, some[:1])
        for asked in [[row] for row in some] if self.alone else [some]:
            if times and time.monotonic() - begun > MOST_SECONDS:  # somebody waits for one text
                break
            mine, torch_seconds = timed(partial(self._answered, None, asked))
            its, seconds = timed(partial(self._answered, stand_in, asked))
            ours, theirs = ours + mine, theirs + its
            times.append(torch_seconds / max(seconds, 1e-9))
        right, count = sum(map(equal, ours, theirs)), len(ours)
        stand_in.computes = Scores.NONE  # what was compared was read here
        if stand_in.used == before:
            return "it answers nothing of what is asked"
        if self.engine.exact and right < count:
            return f"it answers {count - right} of {count} rows otherwise than torch"
        shown = f"{count} row{'s' * (count > 1)} as torch does" if self.engine.exact else agreement(ours, theirs)
        return count, median(times), shown

    def _answered(self, stand_in: StandIn | None, rows: Sequence[Row]) -> list[Any]:
        """The answers to rows, in their order."""
        found = dict(answered_by(stand_in, self.module, self.predictor, rows, fast=self.fast))
        return [found[place] for place in range(len(rows))]

    def _torch(self, reason: str) -> None:
        self._say(f"torch answers, not {self.engine.name}: {reason}")

    def _say(self, sentence: str) -> None:
        chosen = self.chosen
        subject = sentence.partition(":")[0]  # not again for each verb and search
        if subject not in chosen.said:
            chosen.said.add(subject)
            self.model.tell(sentence)


def spread(lengths: Sequence[int]) -> list[int]:
    """The places of at most COMPARED rows, from the shortest to the longest in even steps."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    count = min(COMPARED, len(order))
    return [order[place * (len(order) - 1) // max(count - 1, 1)] for place in range(count)]


def timed(work: Callable[[], list[Any]]) -> tuple[list[Any], float]:
    started = time.perf_counter()
    found = work()
    return found, time.perf_counter() - started
