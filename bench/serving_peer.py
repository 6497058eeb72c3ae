"""The peer of bench.serving: a graph in onnxruntime, served by uvicorn; up to 2,048 waiting tokens at a time."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import numpy as np
import onnxruntime
import uvicorn
from starlette.responses import JSONResponse
from tokenizers import Tokenizer

from glassformer.run.serving.listening import bound

TOKENS, LABELS = 2048, ("IsNext", "NotNext")


def main(threads: int, folder: str) -> None:
    """Serve the graph of a folder at a free port, which is printed, with so many threads in a product."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options)
    tokenizer, waiting = Tokenizer.from_file(f"{folder}/tokenizer.json"), list[tuple[list[int], Any]]()

    def compute(batch: list[list[int]]) -> Any:
        ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
        for row, each in zip(ids, batch, strict=True):
            row[: len(each)] = each
        mask = np.arange(ids.shape[1]) < np.array([[len(each)] for each in batch])
        return session.run(None, {"input_ids": ids, "attention_mask": mask.astype(np.int64)})[0]

    async def batches() -> None:
        while True:
            await asyncio.sleep(0 if waiting else 0.001)
            waiting.sort(key=lambda each: len(each[0]))
            fits = max(1, TOKENS // len(waiting[-1][0])) if waiting else 1
            batch, waiting[-fits:] = waiting[-fits:], []
            found = await asyncio.to_thread(compute, [ids for ids, _ in batch]) if batch else ()
            for (_, future), logits in zip(batch, found, strict=True):
                future.set_result(LABELS[logits.argmax()])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        (record,) = json.loads((await receive())["body"])["records"]
        waiting.append((tokenizer.encode(record["text"], record["pair"]).ids, future := asyncio.Future[str]()))
        await JSONResponse({"answers": [{"label": await future}]})(scope, receive, send)

    async def serve() -> None:
        with bound(0) as listening:
            print(json.dumps({"address": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
            working = asyncio.ensure_future(batches())
            await uvicorn.Server(uvicorn.Config(app, lifespan="off", access_log=False)).serve(sockets=[listening])
            working.cancel()

    asyncio.run(serve())


main(int(sys.argv[1]), sys.argv[2])
