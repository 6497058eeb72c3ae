"""A file of short texts classified by the verb alone and with --ray, where an actor and the command itself are killed:
each row exactly once, and rows a second. `python -m bench corpus` takes a million and writes
docs/results/bench-corpus.json; `--rows N` takes fewer and writes nothing. A run that was cut off goes on.
"""

import argparse
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
from typing import Any

from bench.turns import RUNS
from experiments import results

COMMAND = [sys.executable, "-m", "glassformer"]
# Of all rows, those that are written when the actor, and when the command is killed.
ACTOR, DRIVER = 0.3, 0.6


def sick() -> list[list[str]]:
    file = results.data_directory() / "sick" / "SICK_train.txt"
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]


def prepared(work: Path, rows: int) -> tuple[Path, Path]:
    """A tiny model that tells SICK's labels from one sentence (how well is no matter here), and the texts: sentences of
    SICK, each with the number of its row.
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


def below(process: int) -> Iterator[tuple[int, bytes]]:
    """The processes that a process has begun, and those that these have, with the words of each; 1 has all."""
    parents = dict[int, list[int]]()
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(each.name))
    left = [process]
    while left:
        for number in parents.get(left.pop(), []):
            left.append(number)
            with suppress(OSError):
                yield number, Path(f"/proc/{number}/cmdline").read_bytes()


def written(out: Path) -> int:
    """The rows that a command has written so far."""
    file = next((each for each in (out, out.with_name(f"{out.name}.partial")) if each.exists()), None)
    if file is None:
        return 0
    with file.open("rb") as handle:
        return sum(part.count(b"\n") for part in iter(lambda: handle.read(1 << 24), b""))


def classify(work: Path, rows: int, name: str, *more: str, stop: Callable[[int, int, float], bool]) -> None:
    """Run the command to its end, or until `stop` says so of its process, the rows that it has written and the seconds,
    and kill it then.
    """
    out, began = work / f"{name}.jsonl", time.monotonic()
    words = ["classify", str(work / "model"), "--file", str(work / "texts.jsonl"), "--out", str(out)]
    words += ["--engine", "torch", "--resume", *more]
    with (work / f"{name}.errors").open("a") as errors:
        process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=errors)
    ended = False
    while not ended:
        ended = process.poll() is not None
        if stop(process.pid, written(out), time.monotonic() - began):
            others = list(below(process.pid))
            process.kill()
            process.wait()
            end(others)
            return
        time.sleep(max(0.2, rows / 1e6))
    assert process.returncode == 0, (work / f"{name}.errors").read_text()[-2000:]


def end(others: list[tuple[int, bytes]]) -> None:
    """Wait for what a killed command had begun; what is left of it after a minute is killed too."""
    for waited in count():
        alive = []
        for number, words in others:
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
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {"alone": 0.0, "ray": 0.0, "kills": []}
    killed: list[str] = found["kills"]
    before, name = 0.0, "alone"

    def watched(process: int, done: int, seconds: float) -> bool:
        found[name] = before + seconds
        draft = kept.with_suffix(".draft")  # this command may be cut off at any moment
        draft.write_text(json.dumps(found))
        draft.replace(kept)
        if name == "alone":
            return False
        if "actor" not in killed and done >= ACTOR * rows:
            of = process if address == "local" else 1
            actors = [number for number, words in below(of) if words.startswith(b"ray::") and b"Map" in words]
            if actors:
                os.kill(actors[0], signal.SIGKILL)
                killed.append("actor")
        due = "command" not in killed and rows > done >= DRIVER * rows
        if due:
            killed.append("command")
        return due

    for name, more in (("alone", []), ("ray", ["--ray", address])):
        while not (work / f"{name}.jsonl").exists():
            before = found[name]
            classify(work, rows, name, *more, stop=watched)
            print(name, round(found[name], 1), killed, flush=True)
    with (work / "alone.jsonl").open() as one, (work / "ray.jsonl").open() as two:
        pairs = [(json.loads(a), json.loads(b)) for a, b in zip(one, two, strict=True)]
    once = [each["id"] for _, each in pairs] == list(range(rows))
    same = sum(a["label"] == b["label"] for a, b in pairs)
    values = {"rows": rows, "each_once_in_order": once, "same_labels": same, "kills": killed}
    values |= {f"{name}_rows_per_second": rows / found[name] for name in ("alone", "ray")}
    print(json.dumps(values))
    assert once
    if rows == 1_000_000:
        print(results.write("bench-corpus", "python -m bench corpus", values))


if __name__ == "__main__":
    main()
