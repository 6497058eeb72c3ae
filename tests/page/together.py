"""Many things tried by one test, as on a page that is opened once: all that fail are reported, each by its name."""

from collections.abc import Callable, Iterable
from typing import TypeVar

MOST = 5
"""After so many failures the rest is not tried: each may have waited for something until its time was over."""

Thing = TypeVar("Thing")


def try_each(things: Iterable[Thing], test: Callable[[Thing], None], *, name: Callable[[Thing], str] = str) -> None:
    """Test each of the things; one `ExceptionGroup` has what failed, with the names of the things in its first line."""
    failed: dict[str, Exception] = {}
    named = {name(thing): thing for thing in things}
    assert named, "there is nothing to be tried"
    tried = 0
    for each, thing in named.items():
        if len(failed) == MOST:
            break
        tried += 1
        try:
            test(thing)
        except Exception as error:
            error.add_note(f"at: {each}")
            failed[each] = error
    if failed:
        left = f", {len(named) - tried} not tried" if tried < len(named) else ""
        raise ExceptionGroup(f"{len(failed)} of {len(named)} failed{left}: {'; '.join(failed)}", [*failed.values()])
