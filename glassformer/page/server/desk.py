"""The runs that pages look at: the same wish is run once for all who have it, few are kept, and one nobody waits for is
stopped.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from glassformer.look.texts.trace import trace
from glassformer.look.trace.interventions import Intervention
from glassformer.look.trace.run import Options
from glassformer.look.trace.trace import Trace
from glassformer.models.transformer import Transformer
from glassformer.page.server.answers import Run
from glassformer.page.server.asked import Asked, PatchStep
from glassformer.page.server.numbers import Numbers
from glassformer.page.server.offers import Models
from glassformer.page.server.overview import overview
from glassformer.page.server.trees import MOST_TREES, AskedTree, grow
from glassformer.run.serving.refusals import BusyError, MissingError, TooLargeError
from glassformer.run.serving.stopping import in_thread
from glassformer.saved.artefact import Artefact

MOST_RUNS = 32
MOST_BYTES = 512_000_000
MOST_WAITING = 64
READERS = 2
MOST_PATCHED = 1 << 26
"""Numbers of all patches of a run together, 256 MB."""
MOST_TOKENS = 2048
"""Tokens of one text; all texts of a run together may have twice as many, padding included."""

Answer = TypeVar("Answer")


@dataclass
class Waiting(Generic[Answer]):
    """A run or a search that is not finished, and how many wait for it."""

    task: asyncio.Task[Answer]
    count: int = 0


class Desk:
    """Answers requests; runs are computed one after the other, on all cores, answers in between."""

    def __init__(self, models: Models) -> None:
        self.models, self.most_runs, self.most_bytes, self.most_waiting = models, MOST_RUNS, MOST_BYTES, MOST_WAITING
        self.numbers = Numbers()
        self.runs: OrderedDict[str, Run] = OrderedDict()
        self.trees: OrderedDict[str, bytes] = OrderedDict()
        self.waiting: dict[str, Waiting[Any]] = {}
        self.runner = ThreadPoolExecutor(1, thread_name_prefix="run")
        self.readers = ThreadPoolExecutor(READERS, thread_name_prefix="read")
        self.ahead = ThreadPoolExecutor(1, thread_name_prefix="ahead")
        self.next: Future[None] | None = None

    def close(self) -> None:
        for waiting in self.waiting.values():
            waiting.task.cancel()
        self.runner.shutdown(wait=False, cancel_futures=True)
        self.readers.shutdown(wait=False, cancel_futures=True)
        self.ahead.shutdown(wait=False, cancel_futures=True)

    def run(self, key: str) -> Run:
        """A run that is kept; raises MissingError."""
        if key not in self.runs:
            raise MissingError("this run is no longer in memory", do="open it again")
        self.runs.move_to_end(key)
        return self.runs[key]

    async def ask(self, asked: Asked) -> Run:
        """The run of this wish: kept, waited for with others, or begun. Raises BusyError, and what the run raises."""
        if asked.key in self.runs:
            return self.run(asked.key)
        return await self.shared(asked.key, lambda: self.make(asked))

    async def shared(self, key: str, make: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """What is being made under this key, made once for all who wait for it, and given up when nobody does."""
        if key not in self.waiting:
            if len(self.waiting) >= self.most_waiting:
                raise BusyError(f"at most {self.most_waiting} runs are waited for", do="ask again in a moment")
            self.waiting[key] = Waiting(asyncio.ensure_future(make()))
        waiting: Waiting[Answer] = self.waiting[key]
        waiting.count += 1
        try:
            return await asyncio.shield(waiting.task)
        finally:
            waiting.count -= 1
            if not waiting.count:
                waiting.task.cancel()
                if self.waiting.get(key) is waiting:
                    del self.waiting[key]

    async def make(self, asked: Asked) -> Run:
        # Looked up here, and read in the thread: a patch computes its tensor.
        runs = {step.run: self.run(step.run) for step in asked.steps if isinstance(step, PatchStep)}
        return self.keep(await in_thread(self.runner, lambda: self.run_of(asked, read_steps(asked, runs))))

    def begin(self, asked: Asked) -> Run:
        """The run of a wish at once, before there is anyone to wait. Raises what the run raises."""
        return self.keep(self.run_of(asked, read_steps(asked, {})))

    def run_of(self, asked: Asked, steps: Sequence[Any]) -> Run:
        """The run of a wish, with the sections that its model has besides the usual ones."""
        makers, model = self.models.offer(asked.model).makers, self.models[asked.model]
        found = begin(model, asked, steps, self.models.copy(asked.model))
        record, whole = overview(asked, found, model, tuple(makers))
        return Run(asked.key, found, record, whole, self.numbers, asked.model, model, makers)

    def look_ahead(self, asked: Asked, then: Callable[[], None]) -> None:
        """Have what is shown first of a run worked out before a page asks for it; then do what is given."""
        if asked.key in self.runs:
            self.readers.submit(self.runs[asked.key].look_ahead).add_done_callback(lambda _: then())

    def keep(self, run: Run) -> Run:
        """Keep it, and forget the ones that were used least recently as far as is needed."""
        self.runs[run.key] = run
        while len(self.runs) > 1 and (len(self.runs) > self.most_runs or self.nbytes > self.most_bytes):
            self.forget(next(iter(self.runs)))
        return run

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs.values())

    def forget(self, key: str) -> None:
        if self.runs.pop(key, None) is not None:
            self.numbers.forget(key)

    async def tree(self, asked: AskedTree) -> bytes:
        """The search tree of this wish: kept, waited for with others, or begun. Raises as `ask` does."""
        if asked.key in self.trees:
            self.trees.move_to_end(asked.key)
            return self.trees[asked.key]
        return await self.shared(asked.key, lambda: self.grow(asked))

    async def grow(self, asked: AskedTree) -> bytes:
        found = await in_thread(self.runner, lambda: grow(self.models[asked.model], asked))
        self.trees[asked.key] = found
        while len(self.trees) > MOST_TREES:
            self.trees.popitem(last=False)
        return found

    async def answer(self, work: Callable[[], Answer]) -> Answer:
        return await in_thread(self.readers, work)

    def look_around(self, run: Run, name: str) -> None:
        """Have what may be asked for after a number worked out, for the last number alone."""
        if self.next is not None:
            self.next.cancel()
        self.next = self.ahead.submit(run.look_around, name)


def read_steps(asked: Asked, runs: Mapping[str, Run]) -> list[Intervention]:
    """The changes of a wish; its patches are from these `runs` by key. Raises UnknownNameError, and TooLargeError where
    the patches have too many numbers together.
    """
    count = 0
    for step in asked.steps:
        if isinstance(step, PatchStep):
            run = runs[step.run]
            count += math.prod(run.record["shapes"].get(run.trace.full_name(step.where), ()))
    if count > MOST_PATCHED:
        raise TooLargeError(f"all patches together have at most {MOST_PATCHED:,} numbers", got=f"{count:,}")
    return [step.read(lambda key: runs[key].trace) for step in asked.steps]


def begin(model: Artefact, asked: Asked, steps: Sequence[Any], copy: Transformer | None = None) -> Trace:
    """Run what was asked for; `copy` as in `trace.run.Options`. Raises what `Model.trace` raises, and TooLargeError."""
    texts = [*asked.texts, *(asked.seconds or ()), *(asked.choices or ())]
    of_texts = [len(model.tokenizer.encode(text, special=False)) for text in texts]
    for lengths in (of_texts, [len(ids) for ids in asked.target_ids or ((),)]):
        if max(lengths) > MOST_TOKENS or max(lengths) * len(lengths) > 2 * MOST_TOKENS:
            raise TooLargeError(
                f"a page holds at most {MOST_TOKENS:,} tokens of a text, and {2 * MOST_TOKENS:,} of all texts with "
                f"padding",
                got=f"{max(lengths):,} in the longest of {len(lengths)}",
            )
    return trace(
        model,
        asked.texts,
        asked.seconds,
        choices=asked.choices,
        target_ids=asked.target_ids,
        interventions=steps,
        options=Options(copy=copy),
    )
