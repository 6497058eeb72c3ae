"""`glassformer serve` under load, and its answers a second, those of the verb over a file, and of a peer: onnxruntime
served by uvicorn, batched by tokens. Each has as many threads as the machine has processors: the peer's best number.
`python -m bench serving` writes docs/results/bench-serving.json; with --try it writes nothing.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, takewhile
from typing import Any

import glassformer as gf
from bench.page_server import memory
from bench.turns import RUNS
from experiments import results
from glassformer.answering.engines.compared import equal

VERBS = {"english": "fill", "next-sentence": "classify", "en-fr": "translate"}
OPTIONS: dict[str, dict[str, Any]] = {"english": {"top": 5}, "next-sentence": {}, "en-fr": {"alignment": True}}
THREADS = str(os.cpu_count() or 1)
COMMAND, ALL = [sys.executable, "-m", "glassformer"], ("--json", "--threads", THREADS)
OURS, PEER = [*COMMAND, "serve", *VERBS, "--port", "0", *ALL], [sys.executable, "-m", "bench.serving_peer", THREADS]
WORK = RUNS / "bench-serving"
TURNS = 7
Asked = tuple[str, dict[str, str]]


def questions() -> list[Asked]:
    """What each model is asked about each pair of SICK's test part."""
    file = results.data_directory() / "sick" / "SICK_test_annotated.txt"
    pairs = [line.split("\t")[1:3] for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    own = [({"text": f"{one}. It is [MASK]."}, {"text": one, "pair": other}, {"text": one}) for one, other in pairs]
    return [each for three in own for each in zip(VERBS, three, strict=True)]


async def client(port: int, asked: Iterator[Asked], heard: list[Any]) -> None:
    """Ask one after the other; `heard` gets the question, the status, the answer and the seconds of each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for model, record in asked:
        body, started = json.dumps({"records": [record]}).encode(), time.perf_counter()
        head = f"POST /v1/{model}/{VERBS[model]} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        answer = await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
        heard.append((model, record, int(head[9:12]), answer, time.perf_counter() - started))


async def asked_of(server: Sequence[str], clients: int, asked: Iterable[Asked], seconds: float) -> list[Any]:
    """What so many clients hear, the seconds from first to last, the clients that were cut off, and megabytes of the
    server at 20 % of the seconds and at their end. `seconds`: those after which nothing more is asked.
    """
    with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        port = int(json.loads(process.stdout.readline())["address"].rpartition(":")[2])
        heard, used, started = list[Any](), list[float](), time.perf_counter()
        left = takewhile(lambda _: not seconds or time.perf_counter() < started + seconds, asked)
        asking = asyncio.gather(*(client(port, left, heard) for _ in range(clients)), return_exceptions=True)
        for part in (0.2, 0.8):
            await asyncio.sleep(part * seconds)
            used.append(memory(process.pid))
        lost = sum(each is not None for each in await asking)
        process.terminate()
    return [heard, time.perf_counter() - started, lost, used]


def load(clients: int, seconds: float) -> dict[str, Any]:
    """Clients ask three models without a pause; each answer is compared with that of torch to its text alone."""
    asked, right, seen = questions()[:300], dict[str, Any](), Counter[str]()
    own = {model: gf.load(model, engine="torch") for model in VERBS}
    for model, each in asked:
        said = own[model].ask(VERBS[model], each["text"], each.get("pair"), options=OPTIONS[model])
        right[model + str(each)] = json.loads(json.dumps(said.to_dict()))
    heard, _, lost, used = asyncio.run(asked_of(OURS, clients, cycle(asked), seconds))
    for model, each, status, answer, _ in heard:
        same = status == 200 and equal(right[model + str(each)], json.loads(answer)["answers"][0])
        seen["right" if same else "refused" if status == 429 else "wrong"] += 1
    took = sorted(each[-1] for each in heard)
    found = {"p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100], "lost": lost, "megabytes": used}
    return {"clients": clients, "seconds": seconds, "right": 0, "wrong": 0, "refused": 0, **seen, **found}


def throughput(count: int) -> dict[str, Any]:
    """Pairs a second, the medians of seven turns: of ours and the peer with 64 clients, of the verb with its start."""
    graph, asked = WORK / "graph", [each for each in questions() if each[0] == "next-sentence"][:count]
    if not (graph / "tokenizer.json").exists():
        subprocess.run([*COMMAND, "export", "next-sentence", graph, "--to", "onnx"], check=True, capture_output=True)
    (file := WORK / "pairs.jsonl").write_text("".join(f"{json.dumps(each)}\n" for _, each in asked))
    typed = [*COMMAND, "classify", "next-sentence", "--file", str(file), "--pair-column", "pair", *ALL]
    rates: dict[str, list[float]] = {"serve": [], "onnxruntime and uvicorn": [], "classify --file": []}
    for _ in range(TURNS):
        said = []
        for name, server in zip(rates, (OURS, [*PEER, str(graph)]), strict=False):
            heard, seconds, lost, _ = asyncio.run(asked_of(server, 64, iter(asked), 0))
            assert (lost, len(heard)) == (0, count), name
            said.append({str(each): json.loads(answer)["answers"][0]["label"] for _, each, _, answer, _ in heard})
            rates[name].append(count / seconds)
        started = time.perf_counter()
        subprocess.run(typed, check=True, capture_output=True)
        rates["classify --file"].append(count / (time.perf_counter() - started))
    same = sum(said[0][each] == said[1][each] for each in said[0])
    medians = {name: statistics.median(of) for name, of in rates.items()}
    return {"pairs": count, "threads": int(THREADS), "same_labels": same / len(said[0]), **medians, "turns": rates}


def main() -> None:
    """Measure both parts; what is measured is kept, so that a run that was cut off goes on."""
    full = "--try" not in sys.argv
    sizes: dict[str, Any] = {"load": (1000, 300) if full else (200, 60), "throughput": (4000 if full else 400,)}
    WORK.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for name, size in sizes.items():
        if not (kept := WORK / f"{name}-{size[0]}.json").exists():
            kept.write_text(json.dumps(load(*size) if name == "load" else throughput(*size)))
        print(name, kept.read_text(), flush=True)
        found[name] = json.loads(kept.read_text())
    if full:
        print(results.write("bench-serving", "python -m bench serving", found))


if __name__ == "__main__":
    main()
