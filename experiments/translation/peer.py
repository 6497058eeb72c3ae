"""transformers' side: its MarianMTModel of the same size and vocabulary, in a plain loop as a careful person writes it.

AdamW with warm-up and linear decay over the same minutes, label smoothing 0.1, dropout as ours, batches of pairs of
similar length with as many target tokens as ours, the same mean of the weights, and its own search at the end. bf16
autocast where the machine multiplies faster in it. Not compiled.

B pairs of a batch · S tokens of the source · T tokens of the target · V vocabulary
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor

from experiments.translation.ours import recipe, settings_of
from experiments.translation.plan import SNAPSHOTS, Budget, Pairs
from glassformer.models.families.marian import MARIAN_SIZES
from glassformer.runtime.device import has_fast_bfloat16
from glassformer.saved.recipe import Recipe
from glassformer.tasks import task_named
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.checkpoint import Checkpoint, Checkpoints, restore, weights
from glassformer.training.optimize import MovingAverage, Optimizers, optimizer_tensors
from glassformer.training.stopping import Interrupted, stop_signals
from glassformer.training.tune import trained

LEARNING_RATE, WARMUP, AVERAGED, CLIP = 2e-3, 400, 0.999, 1.0
IGNORED = -100
# Sentences that are translated together.
TOGETHER = 64


@dataclass
class Progress:
    """How far a run has come: `seconds` are those of its steps alone, without snapshots and reading."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0


