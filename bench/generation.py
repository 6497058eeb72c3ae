"""Writing on behind a prompt: ours and transformers' generate, with the same weights and the same number of tokens.

    python -m bench.generation one        # one text; or: sixteen texts at once. About 12 minutes each on two cores

Twelve layers of width 768 with GPT-2's vocabulary of 50,257 tokens, random weights, a prompt of 128 tokens, 128 new
ones, the likeliest each time; all in float32 but ours in int8. transformers keeps keys and values in its three ways: a
cache that grows, one of fixed size, and that one with the step compiled. Each writes a whole text and its first token
alone; the difference is the time of the other 127. Between the turns a sum over an array far beyond the caches tells
how many bytes a second the cores can read: a step reads every weight once. Writes docs/results/bench-generation-….json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bench.turns import RUNS, Given, forget_peak, in_turn, medians, peak_megabytes, times
from experiments import results

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WORK = RUNS / "bench-generation"
VOCABULARY, PROMPT, NEW = 50_257, 128, 128
ROWS = {"one": 1, "sixteen": 16}
TURNS = 5
OURS, INT8, GROWING, FIXED, COMPILED = "ours", "ours, int8", "transformers, growing", "transformers, fixed", "compiled"
SYSTEMS = (OURS, INT8, GROWING, FIXED, COMPILED)
PEERS = (GROWING, FIXED, COMPILED)
# Numbers of the array that is summed: 1 GiB of float32.
SUMMED = 1 << 28

# Prompts [B, S] and a number of new tokens to the new tokens [B, N].
Write = Callable[[Tensor, int], Tensor]


def prompts(rows: int) -> Tensor:
    """Random tokens [B, S]: all systems the same."""
    return torch.randint(VOCABULARY - 1, (rows, PROMPT), generator=torch.Generator().manual_seed(0))  # [B, S]


def weights_of() -> Path:
    """The folder of the weights, which transformers writes, so that both sides read the same file."""
    folder = WORK / "gpt2"
    if not (folder / "config.json").exists():
        import transformers

        torch.manual_seed(0)
        transformers.GPT2LMHeadModel(transformers.GPT2Config()).save_pretrained(folder)
    return folder


def ours(folder: Path, kind: str) -> Write:
    """Our loop, in float32 or with the weights of its matrices in int8."""
    from glassformer.convert.huggingface import read_huggingface
    from glassformer.decode.loop import decode
    from glassformer.decode.request import Request, SpecialIds
    from glassformer.decode.settings import DecodeSettings
    from glassformer.models.transformer import Transformer

    found = read_huggingface(folder)
    model = Transformer(found.config).eval()
    model.load_state_dict(found.state)
    if kind == INT8:
        from glassformer.runtime.matrices import to_int8

        to_int8(model)
    end = VOCABULARY - 1

    def write(given: Tensor, new: int) -> Tensor:
        settings = DecodeSettings(max_tokens=new, min_tokens=new)
        requests = [Request(number, prompt=row) for number, row in enumerate(given.tolist())]
        answers: dict[int, Any] = {}
        for step in decode(model, requests, settings, ids=SpecialIds(begin=end, end=(end,)), slots=len(requests)):
            answers |= {each.number: each.hypotheses[0].ids[:new] for each in step.finished}
        return torch.tensor([answers[number] for number in range(len(given))])  # [B, N]

    return write


def generate(folder: Path, kind: str) -> Write:
    """transformers."""
    import transformers

    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    if kind == COMPILED:
        model.forward = torch.compile(model.forward, dynamic=False)  # as its guide does
    said = {} if kind == GROWING else {"cache_implementation": "static", "disable_compile": True}

    def write(given: Tensor, new: int) -> Tensor:
        with torch.inference_mode():
            written = model.generate(
                given,
                attention_mask=torch.ones_like(given),
                do_sample=False,
                max_new_tokens=new,
                min_new_tokens=new,
                pad_token_id=VOCABULARY - 1,
                **said,
            )
        return written[:, given.shape[1] :]  # [B, N]

    return write


def work(system: str, folder: Path, rows: int, new: int, pipe: Connection) -> None:
    """A worker: writes a whole text and its first token, answers with the seconds of both, and the text."""
    write = (ours if system in (OURS, INT8) else generate)(folder, system)
    given = prompts(rows)
    while pipe.recv():
        forget_peak()  # reading the weights does not count
        seconds = []
        for count in (1, new):
            started = time.perf_counter()
            written = write(given, count)
            seconds.append(time.perf_counter() - started)
        megabytes = peak_megabytes()  # before the array that is summed
        pipe.send(
            {
                "seconds": seconds[1],
                "first": seconds[0],
                "steps_per_second": (new - 1) / (seconds[1] - seconds[0]),
                "written": written.tolist(),
                "megabytes": megabytes,
                "bytes_per_second": _bandwidth() if system == OURS else 0.0,
            }
        )


def _bandwidth() -> float:
    """Bytes a second that a sum reads: the quickest of five."""
    summed, found = torch.ones(SUMMED), []
    for _ in range(5):
        started = time.perf_counter()
        summed.sum()
        found.append(time.perf_counter() - started)
    return summed.numel() * summed.element_size() / min(found)


def run(name: str, *, tried: bool) -> dict[str, Any]:
    """All systems in turn: tokens a second, and how much of the bandwidth the weights' reading reaches."""
    rows, new, turns = ROWS[name], 16 if tried else NEW, 1 if tried else TURNS
    folder = weights_of()

    def reported(given: Given) -> str:
        return f"{rows * given['steps_per_second']:,.1f} tokens/s after the first"

    kept = None if tried else WORK / f"turns-{name}.json"
    done, ready = in_turn(work, SYSTEMS, (folder, rows, new), ask=1, turns=turns, kept=kept, reported=reported)
    speeds = {system: [rows * turn[system]["steps_per_second"] for turn in done] for system in SYSTEMS}
    whole = {system: [rows * new / turn[system]["seconds"] for turn in done] for system in SYSTEMS}
    middle = medians(speeds)
    best = max(PEERS, key=lambda system: middle[system])
    readable = max(turn[OURS]["bytes_per_second"] for turn in done)
    parameters = _parameters_read(folder)
    written = {system: done[0][system]["written"] for system in SYSTEMS}
    return {
        "rows": rows,
        "prompt": PROMPT,
        "new_tokens": new,
        "tokens_per_second": middle,
        "whole_tokens_per_second": medians(whole),
        "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
        "best_peer": best,
        "times_the_best_peer": {system: times(speeds[system], speeds[best]) for system in (OURS, INT8)},
        "int8_times_float32": times(speeds[INT8], speeds[OURS]),
        "readable_gigabytes_per_second": readable / 1e9,
        "share_of_bandwidth": middle[OURS] / rows * parameters * 4 / readable,
        "same_tokens_as_the_growing_cache": {
            system: sum(
                a == b for one, two in zip(found, written[GROWING], strict=True) for a, b in zip(one, two, strict=True)
            )
            for system, found in written.items()
        },
        "peak_megabytes": {system: done[-1][system]["megabytes"] for system in SYSTEMS},
        "ready_after_seconds": ready,
        "turns": turns,
    }


def _parameters_read(folder: Path) -> int:
    """Numbers of the weights that a step reads: all but the position vectors, of which it reads one."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as file:
        shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118, it is no dict
    return sum(torch.Size(shape).numel() for name, shape in shapes.items() if not name.endswith("wpe.weight"))


def main() -> None:
    """One row."""
    parser = argparse.ArgumentParser(prog="python -m bench.generation")
    parser.add_argument("row", choices=tuple(ROWS))
    parser.add_argument("--try", dest="tried", action="store_true", help="a short run that writes nothing")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    found = run(asked.row, tried=asked.tried)
    if asked.tried:
        print(json.dumps(found, indent=2))
        return
    name = f"bench-generation-{asked.row}"
    print(results.write(name, f"python -m bench.generation {asked.row}", {**found, "load_before": load}))
    (WORK / f"turns-{asked.row}.json").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
