"""Answers that are kept as they are sent: pages of one class look at the same numbers."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

MOST_BYTES = 16_000_000

Key = TypeVar("Key", bound=Hashable)


class Kept(Generic[Key]):
    """The answers that were asked for last. Who asks for one that another thread works out waits for that."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.nbytes = most_bytes, 0
        self.answers: OrderedDict[Key, bytes] = OrderedDict()
        self.lock = threading.Lock()
        self.working: dict[Key, threading.Lock] = {}

    def fetch(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """The answer of this key, made where it is not kept. Raises what `make` raises."""
        if known := self.known(key):
            return known
        with self.lock:
            own = self.working.setdefault(key, threading.Lock())
        with own:
            try:
                found = self.known(key) or make()
            finally:
                with self.lock:
                    self.working.pop(key, None)
            self.keep(key, found)
        return found

    def known(self, key: Key) -> bytes | None:
        with self.lock:
            if key in self.answers:
                self.answers.move_to_end(key)
            return self.answers.get(key)

    def keep(self, key: Key, answer: bytes) -> None:
        """Keep it, and forget others as far as is needed."""
        with self.lock:
            self.nbytes += len(answer) - len(self.answers.pop(key, b""))
            self.answers[key] = answer
            while self.nbytes > self.most_bytes:
                self.nbytes -= len(self.answers.popitem(last=False)[1])
