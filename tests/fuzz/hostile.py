"""What a fuzzer needs: hostile values, damaged files, a folder that nothing leaves, and limits of time and memory.

A run is seeded: `GLASSFORMER_FUZZ_SEED` (0) and the number of a case give the case again. `make test` runs the first
cases of each fuzzer, the same on each machine; `GLASSFORMER_FUZZ_SECONDS` has it run for so long instead.
"""

import gzip
import json
import os
import random
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import GlassformerError

SEED = int(os.environ.get("GLASSFORMER_FUZZ_SEED", "0"))
SECONDS, FEW = float(os.environ.get("GLASSFORMER_FUZZ_SECONDS", "0")), 40
LONG = 600.0
# What one call may take.
MOST_SECONDS, MOST_KILOBYTES = 10, 2_000_000
NUMBERS = ("0", "-1", "1", "2", "7", "1.5", "-0.0", "1e39", "1e400", "nan", "inf", "9" * 30, "9" * 500, "0x10", "١")
TEXTS = (
    "", " ", "\U0001f600", "a", "a\0b", "\ud800", "é", "[MASK]", "[MASK] [MASK]", "the cat sat", "a" * 900, "\u200b",
    "\r\n", "{", "[]", '{"text": "a"}', ".", "-", "--", "-1", "%s", "a=b", "a.b=c", "train.steps=1", "null",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, 2**63, float("nan"), float("inf"), "", "a", "\ud800", "a\0b", "../x", "x" * 3000,
    [], [1], [[]], {}, {"a": 1}, [None] * 300, {"type": "x"}, "hub:a/b", -(2**31), 1e39, [[[[[[]]]]]],
)  # fmt: skip


def cases(seconds: float) -> Iterator[tuple[int, random.Random]]:
    """The number of each case, and its chance: for so long of the processor, so that a busy machine leaves none out, or
    of the first few where that is 0.
    """
    ends, number = time.process_time() + seconds, 0
    while time.process_time() < ends if seconds else number < FEW:
        yield number, random.Random(f"{SEED} {number}")
        number += 1


def inside(folder: Path, words: Sequence[str]) -> None:
    """Stop the fuzzer unless each word of a command, and what follows its "=", would be a path in this folder."""
    assert Path.cwd() == folder, f"a fuzzer must run in its own folder, not in {Path.cwd()}"
    for word in words:
        for part in (word, word.partition("=")[2], word.partition(":")[2]):
            try:
                path = Path(os.path.realpath(folder / part))
            except (ValueError, UnicodeEncodeError):  # a zero byte, half a character: no path
                continue
            assert path.is_relative_to(folder), f"{word!r} leads out of {folder}"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Inside, this folder is the current one, and home, and where temporary files and caches are."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "TMPDIR", "HF_HOME", "XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR"):
            patch.setenv(name, str(folder))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("tempfile.tempdir", str(folder))
        patch.chdir(folder)
        yield


class TooSlowError(BaseException):
    """A call took too long; no `except Exception` stops it."""


class Failures(dict[str, str]):
    """What went wrong, once for each line of ours that it came from; at the end there must be nothing."""

    @contextmanager
    def limited(self, said: str) -> Iterator[None]:
        """Inside, a call is stopped after MOST_SECONDS of work, or sixty times as many of waiting; afterwards its
        memory is looked at. `said` names the case.
        """

        def stop(*given: object) -> None:
            raise TooSlowError(f"more than {MOST_SECONDS} seconds")

        before, held = [(each, signal.signal(each, stop)) for each in (signal.SIGPROF, signal.SIGALRM)], _kilobytes()
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        signal.alarm(60 * MOST_SECONDS)
        try:
            yield
        except (Exception, TooSlowError) as error:
            if not isinstance(error, GlassformerError) or "\n" in str(error):
                steps = traceback.extract_tb(error.__traceback__)
                ours = [f"{step.filename}:{step.lineno}" for step in steps if "/glassformer/" in step.filename]
                self.setdefault(f"{type(error).__name__} {ours[-1:]}", f"{said}: {error}"[:600])
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            for each, handler in before:
                signal.signal(each, handler)
        if (more := _kilobytes() - held) > MOST_KILOBYTES:
            self.setdefault(f"{more // 1000:,} MB", said[:600])

    def none(self, number: int) -> None:
        """Say how many cases there were, and fail where one went wrong."""
        print(f"{number + 1:,} cases with the seed {SEED}")
        assert not self, "\n".join(f"{where}\n    {said}" for where, said in self.items())
        assert number > 20


def each_is_read_or_refused(
    makers: Sequence[Callable[[Path, random.Random], Callable[[], object]]], folder: Path, seconds: float
) -> None:
    """What the makers damage in a folder, one of them for each case, is read or refused."""
    number, failures = 0, Failures()
    inside(folder, [str(path) for path in folder.iterdir()])
    for number, chance in cases(seconds):
        maker = chance.choice(makers)
        inside(folder, ())
        call = maker(folder, chance)
        with failures.limited(f"case {number} ({maker.__name__})"):
            call()
    failures.none(number)


def _kilobytes() -> int:
    """The most memory that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Other bytes: a few flipped, cut, doubled, put in; the values of JSON and TOML exchanged; compressed."""
    changes: list[Callable[[bytes, random.Random], bytes]] = [_flipped, _cut, _doubled, _put_in, _exchanged, _exchanged]
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        content = chance.choice(changes)(content, chance)
    return gzip.compress(content) if chance.random() < 0.02 else content


def _flipped(content: bytes, chance: random.Random) -> bytes:
    some = bytearray(content)
    for _ in range(chance.choice((1, 3, 20))):
        if some:
            some[chance.randrange(len(some))] = chance.choice((0, 10, 34, 44, 123, 255, chance.randrange(256)))
    return bytes(some)


def _cut(content: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    return content[:begin] if chance.random() < 0.5 else content[begin:]


def _doubled(content: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    return content[:begin] + content[begin : begin + 200] * chance.choice((2, 50)) + content[begin:]


def _put_in(content: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    return content[:begin] + chance.choice(TEXTS).encode("utf-8", "surrogatepass") + content[begin:]


def _exchanged(content: bytes, chance: random.Random) -> bytes:
    """A value of the first JSON in it, a whole file or a line, is another one."""
    for part in (content, content.splitlines()[0] if content.strip() else b""):
        try:
            values = json.loads(part)
        except ValueError:
            continue
        return content.replace(part, json.dumps(exchanged(values, chance)).encode(), 1)
    return _flipped(content, chance)


def exchanged(values: Any, chance: random.Random) -> Any:
    """The same JSON with one value, at any depth, exchanged, left out or added."""
    if isinstance(values, dict) and values and chance.random() < 0.9:
        name = chance.choice(sorted(values))
        match chance.randrange(6):
            case 0:
                return {each: of for each, of in values.items() if each != name}
            case 1:
                return values | {chance.choice(TEXTS): chance.choice(VALUES)}
        return values | {name: exchanged(values[name], chance)}
    if isinstance(values, list) and values and chance.random() < 0.7:
        at = chance.randrange(len(values))
        return [*values[:at], exchanged(values[at], chance), *values[at + 1 :]]
    return chance.choice(VALUES)
