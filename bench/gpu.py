"""Everything that is to be known of a GPU, in ten minutes: the same answers as on the CPU, then speed.

    python -m bench gpu                # on a machine with an NVIDIA GPU; writes docs/results/gpu.json
    python -m bench gpu vectors gpt2   # these parts; the others that the file has of the same GPU stay
    python -m bench gpu --dry-run      # the same on the CPU with tiny sizes: prints what it found, and writes nothing

Checks: all model families in float32 and bfloat16, states, scores and the gradient of a training step; greedy search
and beams; a run that was stopped and resumed. Measures: masked-word training, GPT-2's training, decoding and vectors,
each against transformers in the type of products that is fast there. It needs no data: the text is Python's own
documentation, and weights are those of the training that is measured, or of two of its steps. A part that fails is
reported, and the others go on; the exit code is 1 then.

B rows · S tokens
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import glassformer as gf
from bench.engines.row import agreement
from bench.gpu_checks import decoding, parity, resumed
from experiments import results
from glassformer.decode.loop import decode
from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.decode.step import Wanted
from glassformer.runtime.device import has_fast_bfloat16
from glassformer.saved.foreign import write_foreign
from glassformer.training.progress import NoProgress
from tests.contracts.families import FAMILIES, ROWS, Row
from tests.decode.sentences import IDS

if TYPE_CHECKING:
    from glassformer.training.record import Step


@dataclass(frozen=True)
class Size:
    """How large the models and texts of the measures are. `written`: prompts, their tokens, and new ones."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    length: int
    rows: int
    steps: int
    texts: int
    written: tuple[int, int, int]
    characters: int
    compiled: bool


WHOLE = Size(12, 768, 12, 16_000, 512, 32, 40, 20_000, (64, 128, 128), 8_000_000, compiled=True)
DRY = Size(1, 32, 2, 300, 32, 4, 4, 24, (3, 8, 4), 60_000, compiled=False)
PARTS = ("parity", "decoding_parity", "resumed", "masked_words", "vectors", "gpt2", "decoding")


def waited(device: torch.device) -> float:
    """The clock, after all that the device was asked to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class Timed(NoProgress):
    """A progress that keeps the seconds of each step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The steps, each of which has computed its loss."""
        before = time.perf_counter()
        for step in steps:
            now = time.perf_counter()
            self.seconds.append(now - before)
            before = now
            yield step


def median_of(seconds: list[float]) -> float:
    """Without the first half, in which something is compiled."""
    return statistics.median(seconds[len(seconds) // 2 :])


def trained(
    task: str, family: str, size: Size, folder: Path, device: torch.device
) -> tuple[gf.Model, dict[str, float]]:
    """A model that `glassformer train` has trained for some steps, and its tokens a second."""
    from glassformer.bundled.corpus import write_corpus

    write_corpus(folder / "text.txt", size.characters)
    shape = {"layers": size.layers, "width": size.width, "heads": size.heads, "max_length": size.length}
    said = {
        "data.files": [str(folder / "text.txt")],
        "data.length": size.length,
        "data.validation": 0.02,
        "tokenizer.vocabulary": size.vocabulary,
        "model": {"family": family, "settings": shape},
        "train.optimizer": "adamw",
        "train.learning_rate": 1e-4,
        "train.batch": size.rows,
        "train.steps": size.steps,
        "train.compile": "on" if size.compiled else "off",
        "train.device": str(device),
    }
    recipe, timed = "masked-lm-mini" if task == "masked-lm" else task, Timed()
    model = gf.train(recipe, out=folder / task, set=said, progress=timed)
    return model, {"ours": size.rows * size.length / median_of(timed.seconds)}


def peer_trained(kind: str, exported: Path, size: Size, device: torch.device) -> dict[str, float]:
    """Tokens a second of transformers' model in a loop as an expert writes it."""
    import transformers

    model = getattr(transformers, kind).from_pretrained(exported).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(10, model.config.vocab_size, (size.rows, size.length), device=device)  # [B, S]
    hidden = torch.rand(ids.shape, device=device) < 0.15
    labels = ids if kind == "AutoModelForCausalLM" else ids.masked_fill(~hidden, -100)

    def loss_of() -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=has_fast_bfloat16(device)):
            found: Tensor = model(input_ids=ids, labels=labels).loss
        return found

    learned = torch.compile(loss_of) if size.compiled else loss_of
    seconds = []
    for _ in range(size.steps):
        started = time.perf_counter()
        learned().backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(waited(device) - started)
    return {"transformers, expert": size.rows * size.length / median_of(seconds)}


