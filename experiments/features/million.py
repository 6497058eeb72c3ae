"""A million short texts to vectors, the command killed twice: each row exactly once, memory flat, the rate told.

    python -m experiments.features million                  # --rows 20000 for a try, which writes no row

The texts are the numbers of their rows in words around a sentence, so that a row that is missing, doubled or in another
place is found: some hundred rows, drawn at random, are made into vectors again, one by one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

WORK = Path("runs/features")
ROWS, KILLS, CHECKED = 1_000_000, 2, 200
WORDS = ("river", "bank", "money", "summer", "winter", "dog", "letter", "window", "train", "garden")


def text(row: int) -> str:
    """A short text that no other row has."""
    return f"{WORDS[row % 10]} {WORDS[row // 10 % 10]} number {row}"


def measured(rows: int = ROWS) -> dict[str, Any]:
    """Run the command on `english`, kill it twice by SIGKILL, let it end, and check what it wrote."""
    import glassformer as gf

    WORK.mkdir(parents=True, exist_ok=True)
    texts, out = WORK / f"texts-{rows}.txt", WORK / f"vectors-{rows}.npy"
    texts.write_text("".join(text(row) + "\n" for row in range(rows)), encoding="utf-8")
    out.unlink(missing_ok=True)
    state = out.with_name(f"{out.name}.partial") / "state.json"
    command = [sys.executable, "-m", "glassformer", "embed", "english", "--file", str(texts), "--out", str(out)]
    draw = random.Random(0)
    kills: list[int] = []
    runs: list[dict[str, Any]] = []
    for attempt in range(KILLS + 1):
        until = (attempt + draw.uniform(0.3, 0.9)) * rows / (KILLS + 1) if attempt < KILLS else rows + 1
        started, begin, memory = time.monotonic(), done(state), [(0, 0)]
        process = subprocess.Popen([*command, *(["--resume"] if state.exists() else [])])
        while process.poll() is None:
            time.sleep(0.5)
            memory.append((done(state), resident(process.pid)))
            if done(state) >= until:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills.append(done(state))
        ended = done(state) if attempt < KILLS else rows
        seconds = time.monotonic() - started
        runs.append({"from": begin, "to": ended, "seconds": seconds, "megabytes": quarters(memory)})
        print(runs[-1], flush=True)
    vectors = np.load(out, mmap_mode="r")
    model = gf.load("english")
    chosen = draw.sample(range(rows), min(CHECKED, rows))
    alone = np.stack([model.embed(text(row)) for row in chosen])
    difference = float(np.abs(alone - vectors[chosen]).max())
    found = {
        "rows": int(vectors.shape[0]),
        "asked": rows,
        "killed_after": kills,
        "runs": runs,
        "texts_a_second": (runs[-1]["to"] - runs[-1]["from"]) / runs[-1]["seconds"],
        "rows_checked_alone": len(chosen),
        "largest_difference": difference,
    }
    if vectors.shape[0] != rows or difference > 1e-4 or out.with_name(f"{out.name}.partial").exists():
        raise AssertionError(f"the file is not what the texts are: {found}")
    return found


def done(state: Path) -> int:
    """The texts that are whole."""
    try:
        return int(json.loads(state.read_text(encoding="utf-8"))["texts"])
    except (OSError, ValueError):
        return 0


def resident(process: int) -> int:
    """The memory of a process that is not shared with files, in bytes; 0 once it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("RssAnon")]
    return int(lines[0][1]) * 1024 if lines else 0


def quarters(memory: list[tuple[int, int]]) -> list[float]:
    """The most memory in each quarter of the time, in megabytes."""
    parts = np.array_split(np.array([size for _, size in memory], np.float64), 4)
    return [round(float(part.max()) / 1e6, 1) for part in parts if len(part)]
