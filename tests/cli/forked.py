"""Run the program many times, each in a process of its own that ends as Python ends, for the price of one start.

Called as `python forked.py FOLDER`: cases from FOLDER/cases.json, what came of each to FOLDER/N.code, N.out and N.err.
"""

import gc
import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO, TypedDict


class Case(TypedDict):
    """Words after `glassformer`, and what its three streams are."""

    words: list[str]
    stdin: str
    stdout: str
    stderr: str
    encoding: str


def opened(kind: str, number: int, name: Path) -> None:
    """Make stream `number` a file, or `closed`, `full`, or a pipe that nobody reads: `gone`."""
    if kind == "closed":
        os.close(number)
        return
    if kind == "gone":
        reader, handle = os.pipe()
        os.close(reader)
    elif kind == "full":
        handle = os.open("/dev/full", os.O_WRONLY)
    elif number == 0:
        handle = os.open(os.devnull, os.O_RDONLY)
    else:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.dup2(handle, number)
    os.close(handle)


def as_python_begins(kind: str, number: int, encoding: str) -> TextIO | None:
    """The object that Python makes of a stream."""
    if kind == "closed":
        return None
    errors = "backslashreplace" if number == 2 else "strict"
    return open(number, "w" if number else "r", encoding=encoding, errors=errors, closefd=False)


def begin(case: Case, place: Path) -> None:
    for number, kind in enumerate((case["stdin"], case["stdout"], case["stderr"])):
        opened(kind, number, place.with_suffix((".in", ".out", ".err")[number]))
    sys.stdin = as_python_begins(case["stdin"], 0, "utf-8")
    sys.stdout = as_python_begins(case["stdout"], 1, case["encoding"])
    sys.stderr = as_python_begins(case["stderr"], 2, case["encoding"])
    sys.argv = ["glassformer", *case["words"]]


def fork_all(folder: Path) -> bool:
    """Whether this is a process that has a case to run; the first one returns when all have ended.

    Help is shown first, in processes that load no more than it needs; so they end sooner.
    """
    cases: list[Case] = json.loads((folder / "cases.json").read_text())
    loaded = False
    for number, case in sorted(enumerate(cases), key=lambda each: not light(each[1])):
        if not (loaded or light(case)):
            load(cases)
            loaded = True
        place = folder / str(number)
        process = os.fork()
        if process == 0:
            begin(case, place)
            return True
        _, status = os.waitpid(process, 0)
        place.with_suffix(".code").write_text(str(os.waitstatus_to_exitcode(status)))
    return False


def light(case: Case) -> bool:
    return case["words"][-1] in ("--help", "--version")


def load(cases: list[Case]) -> None:
    """What the others would wait for: the first of them is run here."""
    from glassformer.cli.__main__ import main

    words = next(case["words"] for case in cases if not light(case))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main(words)
    gc.collect()
    gc.freeze()  # so that no process goes through all of this again as it ends


if __name__ == "__main__":
    if fork_all(Path(sys.argv[1])):
        from glassformer.cli.__main__ import run

        run()
