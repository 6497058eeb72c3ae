"""Learning to write: `glassformer train language-model` against transformers' GPT-2, four layers of width 256.

    python -m bench.language_model        # about 12 minutes on two cores; writes docs/results/bench-language-model.json

A process for each system; they train in turn, some steps at a time, on rows of 256 tokens of text_books, 16 in a step,
with AdamW: ours as the command runs it (reading, clipping and logging inside the time), the peer with rows that are
ready, outside the time: transformers' Trainer at its defaults, a plain loop in the type of products that is fast here,
and an expert's loop (compiled, fused AdamW). Steps in which something is compiled do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bench.turns import QUIET, RUNS, Gate, Gated, in_turn, medians, stopping_at, times
from experiments import results
from experiments.results import data_directory, products
from glassformer.text.load import load_tokenizer
from glassformer.text.special import GPT2
from glassformer.text.train import train_tokenizer

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


WORK = RUNS / "bench-language-model"
LAYERS, WIDTH, HEADS, VOCABULARY, LENGTH, ROWS, DROPOUT = 4, 256, 4, 16_000, 256, 16, 0.1
OURS, TRAINER, PLAIN, EXPERT = "ours", "Trainer", "plain loop", "expert's loop"
SYSTEMS = (OURS, TRAINER, PLAIN, EXPERT)
TURNS, STEPS, MANY_STEPS = 7, 6, 1_000_000
# Characters of the text from which the vocabulary and the peer's rows are made.
_CHARACTERS = 4_000_000


def text() -> Path:
    """The beginning of the books, as one file for both sides."""
    path = WORK / "books.txt"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        books = "\n\n".join(
            each.read_text(encoding="utf-8") for each in sorted((data_directory() / "text_books").glob("*.txt"))
        )
        path.write_text(books[:_CHARACTERS], encoding="utf-8")
        train_tokenizer(
            "bpe", books[:_CHARACTERS].splitlines(), vocabulary=VOCABULARY, lowercase=False, special=GPT2
        ).save(WORK)
    return path


def ours(gate: Gate) -> None:
    """Our side."""
    import glassformer as gf

    said = {
        "data.files": [str(text())],
        "data.length": LENGTH,
        "data.validation": 0.01,
        "tokenizer": {"file": str(WORK)},
        "model": {
            "family": "gpt2",
            "settings": {"layers": LAYERS, "width": WIDTH, "heads": HEADS, "max_length": LENGTH, "dropout": DROPOUT},
        },
        "train.optimizer": "adamw",
        "train.learning_rate": 1e-4,
        "train.batch": ROWS,
        "train.steps": MANY_STEPS,
        "train.compile": "on",
        "train.checkpoint_minutes": 600.0,
    }
    with tempfile.TemporaryDirectory() as out:
        gf.train("language-model", out=Path(out) / "run", set=said, progress=Gated(gate))


def rows_of() -> Tensor:
    """The text's tokens in rows [R, S]."""
    tokenizer = load_tokenizer(WORK)
    lines = text().read_text(encoding="utf-8").splitlines()
    ids = torch.tensor([token for line in lines for token in tokenizer.encode(line).ids])
    return ids[: len(ids) // LENGTH * LENGTH].view(-1, LENGTH)  # [R, S]


def peer_model() -> Any:
    """transformers' model, in training."""
    import transformers

    transformers.set_seed(0)
    config = transformers.GPT2Config(
        vocab_size=load_tokenizer(WORK).vocabulary_size,
        n_positions=LENGTH,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        resid_pdrop=DROPOUT,
        embd_pdrop=DROPOUT,
        attn_pdrop=DROPOUT,
    )
    return transformers.GPT2LMHeadModel(config).train()


def trainer(gate: Gate) -> None:
    """The Trainer: all its settings but the batch and the length of the run are its defaults."""
    import transformers

    with tempfile.TemporaryDirectory() as out:
        transformers.Trainer(
            model=peer_model(),
            args=transformers.TrainingArguments(
                output_dir=out, per_device_train_batch_size=ROWS, max_steps=MANY_STEPS, **QUIET
            ),
            train_dataset=[{"input_ids": row, "labels": row} for row in rows_of()],
            callbacks=[stopping_at(gate, ROWS * LENGTH)],
        ).train()


def loop(gate: Gate, *, expert: bool) -> None:
    """A loop around transformers' model, plain or as an expert writes it."""
    model, rows = peer_model(), rows_of()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True if expert else None)
    narrow = products() == "bfloat16"

    def loss_of(ids: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            found: Tensor = model(input_ids=ids, labels=ids).loss
        return found

    learned = torch.compile(loss_of) if expert else loss_of
    gate.open()
    while True:
        for ids in rows[torch.randperm(len(rows))].split(ROWS)[:-1]:
            loss = learned(ids)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            float(loss.detach())
            gate.tokens(ids.numel())
            gate.step()


def work(system: str, pipe: Connection) -> None:
    """A worker: answers each number of steps with seconds, tokens and the most memory."""
    gate = Gate(pipe)
    if system == OURS:
        ours(gate)
    elif system == TRAINER:
        trainer(gate)
    else:
        loop(gate, expert=system == EXPERT)


def run(*, tried: bool) -> dict[str, Any]:
    """All systems in turn: medians, and ratios within each turn."""
    turns, steps = (1, 1) if tried else (TURNS, STEPS)
    text()
    kept = None if tried else WORK / f"turns-{turns}-{steps}.json"
    done, ready = in_turn(
        work,
        SYSTEMS,
        (),
        ask=steps,
        turns=turns,
        kept=kept,
        reported=lambda given: f"{given['tokens'] / given['seconds']:,.0f} tokens/s, {given['megabytes']:,.0f} MB",
    )
    speeds = {system: [turn[system]["tokens"] / turn[system]["seconds"] for turn in done] for system in SYSTEMS}
    fast = products()
    return {
        "size": f"{LAYERS} layers of {WIDTH}, vocabulary {VOCABULARY:,}, dropout {DROPOUT}",
        "rows": ROWS,
        "length": LENGTH,
        "products_of": {OURS: fast, TRAINER: "float32", PLAIN: fast, EXPERT: fast},
        "tokens_per_second": medians(speeds),
        "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
        "ratios": {system: times(speeds[OURS], speeds[system]) for system in SYSTEMS[1:]},
        "peak_megabytes": {system: done[-1][system]["megabytes"] for system in SYSTEMS},
        "ready_after_seconds": ready,
        "turns": turns,
        "steps_in_a_turn": steps,
    }


def main() -> None:
    """The row."""
    parser = argparse.ArgumentParser(prog="python -m bench.language_model")
    parser.add_argument(
        "--try", dest="tried", action="store_true", help="a short run, not compiled, that writes nothing"
    )
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    if asked.tried:
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
    found = run(tried=asked.tried)
    if asked.tried:
        print(json.dumps(found, indent=2))
        return
    row = {**found, "load_before": load}
    print(results.write("bench-language-model", "python -m bench.language_model", row, of_width=True))
    (WORK / f"turns-{TURNS}-{STEPS}.json").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
