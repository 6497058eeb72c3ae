"""N-11: BERT's demonstration learns its sample text by heart: masked words 0.985, next sentence 1.0. Here a tiny BERT
from random weights on a page of three books, prepared as google-research/bert prepares it (`dupe_factor` 5): each pair
of texts keeps its masks. The demonstration began with trained weights and took 20 steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import glassformer as gf
from experiments import books, results
from experiments.pretraining.plan import WORK, Clock
from experiments.translation.plan import write_json
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pairs import SentencePairs
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import prepare
from glassformer.data.stores.store import TokenStore
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.words.bert.task import BertSection
from glassformer.tasks.words.corpus import HELD_OUT_EPOCH, MaskedRows

FACTS = "facts.json"
# Characters of each of the first books that were kept aside: a page of three documents.
BOOKS, CHARACTERS = 3, 1000
STEPS, BATCH, RATE, LENGTH = 600, 16, 1e-3, 128
SECTION = BertSection(copies=5, static=True, duplicates=1)
WORDS_REACH, PAIRS_REACH = 0.98, 1.0


def page() -> str:
    """Whole lines of each book, at least so many characters; a blank line parts them."""
    parts = []
    for path in books.sections()["books"].files[:BOOKS]:
        lines, count = [], 0
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if count >= CHARACTERS:
                break
            if line.strip():
                lines.append(line)
                count += len(line)
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def run() -> None:
    """Train and measure on what was learned; nothing where that is there."""
    folder = WORK / "overfit"
    if (folder / FACTS).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "page.txt"
    text.write_text(page(), encoding="utf-8")
    out, clock = folder / "model", Clock()
    resumed = (out / "recipe.toml").exists()
    data = {"files": (str(text),), "validation": 0.0, "length": LENGTH}
    if resumed:
        model = gf.train(out=out, resume=True, progress=clock)
    else:
        model = gf.train(
            {
                "task": SECTION.model_dump(),
                "data": data,
                "tokenizer": {"kind": "wordpiece", "vocabulary": 1000},
                "model": {"family": "bert", "size": "tiny", "settings": {"max_length": LENGTH, "dropout": 0.0}},
                "train": {
                    "steps": STEPS,
                    "batch": BATCH,
                    "learning_rate": RATE,
                    "warmup": 0.05,
                    "compile": "off",
                    "threads": 1,
                },
            },
            out=out,
            progress=clock,
        )
    store = prepare(CorpusSection.model_validate(data), model.tokenizer, folder / "cache").stores["train"]
    facts = {
        "steps": STEPS,
        "characters": len(text.read_text(encoding="utf-8")),
        "parameters": sum(each.numel() for each in model.module.parameters()),
        "processor_seconds": None if resumed else sum(clock.seconds),
        **measured(model, store),
        **results.made_on(),
    }
    write_json(folder / FACTS, facts)


def measured(model: gf.Model, store: TokenStore) -> dict[str, Any]:
    """How many pairs and masked words there are, and the shares that are right: with the masks that were learned, and
    with others.
    """
    pairs = SentencePairs.prepare(
        store, model.tokenizer, LENGTH, seed=0, duplicates=SECTION.copies, short=SECTION.short
    )
    rows = MaskedRows(pairs, model.tokenizer, SECTION, seed=0, labels={"next_sentence": pairs.labels})
    learned, other = (_shares(model, rows, epoch) for epoch in (0, HELD_OUT_EPOCH))
    labels = np.bincount(pairs.labels, minlength=2)
    return {
        "pairs": len(pairs),
        "chance": float(labels.max() / labels.sum()),
        "masked_words": learned["masked_words"],
        "next_sentence": learned["next_sentence"],
        "other_masks": other["masked_words"],
    }


def _shares(model: gf.Model, rows: MaskedRows, epoch: int) -> dict[str, float]:
    """The shares of masked words and of pairs that are answered right, of all rows as they are in this epoch."""
    right, count = {"masked_words": 0, "next_sentence": 0}, {"masked_words": 0, "next_sentence": 0}
    with evaluating(model.module):
        for numbers in np.array_split(np.arange(len(rows)), max(1, len(rows) // BATCH)):
            batch = rows.batch(numbers, np.full_like(numbers, epoch), shape=(len(numbers), LENGTH))
            output = model.module(batch.inputs, scored_at=batch.scored_at, heads=("head", "sentence_head"))
            for name, logits in (("masked_words", output.logits), ("next_sentence", output.sentence_logits)):
                labels = batch.labels[name]
                right[name] += int(((logits.argmax(-1) == labels) & (labels != IGNORED)).sum())
                count[name] += int((labels != IGNORED).sum())
    return {name: right[name] / count[name] for name in right}
