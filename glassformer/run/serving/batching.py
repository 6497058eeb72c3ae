"""Threads of each model answer what waits for it: texts of about one length together, and streams between them."""

import asyncio
import contextlib
import logging
import math
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from glassformer.answering.engines.choice import engine_of
from glassformer.base.errors import GlassformerError
from glassformer.models.stack import Stack
from glassformer.run.serving.limits import Limits
from glassformer.run.serving.refusals import BrokenError, BusyError, OverloadedError
from glassformer.run.serving.stopping import Unwanted
from glassformer.runtime.threads import own_threads
from glassformer.saved.artefact import Artefact
from glassformer.tasks.passes import most_tokens
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row
from glassformer.tasks.writing.writers import Writer

ROWS_WRITTEN = 32
"""The most rows that are written together: all wait for the longest answer."""
_FORGET = 0.9
"""The weight of what the batches before this one read, and of the time that they took, in the rate of reading."""
LOG = logging.getLogger("glassformer.serving")
_END = object()


@dataclass(eq=False)
class Item:
    """A record that waits for its answer. `key` is the same for those that may be answered together; `tokens` are those
    of all its rows, `longest` those of the longest, `numbers` those of its answer; `future` has the answer, and is
    cancelled when nobody waits for it.
    """

    key: str
    predictor: Predictor[Any, Any]
    example: Any
    rows: Sequence[Row]
    future: asyncio.Future[Any]
    tokens: int = 0
    numbers: int = 0
    longest: int = 0
    found: list[Any] = field(default_factory=list)
    missing: int = 0

    def __post_init__(self) -> None:
        lengths = [len(row.ids) for row in self.rows]
        self.tokens, self.longest = sum(lengths), max(lengths, default=0)
        self.numbers = self.predictor.numbers(self.example)

    @property
    def wanted(self) -> bool:
        return not self.future.cancelled()


