"""Memory, network and days of three trainings on many GPUs, by formula: no such machine was there.

python -m manual.scale                                    # the tables of docs/scale/machines.md
python -m manual.scale --rate 312 --utilisation 0.4       # printed, for a GPU and a use of it that you choose
python -m manual.scale measure                            # docs/results/scale-memory.json, about a minute

W width · F width of the feed-forward network · V vocabulary · S tokens of a row, T of its target · P parameters
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import results
from experiments.page import DOCS, filled, table, write

GPUS = (8, 64, 512)


@dataclass(frozen=True)
class Training:
    """A model, its batch and how much it reads. `asked`: the share of tokens with a score for each word of the
    vocabulary. A model that only reads has no `decoder`, one that only writes no `encoder` and no `target`.
    """

    name: str
    width: int
    feed_forward: int
    encoder: int
    decoder: int
    vocabulary: int
    source: int
    target: int
    rows: int
    tokens: float
    asked: float

    @property
    def crosses(self) -> bool:
        return bool(self.encoder and self.decoder)

    @property
    def parameters(self) -> int:
        """Matrices and vectors of words; biases, norms and positions are less than 2 % of each of these models."""
        block = 4 * self.width**2 + 2 * self.width * self.feed_forward
        cross = 4 * self.width**2 * self.crosses
        return self.encoder * block + self.decoder * (block + cross) + self.vocabulary * self.width

    @property
    def row(self) -> int:
        """Tokens of a row, its target included."""
        return self.source + self.target

    @property
    def operations(self) -> float:
        """Of the matrix products of one row, forward and backward (3 × forward); a multiply-add is two."""
        width, source, target = self.width, self.source, self.target
        own = 4 * width**2 + 2 * width * self.feed_forward  # weights that each token is multiplied with in a block
        read = self.encoder * (2 * source * own + 4 * source**2 * width)
        length = target or source  # of what is written
        written = self.decoder * (2 * length * own + 4 * length**2 * width)
        if self.crosses:  # queries and outputs of the target, keys and values of the source, and their products
            written += self.decoder * (4 * length * width**2 + 4 * source * width**2 + 4 * source * length * width)
        scores = 2 * self.asked * (target or source) * width * self.vocabulary
        return 3 * (read + written + scores)

    def held(self, bytes_of_number: int = 2) -> float:
        """Bytes that a row holds from its forward to its backward pass: 34 numbers of 8 bit a token and width for each
        block, 13 more for attention to a source (Korthikanti et al. 2022, table 2, without attention's probabilities,
        which fused attention does not keep); as much again for each byte more. Scores of a vocabulary in float32, with
        their gradient, where they are few (masked words); others are computed in blocks.
        """
        block = 34 * self.width * bytes_of_number / 2
        length = self.target or self.source
        blocks = self.encoder * self.source * block
        blocks += self.decoder * length * (block + 13 * self.width * bytes_of_number / 2 * self.crosses)
        return blocks + (8 * self.asked * length * self.vocabulary if self.asked < 1 else 0)

    def state(self, bytes_of_number: int = 2) -> float:
        """Bytes of weights, gradients and AdamW's two means in float32, and of the weights in bfloat16."""
        return self.parameters * (18 if bytes_of_number == 2 else 16)


TRAININGS = (
    Training("BERT-base", 768, 3072, 12, 0, 30_522, 512, 0, 256, 1_000_000 * 256 * 512, 0.15),
    Training("encoder–decoder, 300 M", 1024, 4096, 9, 9, 32_000, 512, 114, 128, 2.0**19 * 128 * (512 + 114), 1.0),
    Training("decoder, 1 B", 2048, 8192, 0, 18, 50_257, 2048, 0, 512, 20 * 1.009e9, 1.0),
)


@dataclass(frozen=True)
class Machine:
    """Tera-operations a second that the vendor states for dense products in bfloat16, the share of them that a training
    reaches, gigabytes of memory, and gigabytes a second that a GPU sends to the next.
    """

    rate: float = 989.0
    utilisation: float = 0.3
    memory: float = 80.0
    link: float = 50.0


@dataclass(frozen=True)
class Need:
    """Of one training on so many GPUs: rows of a step, in how many parts a GPU computes its rows (`train.accumulate`),
    bytes and seconds of each GPU, and days.
    """

    gpus: int
    rows: int
    parts: int
    memory: float
    sent: float
    computing: float
    sending: float
    days: float


