"""`glassformer serve` under load, and its answers a second, those of the verb over a file, and of a peer: onnxruntime
behind uvicorn, batched by tokens. python -m bench serving [--try] writes docs/results/bench-serving.json without --try.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, takewhile
from typing import Any

import glassformer as gf
from bench.page_server import memory
from bench.turns import RUNS
from experiments import results
from glassformer.answering.engines.compared import equal

VERBS = {"english": "fill", "next-sentence": "classify", "en-fr": "translate"}
OURS = ("-m", "glassformer", "serve", *VERBS, "--port", "0", "--json", "--threads", "1")
WORK = RUNS / "bench-serving"
Asked = tuple[str, dict[str, str]]


def questions(models: Iterable[str]) -> list[Asked]:
    """What each model is asked about each pair of SICK's test part."""
    file = results.data_directory() / "sick" / "SICK_test_annotated.txt"
    pairs = [line.split("\t")[1:3] for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    of = {"english": lambda a, b: {"text": f"{a}. It is [MASK]."}, "en-fr": lambda a, b: {"text": a}}
    return [(name, of.get(name, lambda a, b: {"text": a, "pair": b})(*pair)) for pair in pairs for name in models]


@contextmanager
def server(*words: str) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["address"].rpartition(":")[2]), process.pid
        process.terminate()


async def client(port: int, asked: Iterator[Asked], heard: Callable[[Asked, int, Any, float], None]) -> None:
    """Ask one after the other; `heard` gets the question, the status, the answer and the seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for model, record in asked:
        body, started = json.dumps({"records": [record]}).encode(), time.perf_counter()
        head = f"POST /v1/{model}/{VERBS[model]} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        answer = await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
        heard((model, record), int(head[9:12]), json.loads(answer), time.perf_counter() - started)


async def load(clients: int, seconds: float) -> dict[str, Any]:
    """Clients ask three models without a pause; each answer is compared with that of torch to its text alone."""
    asked, seen, took, used, right = questions(VERBS)[::41], Counter[str](), list[float](), list[float](), {}
    for model, verb in VERBS.items():
        own, options = (
            gf.load(model, engine="torch"),
            {"alignment": True} if verb == "translate" else {"top": 5} if verb == "fill" else {},
        )
        for _, each in (one for one in asked if one[0] == model):
            found = own.ask(verb, each["text"], each.get("pair"), options=options).to_dict()
            right[verb, *each.values()] = json.loads(json.dumps(found))

    def heard(one: Asked, status: int, answer: Any, its: float) -> None:
        took.append(its)
        same = status == 200 and equal(right[VERBS[one[0]], *one[1].values()], answer["answers"][0])
        seen["right" if same else "refused" if status == 429 else "wrong"] += 1

    with server(*OURS) as (port, process):
        until = time.perf_counter() + seconds
        endless = takewhile(lambda _: time.perf_counter() < until, cycle(asked))
        asking = asyncio.gather(*(client(port, endless, heard) for _ in range(clients)), return_exceptions=True)
        for part in (0.2, 0.8):
            await asyncio.sleep(part * seconds)
            used.append(memory(process))
        seen["lost"] = sum(each is not None for each in await asking)
    took.sort()
    times = {"p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100]}
    kinds = {kind: seen[kind] for kind in ("right", "wrong", "refused", "lost")}
    return {"clients": clients, "seconds": seconds, **kinds, **times, "megabytes": used}


async def rate(words: Sequence[str], asked: Sequence[Asked], labels: list[Any]) -> float:
    """Answers a second to 64 clients of a server; `labels` gets what they say."""
    with server(*words) as (port, _):
        one, started = iter(asked), time.perf_counter()
        found = dict[str, Any]()
        for each in await asyncio.gather(
            *(
                client(port, one, lambda q, s, a, t: found.update({str(q): a["answers"][0]["label"]}))
                for _ in range(64)
            ),
            return_exceptions=True,
        ):
            assert each is None, each
        labels.append(found)
        return len(asked) / (time.perf_counter() - started)


def verb(asked: Sequence[Asked]) -> float:
    """Answers a second of the verb over a file, its start included."""
    (file := WORK / "pairs.jsonl").write_text("".join(f"{json.dumps(each)}\n" for _, each in asked))
    words = ("classify", asked[0][0], "--file", str(file), "--pair-column", "pair", "--json", "--threads", "1")
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "glassformer", *words], check=True, capture_output=True)
    return len(asked) / (time.perf_counter() - started)


def throughput(count: int) -> dict[str, Any]:
    """Three turns of each: the median."""
    graph, asked, labels = WORK / "graph", questions(["next-sentence"])[:count], list[Any]()
    export = ("export", "next-sentence", str(graph), "--to", "onnx", "--quiet")
    if not (graph / "tokenizer.json").exists():
        subprocess.run([sys.executable, "-m", "glassformer", *export], check=True, capture_output=True)
    sides = {
        "glassformer serve": lambda: asyncio.run(rate(OURS, asked, labels)),
        "onnxruntime and uvicorn": lambda: asyncio.run(rate(("-m", "bench.serving_peer", str(graph)), asked, labels)),
        "glassformer classify --file": lambda: verb(asked),
    }
    turns = [{name: side() for name, side in sides.items()} for _ in range(3)]
    same = sum(labels[0][each] == labels[1][each] for each in labels[0])
    found = {name: statistics.median(turn[name] for turn in turns) for name in sides}
    return {"count": count, "answers_per_second": found, "same_labels": same, "of": len(labels[0])}


def main() -> None:
    """Measure both parts; what is measured is kept, so that a run that was cut off goes on."""
    full = "--try" not in sys.argv
    clients, seconds, count = (1000, 300, 4000) if full else (200, 60, 800)
    parts = {"load": lambda: asyncio.run(load(clients, seconds)), "throughput": lambda: throughput(count)}
    WORK.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        if not (kept := WORK / f"{name}-{clients}.json").exists():
            kept.write_text(json.dumps(part()))
        print(name, kept.read_text(), flush=True)
    if full:
        found = {name: json.loads((WORK / f"{name}-{clients}.json").read_text()) for name in parts}
        print(results.write("bench-serving", "python -m bench serving", found))


if __name__ == "__main__":
    main()