class Written:
    """A text that is written word by word: `parts` come as they are decided, then the answer, or an error. `tokens` of
    its prompt, and the `seconds` that its steps have taken.
    """

    def __init__(self, writer: Writer[Any, Any], example: Any, tokens: int, loop: asyncio.AbstractEventLoop) -> None:
        self.writer, self.example, self.tokens, self.loop = writer, example, tokens, loop
        self.seconds = 0.0
        self.parts: asyncio.Queue[tuple[object, Any]] = asyncio.Queue()
        self.words: Generator[str, None, Any] | None = None
        self.wanted = True

    def step(self, model: Artefact) -> bool:
        """Decide some more characters; returns whether there may be more."""
        started = time.perf_counter()
        try:
            if not self.wanted:
                if self.words is not None:
                    self.words.close()
                return False
            if self.words is None:
                self.words = self.writer.stream(model.module, self.example, fast=model.fast)
            self.give(str, next(self.words))
        except StopIteration as end:
            self.give(_END, end.value)
        except GlassformerError as error:
            self.give(error, None)
        except Exception as error:
            self.give(broken(error), None)
        else:
            return True
        finally:
            self.seconds += time.perf_counter() - started
        return False

    def give(self, kind: object, value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self.loop.call_soon_threadsafe(self.parts.put_nowait, (kind, value))

    def stop(self) -> None:
        self.wanted = False

    async def __aiter__(self) -> AsyncIterator[tuple[bool, Any]]:
        """The characters, and at last the answer: whether it is the answer, and this. Raises what the writer raises."""
        kind: object = str
        while kind is not _END:
            kind, value = await self.parts.get()
            if isinstance(kind, GlassformerError):
                raise kind
            yield kind is _END, value


class Worker:
    """Answers for one model, in its own threads. `taken` is called with the records, tokens and seconds of each batch.

    What reads a row once is answered in as many threads as torch has, each of which takes whole batches and computes
    alone: a product of one batch is too small to be divided. What writes has one thread, and its engine divides.
    """

    def __init__(
        self, model: Artefact, limits: Limits, taken: Callable[[int, int, float], None] = lambda *_: None
    ) -> None:
        self.model, self.limits, self.taken = model, limits, taken
        self.engine = engine_of(model, lasting=True)
        self.most_tokens = most_tokens(model.device.type)
        self.waiting: deque[Item] = deque()
        self.streams: list[Written] = []
        self.tokens = 0  # that wait
        self.read, self.busy = 0.0, 0.0  # tokens of the last batches, and the seconds that they took
        self.changed = threading.Condition()
        self.ending = False
        together, count = model.module.decoder is None and model.device.type == "cpu", torch.get_num_threads()
        self.of_each = 1 if together else count  # threads of torch
        self.threads = [
            threading.Thread(target=self._run, name="answers", daemon=True) for _ in range(count if together else 1)
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def end(self) -> None:
        """Take no more; the threads end when all that waits is answered."""
        with self.changed:
            self.ending = True
            self.changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for the threads to end, for so many seconds at most."""
        until = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.0, until - time.monotonic()))

    # ----------------------------------------------------------------- from the loop

    async def answer(self, items: Sequence[Item]) -> list[Any]:
        """The answers to the records of one request. Raises OverloadedError, and the first of the records' errors."""
        self._take_on(items)
        try:
            return await asyncio.gather(*(item.future for item in items))
        finally:
            for item in items:
                item.future.cancel()

    def _take_on(self, items: Sequence[Item]) -> None:
        size, limits = sum(item.tokens for item in items), self.limits

        def full() -> bool:
            if not self.waiting:
                return False
            too_many = len(self.waiting) + len(items) > limits.waiting
            too_late = self.busy > 0 and (self.tokens + size) * self.busy > limits.seconds * self.read
            return too_many or too_late or self.tokens + size > limits.waiting_tokens

        with self.changed:
            if self.ending:
                raise BusyError("this server is being stopped", do="ask another one")
            if full():
                self._forget_unwanted()
            if full():
                seconds = max(1, math.ceil(self.tokens * self.busy / max(self.read, 1.0)))
                raise OverloadedError(
                    f"at most {limits.waiting:,} records and {limits.waiting_tokens:,} tokens wait here, and at most "
                    f"{limits.seconds:g} s",
                    got=f"{len(self.waiting):,} that wait, with {self.tokens:,} tokens",
                    do=f"ask again in {seconds:,} s",
                    seconds=seconds,
                )
            self.waiting += items
            self.tokens += size
            self.changed.notify()

    def write(self, written: Written) -> None:
        """Have a text written word by word; raises OverloadedError."""
        with self.changed:
            if self.ending:
                raise BusyError("this server is being stopped", do="ask another one")
            if len(self.streams) >= self.limits.streams:
                raise OverloadedError(f"at most {self.limits.streams} texts are streamed at once", do="ask again later")
            self.streams.append(written)
            self.changed.notify()

    # ----------------------------------------------------------------- in the threads

    def _run(self) -> None:
        with own_threads(self.of_each):
            while True:
                with self.changed:
                    while not (self.waiting or self.streams or self.ending):
                        self.changed.wait()
                    batch, streams = self._next(), list(self.streams)
                    if self.ending and not batch and not streams:
                        return
                    if self.waiting:  # more than one thread takes at once
                        self.changed.notify()
                started = time.perf_counter()
                self._answer(batch)
                seconds, tokens = time.perf_counter() - started, sum(item.tokens for item in batch)
                ended = [each for each in streams if not each.step(self.model)]
                for each in ended:
                    self.taken(1, each.tokens, each.seconds)
                with self.changed:
                    self.streams = [each for each in self.streams if each not in ended]
                    if batch:
                        self.read = _FORGET * self.read + tokens
                        self.busy = _FORGET * self.busy + seconds / len(self.threads)
                        self.taken(len(batch), tokens, seconds)

    def _forget_unwanted(self) -> None:
        self.waiting = deque(item for item in self.waiting if item.wanted)
        self.tokens = sum(item.tokens for item in self.waiting)

    def _next(self) -> list[Item]:
        """The record that waits longest, and those that may be answered with it, the nearest in length first."""
        self._forget_unwanted()
        if not self.waiting:
            return []
        first = self.waiting[0]
        near = [item for item in self.waiting if item.key == first.key]
        near.sort(key=lambda item: abs(item.longest - first.longest))  # of equal ones that which waits longer
        batch: list[Item] = []
        tokens = rows = 0
        most = min(self.most_tokens, self.tokens // len(self.threads))  # each thread takes its share of few
        for item in near:
            tokens, rows = tokens + item.tokens, rows + len(item.rows)
            if batch and (tokens > most or (rows > ROWS_WRITTEN and not item.predictor.in_one_pass)):
                break
            batch.append(item)
        taken = {id(item) for item in batch}
        self.waiting = deque(item for item in self.waiting if id(item) not in taken)
        self.tokens -= sum(item.tokens for item in batch)
        return batch

    def _answer(self, batch: Sequence[Item]) -> None:
        try:
            self._compute(batch)
        except Unwanted:
            pass
        except Exception as error:
            if len(batch) == 1:
                failed(batch[0], error if isinstance(error, GlassformerError) else broken(error))
                return
            for item in batch:  # one of them alone may be to blame
                if item.wanted and not item.future.done():
                    self._answer([item])

    def _compute(self, batch: Sequence[Item]) -> None:
        predictor, model = batch[0].predictor, self.model
        places: list[tuple[Item, int]] = []
        for item in batch:
            item.found, item.missing = [None] * len(item.rows), len(item.rows)
            places += ((item, number) for number in range(len(item.rows)))
            if not item.rows:
                finished(item)
        rows = [item.rows[number] for item, number in places]
        if not rows:
            return

        def unwanted() -> bool:
            """Whether nobody waits for any record of the batch."""
            return not any(item.wanted for item in batch)

        # What is written takes many steps: each asks whether it is still wanted. Of the other verbs each pass does.
        steps = contextlib.nullcontext() if predictor.in_one_pass else _asking(model.module.output_stack, unwanted)
        with steps, contextlib.closing(self.engine(predictor, model.module, rows, model.fast)) as found:
            for place, its in found:
                item, number = places[place]
                item.found[number] = its
                item.missing -= 1
                if not item.missing:
                    finished(item)
                if unwanted():
                    return


@contextlib.contextmanager
def _asking(stack: Stack, unwanted: Callable[[], bool]) -> Iterator[None]:
    """Inside, a step of a decoder raises Unwanted when nobody waits for the batch."""

    def ask(*_: object) -> None:
        if unwanted():
            raise Unwanted

    hook = stack.register_forward_pre_hook(ask)
    try:
        yield
    finally:
        hook.remove()


def finished(item: Item) -> None:
    """Give a record its answer, made from those of its rows."""
    try:
        answer = item.predictor.merge(item.example, item.found)
    except GlassformerError as error:
        failed(item, error)
    except Exception as error:
        failed(item, broken(error))
    else:
        _settle(item, lambda: item.future.set_result(answer))


def failed(item: Item, error: GlassformerError) -> None:
    _settle(item, lambda: item.future.set_exception(error))


def _settle(item: Item, how: Callable[[], None]) -> None:
    def settle() -> None:
        if not item.future.done():
            how()

    with contextlib.suppress(RuntimeError):  # the loop was closed
        item.future.get_loop().call_soon_threadsafe(settle)


def broken(error: Exception) -> BrokenError:
    """The refusal after an error of ours, which is logged: where it was, and nothing of the texts."""
    steps = traceback.extract_tb(error.__traceback__)[-6:]
    where = " > ".join(f"{step.filename.rpartition('glassformer/')[2]}:{step.lineno}" for step in steps)
    LOG.error("broken", extra={"facts": {"error": type(error).__name__, "where": where}})
    return BrokenError(
        "this request should have been answered", got=type(error).__name__, do="the server's log says more"
    )
