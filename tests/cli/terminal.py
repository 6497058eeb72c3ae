"""Commands in terminals of their own, driven by what is typed and waited for, for the price of one start of Python.

Called as `python terminal.py CASES RESULTS`: a list of {"words", "typed"} as JSON, with `typed` a list of pairs: what
to wait for on the screen, and what to type then. Writes a list of {"code", "screen"}.
"""

import json
import os
import pty
import re
import select
import sys
import time
from pathlib import Path
from typing import Any

# Seconds that a terminal may stay without what is waited for.
PATIENCE, PRESSED_AGAIN = 200.0, 10.0
INTERRUPT = "\x03"


def in_a_terminal(words: list[str], typed: list[list[str]]) -> dict[str, Any]:
    """One command, and all that was on its screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        _run(words)
    screen, after = "", 0
    for wanted, answer in typed:
        until = time.monotonic() + PATIENCE
        while (found := re.compile(wanted, re.DOTALL).search(screen, after)) is None:
            some = _read(terminal, until)
            if some is None:
                break
            screen += some
        if found is None:
            break
        after = found.end()
        os.write(terminal, answer.encode())
    screen += _rest(terminal, pid, again=typed[-1][1] if typed else "")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return {"code": code, "screen": screen}


def _rest(terminal: int, pid: int, *, again: str) -> str:
    """What is written until the command ends. A Ctrl-C that comes just before Python waits for a line is noticed when
    a line comes: a person presses it `again`.
    """
    found, until = "", time.monotonic() + PATIENCE
    while time.monotonic() < until:
        turn = time.monotonic() + PRESSED_AGAIN
        while (some := _read(terminal, turn)) is not None:
            found += some
        if time.monotonic() < turn:
            return found
        if again == INTERRUPT:
            os.write(terminal, again.encode())
    os.kill(pid, 9)
    return found


def _read(terminal: int, until: float) -> str | None:
    if not select.select([terminal], [], [], max(0.0, until - time.monotonic()))[0]:
        return None
    try:
        return os.read(terminal, 4096).decode(errors="replace") or None
    except OSError:  # so Linux says that the other side has closed it
        return None


def _run(words: list[str]) -> None:
    modes = ("r", "w", "w")
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, closefd=False) for n, mode in enumerate(modes))
    sys.argv = ["glassformer", *words]
    try:
        run()
    except SystemExit as end:
        os._exit(int(end.code or 0))
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(70)


if __name__ == "__main__":
    # What each would wait for.
    import glassformer.answering.answers
    import glassformer.api.load
    import glassformer.cli.ask.asked  # noqa: F401  # imported for what it loads, before the forks
    from glassformer.cli.__main__ import run

    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = [in_a_terminal(each["words"], each["typed"]) for each in cases]
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
