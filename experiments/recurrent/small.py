"""X-9 in several seeds, smaller: a Transformer and recurrent networks of as many parameters, all of two layers that
read from left to right: python -m experiments.recurrent.small

B rows · N windows · S tokens · V vocabulary · W width · K symbols
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from experiments import results
from glassformer.bundled.claims import Score, Stage, known_claim
from glassformer.decode.loop import decode
from glassformer.decode.request import Request, SpecialIds
from glassformer.decode.settings import DecodeSettings
from glassformer.models.families.llama import llama
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.run.claim_measures import Measured
from glassformer.run.claims import judged
from glassformer.scoring.score import share_of

OURS, SEEDS, BYTES, DISTANCES = "Transformer", 3, 256, (10, 50)
# Text: seconds of the processor, rows and their bytes, bytes of the new novel, bytes that are written.
SECONDS, ROWS, LENGTH, MEASURED, WRITTEN = 10.0, 8, 256, 32_768, 128
# Copying: symbols, of how many; the most steps, and the loss at which training ends earlier.
KEPT, SYMBOLS, STEPS, LEARNED = 5, 8, 300, 0.02
# What each test is scored by, where it is not the share that is right.
SCORES = {"training": "speed", "writing one text": "speed", "new novel": "bits_per_byte"}


class Recurrent(nn.Module):
    """The logits of each next token, and the last state: [B, S] -> [B, S, V]."""

    def __init__(self, kind: str, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        self.body = {"RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}[kind](width, width, 2, batch_first=True)

    def forward(self, ids: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        states, state = self.body(self.embed(ids), state)  # [B, S, W]
        return linear(states, self.embed.weight), state  # [B, S, V]

    def write(self, start: Tensor) -> None:
        logits, state = self(start[None])
        for _ in range(WRITTEN - 1):
            logits, state = self(logits[:, -1:].argmax(dim=-1), state)


class Ours(nn.Module):
    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        inner = 8 * width // 3
        self.body = build(llama(vocabulary=vocabulary, layers=2, width=width, heads=2, feed_forward=inner, tied=True))

    def forward(self, ids: Tensor) -> tuple[Tensor | None, None]:
        return self.body(Inputs(ids=ids)).logits, None

    def write(self, start: Tensor) -> None:
        asked, ids = [Request(0, prompt=tuple(start.tolist()))], SpecialIds(begin=0, end=())
        list(decode(self.body, asked, DecodeSettings(max_tokens=WRITTEN), ids=ids, slots=1))


def made(arm: str, vocabulary: int, width: int, seed: int) -> Any:
    """Ours of this width; a recurrent network of the width at which it has as many parameters."""
    torch.manual_seed(seed)
    ours = Ours(vocabulary, width)
    most = sum(each.numel() for each in ours.parameters())
    others = (Recurrent(arm, vocabulary, wide) for wide in count(width, 2) if arm != OURS)
    return ours if arm == OURS else next(each for each in others if sum(map(Tensor.numel, each.parameters())) >= most)


def trained(module: Any, loss_of: Callable[[], Tensor], *, ends: Callable[[int, float, float], bool]) -> float:
    """Steps in a second of the processor; training `ends` by the step, the seconds and the loss."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=2e-3, betas=(0.9, 0.99), weight_decay=0.01)
    began, step, loss = time.process_time(), 0, math.inf
    while not ends(step, time.process_time() - began, loss):
        found = loss_of()
        optimizer.zero_grad()
        found.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        step, loss = step + 1, found.item()
    module.eval()
    return step / (time.process_time() - began)


def read(files: Sequence[str]) -> Tensor:
    paths = [Path(each.replace("{data}", str(results.data_directory()))) for each in files]
    return torch.from_numpy(np.frombuffer(b"".join(map(Path.read_bytes, paths)), np.uint8).astype(np.int64))


def of_text(arm: str, seed: int) -> dict[str, Measured]:
    """Bytes a second in training and in writing; bits per byte of a new novel. The novels are those of X-3."""
    novels = known_claim("X-3").stages[0]
    learned, new = read(novels.set["data.files"]), read(novels.tests[0].files)[: MEASURED + 1]
    module, generator = made(arm, BYTES, 128, seed), np.random.default_rng(seed)

    def loss_of(ids: Tensor) -> Tensor:  # [B, S + 1]
        return cross_entropy(module(ids[:, :-1])[0].flatten(0, 1), ids[:, 1:].flatten())

    def of_step() -> Tensor:
        places = generator.integers(len(learned) - LENGTH, size=ROWS)
        return loss_of(torch.stack([learned[at : at + LENGTH + 1] for at in places]))

    steps = trained(module, of_step, ends=lambda _, seconds, loss: seconds >= SECONDS)
    windows = new.unfold(0, LENGTH + 1, LENGTH)  # [N, S + 1]
    with torch.inference_mode():
        bits = torch.stack([loss_of(some) for some in windows.split(ROWS)]).mean() / math.log(2)
        began = time.process_time()
        module.write(windows[0, :LENGTH])
    values = (steps * ROWS * LENGTH, WRITTEN / (time.process_time() - began), float(bits))
    return dict(zip(SCORES, map(Measured, values), strict=True))


def of_copying(arm: str, seed: int, distance: int) -> Measured:
    """The share of texts of which all symbols are written again, after so many blanks."""
    module, generator = made(arm, 2 + SYMBOLS, 64, seed), np.random.default_rng(seed)

    def scored(rows: int, draw: np.random.Generator) -> tuple[Tensor, Tensor]:
        symbols = draw.integers(1, 1 + SYMBOLS, size=(rows, KEPT))
        blanks, recall = np.full((rows, distance), 1 + SYMBOLS), np.zeros((rows, 1), np.int64)
        ids = torch.from_numpy(np.concatenate([symbols, blanks, recall, symbols[:, :-1]], axis=1))  # [B, S]
        return module(ids)[0][:, -KEPT:].flatten(0, 1), torch.from_numpy(symbols).flatten()  # [B·K, V], [B·K]

    trained(module, lambda: cross_entropy(*scored(32, generator)), ends=lambda n, _, loss: n == STEPS or loss < LEARNED)
    with torch.inference_mode():
        logits, right = scored(256, np.random.default_rng([seed, distance]))
    found = share_of((logits.argmax(dim=-1) == right).view(-1, KEPT).all(dim=1))
    return Measured(found.values()["accuracy"], found)


def main() -> None:
    claim, cells = known_claim("X-9"), dict[tuple[str, str], list[Measured]]()
    torch.set_num_threads(1)
    for seed, arm in ((seed, arm) for seed in range(SEEDS) for arm in claim.arms):
        found = of_text(arm, seed) | {f"copying over {each}": of_copying(arm, seed, each) for each in DISTANCES}
        for test, measured in found.items():
            cells.setdefault((test, arm), []).append(measured)
        print(seed, arm, *(f"{test}: {each.value:.3f}" for test, each in found.items()), sep=", ", flush=True)
    tests = tuple(Score(name=test, score=SCORES.get(test, "accuracy")) for test in found)
    claim = claim.model_copy(update={"stages": (Stage(name="all", recipe="", tests=tests),), "seeds": SEEDS})
    print(results.write("claim-X-9", "python -m experiments.recurrent.small", judged(claim, cells)))


if __name__ == "__main__":
    main()
