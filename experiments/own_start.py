"""Whether a start pays: one's own (half an hour of masked words of books and speeches), the same with the texts of the
tasks, or `sentences`. Six sets are tuned.

python -m experiments.own_start, with `also` or `sentences` for these starts, and the names of some sets; what was
stopped goes on.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import glassformer as gf
from experiments import results
from experiments.encoder.plan import write_lines
from experiments.encoder.sets import mrpc, sick, sst2, sts
from experiments.page import made_by, table
from experiments.tags import spread
from glassformer.data.readers.conll import conll_rows

WORK, MINUTES, SEEDS = Path("runs/own-start"), 30.0, (0, 1, 2)
# By results file: the starts, and the heads of their columns. Starts that are compared were made on one machine.
STARTS = {
    "own-start": {"none": "no start", "own": "own start"},
    "also-start": {"own": "own start, again", "also": "with the tasks' texts"},
    "sentences-start": {"sentences": "`sentences`"},
}
EWT = [f"ud_english_ewt/en_ewt-ud-{part}" for part in ("train.conllu.gz", "dev.conllu", "test.conllu")]
POSTS = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
# Name, task, score, and files to learn from, to choose the best step (none: a tenth is held out) and to measure.
SETS: dict[str, tuple[str, ...]] = {
    "SST-2": ("classify", "accuracy", "sst2/train.tsv", "sst2/dev.tsv", "sst2/test.tsv"),
    "MRPC": ("classify", "accuracy", "mrpc", "", ""),
    "SICK": ("classify", "accuracy", "sick", "", ""),
    "STS benchmark": ("regress", "pearson", "sts", "", ""),
    "parts of speech, EWT": ("tag", "f1", *EWT),
    "rare entities, wnut17": ("tag", "f1", *(f"wnut17/{part}" for part in POSTS)),
}
TEXT = f"""`train masked-lm` with its defaults over `text_books` and `text_state_union`, {MINUTES:g} minutes of two
cores, on another machine again, and there also with the texts of the six training parts, without their labels, among
the files; then `train` of six sets with its defaults, one thread, from each, without a start and from `sentences`. In
percent on the test part, the mean of three seeds, lowest and highest; each pre-training was run once. Taggers had no
word dropout yet.
"""


def pretrained(start: str) -> Path:
    """The folder of the start: `own`, or `also` with the texts of the tasks."""
    out, data = WORK / f"start-{start}", results.data_directory()
    if not (out / "model.safetensors").exists():
        texts = [path for of in ("text_books", "text_state_union") for path in sorted((data / of).glob("*.txt"))]
        texts += [write_lines(WORK / "tasks.jsonl", ({"text": text} for text in task_texts()))] * (start == "also")
        command: list[str | Path] = [sys.executable, "-m", "glassformer", "train", "masked-lm", *texts]
        subprocess.run([*command, "--minutes", f"{MINUTES:g}", "--threads", "2", "--out", out], check=True)
    return out


def task_texts() -> Iterator[str]:
    """The texts of the six training parts: sentences, both texts of each pair, the words of each tagged sentence."""
    yield from (row["text"] for row in sst2().train)
    yield from (row[which] for of in (mrpc, sick, sts) for row in of().train for which in ("text", "pair"))
    for file in (EWT[0], f"wnut17/{POSTS[0]}"):
        yield from (str(row.values["text"]) for row in conll_rows(results.data_directory() / file))


def score(name: str, start: str, seed: int) -> float:
    """In percent."""
    task, measure, *files = SETS[name]
    learned, chosen, tested = (results.data_directory() / file for file in files)
    changes: dict[str, Any] = {"train.seed": seed}
    if files[0] in (pairs := {"mrpc": mrpc, "sick": sick, "sts": sts}):
        split, changes["data.pair"] = pairs[files[0]](), "pair"
        learned = write_lines(WORK / f"{files[0]}.train.jsonl", split.train)
        tested = write_lines(WORK / f"{files[0]}.test.jsonl", split.test)
    elif task == "classify":
        changes |= {"data.text": "0", "data.label": "1"}
    if files[1]:
        changes["data.validation_files"] = [str(chosen)]
    if start != "none":
        changes["model.start"] = str(pretrained(start)) if start in STARTS["also-start"] else start
    out = WORK / f"{name}-{start}-{seed}".replace(" ", "-")
    if not (out / "model.safetensors").exists():
        begun = (out / "recipe.toml").exists()
        changes |= {"data.files": [str(learned)], "train.threads": 1}
        gf.train(None if begun else task, set=None if begun else changes, out=out, resume=begun)
    return 100 * gf.load(out).evaluate(tested)[measure]


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    rows = {name: row for name in STARTS if (row := results.read(name)) is not None}
    shown = [
        [f"{name}, {of[1]}", *(spread(row["sets"][name][way]) for start, row in rows.items() for way in STARTS[start])]
        for name, of in SETS.items()
    ]
    head = ["", *(title for start in rows for title in STARTS[start].values())]
    lines = ["## A start of one's own", "", TEXT, table(head, shown), ""]
    return [*lines, *(f"{made_by(row)}\n" for row in rows.values())]


def main() -> None:
    """Measure the sets that are named, or all."""
    of = f"{sys.argv[1]}-start" if sys.argv[1:2] in (["also"], ["sentences"]) else "own-start"
    for name in sys.argv[1 + (of != "own-start") :] or SETS:
        found = {start: [score(name, start, seed) for seed in SEEDS] for start in STARTS[of]}
        sets = (results.read(of) or {}).get("sets", {}) | {name: found}
        command = f"python -m experiments.own_start {'' if of == 'own-start' else sys.argv[1]}".rstrip()
        print(results.write(of, command, {"minutes": MINUTES, "sets": sets}))


if __name__ == "__main__":
    main()
