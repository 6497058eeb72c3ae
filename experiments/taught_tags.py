"""A small tagger of rare entities that learns from the tags a larger one predicts: python -m experiments.taught_tags.

The larger one learns from wnut17 by defaults, and tags sentences of dialogues, passages and messages. `sentences`
learns from these alone. Training that was stopped goes on.
"""

import gzip
import json
import random
import re
from pathlib import Path

import glassformer as gf
from experiments import results
from experiments.case import spread
from experiments.encoder.plan import encoder_folder
from experiments.page import made_by, table

WORK, SEEDS, TAGGED = Path("runs/taught-tags"), (0, 1, 2), 120_000
_SENTENCE = re.compile(r'(?<=[.!?])\s+(?=[A-Z"“])')
_WORD = re.compile(r"\w+(?=n't)|n't|[@#]?\w+|[’']\w+|[^\w\s]")
TEXT = """The six-layer encoder learns from wnut17 by defaults (without the case of words) and tags 120,000 sentences of
`self_dialogue`, `squadshifts` and `sms_spam`; half of those that are kept have an entity. `sentences` is tuned on them
for two epochs and reads no tag of wnut17 but for its best step. F1 in percent: mean of the seeds, lowest and highest.
"""


def sentences() -> list[list[str]]:
    """The words of sentences without tags, each sentence once, in random order."""
    data, lines = results.data_directory(), list[str]()
    for path in sorted((data / "self_dialogue").glob("*.txt*")):
        lines += (
            (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode().split("\n")
        )
    for path in sorted((data / "squadshifts").glob("*_v1*.json*")):
        articles = json.loads(gzip.decompress(path.read_bytes()))["data"]
        lines += [
            each.strip() for of in articles for part in of["paragraphs"] for each in _SENTENCE.split(part["context"])
        ]
    lines += [line.split("\t")[-1] for line in (data / "sms_spam" / "sms.tsv").read_text(encoding="utf-8").split("\n")]
    found = [words for line in dict.fromkeys(lines) if 4 <= len(words := _WORD.findall(line)) <= 40]
    random.Random(0).shuffle(found)
    return found[:TAGGED]


def trained(name: str, start: str, file: Path, seed: int = 0, **more: object) -> gf.Model:
    """A tagger that wnut17's development part chooses the best step of."""
    if ((out := WORK / name) / "model.safetensors").exists():
        return gf.load(out)
    held = results.data_directory() / "wnut17" / "emerging.dev.conll"
    settings = {"train.seed": seed, "train.threads": 1, "model.start": start, "data.files": [str(file)], **more}
    begun = (out / "recipe.toml").exists()
    return gf.train(
        None if begun else "tag",
        out=out,
        resume=begun,
        set=None if begun else settings | {"data.validation_files": [str(held)]},
    )


def labelled(teacher: gf.Model) -> Path:
    """Sentences with the teacher's tags in CoNLL's format: as many without an entity as with one."""
    if not (path := WORK / "labelled.conll").exists():
        counts, kept = [0, 0], list[str]()
        for found in teacher.tag(words=sentences()):
            named = any(tag != "O" for tag in found.tags)
            if named or counts[0] <= counts[1]:
                counts[named] += 1
                kept.append("".join(f"{word}\t{tag}\n" for word, tag in zip(found.words, found.tags, strict=True)))
        path.write_text("\n".join(kept), encoding="utf-8")
    return path


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    row = results.read("taught-tags")
    assert row is not None
    shown = [
        [name, *(spread([of[part] for of in parts]) for part in ("dev", "test"))] for name, parts in row["f1"].items()
    ]
    lines = ["## A small tagger taught by a larger one", "", TEXT, table(["", "development", "test"], shown), ""]
    return [*lines, made_by(row), ""]


def main() -> None:
    """The teacher, then the students."""
    data = results.data_directory() / "wnut17"
    teacher = trained("teacher", str(encoder_folder()), data / "wnut17train.conll", **{"task.case": False})
    file, parts = labelled(teacher), {"dev": "emerging.dev.conll", "test": "emerging.test.annotated"}
    students = [trained(f"student-{seed}", "sentences", file, seed, **{"train.epochs": 2.0}) for seed in SEEDS]
    f1 = {
        name: [{part: 100 * model.evaluate(data / file)["f1"] for part, file in parts.items()} for model in models]
        for name, models in (("the larger one", [teacher]), ("`sentences`", students))
    }
    print(results.write("taught-tags", "python -m experiments.taught_tags", {"f1": f1}))


if __name__ == "__main__":
    main()