def quickest(done: Callable[[], Any], device: torch.device) -> tuple[float, Any]:
    """Seconds of the second and third call, the quicker one, and what it gave."""
    done()
    seconds = []
    for _ in range(2):
        started = waited(device)
        found = done()
        seconds.append(waited(device) - started)
    return min(seconds), found


def written(model: gf.Model, exported: Path, size: Size, device: torch.device) -> dict[str, Any]:
    """Tokens a second after random prompts, by both, and the share of tokens that are equal."""
    import transformers

    count, length, new = size.written
    vocabulary = len(model.module.word_table)
    prompts = torch.randint(10, vocabulary, (count, length), generator=torch.Generator().manual_seed(0))  # [B, S]
    ids = SpecialIds(begin=IDS.begin, end=(vocabulary - 1,))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(exported).to(device).eval()

    def ours() -> list[list[int]]:
        asked = [Request(number, prompt=row) for number, row in enumerate(prompts.tolist())]
        settings = DecodeSettings(max_tokens=new, min_tokens=new)
        steps = decode(model.module, asked, Wanted(settings, ids=ids, slots=count))
        found = {each.number: list(each.hypotheses[0].ids[:new]) for step in steps for each in step.finished}
        return [found[number] for number in range(count)]

    def generated() -> list[list[int]]:
        given = prompts.to(device)
        how = {"attention_mask": torch.ones_like(given), "do_sample": False, "pad_token_id": 0}
        with torch.inference_mode():
            answer = theirs.generate(given, max_new_tokens=new, min_new_tokens=new, eos_token_id=ids.end[0], **how)
        return [row.tolist() for row in answer[:, length:]]

    (mine, here), (other, there) = quickest(ours, device), quickest(generated, device)
    same = sum(a == b for one, two in zip(here, there, strict=True) for a, b in zip(one, two, strict=True))
    speeds = {"ours": count * new / mine, "transformers": count * new / other}
    return {"tokens_per_second": speeds, "equal": same / (count * new)}


