"""Training on multi30k: `glassformer train` against transformers, the same size, and as many pairs in a step.

A process for each system; they train in turn, some steps at a time: ours as `glassformer train translate` runs it, the
Seq2SeqTrainer at its defaults (float32, random batches padded to their longest pair), a plain loop (the type of
products that is fast here, random batches), and an expert's loop (compiled, batches sorted by length that have as many
target tokens, padding included, as ours, fused AdamW). What counts are target tokens that are no padding, per second;
steps in which something is compiled do not. Ours smooths the labels, the peers do not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bench.translation.pairs import LONGEST, WORK, Size, begin_with, recipe, texts, tokenizer_in
from bench.turns import QUIET, Gate, Gated, Given, in_turn, medians, stopping_at, times
from experiments.results import products
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from glassformer.tasks.writing.pair_source import PairSource
    from glassformer.tasks.writing.translate.task import Translate

SIZE = Size(layers=4, width=128, heads=4, feed_forward=512, vocabulary=8000, dropout=0.2)  # of the recipe
TOKENS = 4096  # of the target in a step, padding included
OURS, TRAINER, PLAIN, EXPERT = "ours", "Seq2SeqTrainer", "plain loop", "expert's loop"
SYSTEMS = (OURS, TRAINER, PLAIN, EXPERT)
TURNS, STEPS = 7, 6
MANY_STEPS = 1_000_000
IGNORED = -100

Feature = dict[str, list[int]]


def ours(gate: Gate) -> None:
    """Our side."""
    import glassformer as gf

    how = {"train.steps": MANY_STEPS, "train.compile": "on", "train.checkpoint_minutes": 600.0}
    with tempfile.TemporaryDirectory() as out:
        gf.train("translate", out=Path(out) / "run", set={**recipe(SIZE, TOKENS), **how}, progress=Gated(gate))


def features(tokenizer: Tokenizer) -> list[Feature]:
    """Each pair as tokens with its end, as ours has them."""
    sides = [[tokenizer.unalias(raw.ids) for raw in tokenizer.raw_batch(side, special=True)] for side in texts("train")]
    return [
        {"input_ids": list(one), "attention_mask": [1] * len(one), "labels": list(two)}
        for one, two in zip(*sides, strict=True)
        if max(len(one), len(two)) <= LONGEST
    ]


def pairs_of_a_step(folder: Path) -> int:
    """The mean number of pairs that a step of ours has."""
    from glassformer.tasks.feed import TaskFeed

    task, source = packed(folder, texts("train"), smoothing=0.1)
    return round(len(source.examples) / TaskFeed(task, source, tokens=TOKENS).steps_per_epoch)


def packed(folder: Path, sides: tuple[list[str], list[str]], *, smoothing: float) -> tuple[Translate, PairSource]:
    """Our task, and these pairs in its rows."""
    from glassformer.data.batches.batch import Texts
    from glassformer.tasks.writing.pair_source import PairSource, TextPairs
    from glassformer.tasks.writing.translate.settings import TranslateSection
    from glassformer.tasks.writing.translate.task import Translate

    tokenizer = tokenizer_in(folder, SIZE.vocabulary)
    task = Translate(TranslateSection(label_smoothing=smoothing), tokenizer, length=LONGEST)
    pairs = TextPairs(Texts(sides[0]), Texts(sides[1]))
    return task, PairSource(pairs, tokenizer, start=task.translator.ids.begin, longest=LONGEST)


def peer_model(folder: Path) -> Any:
    """transformers' model with the weights that ours begins with too, in training."""
    import transformers

    transformers.set_seed(0)
    model = transformers.MarianMTModel.from_pretrained(begin_with(folder, SIZE))
    return model.train()


