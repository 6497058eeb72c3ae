"""Running one command in a process of its own: a fork of this one, in which everything is imported."""

import gc
import importlib
import os
import pkgutil
import re
import runpy
import signal
import sys
import time
import traceback
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.golden.verbs.table import Case

LONGEST = 600.0


@dataclass(frozen=True)
class Ended:
    """What came of a command."""

    code: int
    out: str
    err: str
    page: str = ""


def warm(*, trains: bool) -> None:
    """Import once what the verbs use, and what the first step of an optimizer imports, which takes a second."""
    import torch

    if trains:
        import torch._dynamo

    import glassformer

    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(glassformer.__path__, "glassformer."):
        with suppress(ImportError):  # of an extra
            importlib.import_module(module.name)
    gc.freeze()  # so that no process goes through all of this again


def run(case: Case, root: Path) -> Ended:
    """Run a case in `root`. Raises TimeoutError when it does not end."""
    streams = root / ".streams"
    streams.mkdir(exist_ok=True)
    (streams / "in").write_text(case.stdin, encoding="utf-8")
    child = os.fork()
    if child == 0:
        _become(case, root, streams)
    page = _fetch(child, streams) if case.server else ""
    code = _wait(child, case.name)
    out, err = ((streams / name).read_text(encoding="utf-8", errors="backslashreplace") for name in ("out", "err"))
    return Ended(code, out, err, page)


def _become(case: Case, root: Path, streams: Path) -> None:
    """Be `python -m glassformer`; never returns."""
    code = 1
    try:
        os.chdir(root)
        os.environ.update(HOME=str(root / ".home"), COLUMNS="80", XDG_CACHE_HOME=str(root / ".cache"))
        files = (
            ("in", os.O_RDONLY),
            ("out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            ("err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        )
        for number, (name, mode) in enumerate(files):
            handle = os.open(streams / name, mode, 0o600)
            os.dup2(handle, number)
            os.close(handle)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
        )
        sys.argv = ["glassformer", *case.words]
        if case.server:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        runpy.run_module("glassformer", run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code & 0xFF)


def _wait(child: int, name: str) -> int:
    began = time.monotonic()
    while time.monotonic() - began < LONGEST:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError(f"{name} has not ended after {LONGEST:.0f} seconds")


def _fetch(child: int, streams: Path) -> str:
    """The page of a command that serves one, which is then ended as Ctrl-C ends it."""
    began = time.monotonic()
    try:
        while time.monotonic() - began < LONGEST / 2:
            out = streams / "out"
            found = re.search(r"http://[^\s\"]+", out.read_text(encoding="utf-8") if out.exists() else "")
            if found:
                with urllib.request.urlopen(found[0], timeout=LONGEST) as reply:
                    return str(reply.read().decode("utf-8"))
            time.sleep(0.02)
        return ""
    finally:
        os.kill(child, signal.SIGINT)
