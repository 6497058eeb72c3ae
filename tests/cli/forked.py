"""Run the program many times, each in a process of its own that ends as Python ends, for the price of one start.

Called as `python forked.py FOLDER`: cases from FOLDER/cases.json, what came of each to FOLDER/N.code, N.out and N.err.
"""

import gc
import importlib
import json
import os
import pkgutil
import sys
from contextlib import suppress
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
    """Whether this is a process that has a case to run; the first one returns when all have ended."""
    for number, case in enumerate(json.loads((folder / "cases.json").read_text())):
        place = folder / str(number)
        process = os.fork()
        if process == 0:
            begin(case, place)
            return True
        _, status = os.waitpid(process, 0)
        place.with_suffix(".code").write_text(str(os.waitstatus_to_exitcode(status)))
    return False


if __name__ == "__main__":
    import glassformer
    from glassformer.cli.__main__ import run

    # What each would wait for; what an extra needs is imported where it is used.
    for module in pkgutil.walk_packages(glassformer.__path__, "glassformer."):
        with suppress(ImportError):
            importlib.import_module(module.name)

    gc.freeze()  # so that no process goes through all of this again as it ends
    if fork_all(Path(sys.argv[1])):
        run()
