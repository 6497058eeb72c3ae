"""Short runs on multi30k that differ in one thing, each at most five minutes of one core: layers (C-8), scaling (X-8).

    python -m experiments.translation layers            # every arm that is not there yet; scaling likewise
    python -m experiments.translation layers 2+3        # one of them

All arms of a row have the recipe of `glassformer train translate`, one vocabulary, the same batches in the same order
and as many steps. Compared are the losses of the same validation targets, sentence by sentence (paired bootstrap), as
BLEU is still low after so few steps. What chance does is shown by an arm that differs in its seed alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import glassformer as gf
from experiments import results
from experiments.translation.measures import Scores, plain
from experiments.translation.plan import SETS, WORK, read_json, write_json
from glassformer.config import AttentionConfig, ModelConfig, StackConfig
from glassformer.models.transformer import build
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.recipe import Recipe, resolve
from glassformer.scoring.score import Measure, Reals
from glassformer.tasks.writing.pair_source import PairSource, target_losses
from glassformer.tasks.writing.translate.task import Translate
from glassformer.text.load import load_tokenizer
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.loop import fit
from glassformer.training.progress import ConsoleProgress

PAIRS = SETS["multi30k"]
# Sentences whose weights of attention are looked at: rows of the validation pairs.
_LOOKED_AT = 32


@dataclass(frozen=True)
class Arm:
    """One change: the layers of encoder and decoder, the query size, whether scores are scaled, the seed."""

    layers: tuple[int, int] = (3, 3)
    query_size: int | None = None
    scaled: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """Arms that are compared: each with the `baseline`, else an unscaled one with the scaled one of its size."""

    arms: dict[str, Arm]
    steps: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = ""
    vocabulary: int = 4000

    def beside(self, name: str) -> str:
        """The arm that an arm is compared with: itself where it is what others are compared with."""
        return self.baseline or name.replace("unscaled", "scaled")


def _layers() -> dict[str, Arm]:
    counts = [(3, 3), (2, 3), (3, 2), (4, 2), (2, 4), (5, 1), (1, 1)]
    return {"3+3, seed 1": Arm(seed=1), **{f"{one}+{two}": Arm((one, two)) for one, two in counts}}


def _sizes() -> dict[str, Arm]:
    return {
        f"{size}, {'scaled' if scaled else 'unscaled'}": Arm((2, 2), size, scaled)
        for size in (8, 32, 128, 512)
        for scaled in (True, False)
    }


_SHORT = {"train.batch_tokens": 512, "train.minutes": None, "train.compile": "off", "train.threads": 1}
_SMALL = {"width": 128, "heads": 4, "feed_forward": 512, "dropout": 0.1}
ROWS = {
    "layers": Row(_layers(), 1200, {**_SHORT, "model.settings": _SMALL}, baseline="3+3"),
    # Two heads: at 512 numbers a query the projections are already most of the arithmetic.
    "scaling": Row(_sizes(), 800, {**_SHORT, "model.settings": {**_SMALL, "heads": 2}}),
}
LOSS, PERPLEXITY = "loss", "perplexity"


def tokenizer(row: Row) -> Tokenizer:
    """The vocabulary of all arms."""
    folder = WORK / f"vocabulary-{row.vocabulary}"
    if not folder.exists():
        data = resolve("translate", PAIRS.settings()).data
        texts = Translate.training_texts(data, {"validation": data.validation, "test": data.test})
        train_tokenizer("bpe", texts, vocabulary=row.vocabulary, lowercase=False, special=MARIAN).save(folder)
    return load_tokenizer(folder)


def recipe_of(row: Row, arm: Arm, steps: int) -> Recipe:
    """The recipe of `train translate` with the arm's layers and seed, and the sizes of the row."""
    encoder, decoder = arm.layers
    return resolve(
        "translate",
        {
            **PAIRS.settings(),
            **row.settings,
            "model.settings": {**row.settings["model.settings"], "layers": encoder, "decoder_layers": decoder},
            "tokenizer.vocabulary": row.vocabulary,
            "train.steps": steps,
            "train.seed": arm.seed,
        },
    )


