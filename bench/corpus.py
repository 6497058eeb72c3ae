"""A file of short texts classified by the verb alone and with --ray, where an actor and the command itself are killed:
each row exactly once, rows a second, and rows a second of processor time, in which other work on the machine counts
less. `python -m bench corpus` takes a million and writes docs/results/bench-corpus.json; `--rows N` takes fewer and
writes nothing. A run that was cut off, also by a kill, goes on.
"""

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from typing import Any, NamedTuple

from bench.turns import RUNS
from experiments import results

COMMAND = [sys.executable, "-m", "glassformer"]
# Of all rows, those that are written when the actor, and when the command is killed.
ACTOR, DRIVER = 0.3, 0.6
# prctl: the signal that a process gets when the one that has begun it ends.
_WITH_PARENT = 1
_TICKS = os.sysconf("SC_CLK_TCK")


def sick() -> list[list[str]]:
    file = results.data_directory() / "sick" / "SICK_train.txt"
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]


def prepared(work: Path, rows: int) -> tuple[Path, Path]:
    """A tiny model that classifies SICK's sentences (how well does not matter here), and the texts: sentences of SICK,
    each with the number of its row.
    """
    model, texts, labelled = work / "model", work / "texts.jsonl", work / "labelled.tsv"
    work.mkdir(parents=True, exist_ok=True)
    if not (model / "model.safetensors").exists():
        learned = "".join(f"{each[1]}\t{each[4]}\n" for each in sick())
        labelled.write_text(f"text\tlabel\n{learned}", encoding="utf-8")
        words = ["train", "classify", str(labelled), "--family", "bert", "--size", "tiny", "--steps", "20"]
        words += ["--vocabulary", "1000", "--length", "32", "--quiet", "--out", str(model)]
        again = ["--resume"] if model.exists() else []
        subprocess.run([*COMMAND, *words, *again], check=True, stdout=subprocess.DEVNULL)
    if not texts.exists():
        draft = texts.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as handle:
            for row, (_, sentence, *_) in zip(range(rows), cycle(sick()), strict=False):
                handle.write(json.dumps({"id": row, "text": f"{sentence} {row}"}) + "\n")
        draft.replace(texts)
    return model, texts


class Process(NamedTuple):
    number: int
    words: bytes
    seconds: float  # of processor time so far


def tree(process: int) -> Iterator[Process]:
    """A process, those that it has begun, and those that these have; 1 has all."""
    parents, seconds = dict[int, list[int]](), dict[int, float]()
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            facts = (each / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(facts[1]), []).append(int(each.name))
            seconds[int(each.name)] = (int(facts[11]) + int(facts[12])) / _TICKS
    left = [process]
    while left:
        left += parents.get(number := left.pop(), [])
        with suppress(OSError, KeyError):
            yield Process(number, Path(f"/proc/{number}/cmdline").read_bytes(), seconds[number])


def written(out: Path, before: tuple[int, int]) -> tuple[int, int]:
    """The rows that a command has written so far, and their bytes; of those `before` only the rest is read."""
    file = next((each for each in (out, out.with_name(f"{out.name}.partial")) if each.exists()), None)
    if file is None:
        return 0, 0
    count, size = before
    with file.open("rb") as handle:
        handle.seek(size)
        while part := handle.read(1 << 24):
            count, size = count + part.count(b"\n"), size + len(part)
    return count, size


def with_parent() -> None:
    """End with the process that has begun this one: what nobody watches has no time."""
    ctypes.CDLL(None).prctl(_WITH_PARENT, signal.SIGKILL)


Stop = Callable[[list[Process], int, float], bool]


def classify(work: Path, rows: int, name: str, *more: str, stop: Stop) -> None:
    """Run the command to its end, or until `stop` says so of its processes, the rows that it has written and the
    seconds, and kill it then.
    """
    out, began = work / f"{name}.jsonl", time.monotonic()
    words = ["classify", str(work / "model"), "--file", str(work / "texts.jsonl"), "--out", str(out)]
    words += ["--engine", "torch", "--resume", *more]
    with (work / f"{name}.errors").open("a") as errors:
        process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=with_parent)
    ended, done = False, (0, 0)
    while not ended:
        ended = process.poll() is not None
        done, found = written(out, done), list(tree(process.pid))
        if stop(found, done[0], time.monotonic() - began):
            process.kill()
            process.wait()
            end(found[1:])
            return
        time.sleep(max(0.2, rows / 1e6))
    assert process.returncode == 0, (work / f"{name}.errors").read_text()[-2000:]


def end(others: list[Process]) -> None:
    """Wait for what a killed command had begun; what is left of it after a minute is killed too."""
    for waited in count():
        alive = []
        for number, words, _ in others:
            with suppress(OSError):
                if words and Path(f"/proc/{number}/cmdline").read_bytes() == words:
                    alive.append(number)
        if not alive:
            return
        if waited == 60:
            for number in alive:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
        time.sleep(1)


def main() -> None:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(prog="python -m bench corpus", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ray", default="local", help="the address of a Ray of this machine that runs already")
    rows, address = (given := parser.parse_args()).rows, given.ray
    work = RUNS / f"bench-corpus-{rows}"
    prepared(work, rows)
    kept = work / "found.json"
    nothing = {"alone": [0.0, 0.0], "ray": [0.0, 0.0], "kills": []}
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else nothing
    killed: list[str] = found["kills"]
    before, name, used = [0.0, 0.0], "alone", dict[int, float]()

    def watched(processes: list[Process], done: int, seconds: float) -> bool:
        used.update((each.number, each.seconds) for each in processes)
        found[name] = [before[0] + seconds, before[1] + sum(used.values())]
        draft = kept.with_suffix(".draft")  # this command may be cut off at any moment
        draft.write_text(json.dumps(found))
        draft.replace(kept)
        if name == "alone":
            return False
        if "actor" not in killed and done >= ACTOR * rows:
            among = processes if address == "local" else tree(1)
            actors = [each for each in among if each.words.startswith(b"ray::") and b"Map" in each.words]
            if actors:
                os.kill(actors[0].number, signal.SIGKILL)
                killed.append("actor")
        due = "command" not in killed and rows > done >= DRIVER * rows
        if due:
            killed.append("command")
        return due

    for name, more in (("alone", []), ("ray", ["--ray", address])):
        while not (work / f"{name}.jsonl").exists():
            before, used = found[name], {}
            classify(work, rows, name, *more, stop=watched)
            print(name, [round(each, 1) for each in found[name]], killed, flush=True)
    with (work / "alone.jsonl").open() as one, (work / "ray.jsonl").open() as two:
        pairs = [(json.loads(a), json.loads(b)) for a, b in zip(one, two, strict=True)]
    once = [each["id"] for _, each in pairs] == list(range(rows))
    same = sum(a["label"] == b["label"] for a, b in pairs)
    values = {"rows": rows, "each_once_in_order": once, "same_labels": same, "kills": killed}
    for name in ("alone", "ray"):
        values[f"{name}_rows_per_second"], values[f"{name}_rows_per_processor_second"] = (
            rows / of for of in found[name]
        )
    print(json.dumps(values))
    assert once
    if rows == 1_000_000:
        print(results.write("bench-corpus", "python -m bench corpus", values))


if __name__ == "__main__":
    main()
