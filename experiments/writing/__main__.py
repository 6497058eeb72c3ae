"""One row of the table of writing: trained, measured on a book that was kept aside, written to docs/results.

    python -m experiments.writing ours --minutes 20 --threads 1        # then: transformers, lstm, trigram
    python -m experiments.writing scores --minutes 20                  # again from what was measured
    python -m experiments.writing ours --try                           # a minute, on three books, for no page

Each row is resumable: the same command goes on where it was stopped (Ctrl-C, SIGTERM), and does nothing when it is
done. All rows have the same books, vocabulary and rows of tokens; all but the trigram as many parameters and minutes.
Those of ours have compiling and its looks at the validation loss in them. Ours is `glassformer train language-model`
with nothing set; GPT-2 and the LSTM have the plain loop of experiments/plain_loop.py. The LSTM learns with its state
carried on from row to row, as is usual.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import glassformer as gf
from experiments import results
from experiments.plain_loop import Recipe, Time, facts_of, train_plainly
from experiments.sides import Sides, one_command
from experiments.translation.plan import read_json, write_json
from experiments.writing import measures
from experiments.writing.models import gpt2, recurrent
from experiments.writing.plan import HELD_OUT, WORK, Books
from glassformer.config import ModelConfig
from glassformer.models.inputs import Inputs
from glassformer.run.vocabulary import body_config
from glassformer.saved.recipe import RECIPE
from glassformer.scoring.score import Reals, Trigram

PROMPT = "As Aliens entered our planet"
Found = tuple[dict[str, Reals], dict[str, Any]]


def ours(books: Books, run: Path) -> Found:
    """`glassformer train language-model` with these books and minutes."""
    if (run / "model.safetensors").exists():
        model = gf.load(run, device="cpu")
    elif (run / RECIPE).exists():
        model = gf.train(out=run, resume=True)
    else:
        model = gf.train(books.recipe, out=run)
    assert model.tokenizer.fingerprint == books.tokenizer.fingerprint
    module, length = model.module.eval(), books.recipe.data.length
    losses = measures.by_windows(lambda ids: module(Inputs(ids=ids)).logits, books.held_out, length)
    facts = {
        "seconds": model.metrics["seconds"],
        "steps": model.metrics["steps"],
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "size": books.recipe.model.size,
        "optimizer": books.recipe.train.optimizer,
        "written": [model.generate(PROMPT, seed=seed).generated for seed in range(3)],
    }
    return losses, facts


def transformers(books: Books, run: Path) -> Found:
    """GPT-2, in a plain loop."""
    length = books.recipe.data.length
    torch.manual_seed(books.length.seed)
    module, recipe = gpt2(config_of(books), length), Recipe()

    def loss_of(step: int) -> tuple[torch.Tensor, int]:
        ids, labels = books.rows(step)
        logits = module(input_ids=ids, use_cache=False).logits  # [B, S, V]
        return _cross_entropy(logits, labels), labels.numel()

    progress = train_plainly(module, loss_of, books.length, run, recipe)
    losses = measures.by_windows(lambda ids: module(input_ids=ids).logits, books.held_out, length)
    return losses, facts_of(module, progress, recipe)


def lstm(books: Books, run: Path) -> Found:
    """Two layers of LSTM, in the same plain loop."""
    torch.manual_seed(books.length.seed)
    module, recipe = recurrent("lstm", config_of(books), batch=books.recipe.train.batch), Recipe(decay=0.01)

    def loss_of(step: int) -> tuple[torch.Tensor, int]:
        ids, labels, begins = books.lines(step)
        if begins:
            module.carried.zero_()
        logits, after = module(ids, module.carried.clone())
        module.carried.copy_(after.detach())
        return _cross_entropy(logits, labels), labels.numel()

    progress = train_plainly(module, loss_of, books.length, run, recipe)
    losses = measures.carried_on(module, books.held_out, books.recipe.data.length)
    return losses, facts_of(module, progress, recipe) | {"width": module.embed.embedding_dim, "layers": 2}


def trigram(books: Books, run: Path) -> Found:
    """The tokens that followed two others, counted in all training books."""
    counted = Trigram(np.asarray(books.stream, np.int64), books.tokenizer.vocabulary_size)
    return measures.by_trigram(counted, books.held_out, books.recipe.data.length), {"tokens": len(books.stream)}


SIDES: dict[str, Callable[[Books, Path], Found]] = {
    "ours": ours,
    "transformers": transformers,
    "lstm": lstm,
    "trigram": trigram,
}


def config_of(books: Books) -> ModelConfig:
    """Our model's settings."""
    return body_config(books.recipe.model, books.recipe.data.length, books.tokenizer.vocabulary_size)


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=-100)


def run(side: str, books: Books) -> None:
    """Train and measure one side; nothing of what is there already."""
    folder = WORK / f"{side}-{books.length.name}"
    if (folder / "facts.json").exists():
        return
    trained = folder / "run"
    losses, facts = SIDES[side](books, trained)
    folder.mkdir(parents=True, exist_ok=True)
    for name, each in losses.items():
        assert np.isfinite(each).all(), name
        np.save(folder / f"{name}.npy", each)
    command = f"python -m experiments.writing {side} {books.length.options}"
    write_json(folder / "facts.json", {"command": command, **facts, **results.made_on()})


def scores(books: Books) -> dict[str, Any]:
    """The scores of every side that has been measured, and ours minus each of the others on the same rows."""
    sizes = books.tokenizer.byte_counts
    assert sizes is not None
    of_tokens = sizes[books.held_out[1:]]
    found: dict[str, Any] = {}
    measured = {}
    for side in SIDES:
        folder = WORK / f"{side}-{books.length.name}"
        if not (folder / "facts.json").exists():
            continue
        measured[side] = {
            name: measures.measure_of(np.load(folder / f"{name}.npy"), of_tokens, books.recipe.data.length)
            for name in (measures.ALONE, measures.CONTINUED)
        }
        found[side] = {
            "scores": {name: plain(each.intervals()) for name, each in measured[side].items()},
            "facts": read_json(folder / "facts.json"),
        }
    against = {
        f"ours against {side}": {
            name: plain(measured["ours"][name].compared(each)) for name, each in measured[side].items()
        }
        for side in measured
        if side != "ours" and "ours" in measured
    }
    data = books.recipe.data
    shared = {"length": data.length, "batch": books.recipe.train.batch, "vocabulary": books.tokenizer.vocabulary_size}
    return {
        "book": HELD_OUT,
        "tokens": len(of_tokens),
        "bytes": int(of_tokens.sum()),
        "prompt": PROMPT,
        "settings": shared,
        "sides": found,
        "against": against,
    }


def plain(found: Any) -> dict[str, dict[str, float]]:
    """Intervals as plain values, for JSON."""
    return {name: interval._asdict() for name, interval in found.items()}


def main() -> None:
    """One command."""

    def prepared(minutes: float, steps: int | None, threads: int | None, seed: int) -> Sides:
        books = Books(length := Time(minutes, steps, threads, seed))
        return Sides(f"writing-{length.name}", WORK, length.options, partial(run, books=books), lambda: scores(books))

    one_command("experiments.writing", __doc__, [*SIDES], prepared, tries="twenty steps on three books, for no page")


if __name__ == "__main__":
    main()
