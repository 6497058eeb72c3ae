"""Calls into the tokenizers library: whatever it raises becomes a TokenizerError."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from glassformer.base.errors import GlassformerError, TokenizerError


@contextmanager
def refusing(refusal: Callable[[str], TokenizerError]) -> Iterator[None]:
    """Turn what the library raises into the TokenizerError that `refusal` makes of its message.

    The library raises bare Exceptions, and a BaseException where its Rust code panics. Our own errors, full memory and
    interrupts pass through.
    """
    try:
        yield
    except (GlassformerError, MemoryError):
        raise
    except BaseException as error:
        if isinstance(error, Exception) or _is_panic(error):
            raise refusal(" ".join(str(error).split())[:300]) from None
        raise


def _is_panic(error: BaseException) -> bool:
    # The class cannot be imported: Rust makes it when the first panic is raised.
    return type(error).__name__ == "PanicException" and type(error).__module__ == "pyo3_runtime"