def collated(batch: Sequence[Feature], pad: int, multiple: int = 1) -> dict[str, Tensor]:
    """Pairs padded to the longest source and the longest target, or to a multiple of some number beyond."""

    def side(name: str, fill: int) -> Tensor:
        longest = -(-max(len(each[name]) for each in batch) // multiple) * multiple
        return torch.tensor([each[name] + [fill] * (longest - len(each[name])) for each in batch])  # [B, S]

    return {
        "input_ids": side("input_ids", pad),
        "attention_mask": side("attention_mask", 0),
        "labels": side("labels", IGNORED),
    }


def trainer(folder: Path, gate: Gate, pairs: int) -> None:
    """The Seq2SeqTrainer: all its settings but the batch and the length of the run are its defaults."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(begin_with(folder, SIZE))
    model = peer_model(folder)
    collator = transformers.DataCollatorForSeq2Seq(tokenizer, model=model)

    def counted(batch: Any) -> Any:
        found = collator(batch)
        gate.tokens(int((found["labels"] != IGNORED).sum()))
        return found

    with tempfile.TemporaryDirectory() as out:
        transformers.Seq2SeqTrainer(
            model=model,
            args=transformers.Seq2SeqTrainingArguments(
                output_dir=out, per_device_train_batch_size=pairs, max_steps=MANY_STEPS, **QUIET
            ),
            train_dataset=features(tokenizer_in(folder, SIZE.vocabulary)),
            data_collator=counted,
            callbacks=[stopping_at(gate)],
        ).train()


def batches(folder: Path, pairs: int, *, grouped: bool) -> Iterator[dict[str, Tensor]]:
    """Batches without end: of so many random pairs, or of pairs of similar length that have `TOKENS` tokens."""
    tokenizer = tokenizer_in(folder, SIZE.vocabulary)
    ready, pad, generator = features(tokenizer), tokenizer.pad_id or 0, np.random.default_rng(0)
    while True:
        order = generator.permutation(len(ready))
        if not grouped:
            for start in range(0, len(order) - pairs + 1, pairs):
                yield collated([ready[each] for each in order[start : start + pairs]], pad)
            continue
        by_length = sorted(order, key=lambda each: (len(ready[each]["labels"]), len(ready[each]["input_ids"])))
        groups: list[list[int]] = [[]]
        for each in by_length:
            longest = -(-len(ready[each]["labels"]) // 8) * 8
            if (len(groups[-1]) + 1) * longest > TOKENS:
                groups.append([])
            groups[-1].append(each)
        for group in generator.permutation(len(groups)):
            yield collated([ready[each] for each in groups[group]], pad, multiple=8)


def loop(folder: Path, gate: Gate, pairs: int, *, expert: bool) -> None:
    """A loop around transformers' model, plain or as an expert writes it."""
    model = peer_model(folder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True if expert else None)
    narrow = products() == "bfloat16"

    def loss_of(batch: dict[str, Tensor]) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            return model(**batch).loss

    learned: Callable[[dict[str, Tensor]], Tensor] = torch.compile(loss_of, dynamic=True) if expert else loss_of
    gate.open()
    for batch in batches(folder, pairs, grouped=expert):
        loss = learned(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        float(loss.detach())
        gate.tokens(int((batch["labels"] != IGNORED).sum()))
        gate.step()


def work(system: str, folder: Path, pairs: int, pipe: Connection) -> None:
    """A worker: answers each number of steps with seconds and target tokens."""
    gate = Gate(pipe)
    if system == OURS:
        ours(gate)
    elif system == TRAINER:
        trainer(folder, gate, pairs)
    else:
        loop(folder, gate, pairs, expert=system == EXPERT)


def same_loss(folder: Path, pairs: int = 64) -> dict[str, float]:
    """The loss of a target token by both sides with the same weights, without dropout and smoothing."""
    import glassformer as gf

    english, french = texts("train")
    task, source = packed(folder, (english[:pairs], french[:pairs]), smoothing=0.0)
    tokenizer = task.tokenizer
    model, total, tokens = gf.load(begin_with(folder, SIZE)).module.eval(), 0.0, 0
    with torch.no_grad():
        for row, (one, two) in enumerate(source.lengths.tolist()):
            batch = source.batch(np.array([row]), np.zeros(1, np.int64), shape=(1, one, two))
            total, tokens = total + float(next(iter(task.losses(model, batch).values()))), tokens + batch.tokens
        given = collated(features(tokenizer)[:pairs], tokenizer.pad_id or 0)
        theirs = float(peer_model(folder).eval()(**given).loss)
    return {OURS: total / tokens, "transformers": theirs}


def run(*, tried: bool) -> Given:
    """All systems in turn: medians, and ratios within each turn."""
    folder, turns, steps = WORK / "training", *((1, 1) if tried else (TURNS, STEPS))
    begin_with(folder, SIZE)
    pairs = pairs_of_a_step(folder)
    done, ready = in_turn(
        work,
        SYSTEMS,
        (folder, pairs),
        ask=steps,
        turns=turns,
        kept=None if tried else folder / f"turns-{turns}-{steps}.json",
        reported=lambda given: f"{given['tokens'] / given['seconds']:,.0f} target tokens/s",
    )
    speeds = {system: [turn[system]["tokens"] / turn[system]["seconds"] for turn in done] for system in SYSTEMS}
    fast = products()
    return {
        "size": str(SIZE),
        "target_tokens_of_a_step": TOKENS,
        "pairs_of_a_step": pairs,
        "products_of": {OURS: fast, TRAINER: "float32", PLAIN: fast, EXPERT: fast},
        "tokens_per_second": medians(speeds),
        "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
        "ratios": {system: times(speeds[OURS], speeds[system]) for system in SYSTEMS[1:]},
        "loss_of_the_same_weights": same_loss(folder),
        "ready_after_seconds": ready,
        "turns": turns,
        "steps_in_a_turn": steps,
    }
