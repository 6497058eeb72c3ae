"""Applies mutations to copies of the checkout, one at a time, and runs the tests that should notice each."""

import importlib.util
import os
import queue
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.mutations.record import Mutation

# Seconds after which the tests of one mutation are given up.
LIMIT = 300
NODE_MODULES = Path("web/node_modules")
NOTICED, ESCAPED, BROKEN = "noticed", "ESCAPED", "BROKEN"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`verdict` is BROKEN where a test could not be run to its end. `by` is the first test that failed, or what went
    wrong.
    """

    name: str
    verdict: str
    seconds: float
    by: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; a code of None = it did not end in time."""

    code: int | None
    output: str


class Copy:
    """A copy of the checkout in a folder of its own, where files are changed and put back."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder = folder
        for name in _files(checkout):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, target)
        if (checkout / NODE_MODULES).is_dir():
            (folder / NODE_MODULES).symlink_to((checkout / NODE_MODULES).resolve())

    @property
    def builds_pages(self) -> bool:
        """Whether the tools that build the page are there."""
        return (self.folder / NODE_MODULES).is_dir()

    @contextmanager
    def changed(self, mutation: Mutation) -> Iterator[None]:
        """Inside, the mutation is applied; afterwards the file is what it was."""
        path = self.folder / mutation.file
        text = mutation.applied(self.folder)
        before, times = path.read_bytes(), path.stat()
        # Nothing compiled from another text is left: Python distinguishes compiled files by seconds and sizes alone.
        compiled = Path(importlib.util.cache_from_source(str(path))) if path.suffix == ".py" else None
        try:
            if compiled is not None:
                compiled.unlink(missing_ok=True)
            path.write_text(text, encoding="utf-8")
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if compiled is not None:
                compiled.unlink(missing_ok=True)

    def page_tests(self, tests: Sequence[str], *, limit: float = LIMIT) -> Ended:
        """Run tests of the page; without names none is run."""
        names = [test.removeprefix("web/test/") for test in tests]
        return self._run(["node", "build.mjs", "--test", *names], limit, within="web") if names else Ended(0, "")

    def python_tests(self, tests: Sequence[str], *, limit: float = LIMIT) -> Ended:
        """Run tests of pytest up to the first that fails; without names none is run."""
        options = ["-x", "-q", "-p", "no:cacheprovider"]
        return self._run([sys.executable, "-m", "pytest", *options, *tests], limit) if tests else Ended(0, "")

    def _run(self, command: Sequence[str], limit: float, within: str = ".") -> Ended:
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled modules are read again by each run
        try:
            done = subprocess.run(
                command, cwd=self.folder / within, env=environment, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return Ended(None, "")
        return Ended(done.returncode, done.stdout + done.stderr)


def _files(checkout: Path) -> list[str]:
    """The files of the checkout, new ones among them, without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True).stdout
    return [name for name in sorted(set(listed.split("\0"))) if name and (checkout / name).is_file()]


def fails_unchanged(copy: Copy, mutations: Sequence[Mutation]) -> str:
    """What the tests of the mutations say of the unchanged copy where some fail; "" where all pass."""
    of_page = sorted({test for each in mutations for test in each.page_tests})
    of_python = sorted({test for each in mutations for test in each.python_tests})
    every = LIMIT * len(mutations)
    for done in (copy.page_tests(of_page, limit=every), copy.python_tests(of_python, limit=every)):
        if done.code != 0:
            return done.output[-2000:] or "the tests did not end in time"
    return ""


def outcome(copy: Copy, mutation: Mutation) -> Outcome:
    """Apply one mutation to a copy, run its tests, and put the copy back."""
    began = time.monotonic()
    verdict, by = ESCAPED, ""
    with copy.changed(mutation):
        for run, tests in ((copy.page_tests, mutation.page_tests), (copy.python_tests, mutation.python_tests)):
            done = run(tests)
            if done.code is None:
                verdict, by = BROKEN, f"no end after {LIMIT} s"
            elif done.code == 1:
                found = _FAILED.search(done.output)
                verdict, by = NOTICED, found[1] if found else tests[0]
            elif done.code:
                verdict, by = BROKEN, done.output[-500:]
            if verdict != ESCAPED:
                break
    return Outcome(mutation.name, verdict, round(time.monotonic() - began, 1), by)


def run_all(
    checkout: Path,
    folder: Path,
    mutations: Sequence[Mutation],
    *,
    jobs: int,
    trust: bool,
    see: Callable[[Outcome], None],
) -> list[Outcome]:
    """The outcomes of all in their order; `see` is given each as it comes. `trust`: that the tests pass unchanged.

    Raises RuntimeError where they do not, and where the page cannot be built.
    """
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    first = Copy(checkout, folder / "0")
    if not first.builds_pages and any(each.of_page for each in mutations):
        raise RuntimeError("mutations of the page need its tools in web/node_modules: run make web")
    if not trust and (said := fails_unchanged(first, mutations)):
        raise RuntimeError(f"the tests must pass before anything is changed:\n{said}")
    copies.put(first)
    for number in range(1, min(jobs, len(mutations))):
        copies.put(Copy(checkout, folder / str(number)))

    def one(mutation: Mutation) -> Outcome:
        copy = copies.get()
        try:
            return outcome(copy, mutation)
        finally:
            copies.put(copy)

    found: dict[str, Outcome] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(one, mutation) for mutation in mutations]):
            result = done.result()
            found[result.name] = result
            see(result)
    return [found[mutation.name] for mutation in mutations]