def need(training: Training, gpus: int, machine: Machine) -> Need:
    """Each GPU holds the whole model, and as many rows at a time as fit. Gradients are summed after the backward pass,
    not during it. Raises ValueError where not one row fits.
    """
    rows = max(training.rows, gpus)  # each process needs a row
    each = -(-rows // gpus)
    fit = int((machine.memory * 1e9 - training.state()) // training.held())
    if fit < 1:
        raise ValueError(f"a row of {training.name} does not fit into {machine.memory:g} GB")
    parts = -(-each // fit)
    sent = 2 * (gpus - 1) / gpus * 4 * training.parameters  # the ring of Patarasuk and Yuan 2009, in float32
    computing = each * training.operations / (machine.rate * 1e12 * machine.utilisation)
    sending = sent / (machine.link * 1e9)
    steps = training.tokens / (rows * training.row)
    return Need(
        gpus,
        rows,
        parts,
        training.state() + -(-each // parts) * training.held(),
        sent,
        computing,
        sending,
        steps * (computing + sending) / 86_400,
    )


def needs_table(machine: Machine) -> str:
    head = ["training", "parameters", "GPUs", "rows of a step", "GB of a GPU", "GB sent a step by a GPU"]
    head += ["s of computing a step", "s of sending", "days"]
    rows = []
    for training in TRAININGS:
        for its in (need(training, gpus, machine) for gpus in GPUS):
            parts = "" if its.parts == 1 else f" ({its.parts} parts)"
            more = "" if its.rows == training.rows else " *"
            rows.append(
                [
                    training.name,
                    f"{training.parameters / 1e6:,.0f} M",
                    str(its.gpus),
                    f"{its.rows:,}{more}",
                    f"{its.memory / 1e9:.1f}{parts}",
                    f"{its.sent / 1e9:.2f}",
                    f"{its.computing:.3f}",
                    f"{its.sending:.3f}",
                    f"{its.days:.2f}",
                ]
            )
    return table(head, rows)


# -------------------------------------------------------------------- against what was measured here


MEASURED = {
    "bench-masked-lm-base": Training("BERT-base, 16 rows of 128", 768, 3072, 12, 0, 30_522, 128, 0, 16, 0, 0.15),
    "bench-masked-lm-mini": Training("BERT-mini, 32 rows of 128", 256, 1024, 4, 0, 30_522, 128, 0, 32, 0, 0.15),
}
LIBRARIES = 307.0
"""MB of a process that has imported torch and glassformer (docs/results/bench-translation-memory.json)."""


def memory_rows() -> Iterator[tuple[str, float, float]]:
    """What was trained, MB by formula, and the peak that was measured."""
    for name, training in MEASURED.items():
        row = results.read(name)
        assert row is not None
        by_formula = training.state() + training.rows * training.held()
        yield training.name, by_formula / 2**20 + LIBRARIES, row["peak_megabytes"]["ours"]
    for each in (results.read("scale-memory") or {"trained": []})["trained"]:
        training = Training(**each["training"])
        by_formula = training.state(each["bytes_of_number"]) + training.rows * training.held(each["bytes_of_number"])
        yield training.name, by_formula / 2**20 + LIBRARIES, each["peak_megabytes"]


def speed_rows() -> Iterator[tuple[str, float, float, float]]:
    """What was trained, 10⁹ operations a second of a large product, the seconds of a step, and the utilisation."""
    for name, training in MEASURED.items():
        row = results.read(name)
        assert row is not None
        rate, seconds = row["matrix_rate_gigaflops"], row["seconds_per_step"]["ours"]
        yield training.name, rate, seconds, training.rows * training.operations / seconds / rate / 1e9


def measured_table() -> str:
    rows = [[name, f"{ours:,.0f}", f"{peak:,.0f}", f"{ours / peak:.2f}"] for name, ours, peak in memory_rows()]
    return table(["training on this processor", "MB by formula", "MB measured", "ratio"], rows)


def speed_table() -> str:
    rows = [
        [name, f"{rate:,.0f}", f"{seconds:.3f}", f"{utilisation:.2f}"]
        for name, rate, seconds, utilisation in speed_rows()
    ]
    head = ["training on this processor", "10⁹ operations a second, one large product", "s a step", "utilisation"]
    return table(head, rows)


def measure() -> None:
    """The peak memory of two trainings, which does not depend on how busy the machine is."""
    found = []
    sizes = {
        "language-model": (
            Training("decoder, 6 layers of 512, 16 rows of 128", 512, 2048, 0, 6, 4000, 128, 0, 16, 0, 1.0),
            ["--family", "gpt2", "--set", "model.settings.layers=6", "--set", "model.settings.width=512"],
        ),
        "masked-lm": (
            Training("encoder, 8 layers of 512, 16 rows of 128", 512, 2048, 8, 0, 4000, 128, 0, 16, 0, 0.15),
            ["--family", "bert", "--size", "medium"],
        ),
    }
    for task, (training, words) in sizes.items():
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "english.txt"
            from glassformer.bundled.corpus import write_corpus

            write_corpus(text, 150_000)
            command = [sys.executable, "-m", "glassformer", "plan", task, str(text), *words, "--json", "--quiet"]
            command += ["--vocabulary", str(training.vocabulary), "--length", str(training.source)]
            command += ["--batch", str(training.rows), "--precision", "float32", "--set", "train.compile=off"]
            command += ["--set", "train.optimizer=adamw", "--steps", "8"]
            planned = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found.append(
            {
                "training": training.__dict__,
                "bytes_of_number": 4,
                "parameters": planned["parameters"],
                "peak_megabytes": planned["peak_bytes"] / 2**20,
            }
        )
    results.write("scale-memory", "python -m manual.scale measure", {"trained": found})


def page() -> str:
    """docs/scale/machines.md with the tables of today."""
    made = {"needs": needs_table(Machine()), "memory": measured_table(), "speed": speed_table()}
    return filled((DOCS / "scale" / "machines.md").read_text(encoding="utf-8"), made)


def main(arguments: Sequence[str]) -> None:
    asked = argparse.ArgumentParser(prog="python -m manual.scale", description=__doc__.splitlines()[0])
    asked.add_argument("what", nargs="?", choices=["measure"])
    named: dict[str, Any] = {
        "rate": "tera-operations a second of the vendor's sheet, dense, bfloat16",
        "utilisation": "the share of them that a training reaches",
        "memory": "GB of a GPU",
        "link": "GB a second that a GPU sends",
    }
    for name, text in named.items():
        asked.add_argument(f"--{name}", type=float, help=text)
    given = vars(asked.parse_args(arguments))
    own = {name: given[name] for name in named if given[name] is not None}
    if given["what"]:
        measure()
    elif own:
        print(needs_table(Machine(**own)))
    else:
        write(DOCS / "scale" / "machines.md", page())


if __name__ == "__main__":
    main(sys.argv[1:])