class Peer:
    """The model, its optimizer and its data, from our recipe for the same pairs and minutes."""

    def __init__(self, pairs: Pairs, budget: Budget, run: Path) -> None:
        known = self.recipe_of(pairs, budget)
        self.budget, self.run, self.settings = budget, run, settings_of(known)
        self.smoothing: float = getattr(known.task, "label_smoothing", 0.0)
        if budget.threads is not None:
            torch.set_num_threads(budget.threads)
        transformers.set_seed(budget.seed)
        data = known.data
        shares = {"validation": data.validation, "test": data.test}
        self.tokenizer: Tokenizer = train_tokenizer(
            known.tokenizer.kind,
            task_named(known.task.name).training_texts(data, shares),
            vocabulary=known.tokenizer.vocabulary,
            lowercase=known.tokenizer.lowercase,
            special=MARIAN,
        )
        self.model = transformers.MarianMTModel(self._config(str(known.model.size)))
        self.adam = torch.optim.AdamW(
            self.model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        for parameter in self.model.parameters():  # allocated now, so that it can be restored
            self.adam.state[parameter] = {
                "step": torch.tensor(0.0),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        self.average = MovingAverage(self.model, AVERAGED)
        self.progress = Progress()
        self.bfloat16 = has_fast_bfloat16(torch.device("cpu"))
        lines = self.lines_of(pairs)
        self.sources = self.ids([source for source, _ in lines])
        self.targets = self.ids([target for _, target in lines])

    def recipe_of(self, pairs: Any, budget: Budget) -> Recipe:
        """Our recipe for these pairs and minutes."""
        return recipe(pairs, budget)

    def lines_of(self, pairs: Any) -> list[tuple[str, str]]:
        """The sources and targets to learn from."""
        table = pairs.texts(pairs.train)
        return [(source, target) for source, targets in zip(*table, strict=True) for target in targets]

    def _config(self, size: str) -> Any:
        layers, width, heads, feed_forward = MARIAN_SIZES[size]
        pad, end = self.tokenizer.pad_id, self.tokenizer.end_id
        return transformers.MarianConfig(
            vocab_size=self.tokenizer.vocabulary_size,
            d_model=width,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=feed_forward,
            decoder_ffn_dim=feed_forward,
            activation_function="swish",
            max_position_embeddings=512,
            dropout=self.settings["dropout"],
            attention_dropout=0.0,
            activation_dropout=0.0,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            pad_token_id=pad,
            eos_token_id=end,
            forced_eos_token_id=end,
            decoder_start_token_id=pad,
        )

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, and the end."""
        return [self.tokenizer.unalias(raw.ids) for raw in self.tokenizer.raw_batch(texts, special=True)]

    # ------------------------------------------------------------------ training

    def train(self) -> None:
        """Train, or go on where the run was stopped; Ctrl-C and SIGTERM save it."""
        checkpoints, curve = Checkpoints(self.run / "checkpoints"), Checkpoints(self.run / "curve", keep=SNAPSHOTS + 2)
        self.run.mkdir(parents=True, exist_ok=True)
        if (last := checkpoints.newest()) is not None:
            self._restore(last)
        every = 60 * self.budget.minutes / SNAPSHOTS
        self.model.train()
        with stop_signals() as stop:
            saved = int(self.progress.seconds / every)
            batches = self._batches()
            while not self._over:
                started = time.monotonic()
                loss = self._step(next(batches))
                self.progress.seconds += time.monotonic() - started
                stopping = stop.signal_number is not None
                if self._over or int(self.progress.seconds / every) > saved:
                    saved = int(self.progress.seconds / every)
                    curve.save(self.progress.step, {"average": self.average.tensors}, self._facts)
                    self._save(checkpoints)
                    print(f"step {self.progress.step:,}, {self.progress.seconds:,.0f} s: loss {loss:.3f}", flush=True)
                elif stopping:
                    self._save(checkpoints)
                if stopping:
                    assert stop.signal_number is not None
                    raise Interrupted("stopped; the same command goes on", signal_number=stop.signal_number)
        self.average.copy_to(self.model)

    @property
    def _over(self) -> bool:
        if self.budget.steps is not None:
            return self.progress.step >= self.budget.steps
        return self.progress.seconds >= 60 * self.budget.minutes

    @property
    def _rate(self) -> float:
        """A warm-up in steps, and a linear decay over what is left, as ours."""
        if self.budget.steps is not None:
            done = self.progress.step / self.budget.steps
        else:
            done = self.progress.seconds / (60 * self.budget.minutes)
        return LEARNING_RATE * min((self.progress.step + 1) / WARMUP, 1 - done)

    def _step(self, pairs: Sequence[int]) -> float:
        source, target = (padded([side[pair] for pair in pairs]) for side in (self.sources, self.targets))
        asked = target != IGNORED  # [B, T]
        pad = self.model.config.pad_token_id
        shifted = torch.full_like(target, pad)
        shifted[:, 1:] = target[:, :-1].masked_fill(~asked[:, :-1], pad)
        real = source != IGNORED  # [B, S]
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            logits = self.model(
                input_ids=source.masked_fill(~real, pad),
                attention_mask=real.long(),
                decoder_input_ids=shifted,
                use_cache=False,
            ).logits  # [B, T, V]
        loss = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), target.flatten(), ignore_index=IGNORED, label_smoothing=self.smoothing
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        for group in self.adam.param_groups:
            group["lr"] = self._rate
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.tokens += int(asked.sum())
        self.average.update(self.model, self.progress.step)
        return float(loss.detach())

    def _batches(self) -> Iterator[list[int]]:
        """The numbers of the pairs of each step, from where the run stands: in each epoch sorted by length, in another
        order among equals, cut so that a batch with its padding has as many target tokens as ours, then shuffled.
        """
        most = self.settings["batch_tokens"]
        lengths = np.array(
            [[len(target), len(source)] for source, target in zip(self.sources, self.targets, strict=True)]
        )
        epoch = passed = 0
        while True:
            generator = np.random.default_rng([self.budget.seed, epoch])
            order = np.lexsort((generator.random(len(lengths)), lengths[:, 1], lengths[:, 0]))
            batches: list[list[int]] = [[]]
            for pair in order.tolist():
                if lengths[pair, 0] * (len(batches[-1]) + 1) > most and batches[-1]:
                    batches.append([])
                batches[-1].append(pair)
            for batch in generator.permutation(len(batches)).tolist():
                if passed >= self.progress.step:
                    yield batches[batch]
                passed += 1
            epoch += 1

    # ------------------------------------------------------------------ what is kept

    @property
    def _facts(self) -> dict[str, Any]:
        return {"progress": asdict(self.progress)}

    def _save(self, checkpoints: Checkpoints) -> None:
        tensors = {
            "model": weights(self.model),
            "average": self.average.tensors,
            "optimizer": optimizer_tensors(self.model, Optimizers((self.adam,))),
            "random": {"state": torch.get_rng_state()},
        }
        checkpoints.save(self.progress.step, tensors, self._facts)

    def _restore(self, last: Checkpoint) -> None:
        restore(weights(self.model), last.tensors("model"), what="the model")
        restore(self.average.tensors, last.tensors("average"), what="the average")
        restore(optimizer_tensors(self.model, Optimizers((self.adam,))), last.tensors("optimizer"), what="Adam")
        torch.set_rng_state(last.tensors("random")["state"])
        self.progress = Progress(**last.facts["progress"])

    def facts(self) -> dict[str, Any]:
        """What was trained, and for how long."""
        return {
            "seconds": round(self.progress.seconds, 1),
            "steps": self.progress.step,
            "target tokens": self.progress.tokens,
            "bfloat16": self.bfloat16,
            "compiled": False,
            **self.settings,
            "vocabulary": self.tokenizer.vocabulary_size,
            "tokenizer": self.tokenizer.fingerprint[:12],
            "parameters": sum(parameter.numel() for parameter in trained(self.model).values()),
            "learning_rate": LEARNING_RATE,
            "transformers": transformers.__version__,
        }

    # ------------------------------------------------------------------ translating

    def translate(self, sources: Sequence[str], *, beams: int) -> list[str]:
        """A translation of each source by transformers' own search at its defaults."""
        ids = self.ids(sources)
        order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
        found = [""] * len(ids)
        pad = self.model.config.pad_token_id
        self.model.eval()
        for start in range(0, len(order), TOGETHER):
            some = order[start : start + TOGETHER]
            source = padded([ids[number] for number in some])
            real = source != IGNORED
            with torch.inference_mode():
                answers = self.model.generate(
                    input_ids=source.masked_fill(~real, pad),
                    attention_mask=real.long(),
                    num_beams=beams,
                    do_sample=False,
                    bad_words_ids=[[pad]],
                    max_new_tokens=2 * source.shape[1] + 16,
                )
            for number, answer in zip(some, answers.tolist(), strict=True):
                found[number] = self.tokenizer.decode(answer).strip()
        return found


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows in one tensor, filled up with IGNORED. [B, S]"""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=IGNORED)