def embedded(model: gf.Model, exported: Path, size: Size, folder: Path, device: torch.device) -> dict[str, Any]:
    """Texts a second to the mean of their tokens, by both in the fast type, sorted by length, and the least cosine."""
    import numpy as np
    import transformers

    text = (folder / "text.txt").read_text(encoding="utf-8")
    lines = [line[: size.length - 2] for line in text.splitlines() if line]  # none of several windows
    texts = sorted((lines * (1 + size.texts // len(lines)))[: size.texts], key=len)
    fast = has_fast_bfloat16(device)
    saved = gf.load(folder / "masked-lm", device=device, fast=fast, engine="torch")
    theirs = transformers.AutoModel.from_pretrained(exported, dtype=torch.bfloat16 if fast else None).to(device).eval()

    def peer() -> Any:
        found = []
        for first in range(0, len(texts), 64):
            rows = [torch.tensor(row.ids) for row in model.tokenizer.encode_batch(texts[first : first + 64])]
            ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)  # [B, S]
            mask = (
                torch.arange(ids.shape[1], device=device)
                < torch.tensor([len(row) for row in rows], device=device)[:, None]
            )
            with torch.inference_mode():
                states = theirs(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()  # [B, S, W]
            found.append(((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).cpu().numpy())
        return np.concatenate(found)  # [N, W]

    (mine, here), (other, there) = quickest(lambda: np.asarray(saved.embed(texts)), device), quickest(peer, device)
    speeds = {"ours": len(texts) / mine, "transformers, sorted": len(texts) / other}
    return {"texts_per_second": speeds, **agreement(here, there)}


def parts(
    device: torch.device, size: Size, folder: Path, rows: tuple[Row, ...]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is run, in this order, and its name."""
    made: dict[str, gf.Model] = {}

    def learned(task: str, family: str, size: Size) -> tuple[Path, dict[str, float]]:
        made[task], speeds = trained(task, family, size, folder, device)
        write_foreign(made[task], folder / f"{task}-exported")
        return folder / f"{task}-exported", speeds

    def training(task: str, family: str, kind: str) -> dict[str, Any]:
        exported, speeds = learned(task, family, size)
        return {"tokens_per_second": {**speeds, **peer_trained(kind, exported, size, device)}}

    def model(task: str, family: str) -> tuple[gf.Model, Path]:
        if task not in made:  # its training is not among the parts that were asked for
            learned(task, family, replace(size, steps=2, compiled=False))
        return made[task], folder / f"{task}-exported"

    yield "parity", lambda: parity(device, rows)
    yield "decoding_parity", lambda: decoding(device)
    yield "resumed", lambda: resumed(device)
    yield "masked_words", lambda: training("masked-lm", "bert", "AutoModelForMaskedLM")
    yield "vectors", lambda: embedded(*model("masked-lm", "bert"), size, folder, device)
    yield "gpt2", lambda: training("language-model", "gpt2", "AutoModelForCausalLM")
    yield "decoding", lambda: written(*model("language-model", "gpt2"), size, device)


def wrong(found: Mapping[str, Any], device: torch.device) -> list[str]:
    """The checks that failed. On a GPU a run that is resumed may differ in the last digits."""
    bad = [f"{name}: {of['error']}" for name, of in found.items() if "error" in of]
    bad += [f"parity: {name}" for name in found.get("parity", {}).get("too_large", ())]
    bad += [f"decoding: {name}" for name in found.get("decoding_parity", {}).get("wrong", ())]
    if device.type == "cpu" and not found.get("resumed", {}).get("to_the_bit", True):
        bad.append("resumed: not to the bit")
    return bad


def measured(device: torch.device, asked: Collection[str], *, dry: bool) -> dict[str, Any]:
    """The parts asked for, else all; one that fails has its `error`, and each is written at once, so that the time of a
    GPU is not lost.
    """
    size, rows, found = DRY if dry else WHOLE, FAMILIES if dry else ROWS, dict[str, Any]()
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    before = results.read("gpu") or {}
    if before.get("device") == where:
        found |= {name: before[name] for name in PARTS if name in before}

    def row() -> dict[str, Any]:
        return {"device": where, "cuda": torch.version.cuda, "size": repr(size), **found, "wrong": wrong(found, device)}

    with tempfile.TemporaryDirectory() as name:
        for part, done in parts(device, size, Path(name), rows):
            if asked and part not in asked:
                continue
            started = waited(device)
            try:
                found[part] = done()
            except Exception as error:  # whatever it is, the other parts are still worth measuring
                found[part] = {"error": f"{type(error).__name__}: {error}"}
            found[part]["seconds"] = waited(device) - started
            print(f"{part}: {json.dumps(found[part])}", file=sys.stderr, flush=True)
            if not dry:
                results.write("gpu", "python -m bench gpu", row())
    return row()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m bench gpu", description="Check and measure a GPU.")
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []), help="which parts; default all")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes on the CPU; writes nothing")
    asked = parser.parse_args()
    if not asked.dry_run and not torch.cuda.is_available():
        sys.exit("bench gpu needs a GPU that torch can use; this machine has none. --dry-run tries it on the CPU")
    found = measured(torch.device("cpu" if asked.dry_run else "cuda"), asked.parts, dry=asked.dry_run)
    print(json.dumps(found, indent=2))
    if found["wrong"]:
        sys.exit("\n".join(found["wrong"]))


if __name__ == "__main__":
    main()