def prepared(row: Row, arm: Arm, steps: int, folder: Path) -> Prepared:
    """Data, task and model of an arm; the model as the arm has it, with its first weights."""
    made = prepare_run(recipe_of(row, arm, steps), folder, ConsoleProgress(), tokenizer=tokenizer(row))
    if arm.query_size is None:
        return made
    config = resized(made.module.config, arm.query_size, scaled=arm.scaled)
    return replace(made, module=build(config, seed=arm.seed))


def resized(config: ModelConfig, query_size: int, *, scaled: bool) -> ModelConfig:
    """The same model with queries and keys of another size, its scores divided by the root of that or not."""

    def of(body: AttentionConfig) -> AttentionConfig:
        return body.model_copy(update={"query_size": query_size, "scaled": scaled})

    def stack(its: StackConfig) -> StackConfig:
        blocks = []
        for block in its.blocks:
            parts = {
                name: part.model_copy(update={"body": of(part.body)})
                for name, part in (("self_attention", block.self_attention), ("cross_attention", block.cross_attention))
                if part is not None
            }
            blocks.append(block.model_copy(update=parts))
        return its.model_copy(update={"blocks": tuple(blocks)})

    assert config.encoder is not None
    assert config.decoder is not None
    return config.model_copy(update={"encoder": stack(config.encoder), "decoder": stack(config.decoder)})


