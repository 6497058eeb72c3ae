"""Calls into the tokenizers library: whatever it raises becomes a TokenizerError."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from glassformer.base.errors import GlassformerError, TokenizerError

_LOCK = threading.RLock()
# What the library prints where its code panics, before it raises.
_PANICKED = b"\nthread '"


@contextmanager
def refusing(refusal: Callable[[str], TokenizerError], *, quiet: bool = True) -> Iterator[None]:
    """Turn what the library raises into the TokenizerError that `refusal` makes of its message. The library raises bare
    Exceptions, and a BaseException where its Rust code panics; `quiet` keeps what it prints then from the screen, which
    takes a lock. Our own errors, full memory and interrupts pass through.
    """
    try:
        with _without_panics() if quiet else nullcontext():
            yield
    except (GlassformerError, MemoryError):
        raise
    except BaseException as error:
        if isinstance(error, Exception) or _is_panic(error):
            raise refusal(" ".join(str(error).split())[:300]) from None
        raise


@contextmanager
def _without_panics() -> Iterator[None]:
    """Inside, standard error is kept back; afterwards it is written, but for what begins as a panic does."""
    with _LOCK:
        try:
            sys.stderr.flush()
            screen = os.dup(2)
        except (OSError, ValueError, AttributeError):  # standard error is closed: nothing is printed
            yield
            return
        kept, written = os.pipe()
        os.set_blocking(written, False)  # a panic that is longer than the pipe is cut
        try:
            os.dup2(written, 2)
            yield
        finally:
            os.dup2(screen, 2)
            os.close(written)
            with os.fdopen(kept, "rb") as said, os.fdopen(screen, "wb", 0) as shown:
                if before := said.read().partition(_PANICKED)[0]:
                    shown.write(before)


def _is_panic(error: BaseException) -> bool:
    # The class cannot be imported: Rust makes it when the first panic is raised.
    return type(error).__name__ == "PanicException" and type(error).__module__ == "pyo3_runtime"
