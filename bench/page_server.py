"""The server of `glassformer explore` under load: many pages at once, and the memory of one that is used for long.

    python -m bench.page_server --model english --pages 50 --runs 200

Each page opens as a browser opens it, asks for a text of its own, then for numbers with their terms. Times are those a
page waits, in milliseconds; memory is what the operating system has given to the server.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

WORDS = ("the", "summer", "better", "than", "winter", "she", "likes", "he", "was", "it", "of", "day", "night", "house")
EXPLAINED = 10


@contextmanager
def server(model: str) -> Iterator[tuple[str, int]]:
    """The address of a server and its process."""
    command = [sys.executable, "-m", "glassformer", "explore", model, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["address"], process.pid
    finally:
        process.terminate()
        process.wait()


def ask(address: str, path: str, body: object = None) -> bytes:
    """An answer."""
    data = None if body is None else json.dumps(body).encode()
    while True:
        try:
            with urllib.request.urlopen(address + path, data=data, timeout=120) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            if error.code not in (503, 504):
                raise
            time.sleep(1)


def wish(rng: random.Random, model: str) -> dict[str, Any]:
    """A text that nobody else asks for."""
    words = [rng.choice(WORDS) for _ in range(24)]
    words[rng.randrange(24)] = "[MASK]"
    return {"model": model, "texts": [" ".join(words)]}


def look(address: str, model: str, seed: int, times: dict[str, list[float]]) -> None:
    """What one page asks for, with the milliseconds of each step."""
    rng = random.Random(seed)

    def timed(step: str, path: str, body: object = None) -> bytes:
        began = time.perf_counter()
        answer = ask(address, path, body)
        times.setdefault(step, []).append(1000 * (time.perf_counter() - began))
        return answer

    for path in ("", "script/core.css", "script/core.js", "api/models"):
        timed("page", path)
    run = json.loads(timed("run", "api/runs", wish(rng, model)))
    timed("numbers", f"api/runs/{run['run']}/numbers")
    timed("honesty", f"api/runs/{run['run']}/honesty")
    attentions = list(run["attentions"])
    for _ in range(EXPLAINED):
        name = f"{rng.choice(attentions)}.{rng.choice(['weights', 'scores', 'mixed'])}"
        cell = ",".join(str(rng.randrange(size)) for size in run["shapes"][name])
        timed("explain", f"api/runs/{run['run']}/explain?name={name}&cell={cell}")


def memory(process: int) -> float:
    """Megabytes of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def processor_seconds(process: int) -> float:
    """The processor time that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def pages_at_once(address: str, model: str, pages: int, process: int) -> None:
    """Open so many pages at the same moment, and print how long each step took."""
    times: dict[str, list[float]] = {}
    threads = [threading.Thread(target=look, args=(address, model, seed, times)) for seed in range(pages)]
    began, used = time.perf_counter(), processor_seconds(process)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, used = time.perf_counter() - began, processor_seconds(process) - used
    print(f"{pages} pages at once: {took:.1f} s, of which the server had the processor for {used:.1f} s")
    print(f"{'step':<10}{'asked':>8}{'median ms':>12}{'p95 ms':>10}{'largest':>10}")
    for step, taken in times.items():
        taken.sort()
        middle, late = taken[len(taken) // 2], taken[int(0.95 * (len(taken) - 1))]
        print(f"{step:<10}{len(taken):>8}{middle:>12.1f}{late:>10.1f}{taken[-1]:>10.1f}")


def one_for_long(address: str, model: str, runs: int, process: int) -> None:
    """Ask for so many different runs, and print the server's memory on the way."""
    rng = random.Random(-1)
    for count in range(1, runs + 1):
        run = json.loads(ask(address, "api/runs", wish(rng, model)))
        ask(address, f"api/runs/{run['run']}/numbers")
        if count in (1, runs) or count % max(runs // 8, 1) == 0:
            print(f"{count:>5} runs: {memory(process):7.1f} MB", flush=True)


def main() -> None:
    """Both measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="english")
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--runs", type=int, default=200)
    chosen = parser.parse_args()
    with server(chosen.model) as (address, process):
        pages_at_once(address, chosen.model, chosen.pages, process)
        one_for_long(address, chosen.model, chosen.runs, process)


if __name__ == "__main__":
    main()