def run(name: str, arm_name: str, steps: int | None) -> None:
    """Train an arm, or go on where it was stopped, and measure it; nothing where that is there."""
    row = ROWS[name]
    arm, steps, tries = row.arms[arm_name], steps or row.steps, steps is not None
    folder = folder_of(name, arm_name, steps)
    if (folder / "measured.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    made = prepared(row, arm, steps, folder)
    module, progress = made.module, ConsoleProgress()
    resumed = (folder / "checkpoints").exists()
    found: dict[str, Any] = {"parameters": sum(parameter.numel() for parameter in module.parameters())}
    if arm.query_size is not None:
        before = read_json(folder / "before.json") if (folder / "before.json").exists() else _looks(made)
        write_json(folder / "before.json", before)
        found["before"] = before
    began = time.process_time()
    for _ in progress.training(
        fit(module, made.feed, made.recipe.train, out=folder, resume=resumed, log=progress.note)
    ):
        pass
    found["processor seconds of training"] = None if resumed else round(time.process_time() - began, 1)
    if arm.query_size is not None:
        found["after"] = _looks(made)
    assert isinstance(made.task, Translate)
    of = target_losses(module, _pairs(made), made.task.unigram, 32 if tries else None)
    test = PAIRS.texts(PAIRS.validation, 10 if tries else None)
    model = gf.Model(module.eval(), made.tokenizer, task=made.task.section, length=made.recipe.data.length)
    began = time.process_time()
    translations = [each.translation for each in model.translate(test.sources, beams=1)]
    found["processor seconds of translating"] = round(time.process_time() - began, 1)
    found["bleu"] = Scores(test).bleu(translations)
    found |= {"losses": of.losses.tolist(), "tokens": of.tokens.tolist(), **results.made_on()}
    write_json(folder / "measured.json", found)
    print(f"{name} {arm_name}: loss {of.losses.sum() / of.tokens.sum():.3f}, BLEU {found['bleu']:.1f}", flush=True)


def _pairs(made: Prepared) -> PairSource:
    """The validation pairs."""
    assert made.held_out is not None
    assert isinstance(made.held_out.source, PairSource)
    return made.held_out.source


def _looks(made: Prepared) -> dict[str, float]:
    """How sharp the attention is, and how large the gradients of what makes its scores: without dropout, on one batch.

    `largest weight` is the mean over heads, layers and tokens of the largest weight of attention; `gradient` the norm
    of the loss' gradient by all query and key matrices, a target token's share.
    """
    source, module = _pairs(made), made.module
    rows = np.arange(min(_LOOKED_AT, len(source)))
    shape = source.lengths[rows].max(axis=0)
    batch = source.batch(rows, np.zeros_like(rows), shape=(len(rows), *shape.tolist()))
    module.eval()
    module.zero_grad(set_to_none=True)
    losses = made.task.losses(module, batch)
    total = sum(losses.values(), torch.zeros(()))
    total.backward()
    squares = [
        float(parameter.grad.square().sum())
        for name, parameter in module.named_parameters()
        if parameter.grad is not None and name.endswith((".query.weight", ".key.weight"))
    ]
    module.zero_grad(set_to_none=True)
    assert batch.decoder_inputs is not None
    assert batch.inputs.documents is not None
    in_source = batch.inputs.documents >= 0  # [B, S]
    in_target = next(iter(batch.labels.values())) >= 0  # [B, T]
    largest: list[Tensor] = []
    with gf.watch(module, "*.weights") as seen, torch.no_grad():
        module(batch.inputs, batch.decoder_inputs, heads=())
        for name, weights in seen.items():
            asked = in_source if name.startswith("encoder") else in_target
            largest.append(weights.max(dim=-1).values.transpose(1, 2)[asked].flatten())  # [n·H]
    module.train()
    return {
        "largest weight": float(torch.cat(largest).mean()),
        "gradient": float(np.sqrt(sum(squares)) / sum(batch.counts.values())),
    }


def scores(name: str, steps: int | None) -> dict[str, Any]:
    """What was measured of the arms that have run, and each beside the one that it is compared with."""
    row = ROWS[name]
    steps = steps or row.steps
    found = {
        arm: read_json(path) for arm in row.arms if (path := folder_of(name, arm, steps) / "measured.json").exists()
    }
    measures = {arm: _measure(each) for arm, each in found.items()}
    arms = {}
    for arm, each in found.items():
        other = row.beside(arm)
        kept = {key: value for key, value in each.items() if key not in ("losses", "tokens")}
        compared = measures[arm].compared(measures[other]) if other in measures and other != arm else {}
        arms[arm] = {
            **kept,
            "scores": plain(measures[arm].intervals()),
            "beside": None if other == arm else other,
            "difference": plain(compared),
        }
    shared = {key: value for key, value in row.settings.items() if not key.startswith("train.minutes")}
    unit = unit_slopes(sorted({arm.query_size for arm in row.arms.values() if arm.query_size is not None}))
    return {"steps": steps, "vocabulary": row.vocabulary, "settings": shared, "arms": arms, "unit": unit}


def unit_slopes(sizes: Sequence[int], *, keys: int = 16, drawn: int = 2000) -> dict[str, dict[str, float]]:
    """By query size, how steep the softmax is where queries and keys are independent and of variance 1, scaled by the
    root of the size and not: the mean norm of its Jacobian diag(p) − p pᵀ, over queries that see so many keys.

    The paper's reason (Vaswani et al. 2017, footnote 4): the variance of a score is then the size itself.
    """
    found = {}
    for size in sizes:
        generator = np.random.default_rng(size)
        queries, all_keys = (generator.standard_normal((drawn, count, size)) for count in (1, keys))
        logits = torch.from_numpy((queries * all_keys).sum(axis=-1))  # [drawn, keys]
        norms = []
        for divisor in (size**0.5, 1.0):
            p = (logits / divisor).softmax(dim=-1)
            squares, cubes = p.square().sum(dim=-1), p.pow(3).sum(dim=-1)
            norms.append(float((squares - 2 * cubes + squares.square()).clamp(min=0).sqrt().mean()))
        found[str(size)] = dict(zip(("scaled", "unscaled"), norms, strict=True))
    return found


def _measure(found: Mapping[str, Any]) -> Measure:
    """Loss and perplexity of the targets, from the sums of each sentence."""

    def of(sums: Reals) -> dict[str, Reals]:
        loss = sums[..., 0] / sums[..., 1]
        return {LOSS: loss, PERPLEXITY: np.exp(loss)}

    return Measure(np.stack([found["losses"], found["tokens"]], axis=1), of)  # [E, 2]


def folder_of(name: str, arm: str, steps: int) -> Path:
    """Where an arm keeps its checkpoints and what was measured."""
    return WORK / name / f"{arm.replace(', ', '-').replace(' ', '-')}-{steps}"
