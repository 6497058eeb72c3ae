"""From which run length on compiling pays: its set-up from a cold and from a warm cache, and the steps it makes faster.

    python -m bench.compiling tiny mini        # sizes of modernbert; writes docs/results/bench-compiling.json

Each measurement is a process of its own, as a training is: without compiling, compiled with an empty cache of kernels
(the first run on a machine), and compiled with the cache that this has left. `glassformer/training/compiled.py` counts
with the cold one, as whether a run is compiled must not depend on what happens to be in a cache.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

VOCABULARY, LENGTH, BATCH = 8000, 128, 32
STEPS = 40
WAYS = ("eager", "compiled, cold cache", "compiled, warm cache")


def worker(size: str, choice: str, folder: Path) -> dict[str, float]:
    """A run of a few steps in this process: seconds to the first step, and of the median step after it."""
    from glassformer.data.settings import CorpusSection
    from glassformer.data.stores.corpus import prepare
    from glassformer.models.families import modernbert
    from glassformer.models.transformer import build
    from glassformer.tasks.feed import TaskFeed
    from glassformer.tasks.words.masked_lm.task import MaskedLM, MaskedLMSection, masked_rows
    from glassformer.text.load import load_tokenizer
    from glassformer.training.loop import fit
    from glassformer.training.settings import TrainSection

    tokenizer, section = load_tokenizer(folder), MaskedLMSection()
    data = CorpusSection(files=(str(folder / "english.txt"),), validation=0.0, length=LENGTH)
    source = masked_rows(data, prepare(data, tokenizer, folder / "tokens").stores["train"], tokenizer, section, seed=0)
    feed = TaskFeed(MaskedLM(section, source.unigram()), source, batch=BATCH)
    model = build(modernbert(size=size, vocabulary=tokenizer.vocabulary_size))
    settings = TrainSection.model_validate({"steps": STEPS, "batch": BATCH, "compile": choice})
    clocks = [(time.perf_counter(), time.process_time())]
    with tempfile.TemporaryDirectory() as out:
        for _ in fit(model, feed, settings, out=out, log=lambda note: None):
            clocks.append((time.perf_counter(), time.process_time()))  # noqa: PERF401 - read at the end of each step
    walls, busy = ([later - one for one, later in itertools.pairwise(each)] for each in zip(*clocks, strict=True))
    # The last step saves a checkpoint, and the first ones fill caches.
    return {"first": walls[0], "step": statistics.median(walls[5:-1]), "step_busy": statistics.median(busy[5:-1])}


def measured(size: str, choice: str, folder: Path, cache: Path) -> dict[str, float]:
    """The same in a process of its own, with its cache of kernels in that folder."""
    command = [sys.executable, "-m", "bench.compiling", "--worker", size, choice, str(folder)]
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    before = _busy()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "run_busy": _busy() - before}


def _busy() -> float:
    """Processor seconds of all child processes so far, the compiler's included: unlike those of a clock, they hardly
    depend on what else the machine is doing.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(size: str, folder: Path) -> dict[str, Any]:
    """Set-up, speed, and the length of run from which on compiling pays, in seconds."""
    cache = folder / f"kernels-{size}"
    found = dict(zip(WAYS, (measured(size, choice, folder, cache) for choice in ("off", "on", "on")), strict=True))
    eager, cold, warm = found.values()
    gain = eager["step"] / min(cold["step"], warm["step"])
    setups = {"cold": cold["first"] - eager["first"], "warm": warm["first"] - eager["first"]}
    busy = {
        name: way["run_busy"] - eager["run_busy"] - STEPS * (way["step_busy"] - eager["step_busy"])
        for name, way in (("cold", cold), ("warm", warm))
    }
    # Of T seconds, the set-up S leaves T - S at `gain` times the speed: as many steps as eager where
    # T = S gain / (gain - 1).
    pays = {name: setup * gain / (gain - 1) if gain > 1 else None for name, setup in setups.items()}
    return {"ways": found, "setup_seconds": setups, "setup_busy": busy, "gain": gain, "pays_from_seconds": pays}


def measure(sizes: list[str]) -> dict[str, Any]:
    """All sizes, on one text and one vocabulary."""
    from glassformer.bundled.corpus import write_corpus
    from glassformer.text.train import train_tokenizer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "english.txt", 1_000_000)
        texts = (folder / "english.txt").read_text(encoding="utf-8").split("\n\n")
        train_tokenizer("wordpiece", texts, vocabulary=VOCABULARY).save(folder)
        found = {}
        for size in sizes:
            found[size] = compare(size, folder)
            print(f"{size}: {json.dumps(found[size])}", file=sys.stderr, flush=True)
    return {"sizes": found, "batch": BATCH, "length": LENGTH, "threads": torch.get_num_threads()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(worker(sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
    else:
        from experiments import results

        asked = sys.argv[1:] or ["tiny", "mini"]
        print(results.write("bench-compiling", f"python -m bench.compiling {' '.join(asked)}", measure(asked)))
