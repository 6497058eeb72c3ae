"""Memory of a training step: 64 pairs of 64 tokens on each side, ours and transformers', each in a process of its own.

The most memory that a process held after its warm-up: interpreter, libraries, weights, the optimizer's state, gradients
and all that a step computes. Ours is what `glassformer train translate` runs; the peer is transformers' model with
`torch.optim.AdamW` in the same type of products, and in float32, which is the Trainer's default.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bench.translation.pairs import WORK, Size, begin_with
from bench.turns import Given, forget_peak, held_megabytes, in_turn, peak_megabytes
from experiments.results import products

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from glassformer.models.inputs import Batch

SIZE = Size(layers=3, width=256, heads=4, feed_forward=1024, vocabulary=32000, dropout=0.1)
ROWS, TOKENS = 64, 64
OURS, NARROW, FLOAT32 = "ours", "transformers, bfloat16", "transformers, float32"
STEPS = 4
FIRST = 3  # no special token is drawn


class Rows:
    """Random pairs of a full row each, as a source of our task."""

    rows_of_each, total_counts, fingerprint = 1, None, "random rows"

    def __len__(self) -> int:
        return 8 * ROWS

    @property
    def lengths(self) -> Any:
        """All alike, [R, 2]."""
        return np.full((len(self), 2), TOKENS)

    def batch(self, examples: Any, epochs: Any, *, shape: tuple[int, ...]) -> Batch:
        """These rows."""
        from glassformer.data.readers.parallel import TARGET
        from glassformer.models.inputs import Batch, Inputs

        sides = drawn(int(examples[0]), shape[0])
        nothing = torch.zeros(shape[0], TOKENS, dtype=torch.int64)
        places = torch.arange(TOKENS).expand(shape[0], -1).clone()
        given = [Inputs(ids=side, documents=nothing, positions=places) for side in sides]
        return Batch(
            inputs=given[0],
            decoder_inputs=given[1],
            labels={TARGET: sides[1]},
            counts={TARGET: float(sides[1].numel())},
            row_ids=torch.arange(shape[0], dtype=torch.int32),
            weights=torch.ones(shape[0]),
            tokens=sides[1].numel(),
        )


def drawn(seed: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random tokens of both sides, [B, S] each."""
    generator = torch.Generator().manual_seed(seed)
    one, two = torch.randint(FIRST, SIZE.vocabulary - 1, (2, rows, TOKENS), generator=generator)
    return one, two


def ours(folder: Path) -> Iterator[None]:
    """Steps of our own loop."""
    from glassformer.models.families import marian
    from glassformer.models.transformer import build
    from glassformer.scoring.score import Unigram
    from glassformer.tasks.feed import TaskFeed
    from glassformer.tasks.writing.translate.settings import TranslateSection
    from glassformer.tasks.writing.translate.task import Translate
    from glassformer.text.load import load_tokenizer
    from glassformer.training.loop import fit
    from glassformer.training.settings import TrainSection

    task = Translate(TranslateSection(), load_tokenizer(folder), length=TOKENS)
    task.unigram = Unigram(np.ones(SIZE.vocabulary, np.int64))
    feed = TaskFeed(task, Rows(), tokens=ROWS * TOKENS)
    model = build(marian(vocabulary=SIZE.vocabulary, **SIZE.settings))
    settings = TrainSection(steps=100_000, batch_tokens=ROWS * TOKENS, compile="on", checkpoint_minutes=600.0)
    with tempfile.TemporaryDirectory() as out:
        for _ in fit(model, feed, settings, out=out, log=lambda note: None):
            yield


def peer(folder: Path, *, narrow: bool) -> Iterator[None]:
    """Steps of transformers' model."""
    import transformers

    config = transformers.MarianConfig.from_pretrained(begin_with(folder, SIZE))
    config.vocab_size = config.decoder_vocab_size = SIZE.vocabulary  # that of the pairs is smaller
    model = transformers.MarianMTModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    seed = 0
    while True:
        sources, targets = drawn(seed, ROWS)
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss = model(input_ids=sources, attention_mask=torch.ones_like(sources), labels=targets).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seed += 1
        yield


def work(system: str, folder: Path, pipe: Connection) -> None:
    """A worker: makes so many steps, answers with the most memory it held; that of its first turn does not count."""
    steps = ours(folder) if system == OURS else peer(folder, narrow=system == NARROW)
    before = held_megabytes()
    while (count := pipe.recv()) > 0:
        for _ in range(count):
            next(steps)
        pipe.send({"peak": peak_megabytes(), "libraries": before})
        forget_peak()


def run(*, tried: bool) -> Given:
    """Each system's peak."""
    folder = WORK / "memory"
    begin_with(folder, SIZE)  # its vocabulary is as large as the pairs give, that of the bench 32,000
    systems = [OURS, *([NARROW] if products() == "bfloat16" else []), FLOAT32]
    steps, turns = (1, 1) if tried else (STEPS, 2)
    done, ready = in_turn(
        work,
        systems,
        (folder,),
        ask=steps,
        turns=turns,
        kept=None if tried else folder / f"turns-{turns}-{steps}.json",
        reported=lambda given: f"{given['peak']:,.0f} MB",
    )
    peaks = {system: max(turn[system]["peak"] for turn in done) for system in systems}
    return {
        "size": str(SIZE),
        "rows": ROWS,
        "tokens_of_a_row": TOKENS,
        "products_of": {system: "float32" if system == FLOAT32 else products() for system in systems},
        "peak_megabytes": peaks,
        "libraries_megabytes": {system: done[0][system]["libraries"] for system in systems},
        "ratios": {system: peaks[system] / peaks[OURS] for system in systems[1:]},
        "ready_after_seconds": ready,
        "steps": steps * turns,
    }
